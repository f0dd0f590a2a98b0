// Stores that fail at the worst moment: D1, R2, the queues and the scheduler
// object, each before its work is done and after.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { fixture, storedResults } from './support/faults.mjs';
import { brokenStores } from './support/faults-stores.mjs';
import { stage, until } from './support/stage.mjs';

const stores = brokenStores();
let world;
let acme;

before(async () => {
  world = await stage({ worker: stores.worker });
  acme = await world.tenant('acme');
  await acme.answerTo({ prompt: 'first' });
});
after(() => world.stop());
afterEach(async () => {
  stores.heal();
  assert.match(await acme.answerTo({ prompt: 'a plain job' }), /a plain job/);
});

describe('At the door', () => {
  test('a database that is away gives 503 with Retry-After, and leaves nothing behind', async () => {
    const before = await world.restCounts();
    stores.fail({ binding: 'DB', op: 'batch', about: /INSERT INTO jobs/ });
    const large = 'x'.repeat(100_000);
    const files = [{ name: 'a.pdf', bytes: fixture('good-1page.pdf') }];
    const requests = [acme.submit({ prompt: 'refused' }), acme.submit({ prompt: large }), acme.submitFiles(files)];
    for (const { status, headers } of await Promise.all(requests)) {
      assert.equal(status, 503);
      assert.ok(Number(headers.get('retry-after')) >= 1);
    }
    stores.heal();
    await world.nothingLeftBehind(before);
  });

  test('an insert whose answer is lost makes one job', async () => {
    const lost = stores.fail({ binding: 'DB', op: 'batch', about: /INSERT INTO jobs/, times: 2, done: true });
    const { rows } = await world.counts();
    await acme.answerTo({ prompt: 'inserted twice' });
    assert.equal(lost.met, 2);
    assert.equal((await world.counts()).rows.jobs, rows.jobs + 1);
    assert.equal(world.claude.callsFor('inserted twice').length, 1);
  });

  test('a bucket that is away refuses what needs it, and nothing else', async () => {
    const before = await world.restCounts();
    stores.fail({ binding: 'BUCKET', op: 'put', about: /^(inputs|uploads)/ });
    const files = [{ name: 'a.pdf', bytes: fixture('good-1page.pdf') }];
    assert.equal((await acme.submitFiles(files)).status, 503);
    assert.equal((await acme.submit({ prompt: 'y'.repeat(100_000) })).status, 503);
    await world.nothingLeftBehind(before);
    await acme.answerTo({ prompt: 'small enough for its row' });
  });

  test('a scheduler that cannot be told is told again', async () => {
    const deaf = stores.fail({ binding: 'SCHEDULER', op: 'fetch', about: /\/submit/, times: 2 });
    const told = stores.fail({ binding: 'SCHEDULER', op: 'fetch', about: /\/submit/, times: 1, done: true });
    await acme.answerTo({ prompt: 'told at last' });
    assert.deepEqual([deaf.met, told.met], [2, 1]);
    assert.equal(world.claude.callsFor('told at last').length, 1);
  });

  test('a scheduler that stays deaf learns of the job from the sweep', async () => {
    const deaf = stores.fail({ binding: 'SCHEDULER', op: 'fetch', about: /\/submit/ });
    const id = await acme.accepted({ prompt: 'found by the sweep' });
    deaf.times = 0;
    await world.runtime.d1.prepare('UPDATE jobs SET created_at = created_at - 60000 WHERE job_id = ?').bind(id).run();
    await world.runtime.runCron();
    await acme.untilCompleted(id);
    assert.equal(world.claude.callsFor('found by the sweep').length, 1);
  });
});

