// Messages that come twice, late, or make no sense: at most one paid call an
// attempt, and no state that moves back (C30).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { deliver, messageOf, orphan, rowOf, startReceiver, storedResults } from './support/faults.mjs';
import { stage } from './support/stage.mjs';

const HIGH = 'claude-jobs-high';
const DLQ = 'claude-jobs-dlq';

let world;
let acme;
let receiver;
let template;

before(async () => {
  receiver = await startReceiver();
  world = await stage({ vars: { NOTIFY_WEBHOOK_URL: receiver.url } });
  acme = await world.tenant('acme');
  template = await acme.accepted({ prompt: 'template' });
  await acme.untilCompleted(template);
});
after(() => Promise.all([world.stop(), receiver.stop()]));

test('a copy that comes while the first runs calls nobody', async () => {
  const id = await acme.accepted({ prompt: 'copied while it runs [[sim:slow=2000]]' });
  await calledTimes('copied while it runs', 1);
  const outcome = await deliver(world, HIGH, await messageOf(world, id));
  assertTaken(outcome, 1);
  assert.equal((await acme.job(id)).status, 'running');
  await acme.untilCompleted(id);
  await calledTimes('copied while it runs', 1);
});

test('a copy that comes after the end leaves the result and the row as they are', async () => {
  const id = await acme.accepted({ prompt: 'copied after its end' });
  await acme.untilCompleted(id);
  const before = await traces(id);
  const message = await messageOf(world, id);
  assertTaken(await deliver(world, HIGH, message, message), 2);
  const queue = await world.runtime.queue('QUEUE_HIGH');
  await queue.send(message, { contentType: 'text' });
  await passed();
  assert.deepEqual(await traces(id), before);
  await calledTimes('copied after its end', 1);
  assert.deepEqual(receiver.about(id), []);
});

for (const [end, fault] of [['failed', '400'], ['dead-lettered', '500']]) {
  test(`a copy that comes after the job was ${end} calls and tells nobody`, async () => {
    const id = await acme.accepted({ prompt: `copied once ${end} [[sim:${fault}]]` });
    assert.equal((await acme.untilEnded(id)).status, end);
    await receiver.untilTold(id);
    const before = await traces(id);
    const calls = world.claude.callsFor(`copied once ${end}`).length;
    for (const lease of [undefined, before.row.lease + 1]) {
      assertTaken(await deliver(world, HIGH, await messageOf(world, id, lease && { lease })), 1);
    }
    await passed();
    assert.deepEqual(await traces(id), before);
    await calledTimes(`copied once ${end}`, calls);
    assert.equal(receiver.about(id).length, 1);
  });
}

test('two copies in one batch make one call', async () => {
  const id = await orphan(world, template, { prompt: 'twice in a batch' });
  const message = await messageOf(world, id, { lease: 1, attempt: 1 });
  assertTaken(await deliver(world, HIGH, message, message), 2);
  assert.equal((await acme.job(id)).status, 'completed');
  await calledTimes('twice in a batch', 1);
});

test('two copies in two batches at once make one call', async () => {
  const id = await orphan(world, template, { prompt: 'twice at once [[sim:slow=200]]' });
  const message = await messageOf(world, id, { lease: 1, attempt: 1 });
  await Promise.all([deliver(world, HIGH, message), deliver(world, 'claude-jobs-bulk', message)]);
  assert.equal((await acme.untilCompleted(id)).attempts, 1);
  await calledTimes('twice at once', 1);
});

test('a message of an earlier lease, or one whose lease has ended, starts nothing', async () => {
  const id = await orphan(world, template, { prompt: 'overtaken', lease: 3, attempts: 1 });
  const stale = { lease: 2, attempt: 2 };
  const late = { lease: 4, attempt: 2, until: Date.now() - 1 };
  for (const changes of [stale, late]) assertTaken(await deliver(world, HIGH, await messageOf(world, id, changes)), 1);
  const { status, lease, attempts } = await rowOf(world, id);
  assert.deepEqual({ status, lease, attempts }, { status: 'pending', lease: 3, attempts: 1 });
  await calledTimes('overtaken', 0);
});

test('a message that makes no sense is dropped, and its neighbours run', async () => {
  const id = await orphan(world, template, { prompt: 'beside nonsense' });
  const message = await messageOf(world, id, { lease: 1, attempt: 1 });
  const unknown = message.replace(id, '00000000-0000-7000-8000-000000000000');
  assertTaken(await deliver(world, HIGH, 'nonsense', '{}', '', unknown, { an: 'object' }, message), 6);
  assert.equal((await acme.job(id)).status, 'completed');
});

test('a dead letter that comes twice is told once, and one about a finished job changes nothing', async () => {
  const id = await orphan(world, template, { prompt: 'buried twice', attempts: 5 });
  const letter = JSON.stringify({ v: 1, jobId: id, attempts: 5 });
  const finished = JSON.stringify({ v: 1, jobId: template, attempts: 5 });
  assertTaken(await deliver(world, DLQ, letter, letter, finished), 3);
  assertTaken(await deliver(world, DLQ, letter), 1);
  const { type } = await receiver.untilTold(id);
  assert.equal(type, 'job.dead_lettered');
  await passed();
  assert.equal(receiver.about(id).length, 1);
  assert.equal((await acme.job(template)).status, 'completed');
});

test('a message that Cloudflare gave up delivering does not bury its job', async () => {
  const id = await acme.accepted({ prompt: 'given up [[sim:slow=400]]' });
  await calledTimes('given up', 1);
  assertTaken(await deliver(world, DLQ, await messageOf(world, id)), 1);
  assert.equal((await acme.untilEnded(id)).status, 'completed');
});

async function traces(id) {
  const object = await world.runtime.r2.head(`results/${id}.txt`);
  return { row: await rowOf(world, id), etag: object?.etag, results: (await storedResults(world)).length };
}

// A job that fails later has passed whatever was in the queue before it, and
// its webhook whatever was to be told.
async function passed() {
  const id = await acme.accepted({ prompt: `passes later [[sim:400]] ${receiver.events.length}` });
  await receiver.untilTold(id);
}

async function calledTimes(text, times) {
  if (times > 0) await world.claude.waitUntil(() => world.claude.callsFor(text).length >= times);
  assert.equal(world.claude.callsFor(text).length, times);
}

function assertTaken({ outcome, retryMessages, explicitAcks }, messages) {
  assert.equal(outcome, 'ok');
  assert.deepEqual(retryMessages, []);
  assert.equal(explicitAcks.length, messages);
}
