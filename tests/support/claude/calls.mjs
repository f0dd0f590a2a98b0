/**
 * The record of every call, in order of arrival, and waiting for calls.
 *
 * A call is `{ n, at, endedAt, model, headers, request, pdfs, bodyBytes,
 * contentLength, chunked, received, status, outcome, aborted, usage,
 * requestId, detail }`. `outcome` is `ok`, `rate-limited`, `invalid`, `bug`,
 * `aborted`, or the word of the fault; times are milliseconds of the clock.
 */
import { lastUserText } from './digest.mjs';

/** Keeps the calls of one server. */
export class Ledger {
  calls = [];
  inFlight = 0;
  maxInFlight = 0;
  #open = new Set();
  #trimmed = 0;
  #waiting = new Set();

  /** Begins the record of a request whose headers have come. */
  open(req, requestId, now) {
    const call = { n: this.calls.length + 1, at: Math.round(now), requestId, ...blankCall(req) };
    this.calls.push(call);
    this.#open.add(call);
    this.inFlight += 1;
    this.maxInFlight = Math.max(this.maxInFlight, this.inFlight);
    return call;
  }

  /** The body is there; older records beyond `keepRequests` lose theirs. */
  receive(call, fields, keepRequests) {
    Object.assign(call, fields, { received: true });
    for (; this.#trimmed < this.calls.length - keepRequests; this.#trimmed += 1) this.calls[this.#trimmed].request = null;
    this.#notify();
  }

  /** Ends a call; only the first time counts. */
  end(call, fields, now) {
    if (!this.#open.delete(call)) return;
    Object.assign(call, fields, { endedAt: Math.round(now) });
    this.inFlight -= 1;
    this.#notify();
  }

  /** The caller went away before the answer was complete. */
  abort(call, now) {
    call.aborted = true;
    this.end(call, { outcome: call.outcome ?? 'aborted' }, now);
    this.#notify();
  }

  /** Forgets the records; calls still running are no longer told of. */
  reset() {
    this.calls.length = 0;
    this.#trimmed = 0;
    this.maxInFlight = this.inFlight;
    this.#notify();
  }

  /** Resolves with the value of `predicate(calls)` once it is truthy. */
  waitUntil(predicate, timeoutMs = 10_000, what = 'the awaited calls') {
    return new Promise((resolve, reject) => {
      const waiting = { check: () => settle(predicate(this.calls)) };
      const timer = setTimeout(() => {
        this.#waiting.delete(waiting);
        reject(new Error(`gave up on ${what} after ${timeoutMs} ms with ${this.calls.length} calls`));
      }, timeoutMs);
      const settle = (value) => {
        if (!value) return;
        clearTimeout(timer);
        this.#waiting.delete(waiting);
        resolve(value);
      };
      this.#waiting.add(waiting);
      waiting.check();
    });
  }

  /** Counts over all calls. */
  stats() {
    const ended = this.calls.filter((call) => call.endedAt !== null);
    return {
      calls: this.calls.length,
      inFlight: this.inFlight,
      maxInFlight: this.maxInFlight,
      aborted: this.calls.filter(({ aborted }) => aborted).length,
      byStatus: countBy(ended, ({ status }) => status),
      byOutcome: countBy(ended, ({ outcome }) => outcome),
      inputTokens: sum(ended, ({ usage }) => usage?.input_tokens),
      outputTokens: sum(ended, ({ usage }) => usage?.output_tokens),
    };
  }

  #notify() {
    for (const waiting of [...this.#waiting]) waiting.check();
  }
}

/** Whether a call matches a predicate, or a text found in what the user or a PDF said. */
export function matches(call, wanted) {
  if (typeof wanted === 'function') return wanted(call);
  return lastUserText(call.request).includes(wanted) || call.pdfs.some(({ textSample }) => textSample.includes(wanted));
}

function blankCall(req) {
  const length = req.headers['content-length'];
  return {
    endedAt: null,
    model: null,
    headers: redacted(req.headers),
    request: null,
    pdfs: [],
    bodyBytes: 0,
    contentLength: length === undefined ? null : Number(length),
    chunked: /chunked/i.test(req.headers['transfer-encoding'] ?? ''),
    received: false,
    status: null,
    outcome: null,
    aborted: false,
    usage: null,
    detail: null,
  };
}

function redacted(headers) {
  const shown = { ...headers };
  if (shown['x-api-key']) shown['x-api-key'] = '[redacted]';
  if (shown.authorization) shown.authorization = shown.authorization.replace(/^(Bearer)?.*$/i, '$1 [redacted]').trim();
  return shown;
}

function countBy(calls, keyOf) {
  const counts = {};
  for (const call of calls) counts[keyOf(call)] = (counts[keyOf(call)] ?? 0) + 1;
  return counts;
}

function sum(calls, valueOf) {
  return calls.reduce((total, call) => total + (valueOf(call) ?? 0), 0);
}
