// `Prefer: wait`: the answer comes when the job has ended.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertProblem } from './support/assertions.mjs';
import { brokenStores } from './support/faults-stores.mjs';
import { stage, until } from './support/stage.mjs';

const stores = brokenStores();
let world, acme;
before(async () => {
  world = await stage({ tap: true, worker: stores.worker, vars: { SLOTS: '64' } });
  acme = await world.tenant('acme');
});
after(() => world?.stop());

const wait = (seconds) => ({ prefer: `wait=${seconds}` });

test('a submission that waits is answered with the job that has ended', async () => {
  const reply = await acme.submit({ prompt: 'wait for me' }, wait(30));
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.headers.get('preference-applied'), 'wait=30');
  const { jobId, status, resultUrl } = reply.body;
  assert.equal(reply.headers.get('location'), `/jobs/${jobId}`);
  assert.equal(status, 'completed');
  assert.match((await acme.get(resultUrl)).text, /wait for me/);
});

test('one whose time is over is answered as usual, and the job goes on', async () => {
  await world.whileHeld(async () => {
    const reply = await acme.submit({ prompt: 'too slow' }, wait(1));
    assert.equal(reply.status, 202, reply.text);
    assert.equal(reply.body.status, 'pending');
    assert.equal(reply.headers.get('preference-applied'), 'wait=1');
    const asked = await acme.get(`/jobs/${reply.body.jobId}`, wait(1));
    assert.equal(asked.status, 200);
    assert.equal(asked.body.status, 'running');
    assert.ok(Number(asked.headers.get('retry-after')) >= 1);
    world.tap.release();
    await acme.untilCompleted(reply.body.jobId);
  });
});

test('two hundred callers wait for forty jobs, and D1 is read twice for each', async () => {
  await world.whileHeld(async () => {
    const jobs = await Promise.all(Array.from({ length: 40 }, (_, i) => acme.accepted({ prompt: `crowd ${i}` })));
    stores.calls.splice(0);
    const waiting = jobs.flatMap((job) => Array.from({ length: 5 }, () => acme.get(`/jobs/${job}`, wait(60))));
    await untilAllWait(jobs.length * 5);
    world.tap.release();
    for (const { status, body } of await Promise.all(waiting)) {
      assert.deepEqual([status, body.status], [200, 'completed']);
    }
    const reads = stores.calls.filter(({ binding, about }) => binding === 'DB' && about.includes('AS row\nFROM jobs WHERE tenant_id = ?1 AND job_id = ?2'));
    assert.equal(reads.length, 2 * waiting.length);
  });
});

test('who waits hears of every end: failed, dead-lettered, canceled', async () => {
  const failed = await acme.submit({ prompt: '[[sim:400]] fails' }, wait(30));
  assert.deepEqual([failed.status, failed.body.status], [200, 'failed']);
  const dead = await acme.submit({ prompt: '[[sim:500x9]] dies', priority: 'bulk' }, wait(60));
  assert.deepEqual([dead.status, dead.body.status], [200, 'dead-lettered'], dead.text);
  await world.whileHeld(async () => {
    const job = await acme.accepted({ prompt: 'to be canceled' });
    stores.calls.splice(0);
    const waiting = acme.get(`/jobs/${job}`, wait(60));
    await untilAllWait(1);
    assert.equal((await acme.request('DELETE', `/jobs/${job}`)).status, 200);
    assert.equal((await waiting).body.status, 'canceled');
  });
});

test('a job that has ended is answered at once', async () => {
  const { body } = await acme.submit({ prompt: 'done' }, wait(30));
  const reply = await acme.get(`/jobs/${body.jobId}`, wait(60));
  assert.equal(reply.body.status, 'completed');
});

test('no more than a minute is granted, and what is no wish is ignored', async () => {
  const { body, headers } = await acme.submit({ prompt: 'long wait' }, wait(9_999));
  assert.equal(headers.get('preference-applied'), 'wait=60');
  assert.equal(body.status, 'completed');
  for (const prefer of ['wait', 'wait=soon', 'wait=-1', 'wait=0', 'respond-async', '']) {
    const reply = await acme.submit({ prompt: `prefer ${prefer}` }, { prefer });
    assert.equal(reply.status, 202, prefer);
    assert.equal(reply.headers.get('preference-applied'), null);
  }
  assert.equal((await acme.submit({ prompt: 'several' }, { prefer: 'respond-async, wait=20' })).status, 200);
});

test('a foreign job is not waited for', async () => {
  const rival = await world.tenant('rival');
  const job = await rival.accepted({ prompt: 'theirs' });
  assertProblem(await acme.get(`/jobs/${job}`, wait(60)), { status: 404, type: 'not-found' });
});

/** So many callers more have asked the object to be told. */
async function untilAllWait(callers) {
  const asked = () => stores.calls.filter(({ about }) => about.endsWith('/wait')).length;
  await until(() => asked() >= callers, { what: `${callers} waiting callers` });
}
