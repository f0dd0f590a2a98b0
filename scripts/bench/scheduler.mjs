// One scheduler object, from submit to settle: without Claude, R2 and D1. Jobs
// are submitted one by one, by many at once; what it releases comes through the
// queues and is settled at once, what came together with one call; then once
// more behind slots that are taken. A bare object that only hands over is driven
// the same way: what it costs is not the scheduler's. Local workerd syncs every
// turn to the disk before it goes on, so the object is kept in memory, if there
// is a place, and once more on the disk.
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../progress.mjs';
import { startRuntime } from '../runtime.mjs';
import { cpuMillis } from './world.mjs';

const JOBS = 4_000;
const WARM_UP = 500;
const SUBMITTERS = 64;
const SLOTS = 256;
const UNLIMITED = '1000000000';

export async function scheduler(row) {
  const bare = await measure({ BARE: '1' }, MEMORY);
  const real = await measure({}, MEMORY);
  const onDisk = await measure({}, tmpdir());
  row(`${JOBS} jobs, ${SUBMITTERS} submitters`, perSecond(real.flow), 'aim: 200 /s');
  row('  with a bare object', perSecond(bare.flow), 'queues and callers: no more is possible');
  row('  calls of the object per job', (real.flow.calls / JOBS).toFixed(2), 'at most 2: submit, settle');
  row('  CPU of workerd per job', perJob(real.flow));
  row('  of which the scheduler', perJob({ cpu: real.flow.cpu - bare.flow.cpu }), 'less the bare object');
  row(`${JOBS} jobs behind ${SLOTS} taken slots: submit`, perSecond(real.fill));
  row('  and drain', perSecond(real.drain));
  row('  CPU of workerd per job', perJob({ cpu: real.fill.cpu + real.drain.cpu }));
  row('on this disk', perSecond(onDisk.flow), 'as fast as it syncs: once a turn');
  row('  behind taken slots: submit', perSecond(onDisk.fill));
  row('  and drain', perSecond(onDisk.drain));
}

const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

const perSecond = ({ millis }) => `${(JOBS / (millis / 1_000)).toFixed(0)} /s`;
const perJob = ({ cpu }) => `${(cpu / JOBS).toFixed(2)} ms`;

async function measure(vars, place) {
  const persist = await mkdtemp(join(place, 'claude-pipeline-'));
  const runtime = await start(vars, persist);
  try {
    await submit(runtime, WARM_UP);
    await untilSettled(runtime);
    const flow = await measured(runtime, () => submit(runtime, JOBS).then(() => untilSettled(runtime)));
    await ask(runtime, '/hold?on=1');
    const fill = await measured(runtime, () => submit(runtime, JOBS));
    await ask(runtime, '/hold');
    const drain = await measured(runtime, () => untilSettled(runtime));
    return { flow, fill, drain };
  } finally {
    await runtime.stop();
    await rm(persist, { recursive: true, force: true });
  }
}

async function measured(runtime, work) {
  const { calls } = await ask(runtime, '/counts');
  const [cpu, started] = [cpuMillis(runtime.pid), performance.now()];
  await work();
  const millis = performance.now() - started;
  return { millis, cpu: cpuMillis(runtime.pid) - cpu, calls: (await ask(runtime, '/counts')).calls - calls };
}

function start(vars, persist) {
  return startRuntime({
    persist,
    worker: { modules: modules() },
    vars: {
      SLOTS: String(SLOTS),
      LIMIT_REQUESTS_PER_MINUTE: UNLIMITED,
      LIMIT_INPUT_TOKENS_PER_MINUTE: UNLIMITED,
      LIMIT_OUTPUT_TOKENS_PER_MINUTE: UNLIMITED,
      ...vars,
    },
    onLog: ({ level, message }) => level === 'error' && console.error(message),
  });
}

function submit(runtime, jobs) {
  return ask(runtime, `/submit?jobs=${jobs}&submitters=${SUBMITTERS}`);
}

