// A bounded house: what is let in, what is refused, and what a refusal tells
// and costs. Claude is held back, so that what is in stays in.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { makePdf } from '../support/claude/samples.mjs';
import { assertProblem, assertWorks } from './support/assertions.mjs';
import { brokenStores } from './support/faults-stores.mjs';
import { stage } from './support/stage.mjs';

const CAPACITY = 40;
const SATURATED = 36;

const stores = brokenStores();
let world, tenants;
before(async () => {
  const vars = { QUEUE_CAPACITY: String(CAPACITY), TENANT_SHARE_PERCENT: '50' };
  world = await stage({ vars, tap: true, worker: stores.worker });
  tenants = await Promise.all(['acme', 'bolt', 'cog'].map((name) => world.tenant(name)));
  for (const tenant of tenants) await assertWorks(tenant);
});
after(() => world?.stop());

const files = (count) => Array.from({ length: count }, (_, i) => ({ name: `${i}.pdf`, bytes: makePdf(`page ${i}`) }));
const depth = async () => (await world.health()).scheduler.depth;

test('one tenant gets its share and no more, and others find room', async () => {
  const [acme, bolt, cog] = tenants;
  await world.whileHeld(async () => {
    const jobs = await fill(acme, 'acme fills');
    assert.equal(jobs.length, CAPACITY / 2);
    const before = await world.counts();
    const refused = await acme.submit({ prompt: 'one too many' });
    assertSaturated(refused, { name: 'share', scope: 'tenant', most: 20, used: 20, asked: 1, largest: 20 });
    await world.nothingLeftBehind(before);
    const others = [...(await fill(bolt, 'bolt fills')), ...(await fill(cog, 'cog fills'))];
    assert.equal(others.length, 10 + 5, 'each half of what is free');
    assert.equal(await depth(), 35);
    world.tap.release();
    for (const [tenant, id] of [...jobs.map((id) => [acme, id]), ...others.slice(0, 10).map((id) => [bolt, id])]) {
      await tenant.untilCompleted(id);
    }
  });
  for (const tenant of tenants) await assertWorks(tenant);
});

test('above nine tenths nobody is let in, and a batch is let in whole or not at all', async () => {
  const [acme, bolt, cog] = tenants;
  await world.whileHeld(async () => {
    assert.equal((await acme.submitFiles(files(20))).status, 202);
    assert.equal((await bolt.submitFiles(files(10))).status, 202);
    const before = await world.counts();
    const tooMany = await cog.submitFiles(files(7));
    assertSaturated(tooMany, { name: 'share', scope: 'tenant', most: 5, used: 0, asked: 6, largest: 20 });
    await world.nothingLeftBehind(before);
    assert.equal((await cog.submitFiles(files(5))).status, 202);
    const dim = await world.tenant('dim');
    assert.equal((await dim.submit({ prompt: 'the last' })).status, 202);
    assert.equal(await depth(), SATURATED);
    const full = await world.counts();
    const late = await world.tenant('late');
    for (const send of [() => late.submit({ prompt: 'x' }), () => late.submitFiles(files(2))]) {
      assertSaturated(await send(), { name: 'capacity', scope: 'service', most: SATURATED, used: SATURATED, asked: 1, largest: 20 });
    }
    assert.deepEqual((await world.counts()).scheduler, full.scheduler);
  });
  assert.equal((await world.restCounts(60_000)).scheduler.depth, 0);
  for (const tenant of tenants) await assertWorks(tenant);
});

test('a batch that can never fit is told so, and leaves nothing', async () => {
  const before = await world.restCounts();
  const reply = await tenants[0].submitFiles(files(21));
  assertProblem(reply, { status: 413, type: 'too-large', detail: 'a request may have at most 20 jobs here' });
  assert.equal(reply.headers.get('retry-after'), null);
  await world.nothingLeftBehind(before);
});

