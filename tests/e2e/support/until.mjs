/**
 * Waiting for a condition, with a deadline.
 */
import { setTimeout as sleep } from 'node:timers/promises';

const EVERY_MS = 20;

/**
 * Resolves with the value of `condition()` once it is truthy. A condition that
 * throws is one that does not hold yet; the last error is told at the deadline.
 */
export async function until(condition, { within = 20_000, what = 'the condition' } = {}) {
  const deadline = Date.now() + within;
  for (;;) {
    const { value, error } = await attempt(condition);
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`gave up on ${what} after ${within} ms`, { cause: error });
    await sleep(EVERY_MS);
  }
}

async function attempt(condition) {
  try {
    return { value: await condition() };
  } catch (error) {
    return { error };
  }
}
