// Faults of the account: what everybody pays with is at fault, so nothing is
// released until it is known to be well again.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { lastingStage, startReceiver } from './support/faults.mjs';
import { until } from './support/stage.mjs';

const BACKLOG = 20;

let world;
let acme;
let receiver;

before(async () => {
  receiver = await startReceiver();
  world = await lastingStage({ vars: { NOTIFY_WEBHOOK_URL: receiver.url } });
  acme = await world.tenant('acme');
});
after(() => Promise.all([world.stop(), receiver.stop()]));

beforeEach(async () => {
  world.claude.outage(false);
  // A test that failed may have left a pause.
  if ((await world.health()).scheduler.paused) await restartWith(randomUUID());
  await world.restCounts();
  world.claude.reset();
  receiver.events.length = 0;
});

for (const [fault, type] of [['401', 'authentication_error'], ['403', 'permission_error']]) {
  test(`a ${fault} fails that job and spares the backlog, until the key is another`, async () => {
    world.claude.outage(true, fault);
    const first = await acme.accepted({ prompt: 'meets the fault' });
    const failed = await acme.untilEnded(first);
    assert.deepEqual([failed.status, failed.attempts, failed.error.type], ['failed', 1, type]);
    await untilPaused('credentials');
    assert.equal((await receiver.untilTold(first)).type, 'job.failed');

    const backlog = await submitBacklog();
    assert.equal(world.claude.calls.length, 1);
    world.claude.outage(false);
    await restartWith(`a key after ${fault}`);
    await Promise.all(backlog.map((id) => acme.untilCompleted(id)));
    assert.equal((await acme.job(first)).status, 'failed');
    assert.equal(receiver.events.length, 1);
  });
}

for (const fault of ['402', 'spend429', 'contract429', 'spend400']) {
  test(`${fault} pauses everything and costs the job neither its life nor an attempt`, async () => {
    world.claude.outage(true, fault);
    const first = await acme.accepted({ prompt: 'meets the limit' });
    await untilPaused('spend_limit');
    const waiting = await acme.job(first);
    assert.deepEqual([waiting.status, waiting.attempts], ['pending', 0]);
    assert.ok(waiting.error.message.length > 0, 'it says why');

    const backlog = await submitBacklog();
    assert.equal(world.claude.calls.length, 1);
    world.claude.outage(false);
    await restartWith(`a key after ${fault}`);
    const jobs = await Promise.all([first, ...backlog].map((id) => acme.untilCompleted(id)));
    assert.ok(jobs.every(({ attempts }) => attempts === 1));
    assert.deepEqual(receiver.events, []);
  });
}

test('the pause outlives a crash, and ends with it only for another key', async () => {
  world.claude.outage(true, '401');
  await acme.untilEnded(await acme.accepted({ prompt: 'meets the fault' }));
  world.claude.outage(false);
  const before = await untilPaused('credentials');
  await world.restart({ kill: true, vars: { ANTHROPIC_API_KEY: 'a key after spend400' } });
  assert.deepEqual((await world.health()).scheduler.paused, before);
  const backlog = await submitBacklog();
  assert.equal(world.claude.calls.length, 1);
  await restartWith('a last key');
  await Promise.all(backlog.map((id) => acme.untilCompleted(id)));
});

test('a pause tells until when, as a time like every other', async () => {
  world.claude.outage(true, '402');
  await acme.accepted({ prompt: 'meets the limit' });
  const paused = await untilPaused('spend_limit');
  world.claude.outage(false);
  await restartWith('a key after the pause');
  assert.ok(Date.parse(paused.until) > Date.now(), `until ${paused.until}`);
});

test('a key that is refused burns no more of a backlog than was under way', async () => {
  await restartWith('a key that is refused', { SLOTS: '4' });
  world.claude.set({ apiKey: 'the right key', latencyMs: 50 });
  const ids = await Promise.all(Array.from({ length: BACKLOG }, (_, i) => acme.accepted({ prompt: `burns ${i}` })));
  await untilPaused('credentials');
  await until(async () => (await world.health()).scheduler.running === 0);
  const jobs = await Promise.all(ids.map((id) => acme.job(id)));
  const failed = jobs.filter(({ status }) => status === 'failed').length;
  assert.ok(failed >= 1 && failed <= 4, `${failed} jobs failed`);
  assert.equal(world.claude.calls.length, failed);
  await restartWith('the right key');
  const ended = await Promise.all(ids.map((id) => acme.untilEnded(id)));
  assert.equal(ended.filter(({ status }) => status === 'completed').length, BACKLOG - failed);
});

// As a deployment would; the sweep is what wakes an idle scheduler at the latest.
async function restartWith(key, vars = {}) {
  await world.restart({ vars: { ANTHROPIC_API_KEY: key, ...vars } });
  await world.runtime.runCron();
}

function untilPaused(fault) {
  const paused = async () => {
    const { paused: found } = (await world.health()).scheduler;
    return found?.fault === fault && found;
  };
  return until(paused, { what: `a pause for ${fault}` });
}

// Accepted, known to the scheduler, and none of them released.
async function submitBacklog() {
  const jobs = Array.from({ length: BACKLOG }, (_, i) => ({ prompt: `waits ${i}`, model: `model-${i % 3}` }));
  const ids = await Promise.all(jobs.map((job) => acme.accepted(job)));
  const { running, waiting } = (await world.health()).scheduler;
  assert.equal(running, 0);
  assert.ok(waiting.critical >= BACKLOG);
  return ids;
}
