// Lists: pages, filters, and walls between tenants, on a real D1.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { makePdf } from '../support/claude/samples.mjs';
import { assertProblem } from './support/assertions.mjs';
import { stage, until } from './support/stage.mjs';

let world, acme, bolt;
before(async () => {
  world = await stage({ tap: true });
  acme = await world.tenant('acme');
  bolt = await world.tenant('bolt');
});
after(() => world?.stop());

test('pages lead from the newest job to the oldest while jobs are added', async () => {
  const tenant = await world.tenant('pages');
  const ids = await submitted(tenant, 7);
  const seen = [];
  let cursor;
  do {
    const page = await list(tenant, '/jobs', { limit: 3, ...(cursor && { cursor }) });
    seen.push(...page.jobs.map(({ jobId }) => jobId));
    cursor = page.nextCursor;
    await tenant.accepted({ prompt: `added after ${seen.length}` });
  } while (cursor);
  assert.deepEqual(seen, ids.toSorted().toReversed());
  const { jobs } = await list(tenant, '/jobs');
  assert.equal(jobs.length, 10, 'all, with the three that were added');
});

test('a job that was long on its way does not slip in behind those that were told', async () => {
  const tenant = await world.tenant('slow');
  const { promise: rest, resolve: finish } = Promise.withResolvers();
  const body = async function* () {
    yield Buffer.from('{"prompt": ');
    yield await rest;
  };
  const slow = tenant.stream('/jobs', body());
  const quick = await submitted(tenant, 2);
  const { jobs, nextCursor } = await list(tenant, '/jobs', { limit: 1 });
  assert.equal(jobs[0].jobId, quick[1]);
  finish(Buffer.from('"slow"}'));
  const { jobId } = (await slow).body;
  const newest = (await list(tenant, '/jobs')).jobs;
  assert.deepEqual(newest.map((job) => job.jobId), [jobId, quick[1], quick[0]]);
  const { jobs: second } = await list(tenant, '/jobs', { limit: 1, cursor: nextCursor });
  assert.deepEqual(second.map((job) => job.jobId), [quick[0]]);
  const since = await list(tenant, '/jobs', { createdAfter: newest[0].createdAt });
  assert.ok(since.jobs.some((job) => job.jobId === jobId));
});

test('a page has jobs as their owner sees them each', async () => {
  const id = await acme.accepted({ prompt: 'seen twice', metadata: { n: 1.5, none: null } });
  const job = await acme.untilCompleted(id);
  const { jobs } = await list(acme, '/jobs', { status: 'completed' });
  assert.deepEqual(jobs.find(({ jobId }) => jobId === id), job);
});

test('jobs are found by status, priority, label, batch and time', async () => {
  const tenant = await world.tenant('filters');
  const label = 'Ann & Bob; 100% "é"';
  const failed = await tenant.accepted({ prompt: 'fails [[sim:400]]' });
  const labelled = await tenant.accepted({ prompt: 'labelled' }, { 'x-user-id': encodeHeader(label) });
  const form = await tenant.submitFiles(filesShowing('one', 'two'));
  const { batchId } = form.body;
  await Promise.all([tenant.untilEnded(failed), tenant.untilEnded(labelled), tenant.untilBatchEnded(batchId)]);
  const found = async (query) => (await list(tenant, '/jobs', query)).jobs.map(({ jobId }) => jobId);
  const files = form.body.jobs.map(({ jobId }) => jobId).toReversed();
  assert.deepEqual(await found({ status: 'failed' }), [failed]);
  assert.deepEqual(await found({ priority: 'batch' }), files);
  assert.deepEqual(await found({ batch: batchId }), files);
  assert.deepEqual(await found({ batch: batchId, status: 'failed' }), []);
  const { userId } = await tenant.job(labelled);
  assert.deepEqual(await found({ userId }), [labelled]);
  assert.deepEqual(await found({ userId: 'nobody' }), []);
  const { createdAt } = await tenant.job(labelled);
  assert.deepEqual(await found({ createdAfter: createdAt }), [...files, labelled]);
  assert.deepEqual(await found({ createdBefore: createdAt }), [failed]);
});

test('what has not ended is listed as it stands', async () => {
  const tenant = await world.tenant('held');
  await world.whileHeld(async () => {
    const id = await tenant.accepted({ prompt: 'held back' });
    const { batchId } = (await tenant.submitFiles(filesShowing('held too'))).body;
    await until(async () => (await list(tenant, '/jobs', { status: 'running' })).jobs.length === 2);
    assert.ok((await list(tenant, '/jobs')).jobs.some(({ jobId }) => jobId === id));
    const { batches } = await list(tenant, '/batches', { status: 'processing' });
    assert.deepEqual(batches.map((batch) => [batch.batchId, batch.counts.running, batch.endedAt]), [[batchId, 1, undefined]]);
    assert.deepEqual((await list(tenant, '/batches', { status: 'ended' })).batches, []);
  });
});

test('batches are listed with their counts, in pages', async () => {
  const tenant = await world.tenant('batches');
  const ids = [];
  for (const name of ['x', 'y', 'z']) ids.push((await tenant.submitFiles(filesShowing(`${name} 1`, `${name} 2`))).body.batchId);
  for (const id of ids) await tenant.untilBatchEnded(id);
  const first = await list(tenant, '/batches', { status: 'ended', limit: 2 });
  const second = await list(tenant, '/batches', { status: 'ended', limit: 2, cursor: first.nextCursor });
  assert.deepEqual([...first.batches, ...second.batches].map(({ batchId }) => batchId), ids.toReversed());
  assert.equal(second.nextCursor, undefined);
  const { jobs, ...whole } = await tenant.batch(ids[0]);
  assert.equal(jobs.length, 2);
  assert.deepEqual(second.batches[0], whole);
});

test('nobody sees what is of another tenant', async () => {
  await submitted(acme, 2);
  const { nextCursor: cursor } = await list(acme, '/jobs', { limit: 1 });
  const { batchId } = (await acme.submitFiles(filesShowing('of acme alone, too'))).body;
  for (const query of [{}, { batch: batchId }, { cursor }, { status: 'pending' }, { priority: 'batch' }]) {
    assert.deepEqual(await list(bolt, '/jobs', query), { jobs: [] }, JSON.stringify(query));
  }
  for (const query of [{}, { status: 'processing' }, { status: 'ended' }]) {
    assert.deepEqual(await list(bolt, '/batches', query), { batches: [] }, JSON.stringify(query));
  }
});

test('a parameter that is not understood is refused by its name', async () => {
  const wrong = [['colour', 'red'], ['status', 'done'], ['limit', '0'], ['limit', '101'], ['cursor', 'next'], ['createdAfter', 'today'], ['batch', '7']];
  for (const [field, value] of wrong) {
    const reply = await acme.get(`/jobs?${new URLSearchParams({ [field]: value })}`);
    assertProblem(reply, { status: 400, type: 'invalid-request', field });
  }
  assertProblem(await acme.get('/batches?userId=u'), { status: 400, field: 'userId' });
});

async function list(tenant, path, query = {}) {
  const reply = await tenant.get(`${path}?${new URLSearchParams(query)}`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

async function submitted(tenant, count) {
  const ids = [];
  for (let i = 0; i < count; i += 1) ids.push(await tenant.accepted({ prompt: `listed ${i}` }));
  return ids;
}

function filesShowing(...texts) {
  return texts.map((text) => ({ name: `${text}.pdf`, bytes: makePdf(text) }));
}

// Headers carry bytes: what is not ASCII travels as UTF-8.
function encodeHeader(text) {
  return Buffer.from(text).toString('latin1');
}
