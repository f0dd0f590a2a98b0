/**
 * Faults ordered from outside: an outage, a script for the next calls, or
 * chance. They come before anything the request says.
 */
import { planOf } from './faults.mjs';
import { chance } from './options.mjs';
import { parseSteps, wordsAt } from './markers.mjs';

/** What has been ordered for the calls to come. */
export class Orders {
  #outage = null;
  #script = null;

  /** Every call fails with `step` while the outage is on. */
  outage(on = true, step = '529') {
    this.#outage = on ? checked(parseSteps(String(step)))[0].words : null;
  }

  /**
   * Sets what the next calls do. A string holds steps as in a marker. A list
   * holds one entry per call, null for a call like any other. A function gets
   * the call and returns a step, or nothing. Null ends the script.
   */
  script(script) {
    if (script === null || typeof script === 'function') this.#script = script;
    else this.#script = scripted(typeof script === 'string' ? checked(parseSteps(script)) : script.flatMap(entrySteps));
  }

  /** `{ words, outage }` for this call, or null if nothing is ordered. */
  next(call, settings) {
    if (this.#outage) return { words: this.#outage, outage: true };
    const step = this.#script?.(call);
    if (step) return { words: Array.isArray(step) ? step : parseSteps(String(step))[0].words };
    if (chance(settings.seed, 'fail', call.n) < settings.failRate) return { words: parseSteps(settings.fail)[0].words };
    return null;
  }

  reset() {
    this.#outage = null;
    this.#script = null;
  }
}

function scripted(steps) {
  let calls = 0;
  return () => {
    const words = wordsAt(steps, calls);
    calls += 1;
    return words.length > 0 ? words : null;
  };
}

function entrySteps(entry) {
  if (entry === null) return [{ count: 1, words: [] }];
  return checked(parseSteps(String(entry))).map((step) => ({ ...step, count: Number.isFinite(step.count) ? step.count : 1 }));
}

// A misspelt word should fail where it is written, not in a later call.
function checked(steps) {
  if (steps.length === 0) throw new Error('a script needs at least one step');
  steps.forEach(({ words }) => planOf(words));
  return steps;
}
