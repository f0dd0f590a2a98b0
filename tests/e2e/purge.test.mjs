// DELETE with ?purge=true: content goes, the record stays.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { makePdf } from '../support/claude/samples.mjs';
import { RFC_3339, assertProblem } from './support/assertions.mjs';
import { brokenStores } from './support/faults-stores.mjs';
import { rowOf } from './support/faults.mjs';
import { stage, until } from './support/stage.mjs';

const stores = brokenStores();
let world, acme, bolt;
before(async () => {
  world = await stage({ tap: true, worker: stores.worker, vars: { INLINE_INPUT_BYTES: '1000' } });
  acme = await world.tenant('acme');
  bolt = await world.tenant('bolt');
});
after(() => world?.stop());

const purge = (tenant, path) => tenant.request('DELETE', `${path}?purge=true`);

test('a purged job keeps its record and none of its content', async () => {
  const prompt = `secret ${'x'.repeat(2_000)}`;
  const id = await acme.accepted({ prompt, metadata: { secret: true } }, { 'x-user-id': 'secret-label' });
  const { metadata, userId, resultUrl, ...record } = await acme.untilCompleted(id);
  assert.deepEqual([metadata, userId, resultUrl], [{ secret: true }, 'secret-label', `/jobs/${id}/result`]);
  assert.equal((await objectsOf(id)).length, 2, 'an input and a result');
  const reply = await purge(acme, `/jobs/${id}`);
  assert.equal(reply.status, 200, reply.text);
  const { purgedAt, ...rest } = reply.body;
  assert.match(purgedAt, RFC_3339);
  assert.deepEqual(rest, record);
  assert.deepEqual(await objectsOf(id), []);
  assert.ok(!JSON.stringify(await rowOf(world, id)).includes('secret'));
  assertProblem(await acme.result(id), { status: 410, type: 'purged' });
  assertProblem(await acme.result(id, 'message'), { status: 410, type: 'purged' });
  assert.deepEqual((await purge(acme, `/jobs/${id}`)).body, reply.body, 'again');
  assert.deepEqual(await acme.job(id), reply.body);
});

test('a purged batch loses its files, its answers and its prompt', async () => {
  const files = ['a', 'b'].map((name) => ({ name: `secret ${name}.pdf`, bytes: makePdf(name) }));
  const { batchId, jobs } = (await acme.submitFiles(files, { prompt: 'a secret prompt' })).body;
  await acme.untilBatchEnded(batchId);
  const reply = await purge(acme, `/batches/${batchId}`);
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.body.counts.completed, 2);
  assert.ok(!reply.text.includes('secret'));
  assert.ok(reply.body.jobs.every(({ purgedAt }) => RFC_3339.test(purgedAt)));
  for (const { jobId } of jobs) assert.deepEqual(await objectsOf(jobId), []);
  const row = await world.runtime.d1.prepare('SELECT * FROM batches WHERE batch_id = ?').bind(batchId).first();
  assert.equal(row.prompt, '');
  assert.deepEqual((await purge(acme, `/batches/${batchId}`)).body, reply.body, 'again');
});

test('a request sent again after a purge makes nothing, and tells no file name', async () => {
  const files = ['a', 'b'].map((name) => ({ name: `secret ${name}.pdf`, bytes: makePdf(`again ${name}`) }));
  const send = () => acme.submitFiles(files, {}, { 'idempotency-key': 'purged' });
  const { body: first } = await send();
  await acme.untilBatchEnded(first.batchId);
  const named = async () => (await send()).body.jobs.map(({ filename }) => filename);
  assert.deepEqual(await named(), ['secret a.pdf', 'secret b.pdf']);
  const [{ jobId }] = first.jobs;
  assert.equal((await purge(acme, `/jobs/${jobId}`)).status, 200);
  assert.deepEqual(await named(), [undefined, 'secret b.pdf']);
  assert.equal((await purge(acme, `/batches/${first.batchId}`)).status, 200);
  const again = await send();
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  const jobs = first.jobs.map(({ filename, ...rest }) => rest);
  assert.deepEqual(again.body, { ...first, jobs });
});

test('what has not ended is refused, and ends as if nobody had asked', async () => {
  const id = await world.whileHeld(async () => {
    const job = await acme.accepted({ prompt: 'purged too early' });
    await until(async () => (await acme.job(job)).status === 'running');
    assertProblem(await purge(acme, `/jobs/${job}`), { status: 409, type: 'not-ended', detail: 'cancel' });
    const { batchId } = (await acme.submitFiles([{ name: 'a.pdf', bytes: makePdf('early') }])).body;
    assertProblem(await purge(acme, `/batches/${batchId}`), { status: 409, type: 'not-ended', detail: 'cancel' });
    return job;
  });
  await acme.untilCompleted(id);
});

test('a failed job can be purged, and keeps the kind of its error', async () => {
  const id = await acme.accepted({ prompt: 'fails [[sim:400]]' });
  const { error } = await acme.untilEnded(id);
  const reply = await purge(acme, `/jobs/${id}`);
  assert.equal(reply.body.error.type, error.type);
  assertProblem(await acme.result(id), { status: 410, type: 'purged' });
});

test('nobody purges what is of another tenant', async () => {
  const id = await acme.accepted({ prompt: 'stays' });
  await acme.untilCompleted(id);
  const { batchId } = (await acme.submitFiles([{ name: 'a.pdf', bytes: makePdf('stays') }])).body;
  await acme.untilBatchEnded(batchId);
  assertProblem(await purge(bolt, `/jobs/${id}`), { status: 404, type: 'not-found' });
  assertProblem(await purge(bolt, `/batches/${batchId}`), { status: 404, type: 'not-found' });
  assert.equal((await acme.result(id)).status, 200);
  assertProblem(await acme.request('DELETE', `/jobs/${id}?purge=yes`), { status: 400, field: 'purge' });
});

test('a purge that a store cuts short is repeated', async () => {
  const id = await acme.accepted({ prompt: 'cut short' });
  await acme.untilCompleted(id);
  const rule = stores.fail({ binding: 'BUCKET', op: 'delete', done: true });
  assertProblem(await purge(acme, `/jobs/${id}`), { status: 503, type: 'unavailable' });
  assert.ok(rule.met > 1, 'it was tried again before');
  assert.equal((await acme.job(id)).purgedAt, undefined);
  stores.heal();
  assert.match((await purge(acme, `/jobs/${id}`)).body.purgedAt, RFC_3339);
});

async function objectsOf(job) {
  const { objects } = await world.runtime.r2.list();
  return objects.map(({ key }) => key).filter((key) => key.includes(job));
}
