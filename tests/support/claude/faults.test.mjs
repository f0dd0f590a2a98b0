import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ManualClock } from './clock.mjs';
import { eventsIn, post, promptRequest, textOf } from './samples.mjs';
import { startSimulatedClaude } from './server.mjs';

const fixtures = fileURLToPath(new URL('fixtures', import.meta.url));
const clock = new ManualClock();
let claude;
before(async () => (claude = await startSimulatedClaude({ clock, rawDir: fixtures })));
after(() => claude.stop());
beforeEach(() => claude.reset());

const refusals = [
  ['400', 400, 'invalid_request_error'], ['401', 401, 'authentication_error'], ['402', 402, 'billing_error'],
  ['403', 403, 'permission_error'], ['404', 404, 'not_found_error'], ['408', 408, 'timeout_error'],
  ['409', 409, 'conflict_error'], ['413', 413, 'request_too_large'], ['429', 429, 'rate_limit_error', '1'],
  ['429,ra=86401', 429, 'rate_limit_error', '86401'], ['429,ra=none', 429, 'rate_limit_error'],
  ['500', 500, 'api_error'], ['503', 503, 'api_error'], ['504', 504, 'timeout_error'],
  ['529', 529, 'overloaded_error'], ['529,ra=5', 529, 'overloaded_error', '5'], ['ramp429', 429, 'rate_limit_error', '1'],
  ['spend429', 429, 'rate_limit_error'], ['contract429', 429, 'rate_limit_error'],
  ['spend400', 400, 'invalid_request_error'], ['pdf400', 400, 'invalid_request_error'],
];
for (const [step, status, type, retryAfter = null] of refusals) {
  test(`${step} answers ${status} ${type}`, async () => {
    const res = await post(claude, promptRequest(`[[sim:${step}]]`, { stream: true }));
    assert.equal(res.status, status);
    assert.equal((await res.json()).error.type, type);
    assert.equal(res.headers.get('retry-after'), retryAfter);
    assert.equal(claude.calls[0].outcome, step.split(',')[0]);
  });
}

test('spend limits carry their code', async () => {
  const body = await (await post(claude, '[[sim:spend429]]')).json();
  assert.equal(body.error.details.error_code, 'enforced_spend_limit_reached');
});

test('502html answers with a page', async () => {
  const res = await post(claude, '[[sim:502html]]');
  assert.equal(res.status, 502);
  assert.equal(res.headers.get('content-type'), 'text/html');
  assert.match(await res.text(), /Bad Gateway/);
});

test('a sequence is followed call by call for one text only', async () => {
  const status = async (text) => (await post(claude, text)).status;
  const text = '[[sim:529x2; 408; 200]] one';
  const course = [await status(text), await status(text), await status('[[sim:529x2]] two'), await status(text), await status(text)];
  assert.deepEqual(course, [529, 529, 529, 408, 200]);
});

test('a misspelt marker is refused', async () => {
  const res = await post(claude, '[[sim:oops]]');
  assert.equal(res.status, 400);
  assert.match((await res.json()).error.message, /unknown simulated behaviour: oops/);
});

for (const stream of [true, false]) {
  const kind = stream ? 'stream' : 'JSON answer';

  test(`reset ends a ${kind} before any header`, async () => {
    await assert.rejects(post(claude, promptRequest('[[sim:reset]]', { stream })));
    assert.deepEqual([claude.calls[0].outcome, claude.calls[0].aborted], ['reset', false]);
  });

  test(`cut breaks a ${kind} in the middle`, async () => {
    const { text, broken } = await readAll(await post(claude, promptRequest('[[sim:cut]]', { stream })));
    assert.ok(broken);
    assert.ok(text.includes(stream ? 'text_delta' : '"role":"assistant"'));
    assert.ok(!text.includes('message_stop'));
  });

  test(`hang leaves a ${kind} without answer until the caller gives up`, async () => {
    const caller = new AbortController();
    const asked = post(claude, promptRequest('[[sim:hang]]', { stream }), { signal: caller.signal });
    await claude.waitForCalls(1);
    caller.abort();
    await assert.rejects(asked);
    const call = await claude.waitUntil(([first]) => first.aborted && first);
    assert.deepEqual([call.outcome, call.status], ['hang', null]);
  });

  test(`stall begins a ${kind} and falls silent`, async () => {
    const caller = new AbortController();
    const res = await post(claude, promptRequest('[[sim:stall]]', { stream }), { signal: caller.signal });
    assert.equal(res.status, 200);
    if (stream) assert.match(await firstText(res), /^event: message_start\n[^]*\n\n$/);
    caller.abort();
    await claude.waitUntil(([call]) => call.aborted && call.outcome === 'stall');
  });

  test(`eof and cutjson end a ${kind} cleanly but not completely`, async () => {
    for (const word of ['eof', 'cutjson']) {
      const { text, broken } = await readAll(await post(claude, promptRequest(`[[sim:${word}]]`, { stream })));
      assert.ok(!broken);
      assert.ok(text.length > 50 && !text.includes('message_stop'));
      if (stream) assert.equal(text.endsWith('\n\n'), word === 'eof');
      else assert.throws(() => JSON.parse(text));
    }
  });
}

