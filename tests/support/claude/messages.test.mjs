import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { echoOf } from './answer.mjs';
import { eventsIn, post, promptRequest, textOf } from './samples.mjs';
import { startSimulatedClaude } from './server.mjs';

let claude;
before(async () => (claude = await startSimulatedClaude({ apiKey: 'test-key', maxBodyBytes: 100_000 })));
after(() => claude.stop());
beforeEach(() => claude.reset());

test('a stream has the events of a message in order', async () => {
  const res = await post(claude, promptRequest('hello', { stream: true }));
  const events = eventsIn(await res.text());

  const names = events.map(({ event }) => event).filter((name, i, all) => name !== all[i - 1]);
  assert.deepEqual(names, [
    'message_start', 'content_block_start', 'ping', 'content_block_delta',
    'content_block_stop', 'message_delta', 'message_stop',
  ]);
  assert.match(res.headers.get('content-type'), /^text\/event-stream/);
  assert.equal(textOf(events), echoOf('hello'));
  assert.ok(events.every(({ event, data }) => data.type === event));
});

test('usage at the end of a stream is the usage of the same answer as JSON', async () => {
  const whole = await (await post(claude, 'same')).json();
  const events = eventsIn(await (await post(claude, promptRequest('same', { stream: true }))).text());

  const { delta, usage } = events.find(({ event }) => event === 'message_delta').data;
  assert.equal(delta.stop_reason, whole.stop_reason);
  assert.equal(usage.output_tokens, whole.usage.output_tokens);
  assert.equal(events[0].data.message.usage.input_tokens, whole.usage.input_tokens);
});

test('the answer names the text it answers', async () => {
  const text = `${'漢🙂'.repeat(150)}\u0000end`;
  const { content, usage } = await (await post(claude, text)).json();

  assert.equal(content[0].text, echoOf(text));
  assert.ok(content[0].text.endsWith(':304'));
  assert.ok(usage.input_tokens >= 300);
});

test('an answer longer than max_tokens is cut and says so', async () => {
  const answer = await (await post(claude, promptRequest('a long question', { max_tokens: 3 }))).json();
  assert.equal(answer.stop_reason, 'max_tokens');
  assert.equal(answer.usage.output_tokens, 3);
});

test('every answer carries a request id and all limits', async () => {
  const answers = [await post(claude, 'ok'), await post(claude, {}), await fetch(`${claude.url}/v1/nothing`)];
  for (const { headers } of answers) {
    assert.match(headers.get('request-id'), /^req_/);
    for (const kind of ['requests', 'input-tokens', 'output-tokens', 'tokens']) {
      assert.ok(Number(headers.get(`anthropic-ratelimit-${kind}-limit`)) > 0);
      assert.ok(Number(headers.get(`anthropic-ratelimit-${kind}-remaining`)) > 0);
      assert.match(headers.get(`anthropic-ratelimit-${kind}-reset`), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    }
  }
});

test('either key header is accepted, and beta parameters are ignored', async () => {
  const bearer = { 'x-api-key': null, authorization: 'Bearer test-key', 'anthropic-version': '2026-10-21' };
  assert.equal((await post(claude, 'a', { headers: bearer })).status, 200);
  assert.equal((await post(claude, 'b', { path: '/v1/messages?beta=true' })).status, 200);
  assert.equal(claude.calls[0].headers.authorization, 'Bearer [redacted]');
  assert.equal(claude.calls[1].headers['x-api-key'], '[redacted]');
});

const refused = [
  ['a wrong key', { headers: { 'x-api-key': 'other' } }, 401, 'authentication_error'],
  ['no key', { headers: { 'x-api-key': null } }, 401, 'authentication_error'],
  ['no version', { headers: { 'anthropic-version': null } }, 400, 'invalid_request_error'],
  ['an unknown version', { headers: { 'anthropic-version': '1999-01-01' } }, 400, 'invalid_request_error'],
  ['a body that is no JSON', { body: '{"model":' }, 400, 'invalid_request_error'],
  ['a body that is no object', { body: '[]' }, 400, 'invalid_request_error'],
  ['a body that is too large', { body: JSON.stringify(promptRequest('x'.repeat(100_000))) }, 413, 'request_too_large'],
  ['no model', { request: { max_tokens: 1, messages: [] } }, 400, 'invalid_request_error'],
  ['no max_tokens', { request: promptRequest('x', { max_tokens: undefined }) }, 400, 'invalid_request_error'],
  ['no messages', { request: promptRequest('x', { messages: [] }) }, 400, 'invalid_request_error'],
  ['empty text', { request: promptRequest([{ type: 'text', text: '' }]) }, 400, 'invalid_request_error'],
  ['an unknown role', { request: promptRequest('x', { messages: [{ role: 'bot', content: 'x' }] }) }, 400, 'invalid_request_error'],
];
for (const [what, { request = promptRequest('x'), ...options }, status, type] of refused) {
  test(`${what} is refused`, async () => {
    const res = await post(claude, request, options);
    const body = await res.json();
    assert.equal(res.status, status);
    assert.equal(body.type, 'error');
    assert.equal(body.error.type, type);
    assert.equal(body.request_id, res.headers.get('request-id'));
    assert.equal(claude.calls.at(-1).outcome, 'invalid');
  });
}

test('sampling parameters depend on the version', async () => {
  const request = promptRequest('warm', { temperature: 1 });
  assert.equal((await post(claude, request)).status, 200);
  const res = await post(claude, request, { headers: { 'anthropic-version': '2026-10-21' } });
  assert.equal((await res.json()).error.message, 'temperature: Extra inputs are not permitted');
});

test('the record tells a chunked body from one with a length', async () => {
  const chunks = new Blob([JSON.stringify(promptRequest('x'))]).stream();
  const headers = { 'x-api-key': 'test-key', 'anthropic-version': '2023-06-01' };
  await fetch(`${claude.url}/v1/messages`, { method: 'POST', headers, body: chunks, duplex: 'half' });
  await post(claude, 'y');

  const [chunked, sized] = claude.calls;
  assert.deepEqual([chunked.chunked, chunked.contentLength], [true, null]);
  assert.deepEqual([sized.chunked, sized.contentLength], [false, sized.bodyBytes]);
});
