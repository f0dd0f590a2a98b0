/**
 * A clock that runs faster than the wall's, for the Worker and the simulated
 * Claude alike: rate limits as they are published, and a minute in seconds.
 *
 *     const clock = fastClock(5);
 *     const world = await stage({ worker: clock.worker(), claude: { clock } });
 *
 * What the Worker reads of the time is fast, and so are the scheduler's alarms.
 * Not so the timeouts of its calls, nor the delays of the queues. One clock can
 * outlive the Worker: it goes on where it was.
 */
import { readdirSync } from 'node:fs';
import { ROOT } from '../../../scripts/progress.mjs';
import { realClock } from '../../support/claude/clock.mjs';

export function fastClock(times) {
  const start = Date.now();
  return {
    times,
    now: () => start + (realClock.now() - start) * times,
    sleep: (ms, signal) => realClock.sleep(ms / times, signal),
    worker: () => ({ modules: modules(start, times) }),
  };
}

function modules(start, times) {
  const wasm = readdirSync(`${ROOT}/build`).filter((file) => file.endsWith('.wasm'));
  return [
    { type: 'ESModule', path: 'fast.js', contents: scriptOf(start, times) },
    { type: 'ESModule', path: 'index.js' },
    ...wasm.map((path) => ({ type: 'CompiledWasm', path })),
  ];
}

const scriptOf = (start, times) => `
import Worker, { SchedulerObject as Scheduler } from './index.js';

const START = ${start};
const TIMES = ${times};
const Wall = Date;
const now = () => Math.floor(START + (Wall.now() - START) * TIMES);

globalThis.Date = class extends Wall {
  constructor(...args) { super(...(args.length > 0 ? args : [now()])); }
  static now() { return now(); }
};

export default Worker;

// Wherever it is read, the storage of an object is another: what they share is changed.
let alarms = false;
function quicken(storage) {
  if (alarms) return;
  alarms = true;
  const { setAlarm } = Object.getPrototypeOf(storage);
  Object.getPrototypeOf(storage).setAlarm = function (at, options) {
    return setAlarm.call(this, new Wall(Math.ceil(START + (Number(at) - START) / TIMES)), options);
  };
}

export class SchedulerObject extends Scheduler {
  constructor(state, env) {
    quicken(state.storage);
    super(state, env);
  }
}
`;
