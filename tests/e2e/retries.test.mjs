// How often and how far apart a job is tried, and what waiting costs others.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { FIXTURES } from './support/faults.mjs';
import { stage, until } from './support/stage.mjs';

const BACKOFF_MS = 400;

let world;
let acme;

before(async () => {
  // Each job for itself: how an outage is recognised is in `outage`.
  const vars = { BACKOFF_CRITICAL_MS: String(BACKOFF_MS), OUTAGE_AFTER: '1000' };
  world = await stage({ vars, claude: { rawDir: FIXTURES } });
  acme = await world.tenant('acme');
});
after(() => world.stop());

test('thirty jobs outlive an outage of the upstream', async () => {
  world.claude.outage(true, 'reset');
  const prompts = Array.from({ length: 30 }, (_, i) => ({ prompt: `outlives ${i};` }));
  const ids = await Promise.all(prompts.map((job) => acme.accepted(job)));
  await world.claude.waitUntil((calls) => callsOf(calls, 'outlives') >= 45);
  world.claude.outage(false);
  const jobs = await Promise.all(ids.map((id) => acme.untilCompleted(id)));
  const attempts = jobs.reduce((sum, job) => sum + job.attempts, 0);
  assert.equal(attempts, callsOf(world.claude.calls, 'outlives'));
  assert.equal((await acme.result(ids[7])).text.includes('outlives 7;'), true);
});

describe('A job that has to wait', { concurrency: true }, () => {
  test('the pauses between attempts double, and jitter takes away at most half', async () => {
    const id = await acme.accepted({ prompt: 'growing [[sim:529]]' });
    await acme.untilEnded(id);
    const calls = world.claude.callsFor('growing');
    for (const [i, { at }] of calls.slice(1).entries()) {
      const waited = at - calls[i].endedAt;
      const shortest = (BACKOFF_MS * 2 ** i) / 2;
      assert.ok(waited >= shortest, `pause ${i + 1} was ${waited} ms, shorter than ${shortest}`);
    }
  });

  test('a job between two attempts is pending, and says what went wrong', async () => {
    const id = await acme.accepted({ prompt: 'in between [[sim:503x1,ra=1]]' });
    const waiting = await until(async () => {
      const job = await acme.job(id);
      return job.status === 'pending' && job.attempts === 1 && job;
    });
    assert.equal(waiting.error.type, 'api_error');
    const completed = await acme.untilCompleted(id);
    assert.equal(completed.error, undefined, 'a completed job shows no error');
  });

  test('a 429 holds back its model class, and no other', async () => {
    const throttled = await acme.accepted({ prompt: 'first of its class [[sim:429x1,ra=3]]', model: 'slow-model' });
    await untilRefused(throttled);
    const sameClass = await acme.accepted({ prompt: 'same class', model: 'slow-model' });
    await acme.answerTo({ prompt: 'other class', model: 'other-model' });
    await Promise.all([throttled, sameClass].map((id) => acme.untilCompleted(id)));
    const [refused, call, other] = ['first of its class', 'same class', 'other class'].map((text) => world.claude.callsFor(text)[0]);
    assert.ok(call.at - refused.endedAt >= 3000, `the class was tried after ${call.at - refused.endedAt} ms`);
    assert.ok(other.at < call.at);
  });

  for (const [name, file] of [['a day', 'c27-a-one-day'], ['a year', 'c27-b-one-year'], ['more than 64 bits', 'c27-c-overflow']]) {
    test(`a retry-after of ${name} holds back that job alone, and no attempt is used (C27)`, async () => {
      const other = await world.tenant('other');
      const id = await acme.accepted({ prompt: `far off [[sim:raw=${file}]]`, model: `model-of-${file}` });
      const { status, attempts, error } = await untilRefused(id);
      assert.deepEqual({ status, attempts }, { status: 'pending', attempts: 0 });
      assert.equal(error.type, 'rate_limit_error');
      await other.answerTo({ prompt: `meanwhile ${file}`, model: `model-of-${file}` });
      assert.equal(world.claude.callsFor(`far off [[sim:raw=${file}]]`).length, 1);
      assert.equal((await acme.job(id)).status, 'pending', 'the job is still there');
      const { delayed } = (await world.health()).scheduler;
      assert.ok(delayed >= 1, 'the scheduler still holds it');
    });
  }

  test('a job that waits for a far retry-after says when it is tried next', async () => {
    const id = await acme.accepted({ prompt: 'when [[sim:raw=c27-a-one-day]]', model: 'model-when' });
    // The row is written before the scheduler is told.
    const told = async () => (await acme.job(id)).waitingFor;
    const waitingFor = await until(told, { what: 'what the job waits for' });
    assert.equal(waitingFor.reason, 'retry');
    const wait = Date.parse(waitingFor.estimatedStart) - Date.now();
    assert.ok(wait > 0 && wait <= 600_000, `next in ${wait} ms`);
  });
});

function callsOf(calls, text) {
  return calls.filter(({ request }) => JSON.stringify(request).includes(text)).length;
}

// The job once it shows an error, though it has not ended.
function untilRefused(id) {
  const refused = async () => {
    const job = await acme.job(id);
    return job.error && job;
  };
  return until(refused, { what: `an error of job ${id}` });
}
