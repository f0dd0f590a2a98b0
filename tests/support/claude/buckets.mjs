/**
 * The rate limits: for every model class three token buckets (requests, input
 * tokens, output tokens), refilled continuously and full at the start.
 *
 * A bucket holds `burstS` seconds of refill and never less than 1. Output is
 * debited as it is produced and may overdraw its bucket, so that the next
 * request waits until the debt is paid.
 */

/** One bucket; `perMinute` null is unlimited. */
export class TokenBucket {
  constructor(perMinute, { burstS = 60, timeScale = 1 } = {}, now = 0) {
    this.at = now;
    this.level = Infinity;
    this.resize(perMinute, { burstS, timeScale }, now);
  }

  /** New limit from now on: what is in the bucket stays, as far as it fits. */
  resize(perMinute, { burstS, timeScale }, now) {
    if (this.capacity !== undefined) this.refill(now);
    this.perMinute = perMinute;
    this.capacity = perMinute === null ? Infinity : Math.max(1, (perMinute / 60) * burstS);
    this.perSecond = perMinute === null ? Infinity : (perMinute / 60) * timeScale;
    this.level = Math.min(this.level, this.capacity);
  }

  refill(now) {
    const gained = this.perMinute === null ? Infinity : ((now - this.at) / 1000) * this.perSecond;
    this.level = Math.min(this.capacity, this.level + Math.max(0, gained));
    this.at = Math.max(this.at, now);
  }

  /** Seconds until `amount` is there; Infinity if it can never be. */
  waitFor(amount, now) {
    this.refill(now);
    if (this.level >= amount - EPSILON) return 0;
    return amount > this.capacity ? Infinity : (amount - this.level) / this.perSecond;
  }

  /** Takes `amount`, or gives it back if negative. */
  take(amount, now) {
    this.refill(now);
    this.level = Math.min(this.capacity, this.level - amount);
  }
}

// Refill in small steps adds up to a hair less than the whole.
const EPSILON = 1e-6;

/** Model ids that share one set of buckets. */
export function modelClass(model) {
  const name = String(model ?? '').replace(/-20\d{6}$/, '');
  if (/^claude-opus-4-[5-8]$/.test(name)) return 'claude-opus-4';
  if (/^claude-sonnet-4-[56]$/.test(name)) return 'claude-sonnet-4';
  return name;
}

/** All buckets of one organisation, by model class. */
export class RateLimits {
  #settings;
  #classes = new Map();

  constructor(settings) {
    this.#settings = settings;
  }

  /** Applies changed settings without refilling anything. */
  configure(settings, now) {
    this.#settings = settings;
    for (const [name, buckets] of this.#classes) {
      const limits = this.#limitsOf(name);
      for (const kind of KINDS) buckets[kind].resize(limits[kind] ?? null, settings, now);
    }
  }

  /** Forgets all use: every bucket is full again. */
  reset() {
    this.#classes.clear();
  }

  /** The buckets of a model, for reading levels. */
  bucketsOf(model, now) {
    const name = modelClass(model);
    if (!this.#classes.has(name)) {
      const limits = this.#limitsOf(name);
      const fresh = (kind) => [kind, new TokenBucket(limits[kind] ?? null, this.#settings, now)];
      this.#classes.set(name, Object.fromEntries(KINDS.map(fresh)));
    }
    return this.#classes.get(name);
  }

  /** A `Ticket` if the request fits now, else `{ refused, perMinute, waitS, fullS }`. */
  admit(model, { input, maxTokens }, now) {
    const buckets = this.bucketsOf(model, now);
    const waitOf = (kind) => buckets[kind].waitFor(needs[kind], now);
    const reserved = this.#settings.otpmMode === 'reserve_max' ? maxTokens : 0;
    const needs = { requests: 1, input, output: Math.max(1, reserved) };
    const waits = Object.fromEntries(KINDS.map((kind) => [kind, waitOf(kind)]));
    const refused = KINDS.reduce((worst, kind) => (waits[kind] > waits[worst] ? kind : worst));
    if (waits[refused] > 0) {
      if (this.#settings.countRejected) buckets.requests.take(Math.max(0, Math.min(1, buckets.requests.level)), now);
      const fullS = Math.max(...KINDS.map((kind) => secondsToFull(buckets[kind], now)));
      return { refused, perMinute: buckets[refused].perMinute, waitS: waits[refused], fullS };
    }
    buckets.requests.take(1, now);
    buckets.input.take(input, now);
    buckets.output.take(reserved, now);
    return new Ticket(buckets.output, reserved);
  }

  #limitsOf(name) {
    return { ...this.#settings.limits, ...this.#settings.modelLimits[name] };
  }
}

/** An admitted request's account of output tokens. */
class Ticket {
  #bucket;
  #reserved;
  produced = 0;

  constructor(bucket, reserved) {
    this.#bucket = bucket;
    this.#reserved = reserved;
  }

  produce(tokens, now) {
    this.produced += tokens;
    if (this.#reserved === 0) this.#bucket.take(tokens, now);
  }

  /** Gives back what was reserved and not produced; calling it twice does nothing. */
  close(now) {
    if (this.#reserved > 0) this.#bucket.take(this.produced - this.#reserved, now);
    this.#reserved = 0;
  }
}

/** Seconds until the bucket is full again. */
export function secondsToFull(bucket, now) {
  bucket.refill(now);
  return bucket.perMinute === null ? 0 : (bucket.capacity - bucket.level) / bucket.perSecond;
}

/** The value of `retry-after` for a refusal, or null for none. */
export function retryAfterOf({ waitS, fullS }, mode) {
  const wait = Number.isFinite(waitS) ? waitS : fullS;
  if (mode === 'none') return null;
  if (mode === 'exact') return String(Math.ceil(wait * 1000) / 1000);
  if (mode === 'full') return String(Math.max(1, Math.ceil(fullS)));
  if (mode === 'ceil') return String(Math.max(1, Math.ceil(wait - EPSILON)));
  return String(mode);
}

const KINDS = ['requests', 'input', 'output'];
