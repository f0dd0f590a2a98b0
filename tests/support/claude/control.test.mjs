import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ManualClock } from './clock.mjs';
import { settingsFrom } from './main.mjs';
import { post, promptRequest } from './samples.mjs';
import { startSimulatedClaude } from './server.mjs';

const clock = new ManualClock();
let claude;
before(async () => (claude = await startSimulatedClaude({ clock })));
after(() => claude.stop());
beforeEach(() => claude.reset());

async function status(text = 'x') {
  return (await post(claude, text)).status;
}

async function control(name, body) {
  const res = await fetch(`${claude.url}/_sim/${name}`, body && { method: 'POST', body: JSON.stringify(body) });
  return { status: res.status, ...(await res.json()) };
}

test('a script sets the next calls and then leaves off', async () => {
  claude.script(['529', null, '429,ra=3']);
  assert.deepEqual([await status(), await status('[[sim:408]]'), await status(), await status()], [529, 408, 429, 200]);
  claude.script('500x2; 200');
  assert.deepEqual([await status(), await status(), await status('[[sim:408]]')], [500, 500, 200]);
  claude.script((call) => (call.request.messages[0].content === 'odd' ? '503' : null));
  assert.deepEqual([await status('odd'), await status('even')], [503, 200]);
  assert.throws(() => claude.script(['oops']), /unknown simulated behaviour/);
});

test('an outage refuses every call and lets running ones finish', async () => {
  claude.set({ latencyMs: 1000 });
  const running = post(claude, 'before');
  await clock.whenSleeping(1);
  claude.outage(true);
  assert.equal(await status(), 529);
  claude.outage(true, 503);
  assert.equal(await status(), 503);
  clock.advance(1000);
  assert.equal((await running).status, 200);
  claude.outage(false);
  claude.set({ latencyMs: 0 });
  assert.equal(await status(), 200);
});

test('chance is drawn from the seed', async () => {
  const draw = async (seed) => {
    claude.reset();
    claude.set({ failRate: 0.5, seed });
    const results = [];
    for (let i = 0; i < 20; i += 1) results.push(await status());
    return results.join();
  };
  const first = await draw(7);
  assert.ok(first.includes('200') && first.includes('529'));
  assert.equal(await draw(7), first);
  assert.notEqual(await draw(8), first);
});

test('calls are recorded in order with what was asked and answered', async () => {
  await post(claude, promptRequest('one', { metadata: { user_id: 'u' } }), { headers: { 'anthropic-beta': 'a,b' } });
  await post(claude, '[[sim:529]] two');
  assert.deepEqual(claude.calls.map(({ n, status: code, outcome }) => [n, code, outcome]), [[1, 200, 'ok'], [2, 529, '529']]);
  const [call] = claude.callsFor('one');
  assert.deepEqual(call.request.metadata, { user_id: 'u' });
  assert.equal(call.headers['anthropic-beta'], 'a,b');
  assert.equal(claude.callsFor(({ outcome }) => outcome === '529').length, 1);
});

test('calls in flight are counted, and a caller that leaves is noticed', async () => {
  claude.set({ latencyMs: 1000 });
  const callers = [1, 2, 3].map(() => new AbortController());
  const asked = callers.map(({ signal }, i) => post(claude, `q${i}`, { signal }).catch(() => null));
  await claude.waitForCalls(3);
  await clock.whenSleeping(3);
  assert.deepEqual([claude.inFlight, claude.maxInFlight], [3, 3]);
  callers[0].abort();
  const [gone] = await claude.waitUntil((calls) => claude.inFlight === 2 && calls.filter(({ aborted }) => aborted));
  assert.equal(gone.outcome, 'aborted');
  clock.advance(1000);
  await Promise.all(asked);
  assert.deepEqual([claude.inFlight, claude.maxInFlight, claude.stats().byOutcome], [0, 3, { aborted: 1, ok: 2 }]);
});

test('waiting for calls that never come says how many came', async () => {
  await status();
  await assert.rejects(claude.waitForCalls(2, 1), /gave up on 2 calls after 1 ms with 1 calls/);
});

test('only the newest records keep their request', async () => {
  claude.set({ keepRequests: 2 });
  for (const text of ['a', 'b', 'c']) await status(text);
  assert.deepEqual(claude.calls.map(({ request }) => request?.messages[0].content ?? null), [null, 'b', 'c']);
});

test('another process can drive it', async () => {
  assert.equal((await control('set', { limits: { requests: 1 } })).status, 200);
  assert.deepEqual([await status(), await status()], [200, 429]);
  assert.equal((await control('set', { nonsense: 1 })).error, 'unknown setting: nonsense');
  assert.equal((await control('config')).limits.requests, 1);
  assert.deepEqual((await control('calls?since=1')).calls.map(({ n }) => n), [2]);
  assert.equal((await control('stats')).calls, 2);

  await control('reset', {});
  await control('outage', { on: true, status: 503 });
  assert.equal(await status(), 503);
  await control('outage', { on: false });
  await control('script', { script: ['529'] });
  assert.deepEqual([await status(), await status()], [529, 200]);
  assert.equal((await control('nothing')).status, 404);
});

test('the command line starts it and names its address', async () => {
  const main = fileURLToPath(new URL('main.mjs', import.meta.url));
  const child = spawn(process.execPath, [main, '--port', '0', '--rpm', '1'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const line = await new Promise((resolve) => child.stdout.once('data', (data) => resolve(String(data))));
  const [, url] = /^simulated Claude listening on (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(line);
  assert.deepEqual([(await post({ url }, 'x')).status, (await post({ url }, 'y')).status], [200, 429]);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  assert.equal(await ended, 0);
});

test('command line values become settings', () => {
  assert.deepEqual(settingsFrom({ latency: '400', decode: '600', itpm: '40000', 'retry-after': 'exact' }), {
    latencyMs: 400, decodeMs: 600, retryAfter: 'exact', limits: { input: 40_000 },
  });
  assert.throws(() => settingsFrom({ latency: 'soon' }), /--latency needs a number/);
});
