// Callers who come back when they are told, beside four tenants who ask again
// and again; and what those do to the wait of another.
import { setTimeout as sleep } from 'node:timers/promises';
import { makePdf } from '../../tests/support/claude/samples.mjs';
import { openWorld } from './world.mjs';

const SLOTS = 4;
const LATENCY_MS = 1_000;
const CAPACITY = 20;
const GIVE_UP_MS = 75_000;
const VARS = { SLOTS: String(SLOTS), QUEUE_CAPACITY: String(CAPACITY), TENANT_SHARE_PERCENT: '50' };

export async function line(row) {
  await besieged(row);
  await hammered(row);
}

async function besieged(row) {
  const world = await openWorld({ latency: LATENCY_MS, vars: VARS });
  const eager = await Promise.all(['a', 'b', 'c', 'd'].map((name) => world.caller(name)));
  const siege = { accepted: 0, over: false };
  const asking = [...eager, ...eager].map((ask) => again(ask, siege));
  await until(async () => (await world.get('/healthz')).scheduler.depth >= 16);
  const [before, began] = [siege.accepted, performance.now()];
  for (const files of [0, 3, 8, 10]) {
    const ask = await world.caller(`obeys-${files}`);
    const { seconds, refusals } = await obey(() => (files === 0 ? ask('/jobs', prompt()) : ask('/batches', form(files))));
    const what = files === 0 ? 'a job' : `a batch of ${files}`;
    row(`${what} of a caller who obeys`, seconds ? `${seconds.toFixed(1)} s` : 'never', `${refusals} refusals first`);
  }
  const each = (siege.accepted - before) / ((performance.now() - began) / 1_000);
  row('the others, meanwhile', `${each.toFixed(1)} /s`, `${SLOTS} slots of ${LATENCY_MS / 1_000} s; a batch may have ${CAPACITY / 2} of ${CAPACITY} places`);
  siege.over = true;
  await Promise.all(asking);
  await world.close();
}

async function hammered(row) {
  const world = await openWorld({ latency: 2 * LATENCY_MS, vars: { ...VARS, TENANT_SHARE_PERCENT: '100' } });
  const [hammer, calm] = await Promise.all(['hammer', 'calm'].map((name) => world.caller(name)));
  while ((await world.status()) === 202);
  const first = await hammer('/jobs', prompt());
  for (let i = 0; i < 200; i += 1) await hammer('/jobs', prompt());
  const { retryAfter } = await calm('/jobs', prompt());
  row('Retry-After of a first refusal', `${first.retryAfter} s`);
  row('and of another tenant, after 200 more', `${retryAfter} s`);
  await world.close();
}

async function again(ask, siege) {
  while (!siege.over) {
    const { status } = await ask('/jobs', prompt());
    siege.accepted += Number(status === 202);
    await sleep(50);
  }
}

async function obey(send) {
  const began = performance.now();
  for (let refusals = 0; performance.now() - began < GIVE_UP_MS; refusals += 1) {
    const { status, retryAfter } = await send();
    if (status === 202) return { seconds: (performance.now() - began) / 1_000, refusals };
    if (status !== 429) throw new Error(`${status} in place of a refusal`);
    await sleep(retryAfter * 1_000);
  }
  return { refusals: `${GIVE_UP_MS / 1_000} s of` };
}

const prompt = () => JSON.stringify({ prompt: 'a job of the line' });

function form(files) {
  const form = new FormData();
  for (let i = 0; i < files; i += 1) form.append('files', new Blob([makePdf(`file ${i}`)]), `${i}.pdf`);
  return form;
}

async function until(condition) {
  while (!(await condition())) await sleep(20);
}