async function untilSettled(runtime) {
  for (;;) {
    const { submitted, settled } = await ask(runtime, '/counts');
    if (settled === submitted) return;
    await sleep(5);
  }
}

async function ask({ url }, path) {
  const response = await fetch(url + path);
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

function modules() {
  const wasm = readdirSync(`${ROOT}/build`).filter((file) => file.endsWith('.wasm'));
  return [
    { type: 'ESModule', path: 'bench.js', contents: SCRIPT },
    { type: 'ESModule', path: 'index.js' },
    ...wasm.map((path) => ({ type: 'CompiledWasm', path })),
  ];
}

const SCRIPT = `
import { SchedulerObject as Scheduler } from './index.js';

const TENANTS = 20;
const PRIORITIES = ['critical', 'standard', 'batch'];
const counts = { submitted: 0, settled: 0, calls: 0 };
let held = false;

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/submit') await submitMany(env, searchParams);
    if (pathname === '/hold') held = searchParams.has('on');
    return Response.json(counts);
  },
  async queue({ messages }, env) {
    while (held) await new Promise((resolve) => setTimeout(resolve, 5));
    const settlements = messages.map(({ body }) => settlement(JSON.parse(body)));
    await tell(env, '/settle', settlements);
    counts.settled += settlements.length;
  },
};

async function submitMany(env, asked) {
  const last = counts.submitted + Number(asked.get('jobs'));
  const submitter = async () => {
    while (counts.submitted < last) await tell(env, '/submit', [submission(counts.submitted++)]);
  };
  await Promise.all(Array.from({ length: Number(asked.get('submitters')) }, submitter));
}

async function tell(env, path, body) {
  counts.calls += 1;
  const object = env.SCHEDULER.getByName('main');
  const response = await object.fetch('https://scheduler' + path, { method: 'POST', body: JSON.stringify(body) });
  const text = await response.text();
  if (response.status !== 200) throw new Error(path + ': ' + response.status + ' ' + text);
}

function submission(n) {
  return {
    job: '00000000-0000-7000-8000-' + n.toString(16).padStart(12, '0'),
    tenant: 'tenant-' + (n % TENANTS),
    plan: n % 4 === 0 ? 'pro' : 'free',
    priority: PRIORITIES[n % PRIORITIES.length],
    class: 'claude-sonnet-4',
    estimate: { input: 500, output: 1024 },
    attempts: 0,
    lease: 0,
  };
}

const PLENTY = { limit: 1e9, remaining: 9e8, reset: null };

function settlement({ jobId, lease }) {
  const outcome = { completed: { usage: { input: 450, output: 60 } } };
  return { job: jobId, lease, outcome, limits: { requests: PLENTY, input: PLENTY, output: PLENTY } };
}

export class SchedulerObject extends Scheduler {
  #outbox = { QUEUE_HIGH: [], QUEUE_BULK: [] };
  #sending = false;

  constructor(state, env) {
    super(state, env);
    Object.assign(this, { state, bare: env.BARE && env });
  }

  fetch(request) {
    return this.bare ? this.#handOver(request) : super.fetch(request);
  }

  async #handOver(request) {
    const jobs = await request.json();
    if (!request.url.endsWith('/submit')) return new Response();
    for (const { job, priority } of jobs) {
      const body = JSON.stringify({ v: 1, jobId: job, lease: 1, attempt: 1, until: Date.now() + 60_000 });
      this.#outbox[priority === 'batch' ? 'QUEUE_BULK' : 'QUEUE_HIGH'].push({ body, contentType: 'text' });
    }
    if (!this.#sending) this.state.waitUntil(this.#send());
    return new Response();
  }

  // One sender at a time, as the scheduler has.
  async #send() {
    this.#sending = true;
    await null;
    const queues = Object.entries(this.#outbox);
    for (let next; (next = queues.find(([, waiting]) => waiting.length > 0)); ) {
      await this.bare[next[0]].sendBatch(next[1].splice(0, 100));
    }
    this.#sending = false;
  }
}
`;
