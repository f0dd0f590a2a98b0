// Retention: what ended long ago goes with the sweep, from D1 and R2.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { makePdf } from '../support/claude/samples.mjs';
import { assertProblem } from './support/assertions.mjs';
import { brokenStores } from './support/faults-stores.mjs';
import { orphans } from './support/faults.mjs';
import { stage } from './support/stage.mjs';

const DAY_MS = 86_400_000;
const stores = brokenStores();
let world, acme;
before(async () => {
  world = await stage({ worker: stores.worker, vars: { RETENTION_DAYS: '1', INLINE_INPUT_BYTES: '1000' } });
  acme = await world.tenant('acme');
});
after(() => world?.stop());

test('old jobs and batches go with all they hold, and young ones stay', async () => {
  const old = await acme.accepted({ prompt: `old ${'x'.repeat(2_000)}` }, { 'idempotency-key': 'old' });
  const failed = await acme.accepted({ prompt: 'old, fails [[sim:400]]' });
  const { batchId, jobs } = (await acme.submitFiles([{ name: 'a.pdf', bytes: makePdf('old') }])).body;
  await Promise.all([acme.untilCompleted(old), acme.untilEnded(failed), acme.untilBatchEnded(batchId)]);
  await age(1.1);
  const young = await acme.accepted({ prompt: 'young' }, { 'idempotency-key': 'young' });
  await acme.untilCompleted(young);
  await world.runtime.runCron();
  for (const id of [old, failed, jobs[0].jobId]) {
    assertProblem(await acme.get(`/jobs/${id}`), { status: 404, type: 'not-found' });
  }
  assertProblem(await acme.get(`/batches/${batchId}`), { status: 404, type: 'not-found' });
  const { rows: { batches, jobs: left, idempotency }, objects } = await world.counts();
  assert.deepEqual({ batches, left, idempotency }, { batches: 0, left: 1, idempotency: 1 });
  assert.deepEqual(objects, { inputs: 0, uploads: 0, results: 1 });
  assert.equal((await acme.result(young)).status, 200);
});

test('a thousand old jobs go in a run, and the rest in the next', async () => {
  const template = await acme.accepted({ prompt: 'template' });
  await acme.untilCompleted(template);
  await orphans(world, template, Array(1_200).fill({ prompt: 'crowd', status: 'failed', attempts: 1, lease: 1 }));
  await world.runtime.d1.prepare("UPDATE jobs SET completed_at = created_at WHERE status = 'failed'").run();
  await age(2);
  await world.runtime.runCron();
  const left = (await world.counts()).rows.jobs;
  assert.ok(left > 0 && left <= 202, `${left}`);
  await world.runtime.runCron();
  assert.equal((await world.counts()).rows.jobs, 0);
});

test('what R2 does not give up keeps its row, and goes later', async () => {
  const id = await acme.accepted({ prompt: 'kept by R2' });
  await acme.untilCompleted(id);
  await age(1.1);
  const rule = stores.fail({ binding: 'BUCKET', op: 'delete' });
  await world.runtime.runCron();
  assert.ok(rule.met > 0);
  assert.equal((await acme.job(id)).status, 'completed');
  stores.heal();
  await world.runtime.runCron();
  assertProblem(await acme.get(`/jobs/${id}`), { status: 404 });
  assert.deepEqual((await world.counts()).objects, { inputs: 0, uploads: 0, results: 0 });
});

/** All that there is becomes older by so many days. */
async function age(days) {
  const { d1 } = world.runtime;
  const by = Math.round(days * DAY_MS);
  await d1.batch([
    d1.prepare('UPDATE jobs SET created_at = created_at - ?1, completed_at = completed_at - ?1').bind(by),
    d1.prepare('UPDATE idempotency SET created_at = created_at - ?1').bind(by),
  ]);
}
