// kill -9, and an object thrown out of memory: every accepted job ends, and
// none twice.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import { fixture, lastingStage, storedResults } from './support/faults.mjs';
import { FORM_TYPE, formOf, until } from './support/stage.mjs';

const JOBS = 200;
const SLOTS = 50;

let world;
let acme;

before(async () => {
  world = await lastingStage({ vars: { SLOTS: String(SLOTS) } });
  acme = await world.tenant('acme');
});
after(() => world.stop());
beforeEach(() => world.claude.reset());

test('two hundred jobs in flight outlive a kill -9, none lost and none answered twice', async () => {
  world.claude.set({ latencyMs: 300 });
  const ids = await submitMany(JOBS, 'flies');
  await world.claude.waitUntil((calls) => calls.length >= SLOTS * 1.5);
  await crash();
  const jobs = await answeredOnce(ids, 'flies');
  assert.ok(jobs.some(({ attempts }) => attempts === 2), 'the crash hit calls under way');
  for (const { attempts } of jobs) assert.ok(attempts <= 2);
});

test('two crashes in a row cost no job its result either', async () => {
  world.claude.set({ latencyMs: 200 });
  const ids = await submitMany(JOBS / 2, 'flies again');
  for (const calls of [20, 100]) {
    await world.claude.waitUntil((all) => all.length >= calls);
    await crash();
  }
  await answeredOnce(ids, 'flies again');
});

test('jobs that wait for their next attempt outlive a crash', async () => {
  const ids = await Promise.all([0, 1, 2].map((i) => acme.accepted({ prompt: `delayed ${i} [[sim:529x1,ra=2]]` })));
  await until(async () => (await world.health()).scheduler.delayed === 3);
  await world.restart({ kill: true });
  const jobs = await Promise.all(ids.map((id) => acme.untilCompleted(id)));
  assert.ok(jobs.every(({ attempts }) => attempts === 2));
  assert.equal(world.claude.callsFor('delayed').length, 6);
});

test('a crash in the middle of an upload leaves no row', async () => {
  const before = (await world.restCounts()).rows;
  const form = formOf(['a.pdf', 'b.pdf'].map((name) => ({ name, bytes: fixture('good-1page.pdf') })));
  const upload = request(`${world.url}/batches`, { method: 'POST', headers: { ...acme.headers, 'content-type': FORM_TYPE } });
  const failed = new Promise((resolve) => upload.once('error', resolve));
  upload.write(form.subarray(0, form.length - 100));
  await until(async () => (await world.counts()).objects.uploads > 0, { what: 'the first file' });
  await crash();
  await failed;
  assert.deepEqual((await world.restCounts()).rows, before);
});

test('an object thrown out of memory again and again loses nothing', async () => {
  world.claude.set({ latencyMs: 100 });
  const submitting = submitMany(JOBS / 2, 'evicted');
  for (const calls of [1, 30, 60]) {
    await world.claude.waitUntil((all) => all.length >= calls);
    await evict();
  }
  const ids = await submitting;
  const jobs = await answeredOnce(ids, 'evicted');
  assert.ok(jobs.every(({ attempts }) => attempts === 1), 'no attempt was lost with the memory');
  assert.equal(world.claude.calls.length, JOBS / 2);
});

// The sweep is what wakes an idle scheduler, at the latest a minute later.
async function crash() {
  await world.restart({ kill: true });
  await world.runtime.runCron();
}

// Between two evictions it is not in memory until somebody asks for it.
function evict() {
  const evicted = async () => {
    await world.runtime.mf.unsafeEvictDurableObject('claude-pipeline', 'SchedulerObject', { name: 'main' });
    return true;
  };
  return until(evicted, { what: 'an object to evict' });
}

function submitMany(count, text) {
  const job = (_, i) => ({ prompt: `${text} ${i};`, ...(i % 4 === 0 && { priority: 'bulk' }) });
  return Promise.all(Array.from({ length: count }, job).map((each) => acme.accepted(each)));
}

async function answeredOnce(ids, text) {
  await world.restCounts(60_000);
  const stored = new Set(await storedResults(world));
  assert.ok(ids.every((id) => stored.has(`results/${id}.txt`)));
  return Promise.all(ids.map((id, i) => answered(id, `${text} ${i};`)));
}

async function answered(id, prompt) {
  const job = await acme.job(id);
  assert.equal(job.status, 'completed', JSON.stringify(job));
  const calls = world.claude.callsFor(prompt).length;
  assert.ok(calls <= job.attempts, `${calls} calls in ${job.attempts} attempts`);
  assert.ok((await acme.result(id)).text.includes(prompt), 'the answer is to its own prompt');
  return job;
}
