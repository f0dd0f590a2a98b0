// The sweep finds what fell between two stores: rows that the scheduler does
// not know, and leases that nobody answered for.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { lastingStage, orphan, orphans, rowOf, storedResults } from './support/faults.mjs';
import { until } from './support/stage.mjs';

let world;
let acme;
let template;

before(async () => {
  world = await lastingStage();
  acme = await world.tenant('acme');
  template = await acme.accepted({ prompt: 'template' });
  await acme.untilCompleted(template);
});
after(() => world.stop());

test('a pending job that the scheduler never heard of is run, once', async () => {
  const ids = await Promise.all([0, 1, 2].map((i) => orphan(world, template, { prompt: `never heard of ${i}` })));
  for (let i = 0; i < 3; i += 1) await world.runtime.runCron();
  const jobs = await Promise.all(ids.map((id) => acme.untilCompleted(id)));
  assert.ok(jobs.every(({ attempts }) => attempts === 1));
  await world.runtime.runCron();
  await world.restCounts();
  assert.equal(world.claude.callsFor('never heard of').length, 3);
});

test('a job that is only just accepted is left to whoever is accepting it', async () => {
  const id = await orphan(world, template, { prompt: 'still at the door', ageMs: 5_000 });
  await world.runtime.runCron();
  await acme.answerTo({ prompt: 'after the sweep' });
  const { status, lease } = await rowOf(world, id);
  assert.deepEqual({ status, lease }, { status: 'pending', lease: 0 });
  assert.equal(world.claude.callsFor('still at the door').length, 0);
});

test('an attempt that died with its scheduler is made again, and the row keeps count', async () => {
  const id = await orphan(world, template, { prompt: 'died running', status: 'running', attempts: 2, lease: 4 });
  await world.runtime.runCron();
  assert.equal((await acme.untilCompleted(id)).attempts, 3);
  assert.equal((await rowOf(world, id)).lease, 5);
});

test('a job whose attempts were used up when it was lost is buried without another call', async () => {
  const id = await orphan(world, template, { prompt: 'used up and lost', status: 'running', attempts: 5, lease: 5 });
  await world.runtime.runCron();
  const job = await acme.untilEnded(id);
  assert.deepEqual([job.status, job.attempts, job.error.type], ['dead-lettered', 5, 'attempt_lost']);
  assert.equal(world.claude.callsFor('used up and lost').length, 0);
});

test('a job whose result is stored already is completed without another call', async () => {
  const id = await orphan(world, template, { prompt: 'answered and lost', status: 'running', attempts: 1, lease: 1 });
  await copyResult(template, id);
  await world.runtime.runCron();
  assert.equal((await acme.untilCompleted(id)).outputTokens, (await acme.job(template)).outputTokens);
  assert.equal(world.claude.callsFor('answered and lost').length, 0);
});

test('more jobs than one run looks at are found by the runs after it', async () => {
  const usedUp = { prompt: 'crowd', status: 'running', attempts: 5, lease: 5, ageMs: 300_000 };
  await orphans(world, template, Array(1_000).fill(usedUp));
  const last = await orphan(world, template, { prompt: 'behind a crowd', ageMs: 40_000 });
  await world.runtime.runCron();
  assert.equal((await acme.job(last)).status, 'pending');
  await world.runtime.runCron();
  await acme.untilCompleted(last);
  const buried = "SELECT count(*) AS n FROM jobs WHERE status = 'dead-lettered' AND attempts = 5";
  await until(async () => (await world.runtime.d1.prepare(buried).first('n')) >= 1_000);
  assert.equal(world.claude.callsFor('crowd').length, 1);
});

test('a scheduler that lost everything is rebuilt from the database', async () => {
  world.claude.set({ latencyMs: 400 });
  const ids = await Promise.all(Array.from({ length: 50 }, (_, i) => acme.accepted({ prompt: `survives ${i};` })));
  await world.claude.waitUntil(() => world.claude.callsFor('survives').length >= 10);
  await world.restart({ kill: true, meanwhile: (folder) => rm(join(folder, 'do'), { recursive: true }) });
  world.claude.set({ latencyMs: 0 });
  await world.runtime.d1.prepare("UPDATE jobs SET created_at = created_at - 60000 WHERE status <> 'completed'").run();
  await world.runtime.runCron();
  await Promise.all(ids.map((id) => acme.untilCompleted(id)));
  const results = (await storedResults(world)).filter((key) => ids.some((id) => key.includes(id)));
  assert.equal(results.length, ids.length);
});

async function copyResult(from, to) {
  const { r2 } = world.runtime;
  const object = await r2.get(`results/${from}.txt`);
  const { httpMetadata, customMetadata } = object;
  await r2.put(`results/${to}.txt`, await object.text(), { httpMetadata, customMetadata });
}
