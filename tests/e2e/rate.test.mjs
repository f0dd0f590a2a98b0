// How often a tenant may submit. Time runs faster than the wall's, for the
// Worker and for its callers.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import { assertProblem } from './support/assertions.mjs';
import { fastClock } from './support/fast-clock.mjs';
import { stage } from './support/stage.mjs';

const SPEED = 5;
const RATE = 60;
const BURST = 15;
// Between being let in and being made.
const SLACK_MS = 2_000;
const clock = fastClock(SPEED);

let world;
before(async () => {
  const vars = { RATE_FREE_PER_MINUTE: String(RATE), RATE_PRO_PER_MINUTE: '180' };
  world = await stage({ vars, worker: clock.worker() });
});
after(() => world?.stop());

test('C38: no boundary of a minute lets twice the rate through', async () => {
  const tenant = await world.tenant('edge');
  const answers = [];
  const volley = async () => answers.push(...await Promise.all(Array.from({ length: RATE }, () => send(tenant))));
  await volley();
  await sleep(400 / SPEED);
  await volley();
  const accepted = answers.filter(({ status }) => status === 202);
  assert.ok(accepted.length >= BURST, `${accepted.length} accepted`);
  const times = (await Promise.all(accepted.map(({ reply }) => madeAt(tenant, reply)))).sort((a, b) => a - b);
  for (const [i, begin] of times.entries()) {
    for (const [j, end] of times.entries()) {
      assert.ok(j - i + 1 <= BURST + 1 + Math.ceil((end - begin + SLACK_MS) / 1_000), `${j - i + 1} in ${end - begin} ms`);
    }
  }
  for (const { reply } of answers.filter(({ status }) => status !== 202)) {
    assertProblem(reply, { status: 429, type: 'rate-limited', detail: '60 requests a minute' });
    assert.deepEqual(reply.body.limit, { name: 'rate', scope: 'tenant', most: BURST, used: BURST, asked: 1 });
    assert.ok(Number(reply.headers.get('retry-after')) >= 1);
  }
});

test('C38: fifty who obey retry-after all get through, and not in one second', async () => {
  const tenant = await world.tenant('obedient');
  await Promise.all(Array.from({ length: BURST }, () => send(tenant)));
  const clients = await Promise.all(Array.from({ length: 50 }, () => obey(tenant)));
  const tries = clients.map(({ tries }) => tries);
  assert.ok(tries.every((n) => n <= 4), `tries: ${tries}`);
  const times = await Promise.all(clients.map(({ reply }) => madeAt(tenant, reply)));
  const seconds = new Set(times.map((at) => Math.floor(at / 1_000)));
  assert.ok(seconds.size >= 20, `they came in ${seconds.size} seconds`);
});

test('a pro tenant has its own rate, and the fields tell what is left', async () => {
  const pro = await world.tenant('pro-house', { plan: 'pro' });
  const first = await pro.submit({ prompt: 'x' });
  assert.equal(first.headers.get('ratelimit-policy'), '"requests";q=180;w=60');
  assert.match(first.headers.get('ratelimit'), /^"requests";r=44;t=\d+$/);
  const refused = await pro.submit({ prompt: '' });
  assertProblem(refused, { status: 400, field: 'prompt' });
  assert.match(refused.headers.get('ratelimit'), /^"requests";r=4[34];t=\d+$/);
});

test('one tenant at its rate slows down no other', async () => {
  const [busy, calm] = await Promise.all(['busy', 'calm'].map((name) => world.tenant(name)));
  const answers = await Promise.all(Array.from({ length: 40 }, () => send(busy)));
  assert.ok(answers.some(({ status }) => status === 429));
  assert.equal((await calm.submit({ prompt: 'x' })).status, 202);
});

test('reading is not counted', async () => {
  const tenant = await world.tenant('reader');
  const id = await tenant.accepted({ prompt: 'x' });
  for (let i = 0; i < 2 * BURST; i++) assert.equal((await tenant.get(`/jobs/${id}`)).status, 200);
});

async function send(tenant) {
  const reply = await tenant.submit({ prompt: 'x' });
  return { reply, status: reply.status };
}

/** When the Worker made the job, by its own clock. */
async function madeAt(tenant, { body }) {
  return Date.parse((await tenant.job(body.jobId)).createdAt);
}

async function obey(tenant) {
  for (let tries = 1; ; tries++) {
    const { reply, status } = await send(tenant);
    if (status === 202) return { tries, reply };
    assert.equal(status, 429);
    await sleep((Number(reply.headers.get('retry-after')) * 1_000) / SPEED);
  }
}