test('sse-error sends the error first, sse-error-mid after some text', async () => {
  const early = eventsIn(await (await post(claude, promptRequest('[[sim:sse-error]]', { stream: true }))).text());
  assert.deepEqual(early.map(({ event }) => event), ['error']);

  const late = eventsIn(await (await post(claude, promptRequest('[[sim:sse-error-mid]]', { stream: true }))).text());
  assert.equal(late.at(-1).data.error.type, 'overloaded_error');
  assert.ok(textOf(late).startsWith('echo:'));

  const plain = await post(claude, '[[sim:sse-error]]');
  assert.deepEqual([plain.status, (await plain.json()).type], [200, 'error']);
});

test('answers can be refused, cut, tools and thoughts', async () => {
  const ask = async (step) => (await post(claude, `[[sim:${step}]] please`)).json();
  const refusal = await ask('refusal');
  assert.deepEqual([refusal.stop_reason, refusal.content, refusal.stop_details.type], ['refusal', [], 'refusal']);
  assert.equal((await ask('refusal=partial')).content.length, 1);
  assert.equal((await ask('max_tokens')).stop_reason, 'max_tokens');
  assert.equal((await ask('stop=some_future_reason')).stop_reason, 'some_future_reason');
  assert.deepEqual((await ask('tool_use')).content.map(({ type }) => type), ['text', 'tool_use']);
  const thought = await ask('thinking');
  assert.deepEqual(thought.content.map(({ type }) => type), ['thinking', 'text']);
  assert.ok(thought.usage.output_tokens_details.thinking_tokens > 0);
});

test('a stream of tools and thoughts rebuilds the blocks', async () => {
  const events = eventsIn(await (await post(claude, promptRequest('[[sim:thinking,tool_use]]', { stream: true }))).text());
  const opened = events.filter(({ event }) => event === 'content_block_start').map(({ data }) => data.content_block.type);
  const input = events.map(({ data }) => data.delta?.partial_json ?? '').join('');
  assert.deepEqual(opened, ['thinking', 'text', 'tool_use']);
  assert.match(JSON.parse(input).echo, /^echo:/);
});

test('the size of an answer is exact in bytes and in tokens', async () => {
  const bytes = async (size) => Buffer.byteLength((await (await post(claude, `漢🙂 [[sim:size=${size}]]`)).json()).content[0].text);
  assert.deepEqual([await bytes(7), await bytes(300_001)], [7, 300_001]);
  const { usage } = await (await post(claude, '[[sim:tokens=321]]')).json();
  assert.equal(usage.output_tokens, 321);
});

test('slow answers and slow refusals wait for the clock', async () => {
  for (const step of ['slow=5000', '529,slow=5000']) {
    const asked = post(claude, `[[sim:${step}]]`);
    await clock.whenSleeping(1);
    const call = claude.calls.at(-1);
    assert.equal(call.endedAt, null);
    clock.advance(5000);
    await asked;
    assert.equal(call.endedAt - call.at, 5000);
  }
});

test('bom puts a byte order mark before the body', async () => {
  const bytes = Buffer.from(await (await post(claude, '[[sim:bom]]')).arrayBuffer());
  assert.equal(bytes.toString('hex', 0, 4), 'efbbbf7b');
});

test('raw writes a file to the socket byte for byte and closes', async () => {
  for (const name of ['upstream-ok', 'c22-a-sse-error-first.http']) {
    const file = await readFile(`${fixtures}/${name.replace(/(\.http)?$/, '.http')}`);
    assert.deepEqual(await rawExchange(`[[sim:raw=${name}]]`), file);
  }
  assert.match((await (await post(claude, '[[sim:raw=../missing]]')).json()).error.message, /no file for raw/);
});

function rawExchange(text) {
  const body = JSON.stringify(promptRequest(text));
  const head = `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\ncontent-length: ${body.length}\r\n\r\n`;
  return new Promise((resolve, reject) => {
    const received = [];
    const socket = connect(claude.port, '127.0.0.1', () => socket.write(head + body));
    socket.on('data', (data) => received.push(data)).on('end', () => resolve(Buffer.concat(received))).on('error', reject);
  });
}

async function readAll(res) {
  let text = '';
  try {
    for await (const chunk of res.body) text += Buffer.from(chunk).toString();
    return { text, broken: false };
  } catch {
    return { text, broken: true };
  }
}

async function firstText(res) {
  const { value } = await res.body.getReader().read();
  return Buffer.from(value).toString();
}
