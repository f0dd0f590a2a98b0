/**
 * Time as an argument: the server reads only the clock it is given, so a test
 * can let an hour of bucket refill pass in no time at all.
 *
 * A clock is `{ now(): ms since the epoch, sleep(ms, signal): Promise }`.
 * `sleep` resolves early, without an error, when the signal is aborted.
 */
import { setTimeout as delay } from 'node:timers/promises';

/** Wall time that never steps back. */
export const realClock = {
  now: () => performance.timeOrigin + performance.now(),
  async sleep(ms, signal) {
    if (!(ms > 0)) return;
    await delay(ms, undefined, { signal }).catch(() => {});
  },
};

/** A clock that stands still until `advance` is called. */
export class ManualClock {
  #now;
  #sleepers = [];
  #watchers = [];

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#now = start;
  }

  now() {
    return this.#now;
  }

  sleep(ms, signal) {
    if (!(ms > 0) || signal?.aborted) return Promise.resolve();
    return new Promise((wake) => {
      const sleeper = { at: this.#now + ms, wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener('abort', () => this.#remove(sleeper), { once: true });
      this.#notify();
    });
  }

  /** Moves time on and wakes, in order, everyone whose moment has come. */
  advance(ms) {
    this.#now += ms;
    const due = this.#sleepers.filter((sleeper) => sleeper.at <= this.#now);
    due.sort((a, b) => a.at - b.at).forEach((sleeper) => this.#remove(sleeper));
  }

  /** Resolves once at least `count` calls of `sleep` are waiting. */
  whenSleeping(count = 1) {
    return new Promise((resolve) => {
      this.#watchers.push({ count, resolve });
      this.#notify();
    });
  }

  #remove(sleeper) {
    this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
    sleeper.wake();
  }

  #notify() {
    const ready = ({ count }) => this.#sleepers.length >= count;
    this.#watchers.filter(ready).forEach(({ resolve }) => resolve());
    this.#watchers = this.#watchers.filter((watcher) => !ready(watcher));
  }
}
