// What the operator's webhook is told, and that no receiver can touch a job.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { deliver, fixture, messageOf, orphans, startReceiver } from './support/faults.mjs';
import { stage } from './support/stage.mjs';

const FAILS = '[[sim:400]]';
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('A receiver that works', () => {
  let world;
  let acme;
  let receiver;
  before(async () => {
    receiver = await startReceiver();
    world = await stage({ vars: { NOTIFY_WEBHOOK_URL: receiver.url } });
    acme = await world.tenant('acme');
  });
  after(() => Promise.all([world.stop(), receiver.stop()]));

  test('is told once of a job that failed', async () => {
    const id = await acme.accepted({ prompt: `fails ${FAILS}` }, { 'x-user-id': 'ann' });
    const { type, timestamp, data } = await receiver.untilTold(id);
    assert.equal(type, 'job.failed');
    assert.match(timestamp, RFC3339);
    assert.deepEqual(data, {
      jobId: id,
      userId: 'ann',
      status: 'failed',
      error: { type: 'invalid_request_error', message: 'simulated invalid request' },
      attempts: 1,
      createdAt: (await acme.job(id)).createdAt,
    });
    await toldOnce(id);
  });

  test('is told once of a job whose attempts are used up', async () => {
    const high = await acme.accepted({ prompt: 'used up [[sim:529]]' });
    const bulk = await acme.accepted({ prompt: 'used up in bulk [[sim:500]]', priority: 'bulk' });
    for (const [id, attempts, error] of [[high, 5, 'overloaded_error'], [bulk, 3, 'api_error']]) {
      const { type, data } = await receiver.untilTold(id);
      assert.equal(type, 'job.dead_lettered');
      assert.deepEqual([data.status, data.attempts, data.error.type], ['dead-lettered', attempts, error]);
      assert.equal((await acme.job(id)).status, 'dead-lettered');
      await toldOnce(id);
    }
  });

  test('is told the batch of a file that failed, and nothing of the others', async () => {
    const files = [{ name: 'a.pdf', bytes: fixture('good-1page.pdf') }];
    const failing = await acme.submitFiles(files, { prompt: FAILS });
    const [{ jobId }] = failing.body.jobs;
    const { data } = await receiver.untilTold(jobId);
    assert.equal(data.batchId, failing.body.batchId);
    assert.equal('userId' in data, false);
  });

  test('is told nothing of a job that completes, however late', async () => {
    const id = await acme.accepted({ prompt: 'recovers [[sim:500x2]]' });
    await acme.untilCompleted(id);
    await toldNothingElse();
    assert.deepEqual(receiver.about(id), []);
  });

  // Events go out in the order of the endings: one about a later job has
  // passed all that were due.
  async function toldNothingElse() {
    await receiver.untilTold(await acme.accepted({ prompt: `a later job ${FAILS} ${receiver.events.length}` }));
  }

  async function toldOnce(id) {
    await toldNothingElse();
    assert.equal(receiver.about(id).length, 1);
  }
});

const BAD = {
  'answers 500': () => 500,
  'redirects': () => 302,
  'never answers': () => null,
};

for (const [name, answer] of Object.entries(BAD)) {
  test(`a receiver that ${name} changes nothing about the jobs`, async (t) => {
    const receiver = await startReceiver(answer);
    t.after(() => receiver.stop());
    await jobsEndAsEver(t, receiver.url);
    assert.ok(receiver.events.length >= 2, 'it was asked');
  });
}

test('no consumer waits for a receiver that never answers', async (t) => {
  const receiver = await startReceiver(() => null);
  const world = await stage({ vars: { NOTIFY_WEBHOOK_URL: receiver.url } });
  t.after(() => Promise.all([world.stop(), receiver.stop()]));
  const acme = await world.tenant('acme');
  const template = await acme.accepted({ prompt: 'template' });
  await acme.untilCompleted(template);
  const [fails, buried] = await orphans(world, template, [{ prompt: FAILS }, { prompt: 'used up', attempts: 5 }]);
  const started = Date.now();
  await deliver(world, 'claude-jobs-high', await messageOf(world, fails, { lease: 1, attempt: 1 }));
  await deliver(world, 'claude-jobs-dlq', JSON.stringify({ v: 1, jobId: buried, attempts: 5 }));
  const took = Date.now() - started;
  await Promise.all([fails, buried].map((id) => receiver.untilTold(id)));
  assert.ok(took < 5_000, `the consumers took ${took} ms`);
});

test('a receiver that is down changes nothing about the jobs', async (t) => {
  const gone = await startReceiver();
  await gone.stop();
  await jobsEndAsEver(t, gone.url);
});

test('without a webhook jobs end all the same', async (t) => {
  await jobsEndAsEver(t, '');
});

async function jobsEndAsEver(t, NOTIFY_WEBHOOK_URL) {
  const world = await stage({ vars: { NOTIFY_WEBHOOK_URL } });
  t.after(() => world.stop());
  const acme = await world.tenant('acme');
  const failed = await acme.accepted({ prompt: `fails ${FAILS}` });
  const buried = await acme.accepted({ prompt: 'used up [[sim:529]]', priority: 'bulk' });
  // Longer than any of these takes, shorter than the wait for a receiver.
  const within = 8_000;
  assert.equal((await acme.untilEnded(failed, within)).status, 'failed');
  assert.equal((await acme.untilEnded(buried, within)).status, 'dead-lettered');
  const after = await acme.accepted({ prompt: 'goes on' });
  await acme.untilCompleted(after, within);
  assert.equal((await acme.job(failed)).status, 'failed');
  const buriedAgain = await acme.accepted({ prompt: 'used up again [[sim:529]]', priority: 'bulk' });
  assert.equal((await acme.untilEnded(buriedAgain, within)).attempts, 3);
  assert.equal(world.claude.callsFor('fails').length, 1);
}
