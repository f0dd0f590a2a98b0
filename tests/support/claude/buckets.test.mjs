import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { RateLimits, TokenBucket, modelClass } from './buckets.mjs';
import { ManualClock } from './clock.mjs';
import { DEFAULTS, withSettings } from './options.mjs';
import { eventsIn, post, promptRequest } from './samples.mjs';
import { startSimulatedClaude } from './server.mjs';

let claude;
let clock;
afterEach(() => claude?.stop());

async function start(settings) {
  clock = new ManualClock();
  claude = await startSimulatedClaude({ clock, ...settings });
}

async function statuses(count) {
  const answers = [];
  for (let i = 0; i < count; i += 1) answers.push((await post(claude, `q${i}`)).status);
  return answers.map((status) => (status === 200 ? 'y' : 'n')).join('');
}

test('a bucket gives its burst at once and then refills continuously', () => {
  const bucket = new TokenBucket(60, { burstS: 10 }, 0);
  assert.equal(bucket.waitFor(10, 0), 0);
  bucket.take(10, 0);
  assert.equal(bucket.waitFor(1, 0), 1);
  assert.equal(bucket.waitFor(1, 250), 0.75);
  assert.equal(bucket.waitFor(1, 1000), 0);
  assert.equal(bucket.waitFor(11, 1000), Infinity);
});

test('in any span no more is admitted than the burst and the refill', () => {
  const limits = new RateLimits(withSettings(DEFAULTS, { limits: { requests: 60 }, burstS: 5 }));
  const admitted = [];
  for (let at = 0; at <= 120_000; at += 100) {
    if (!limits.admit('m', { input: 1, maxTokens: 1 }, at).refused) admitted.push(at);
  }
  for (const [i, from] of admitted.entries()) {
    const until = admitted.slice(i).filter((at) => at < from + 20_000).length;
    assert.ok(until <= 5 + 20 + 1, `${until} in 20 s from ${from}`);
  }
  assert.ok(admitted.length >= 124);
});

test('requests over the burst get 429 with a retry-after that is true', async () => {
  await start({ limits: { requests: 6 }, burstS: 30 });
  assert.equal(await statuses(4), 'yyyn');

  const res = await post(claude, 'again');
  assert.equal(res.status, 429);
  assert.equal((await res.json()).error.type, 'rate_limit_error');
  const wait = Number(res.headers.get('retry-after'));
  clock.advance((wait - 1) * 1000);
  assert.equal(await statuses(1), 'n');
  clock.advance(1000);
  assert.equal(await statuses(2), 'yn');
});

test('input larger than what is left waits for it', async () => {
  await start({ limits: { input: 6000 } });
  assert.equal((await post(claude, 'x'.repeat(4 * 4000))).status, 200);
  const res = await post(claude, 'y'.repeat(4 * 4000));
  assert.match((await res.json()).error.message, /6,000 input tokens per minute/);
  assert.equal(res.headers.get('retry-after'), '21');
  assert.equal(res.headers.get('anthropic-ratelimit-input-tokens-remaining'), '2000');
});

test('output is debited as produced and may overdraw', async () => {
  await start({ limits: { output: 600 }, answerTokens: 900 });
  assert.equal(await statuses(2), 'yn');
  clock.advance(30_000);
  assert.equal(await statuses(1), 'n');
  clock.advance(1000);
  assert.equal(await statuses(1), 'y');
});

test('a running stream debits output delta by delta', async () => {
  await start({ limits: { output: 6000 }, answerTokens: 800, decodeMs: 8000, deltas: 8 });
  const running = post(claude, promptRequest('slow', { stream: true }));
  await clock.whenSleeping(1);
  await passDeltas(4);

  claude.set({ retryAfter: 'exact', otpmMode: 'reserve_max' });
  const refused = await post(claude, promptRequest('big', { max_tokens: 6000 }));
  // The refill has made good all but the newest delta of 100 tokens.
  assert.equal(refused.headers.get('retry-after'), '1');

  await passDeltas(3);
  clock.advance(1000);
  assert.equal(eventsIn(await (await running).text()).at(-1).event, 'message_stop');
});

async function passDeltas(count) {
  for (let i = 0; i < count; i += 1) {
    clock.advance(1000);
    await clock.whenSleeping(1);
  }
}

test('reserve_max holds max_tokens during the call and gives back the rest', () => {
  const limits = new RateLimits(withSettings(DEFAULTS, { limits: { output: 1000 }, otpmMode: 'reserve_max' }));
  const ticket = limits.admit('m', { input: 1, maxTokens: 800 }, 0);
  assert.equal(limits.admit('m', { input: 1, maxTokens: 800 }, 0).refused, 'output');
  ticket.produce(100, 0);
  ticket.close(0);
  ticket.close(0);
  const { output } = limits.bucketsOf('m', 0);
  assert.equal(output.waitFor(900, 0), 0);
  assert.ok(output.waitFor(901, 0) > 0);
});

test('a time scale refills faster', () => {
  const bucket = new TokenBucket(60, { burstS: 60, timeScale: 10 }, 0);
  bucket.take(60, 0);
  assert.equal(bucket.waitFor(10, 0), 1);
});

test('limits change at runtime without a refill', async () => {
  await start({});
  assert.equal(await statuses(3), 'yyy');
  claude.set({ limits: { requests: 2 } });
  assert.equal(await statuses(3), 'yyn');
  claude.set({ limits: { requests: 60 } });
  assert.equal(await statuses(1), 'n');
  clock.advance(1000);
  assert.equal(await statuses(2), 'yn');
  claude.set({ limits: null });
  assert.equal(await statuses(3), 'yyy');
});

test('classes of models have buckets and limits of their own', async () => {
  await start({ limits: { requests: 1 }, modelLimits: { 'claude-haiku-4-5': { requests: 2 } } });
  const ask = async (model) => (await post(claude, promptRequest('x', { model }))).status;
  assert.deepEqual([await ask('claude-sonnet-4-6'), await ask('claude-sonnet-4-5-20250929')], [200, 429]);
  assert.deepEqual([await ask('claude-haiku-4-5'), await ask('claude-haiku-4-5'), await ask('claude-haiku-4-5')], [200, 200, 429]);
  assert.equal(modelClass('claude-opus-4-8'), modelClass('claude-opus-4-5-20251101'));
  assert.notEqual(modelClass('claude-opus-5'), modelClass('claude-opus-4-8'));
});

test('headers show the level, rounded, and the moment the bucket is full', async () => {
  await start({ limits: { requests: 60, input: 60_000, output: 60_000 } });
  const { headers } = await post(claude, 'x'.repeat(4 * 20_300));
  const shown = (name) => headers.get(`anthropic-ratelimit-${name}`);
  assert.equal(shown('requests-remaining'), '59');
  assert.equal(shown('requests-reset'), '2026-01-01T00:00:01Z');
  assert.equal(shown('input-tokens-limit'), '60000');
  assert.equal(shown('input-tokens-remaining'), '40000');
  assert.equal(shown('input-tokens-reset'), '2026-01-01T00:00:21Z');
  assert.equal(shown('tokens-remaining'), shown('input-tokens-remaining'));
});

for (const [mode, value] of [['exact', '0.5'], ['ceil', '1'], ['full', '1'], ['none', null], [7, '7']]) {
  test(`retry-after can be ${mode}`, async () => {
    await start({ limits: { requests: 120 }, burstS: 0.5, retryAfter: mode });
    await statuses(1);
    assert.equal((await post(claude, 'x')).headers.get('retry-after'), value);
  });
}