describe('On the way to a consumer', () => {
  test('a queue that does not take its messages costs no attempt', async () => {
    const shut = stores.fail({ binding: 'QUEUE_HIGH', op: 'sendBatch', times: 1 });
    const id = await acme.accepted({ prompt: 'not taken' });
    assert.equal((await acme.untilCompleted(id)).attempts, 1);
    assert.equal(shut.met, 1);
    assert.equal(world.claude.callsFor('not taken').length, 1);
  });

  test('a queue whose answer is lost hands the job over once', async () => {
    const lost = stores.fail({ binding: 'QUEUE_HIGH', op: 'sendBatch', times: 1, done: true });
    const id = await acme.accepted({ prompt: 'taken unheard' });
    await acme.untilCompleted(id);
    await world.restCounts();
    assert.equal(lost.met, 1);
    assert.equal(world.claude.callsFor('taken unheard').length, 1);
  });

  test('a claim that fails for a moment is tried again', async () => {
    const away = stores.fail({ binding: 'DB', op: 'batch', about: /status = 'running'/, times: 2 });
    const id = await acme.accepted({ prompt: 'claimed late' });
    assert.equal((await acme.untilCompleted(id)).attempts, 1);
    assert.equal(away.met, 2);
    assert.equal(world.claude.callsFor('claimed late').length, 1);
  });

  test('a claim whose answer is lost is known for its own, and costs nothing', async () => {
    const claim = stores.fail({ binding: 'DB', op: 'batch', about: /status = 'running'/, times: 1, done: true });
    const id = await acme.accepted({ prompt: 'claimed unheard' });
    assert.equal((await acme.untilCompleted(id)).attempts, 1);
    assert.equal(claim.met, 1);
    assert.equal(world.claude.callsFor('claimed unheard').length, 1);
  });
});

describe('After the answer', () => {
  test('a result that cannot be stored for a moment is not paid for twice', async () => {
    const away = stores.fail({ binding: 'BUCKET', op: 'put', about: /^results/, times: 2 });
    await acme.answerTo({ prompt: 'stored late' });
    assert.equal(away.met, 2);
    assert.equal(world.claude.callsFor('stored late').length, 1);
  });

  test('a result whose put was done, but not told, is kept as it is', async () => {
    stores.fail({ binding: 'BUCKET', op: 'put', about: /^results/, times: 1, done: true });
    const text = await acme.answerTo({ prompt: 'stored unheard' });
    assert.ok(text.includes('stored unheard'));
    assert.equal(world.claude.callsFor('stored unheard').length, 1);
  });

  test('a result store that stays away uses the attempt up, and the next one ends the job', async () => {
    stores.fail({ binding: 'BUCKET', op: 'put', about: /^results/, times: 4 });
    const id = await acme.accepted({ prompt: 'stored by the second' });
    const job = await acme.untilCompleted(id);
    assert.equal(job.attempts, 2);
    assert.equal(world.claude.callsFor('stored by the second').length, 2);
    assert.equal((await storedResults(world)).filter((key) => key.includes(id)).length, 1);
  });

  test('an ending that cannot be written is written at redelivery, without another call', async () => {
    const away = stores.fail({ binding: 'DB', op: 'batch', about: /completed_at = CASE/, times: 4 });
    const id = await acme.accepted({ prompt: 'written down late' });
    assert.equal((await acme.untilCompleted(id, 60_000)).attempts, 1);
    assert.equal(away.met, 4);
    assert.equal(world.claude.callsFor('written down late').length, 1);
  });

  test('an ending whose answer is lost is told once, and the scheduler is told again', async () => {
    const written = stores.fail({ binding: 'DB', op: 'batch', about: /completed_at = CASE/, times: 1, done: true });
    const settled = stores.fail({ binding: 'SCHEDULER', op: 'fetch', about: /\/settle/, times: 1, done: true });
    const id = await acme.accepted({ prompt: 'settled twice' });
    await acme.untilCompleted(id);
    await until(() => settled.met === 1);
    const { scheduler } = await world.restCounts();
    assert.deepEqual([written.met, scheduler.running], [1, 0]);
  });
});
