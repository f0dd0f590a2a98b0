/**
 * Every setting of the simulated Claude, with its default. All of them can be
 * given at the start and changed while the server runs.
 */

/** The defaults: unlimited, immediate, and any API key is welcome. */
export const DEFAULTS = Object.freeze({
  /** One accepted key, a list of them, or null for any key. */
  apiKey: null,
  /** Accepted model ids; null accepts all, others get 404. */
  models: null,

  /** Per minute; null is unlimited. */
  limits: Object.freeze({ requests: null, input: null, output: null }),
  /** Limits for one model class (see `modelClass`), over `limits`. */
  modelLimits: Object.freeze({}),
  /** Bucket capacity, in seconds of refill. */
  burstS: 60,
  /** Buckets refill this many times faster than the clock. */
  timeScale: 1,
  /** `actual`: output is debited as produced. `reserve_max`: max_tokens up front, the rest refunded. */
  otpmMode: 'actual',
  /** On 429: `ceil`, `exact`, `full`, `none`, or a fixed number of seconds. */
  retryAfter: 'ceil',
  /** Whether refused requests count against the request bucket. */
  countRejected: false,
  rateLimitHeaders: true,

  /** Time to the first byte; a number or `({ request, usage, n }) => ms`. */
  latencyMs: 0,
  /** Time spread over the deltas; a number or a function as above. */
  decodeMs: 0,
  /** Text deltas of a streamed answer, at least. */
  deltas: 8,
  /** Uniform spread of both times, as a fraction: 0.2 is plus or minus 20 %. */
  jitter: 0,
  /** Output tokens of every answer; null derives them from the text. */
  answerTokens: null,
  /** Answer text instead of the echo; a string or `({ request, userText, pdfs }) => string`. */
  answer: null,

  maxBodyBytes: 32 * 1024 * 1024,
  /** Refuse requests without content-length with 411. */
  requireContentLength: false,
  /** Input tokens over this get "prompt is too long"; null checks nothing. */
  contextWindow: null,

  /** Chance that a call fails with the step in `fail`, drawn from `seed` and the call's number. */
  failRate: 0,
  fail: '529',
  seed: 1,
  /** Time before an outage refuses a call. */
  outageDelayMs: 0,

  /** Directory, or list of them, with the `.http` files of `raw=`. */
  rawDir: null,
  /** How many of the newest call records keep their parsed request. */
  keepRequests: 1000,
});

/** `current` with `changes` laid over it; an unknown name is an error. */
export function withSettings(current, changes = {}) {
  const unknown = Object.keys(changes).filter((name) => !Object.hasOwn(DEFAULTS, name));
  if (unknown.length > 0) throw new Error(`unknown setting: ${unknown.join(', ')}`);
  const next = { ...current, ...changes };
  if ('limits' in changes) next.limits = mergedLimits(current.limits, changes.limits);
  check(next);
  return next;
}

function mergedLimits(current, changes) {
  const merged = changes === null ? DEFAULTS.limits : { ...current, ...changes };
  const unknown = Object.keys(merged).filter((name) => !Object.hasOwn(DEFAULTS.limits, name));
  if (unknown.length > 0) throw new Error(`unknown limit: ${unknown.join(', ')}`);
  return merged;
}

function check(settings) {
  if (!['actual', 'reserve_max'].includes(settings.otpmMode)) {
    throw new Error(`otpmMode must be actual or reserve_max, not ${settings.otpmMode}`);
  }
  const known = ['ceil', 'exact', 'full', 'none'].includes(settings.retryAfter);
  if (!known && !(settings.retryAfter >= 0)) {
    throw new Error(`retryAfter must be ceil, exact, full, none or seconds, not ${settings.retryAfter}`);
  }
  [settings.limits, ...Object.values(settings.modelLimits)].forEach(checkLimits);
  for (const name of ['burstS', 'timeScale', 'deltas', 'maxBodyBytes']) {
    if (!(settings[name] > 0)) throw new Error(`${name} must be above 0, not ${settings[name]}`);
  }
}

function checkLimits(limits) {
  for (const [name, limit] of Object.entries(limits)) {
    if (limit !== null && !(limit > 0)) throw new Error(`limit ${name} must be above 0 or null, not ${limit}`);
  }
}

/** A number in [0, 1) that depends only on the seed, a purpose and a count. */
export function chance(seed, purpose, n) {
  let hash = 0x811c9dc5;
  for (const char of `${seed}|${purpose}|${n}`) {
    hash = Math.imul(hash ^ char.codePointAt(0), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
