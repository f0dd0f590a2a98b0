/**
 * One call in progress: the request, its record, its response, and whether the
 * caller is still there.
 */
import { REASONS, errorBody, rateLimitHeaders, sendJson } from './wire.mjs';

/** Binds a request to its record and to the server's clock and limits. */
export class Exchange {
  #gone = new AbortController();
  #weClosed = false;
  ticket = null;

  constructor(sim, req, res) {
    Object.assign(this, { sim, req, res, settings: sim.settings });
    this.requestId = sim.nextRequestId();
    this.call = sim.ledger.open(req, this.requestId, this.now());
    res.on('error', () => {});
    res.once('close', () => this.#closed());
  }

  now() {
    return this.sim.clock.now();
  }

  get gone() {
    return this.#gone.signal.aborted;
  }

  /** Waits by the server's clock, or until the caller leaves. */
  pause(ms) {
    return this.sim.clock.sleep(ms, this.#gone.signal);
  }

  /** Waits until the caller leaves. */
  left() {
    if (this.gone) return Promise.resolve();
    return new Promise((resolve) => this.#gone.signal.addEventListener('abort', resolve, { once: true }));
  }

  /** Ids and limits as they stand now. */
  headers() {
    const ids = { 'request-id': this.requestId, 'anthropic-organization-id': 'org-simulated' };
    if (!this.settings.rateLimitHeaders) return ids;
    const buckets = this.sim.limits.bucketsOf(this.call.model, this.now());
    return { ...ids, ...rateLimitHeaders(buckets, this.now()) };
  }

  begin(status, contentType, more = {}) {
    this.call.status = status;
    this.res.writeHead(status, REASONS[status], { 'content-type': contentType, ...more, ...this.headers() });
  }

  /** Writes and waits where the caller reads slowly. */
  async write(data) {
    if (this.gone || data.length === 0 || this.res.write(data)) return;
    await new Promise((resolve) => {
      this.res.once('drain', resolve);
      this.#gone.signal.addEventListener('abort', resolve, { once: true });
    });
  }

  /** Sends an error in Claude's form, or as the HTML page of a proxy. */
  refuse({ status, type, message, details, html, retryAfter }, outcome) {
    const more = retryAfter === undefined || retryAfter === null ? {} : { 'retry-after': retryAfter };
    this.call.status = status;
    this.call.detail = message;
    this.end(outcome);
    if (html) {
      this.begin(status, 'text/html', more);
      return this.res.end(HTML_PAGE);
    }
    const body = errorBody({ type, message, details }, this.requestId);
    return sendJson(this.res, status, body, { ...this.headers(), ...more });
  }

  /** Closes the record just before the last bytes go out, so that the caller never sees more than the record. */
  end(outcome) {
    this.ticket?.close(this.now());
    this.sim.ledger.end(this.call, { outcome }, this.now());
  }

  /** Cuts the connection once what was written has left. */
  async cut() {
    this.#weClosed = true;
    // The response is corked until the end of this turn of the loop.
    await new Promise((resolve) => setImmediate(resolve));
    this.res.socket?.destroySoon();
  }

  /** Resets the connection at once. */
  reset() {
    this.#weClosed = true;
    this.res.socket?.resetAndDestroy();
  }

  /** Writes bytes around the HTTP layer and closes. */
  writeRaw(bytes) {
    this.#weClosed = true;
    this.res.socket?.write(bytes);
    this.res.socket?.destroySoon();
  }

  #closed() {
    this.#gone.abort();
    this.ticket?.close(this.now());
    const complete = this.res.writableFinished || this.#weClosed;
    if (complete) this.end(this.call.outcome);
    else this.sim.ledger.abort(this.call, this.now());
  }
}

const HTML_PAGE =
  '<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n' +
  '<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n';
