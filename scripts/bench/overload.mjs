// What a house with a bound does at one, one and a half and two times the load
// it can carry, and what a refusal costs beside an accepted job.
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMillis, openWorld } from './world.mjs';

const SLOTS = 8;
const LATENCY_MS = 200;
const CAPACITY = 100;
const SECONDS = 15;
const VARS = { SLOTS: String(SLOTS), QUEUE_CAPACITY: String(CAPACITY), TENANT_SHARE_PERCENT: '100' };

export async function overload(row) {
  const carried = await capacityOf(row);
  for (const times of [1, 1.5, 2]) await load(row, times, carried);
  await refusals(row);
}

// How many jobs a second come through when there are always some waiting.
async function capacityOf(row) {
  const world = await openWorld({ latency: LATENCY_MS, vars: VARS });
  await world.runOne({});
  const started = performance.now();
  await Promise.all(Array.from({ length: 90 }, () => world.submit()));
  await world.untilDone();
  const carried = 90 / ((performance.now() - started) / 1_000);
  await world.close();
  row(`carried by ${SLOTS} slots of ${LATENCY_MS} ms`, `${carried.toFixed(0)} /s`, `bound: ${(SLOTS * 1_000) / LATENCY_MS} /s`);
  return carried;
}

async function load(row, times, carried) {
  const world = await openWorld({ latency: LATENCY_MS, vars: VARS });
  await world.runOne({});
  const { answers, deepest } = await offer(world, times * carried);
  const ended = performance.now();
  await world.untilDone();
  const recovered = (performance.now() - ended) / 1_000;
  const refused = answers.filter((status) => status === 429).length;
  const other = answers.filter((status) => status !== 429 && status !== 202).length;
  const waits = await latencies(world);
  const seconds = (share) => `${(waits[Math.floor(share * (waits.length - 1))] / 1_000).toFixed(1)} s`;
  row(`${times} x the load: refused`, `${((100 * refused) / answers.length).toFixed(0)} %`, `of ${answers.length}; other answers: ${other}`);
  row('  accepted to ended, p50', seconds(0.5), `p95 ${seconds(0.95)}, longest ${seconds(1)}`);
  row('  deepest backlog', deepest, `of ${CAPACITY}; empty again after ${recovered.toFixed(1)} s`);
  await world.close();
}

// Callers who do not wait for each other, and do not come back.
async function offer(world, eachSecond) {
  const pending = [];
  let deepest = 0;
  const started = performance.now();
  for (let sent = 0; sent < eachSecond * SECONDS; sent++) {
    const due = started + (sent * 1_000) / eachSecond;
    if (due > performance.now()) await sleep(due - performance.now());
    pending.push(world.status());
    if (sent % 20 === 0) pending.push(world.get('/healthz').then(({ scheduler }) => void (deepest = Math.max(deepest, scheduler.depth))));
  }
  return { answers: (await Promise.all(pending)).filter(Boolean), deepest };
}

async function latencies(world) {
  const sql = "SELECT completed_at - created_at AS wait FROM jobs WHERE status = 'completed' ORDER BY 1";
  const { results } = await world.runtime.d1.prepare(sql).all();
  return results.map(({ wait }) => wait);
}

async function refusals(row) {
  const world = await openWorld({ latency: 10, vars: { QUEUE_CAPACITY: '100000' } });
  await world.submitFor(1_000, 16);
  await world.untilDone();
  const accepted = await cost(world, async () => (await world.submitFor(3_000, 16)).count);
  await world.close();
  const full = await openWorld({ latency: 60_000, vars: { QUEUE_CAPACITY: '2' } });
  await full.submit();
  const refused = await cost(full, () => full.refusedFor(3_000, 16));
  row('CPU of workerd: a job, door to result', `${accepted.toFixed(2)} ms`);
  row('CPU of workerd: a refusal', `${refused.toFixed(2)} ms`, `${((100 * refused) / accepted).toFixed(0)} % of a job`);
  await full.close();
}

async function cost(world, work) {
  const before = cpuMillis(world.pid);
  const count = await work();
  if (!world.refusing) await world.untilDone();
  return (cpuMillis(world.pid) - before) / count;
}
