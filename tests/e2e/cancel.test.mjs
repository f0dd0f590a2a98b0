import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { makePdf } from '../support/claude/samples.mjs';
import { assertProblem, assertWorks } from './support/assertions.mjs';
import { rowOf, storedResults } from './support/faults.mjs';
import { stage, until } from './support/stage.mjs';

const UNKNOWN = '01890000-0000-7000-8000-000000000000';
const SLOTS = 2;

let world, acme, rival;
before(async () => {
  world = await stage({ tap: true, vars: { SLOTS: String(SLOTS) } });
  [acme, rival] = await Promise.all(['acme', 'rival'].map((name) => world.tenant(name)));
});
after(() => world?.stop());

const remove = (tenant, path) => tenant.request('DELETE', path);
const called = (text) => until(() => world.tap.callsWith(text)[0], { what: `the call for ${text}` });

test('a job that waits is canceled at once, gives its place back and is never called', async () => {
  await world.whileHeld(async () => {
    const running = await Promise.all([1, 2].map((n) => acme.accepted({ prompt: `holds slot ${n}` })));
    await Promise.all([1, 2].map((n) => called(`holds slot ${n}`)));
    const waiting = await acme.accepted({ prompt: 'never called' });
    const { waitingFor } = await acme.job(waiting);
    assert.equal(waitingFor.reason, 'slot');
    assert.equal(waitingFor.position, 1);
    assert.ok(Date.parse(waitingFor.estimatedStart) > 0);
    const reply = await remove(acme, `/jobs/${waiting}`);
    assert.equal(reply.status, 200, reply.text);
    assert.equal(reply.body.status, 'canceled');
    assert.match(reply.body.completedAt, /Z$/);
    assert.equal((await world.health()).scheduler.depth, 2);
    world.tap.release();
    for (const job of running) await acme.untilCompleted(job);
    assert.equal((await acme.job(waiting)).status, 'canceled');
  });
  assert.equal(world.tap.callsWith('never called').length, 0);
});

test('a job that runs is canceled: its call is given up, and its slot is free', async () => {
  await world.whileHeld(async () => {
    const job = await acme.accepted({ prompt: 'given up' });
    const call = await called('given up');
    const reply = await remove(acme, `/jobs/${job}`);
    assert.deepEqual([reply.status, reply.body.status], [200, 'canceled']);
    await until(() => call.closed, { what: 'the end of the call' });
    await until(async () => (await world.health()).scheduler.depth === 0, { what: 'a free slot' });
  });
  await assertWorks(acme);
});

test('an answer that comes after the cancellation is thrown away', async () => {
  const job = await acme.accepted({ prompt: 'answered late [[sim:slow=1500]]' });
  await called('answered late');
  assert.equal((await remove(acme, `/jobs/${job}`)).status, 200);
  await world.restCounts();
  assert.ok(!(await storedResults(world)).some((key) => key.includes(job)));
  assert.equal((await rowOf(world, job)).status, 'canceled');
  assertProblem(await acme.result(job), { status: 409, type: 'no-result', detail: 'canceled' });
});

test('what has ended cannot be canceled, and says how it ended', async () => {
  const done = await acme.accepted({ prompt: 'done' });
  const failed = await acme.accepted({ prompt: '[[sim:400]] failed' });
  await Promise.all([done, failed].map((job) => acme.untilEnded(job)));
  for (const [job, status] of [[done, 'completed'], [failed, 'failed']]) {
    const reply = await remove(acme, `/jobs/${job}`);
    assertProblem(reply, { status: 409, type: 'job-ended', detail: status });
    assert.equal(reply.body.jobStatus, status);
  }
  assert.match((await acme.result(done)).text, /done/);
});

test('a canceled job cannot be canceled again', async () => {
  await world.whileHeld(async () => {
    const job = await acme.accepted({ prompt: 'twice' });
    assert.equal((await remove(acme, `/jobs/${job}`)).status, 200);
    assertProblem(await remove(acme, `/jobs/${job}`), { status: 409, type: 'job-ended', detail: 'canceled' });
  });
});

test('a batch is canceled with all that has not ended', async () => {
  const files = Array.from({ length: 5 }, (_, i) => ({ name: `${i}.pdf`, bytes: makePdf(`sheet ${i}`) }));
  await world.whileHeld(async () => {
    const { batchId, jobs } = (await acme.submitFiles(files)).body;
    await until(() => world.tap.calls.filter(({ status }) => !status).length >= SLOTS, { what: 'calls' });
    const reply = await remove(acme, `/batches/${batchId}`);
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual([reply.body.status, reply.body.counts.canceled], ['ended', jobs.length]);
    assertProblem(await remove(acme, `/batches/${batchId}`), { status: 409, type: 'batch-ended' });
    await until(async () => (await world.health()).scheduler.depth === 0, { what: 'an empty house' });
  });
  await assertWorks(acme);
});

test('jobs of others and unknown ones are not found', async () => {
  const job = await rival.accepted({ prompt: 'theirs' });
  const { batchId } = (await rival.submitFiles([{ name: 'a.pdf', bytes: makePdf('theirs') }])).body;
  for (const path of [`/jobs/${job}`, `/jobs/${UNKNOWN}`, `/batches/${batchId}`, `/batches/${UNKNOWN}`]) {
    assertProblem(await remove(acme, path), { status: 404, type: 'not-found' });
  }
  await rival.untilCompleted(job);
  await rival.untilBatchEnded(batchId);
});

test('an unknown wish beside DELETE is refused', async () => {
  const job = await acme.accepted({ prompt: 'stays' });
  assertProblem(await remove(acme, `/jobs/${job}?purge=maybe`), { status: 400, field: 'purge' });
  assertProblem(await remove(acme, `/jobs/${job}?force=true`), { status: 400, field: 'force' });
  await acme.untilCompleted(job);
});
