// Faults of the account: what everybody pays with is at fault, so nothing is
// released until it is known to be well again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastingStage, startReceiver } from './support/faults.mjs';
import { until } from './support/stage.mjs';

const BACKLOG = 20;
const OTHER_KEY = { ANTHROPIC_API_KEY: 'the-new-key' };

for (const [fault, type] of [['401', 'authentication_error'], ['403', 'permission_error']]) {
  test(`a ${fault} fails that job and spares the backlog, until the key is another`, async (t) => {
    const { world, acme, receiver } = await open(t);
    world.claude.outage(true, fault);
    const first = await acme.accepted({ prompt: 'meets the fault' });
    const failed = await acme.untilEnded(first);
    assert.deepEqual([failed.status, failed.attempts, failed.error.type], ['failed', 1, type]);
    const { until: resumes } = await untilPaused(world, 'credentials');
    assert.ok(Date.parse(resumes) > Date.now() || resumes > Date.now(), String(resumes));
    assert.equal((await receiver.untilTold(first)).type, 'job.failed');

    const backlog = await submitBacklog(world, acme);
    assert.equal(world.claude.calls.length, 1);
    world.claude.outage(false);
    await world.restart({ vars: OTHER_KEY });
    await Promise.all(backlog.map((id) => acme.untilCompleted(id)));
    assert.equal((await world.health()).scheduler.paused, null);
    assert.equal((await acme.job(first)).status, 'failed');
    assert.equal(receiver.events.length, 1);
  });
}

test('a key that is refused burns no more of a backlog than was under way', async (t) => {
  const { world, acme } = await open(t, { vars: { SLOTS: '4' }, claude: { apiKey: OTHER_KEY.ANTHROPIC_API_KEY, latencyMs: 50 } });
  const ids = await Promise.all(Array.from({ length: BACKLOG }, (_, i) => acme.accepted({ prompt: `burns ${i}` })));
  await untilPaused(world, 'credentials');
  await until(async () => (await world.health()).scheduler.running === 0);
  const jobs = await Promise.all(ids.map((id) => acme.job(id)));
  const failed = jobs.filter(({ status }) => status === 'failed').length;
  assert.ok(failed >= 1 && failed <= 4, `${failed} jobs failed`);
  assert.equal(world.claude.calls.length, failed);
  await world.restart({ vars: OTHER_KEY });
  const ended = await Promise.all(ids.map((id) => acme.untilEnded(id)));
  assert.equal(ended.filter(({ status }) => status === 'completed').length, BACKLOG - failed);
});

for (const fault of ['402', 'spend429', 'contract429', 'spend400']) {
  test(`${fault} pauses everything and costs the job neither its life nor an attempt`, async (t) => {
    const { world, acme, receiver } = await open(t);
    world.claude.outage(true, fault);
    const first = await acme.accepted({ prompt: 'meets the limit' });
    await untilPaused(world, 'spend_limit');
    const waiting = await until(async () => {
      const job = await acme.job(first);
      return job.error && job;
    });
    assert.deepEqual([waiting.status, waiting.attempts], ['pending', 0]);

    const backlog = await submitBacklog(world, acme);
    assert.equal(world.claude.calls.length, 1);
    world.claude.outage(false);
    await world.restart({ vars: OTHER_KEY });
    const jobs = await Promise.all([first, ...backlog].map((id) => acme.untilCompleted(id)));
    assert.ok(jobs.every(({ attempts }) => attempts === 1));
    assert.deepEqual(receiver.events, []);
  });
}

test('the pause outlives a restart with the same key', async (t) => {
  const { world, acme } = await open(t);
  world.claude.outage(true, '401');
  await acme.untilEnded(await acme.accepted({ prompt: 'meets the fault' }));
  const before = await untilPaused(world, 'credentials');
  world.claude.outage(false);
  await world.restart({ kill: true });
  assert.deepEqual((await world.health()).scheduler.paused, before);
  await submitBacklog(world, acme);
  assert.equal(world.claude.calls.length, 1);
});

async function open(t, { vars, ...options } = {}) {
  const receiver = await startReceiver();
  const world = await lastingStage({ ...options, vars: { NOTIFY_WEBHOOK_URL: receiver.url, ...vars } });
  t.after(() => Promise.all([world.stop(), receiver.stop()]));
  return { world, receiver, acme: await world.tenant('acme') };
}

function untilPaused(world, fault) {
  const paused = async () => {
    const { paused: found } = (await world.health()).scheduler;
    return found?.fault === fault && found;
  };
  return until(paused, { what: `a pause for ${fault}` });
}

// Accepted, known to the scheduler, and none of them released.
async function submitBacklog(world, acme) {
  const jobs = Array.from({ length: BACKLOG }, (_, i) => ({ prompt: `waits ${i}`, model: `model-${i % 3}` }));
  const ids = await Promise.all(jobs.map((job) => acme.accepted(job)));
  const { running, waiting } = (await world.health()).scheduler;
  assert.equal(running, 0);
  assert.ok(waiting.critical >= BACKLOG);
  return ids;
}