test('a refusal costs one question to the scheduler, and no database and no store', async () => {
  const [acme] = tenants;
  await world.whileHeld(async () => {
    await fill(acme, 'to be full');
    stores.calls.splice(0);
    for (let i = 0; i < 20; i++) assert.equal((await acme.submit({ prompt: `refused ${i}` })).status, 429);
    for (let i = 0; i < 5; i++) assert.equal((await acme.submitFiles(files(3))).status, 429);
    const asked = stores.calls.filter(({ about }) => !about.includes('/state'));
    // The key may have been looked up again, which reads one row.
    const other = asked.filter(({ binding, about }) => binding !== 'SCHEDULER' && !about.includes('FROM api_keys'));
    assert.deepEqual(other, []);
    const questions = asked.filter(({ binding, about }) => binding === 'SCHEDULER' && about.includes('/admit'));
    assert.equal(questions.length, 25);
    assert.ok(!asked.some(({ about }) => about.includes('/vacate')));
  });
  await world.restCounts(60_000);
});

test('whatever is refused, its places are free again', async () => {
  const [acme] = tenants;
  const before = await world.restCounts();
  for (const body of ['', '{', '[]', { prompt: '' }, { prompt: 'x', colour: 1 }]) {
    assert.equal((await acme.submit(body)).status, 400);
  }
  assert.equal((await acme.submitFiles([{ name: 'a.pdf', bytes: Buffer.from('no pdf') }])).status, 400);
  assert.equal((await acme.submitFiles([...files(3), { name: 'b.pdf', bytes: Buffer.alloc(0) }])).status, 400);
  await world.nothingLeftBehind(before);
});

test('a caller who hangs up in the middle of its form gives its places back', async () => {
  const [acme] = tenants;
  const before = await world.restCounts();
  const pieces = async function* () {
    yield Buffer.from('--e2eBoundary7f3a\r\nContent-Disposition: form-data; name="files"; filename="a.pdf"\r\n\r\n%PDF-1.4');
    throw new Error('hung up');
  };
  await assert.rejects(acme.stream('/batches', pieces(), { 'content-type': 'multipart/form-data; boundary=e2eBoundary7f3a' }));
  assert.deepEqual(await world.restCounts(), before);
});

test('a store that fails after the places were given gives them back', async () => {
  const [acme] = tenants;
  const before = await world.restCounts();
  const rule = stores.fail({ binding: 'DB', op: 'batch', about: /INSERT INTO jobs/ });
  const reply = await acme.submit({ prompt: 'not today' });
  rule.times = 0;
  assertProblem(reply, { status: 503, type: 'unavailable' });
  assert.ok(Number(reply.headers.get('retry-after')) >= 5);
  await world.nothingLeftBehind(before);
});

test('a scheduler that does not answer refuses before anything is stored', async () => {
  const [acme] = tenants;
  const before = await world.restCounts();
  const rule = stores.fail({ binding: 'SCHEDULER', op: 'fetch', about: /admit/ });
  const reply = await acme.submit({ prompt: 'nobody home' });
  rule.times = 0;
  assertProblem(reply, { status: 503, type: 'unavailable' });
  await world.nothingLeftBehind(before);
});

/** Submits until a refusal; the ids of those that were accepted. */
async function fill(tenant, prompt) {
  const ids = [];
  for (;;) {
    const reply = await tenant.submit({ prompt: `${prompt} ${ids.length}` });
    if (reply.status !== 202) return ids;
    ids.push(reply.body.jobId);
  }
}

function assertSaturated(reply, limit) {
  assertProblem(reply, { status: 429, type: 'queue-saturated', detail: 'come back in' });
  assert.deepEqual(reply.body.limit, limit);
  const seconds = Number(reply.headers.get('retry-after'));
  assert.ok(seconds >= 1 && seconds <= 600, seconds);
  assert.equal(reply.body.retryAfterSeconds, seconds);
}
