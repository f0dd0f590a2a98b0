/**
 * Stores that fail on command: the built Worker, on the real stores of local
 * workerd, with a thin layer between the two.
 *
 *     const stores = brokenStores();
 *     const world = await stage({ worker: stores.worker });
 *     stores.fail({ binding: 'BUCKET', op: 'put', about: /^results/, times: 2 });
 *
 * A call fails before anything is done, or, with `done: true`, after: the
 * worse case, as only the answer is lost. `about` is looked for in the SQL, the
 * key or the path. `fail` returns the rule: `rule.met` counts what it hit, and
 * `rule.times = 0` ends it. `calls` are all that were made: `{binding, op, about}`.
 */
import { readdirSync } from 'node:fs';
import { ROOT } from '../../../scripts/progress.mjs';

export function brokenStores() {
  const [rules, calls] = [[], []];
  const judge = async (request) => {
    const call = await request.json();
    calls.push(call);
    return new Response(verdictOf(rules, call));
  };
  return {
    calls,
    worker: { modules: modules(), serviceBindings: { FAULTS: judge } },
    fail: (rule) => {
      const made = { times: Infinity, about: /(?:)/, done: false, met: 0, ...rule };
      rules.push(made);
      return made;
    },
    heal: () => rules.splice(0),
  };
}

function verdictOf(rules, { binding, op, about }) {
  const fits = (rule) => rule.times > 0 && rule.binding === binding && rule.op === op && rule.about.test(about);
  const rule = rules.find(fits);
  if (!rule) return 'pass';
  rule.times -= 1;
  rule.met += 1;
  return rule.done ? 'after' : 'before';
}

function modules() {
  const wasm = readdirSync(`${ROOT}/build`).filter((file) => file.endsWith('.wasm'));
  return [
    { type: 'ESModule', path: 'broken.js', contents: SCRIPT },
    { type: 'ESModule', path: 'index.js' },
    ...wasm.map((path) => ({ type: 'CompiledWasm', path })),
  ];
}

const SCRIPT = `
import Worker, { SchedulerObject as Scheduler } from './index.js';

export default class extends Worker {
  constructor(context, env) { super(context, broken(env)); }
}
export class SchedulerObject extends Scheduler {
  constructor(context, env) { super(context, broken(env)); }
}

const STORES = ['DB', 'BUCKET', 'QUEUE_HIGH', 'QUEUE_BULK', 'QUEUE_DLQ', 'SCHEDULER'];
const CALLS = new Set(['batch', 'head', 'get', 'put', 'delete', 'send', 'sendBatch', 'fetch', 'createMultipartUpload']);

function broken(env) {
  const wrapped = STORES.map((name) => [name, wrap(env.FAULTS, name, env[name])]);
  return { ...env, ...Object.fromEntries(wrapped) };
}

function wrap(faults, binding, target) {
  return new Proxy(target, {
    get(_, op) {
      const value = target[op];
      if (typeof value !== 'function' || op === 'constructor') return value;
      if (op === 'getByName') return (...args) => wrap(faults, binding, target.getByName(...args));
      return CALLS.has(op) ? call(faults, binding, op, value.bind(target)) : value.bind(target);
    },
  });
}

function call(faults, binding, op, made) {
  return async (...args) => {
    const body = JSON.stringify({ binding, op, about: about(args[0]) });
    const answer = await faults.fetch('http://faults/', { method: 'POST', body });
    const verdict = await answer.text();
    if (verdict === 'before') throw new Error('Network connection lost.');
    const result = await made(...args);
    if (verdict === 'after') throw new Error('Network connection lost.');
    return result;
  };
}

function about(subject) {
  if (Array.isArray(subject)) return subject.map(({ statement }) => statement).join(';');
  return String(subject?.url ?? subject);
}
`;
