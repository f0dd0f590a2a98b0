/**
 * A Claude API on the loopback interface, for tests: real HTTP, real limits,
 * answers that tell which request they belong to, and faults on demand.
 *
 * `options.mjs` lists the settings, `markers.mjs` the grammar of faults inside
 * requests, `faults.mjs` their words, `control.mjs` the endpoints for other
 * processes, `calls.mjs` what is recorded.
 */
import { createServer } from 'node:http';
import { RateLimits } from './buckets.mjs';
import { Ledger, matches } from './calls.mjs';
import { realClock } from './clock.mjs';
import { handleControl } from './control.mjs';
import { MarkerCounts } from './markers.mjs';
import { handleMessages } from './messages.mjs';
import { DEFAULTS, withSettings } from './options.mjs';
import { Orders } from './orders.mjs';
import { errorBody, rateLimitHeaders, sendJson } from './wire.mjs';

/**
 * Starts a server. Beside the settings, `options` may hold `port` (0 picks a
 * free one), `host` and `clock`.
 */
export async function startSimulatedClaude({ port = 0, host = '127.0.0.1', clock = realClock, ...options } = {}) {
  const sim = new Simulation(withSettings(DEFAULTS, options), clock);
  const controls = controlsOf(sim);
  const server = createServer((req, res) => route(sim, controls, req, res));
  // A long answer is not an error, and an idle connection must outlive its caller's pool.
  Object.assign(server, { requestTimeout: 0, headersTimeout: 0, timeout: 0, keepAliveTimeout: 120_000 });
  server.on('clientError', (_, socket) => socket.destroy());
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, host, 4096, resolve));
  const address = server.address();
  const place = { port: address.port, url: `http://${host}:${address.port}` };
  return Object.defineProperties(controls, Object.getOwnPropertyDescriptors({ ...place, stop: () => stop(server) }));
}

/** The state behind one server. */
class Simulation {
  #requests = 0;
  orders = new Orders();
  counts = new MarkerCounts();
  ledger = new Ledger();

  constructor(settings, clock) {
    Object.assign(this, { settings, initial: settings, clock, limits: new RateLimits(settings) });
  }

  nextRequestId() {
    this.#requests += 1;
    return `req_sim_${String(this.#requests).padStart(8, '0')}`;
  }

  set(changes) {
    this.settings = withSettings(this.settings, changes);
    this.limits.configure(this.settings, this.clock.now());
  }

  reset() {
    this.settings = this.initial;
    this.limits.configure(this.settings, this.clock.now());
    for (const part of [this.limits, this.orders, this.counts, this.ledger]) part.reset();
  }
}

function controlsOf(sim) {
  const { ledger, orders } = sim;
  return {
    get calls() { return ledger.calls; },
    get config() { return sim.settings; },
    get inFlight() { return ledger.inFlight; },
    get maxInFlight() { return ledger.maxInFlight; },
    set: (changes) => sim.set(changes),
    script: (script) => orders.script(script),
    outage: (on, status) => orders.outage(on, status),
    reset: () => sim.reset(),
    stats: () => ledger.stats(),
    callsFor: (wanted) => ledger.calls.filter((call) => matches(call, wanted)),
    waitUntil: (predicate, timeoutMs) => ledger.waitUntil(predicate, timeoutMs),
    /** Resolves with the calls once `n` of them were received whole. */
    waitForCalls: (n, timeoutMs) => ledger.waitUntil((calls) => receivedIn(calls) >= n && calls, timeoutMs, `${n} calls`),
  };
}

function receivedIn(calls) {
  return calls.filter(({ received }) => received).length;
}

function route(sim, controls, req, res) {
  const [path, query] = req.url.split('?', 2);
  if (req.method === 'POST' && path === '/v1/messages') return handleMessages(sim, req, res);
  if (path.startsWith('/_sim/')) return handleControl(controls, req, res, path, new URLSearchParams(query));
  req.resume();
  const headers = commonHeaders(sim);
  if (req.method === 'GET' && path === '/v1/models') {
    return sendJson(res, 200, modelList(sim.settings.models), headers);
  }
  const error = { type: 'not_found_error', message: `${req.method} ${path} not found` };
  return sendJson(res, 404, errorBody(error, headers['request-id']), headers);
}

function commonHeaders(sim) {
  const now = sim.clock.now();
  const limits = sim.settings.rateLimitHeaders ? rateLimitHeaders(sim.limits.bucketsOf(null, now), now) : {};
  return { 'request-id': sim.nextRequestId(), ...limits };
}

function modelList(models) {
  const ids = models ?? ['claude-sonnet-4-6', 'claude-haiku-4-5'];
  const data = ids.map((id) => ({ type: 'model', id, display_name: id, created_at: '2026-01-01T00:00:00Z' }));
  return { data, has_more: false, first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null };
}

function stop(server) {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
