import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { promptRequest } from '../support/claude/samples.mjs';
import { assertRefused } from './support/assertions.mjs';
import { pdfOfSize, piecesOf, sha256 } from './support/files.mjs';
import { stage } from './support/stage.mjs';

let world, acme;
before(async () => {
  world = await stage({ tap: true });
  acme = await world.tenant('acme');
});
after(() => world?.stop());

test('a request reaches Claude byte for byte, streamed', async () => {
  const request =
    '{ "model" : "claude-next", "max_tokens":64,\n"messages":[{"role":"user","content":"exact \\u00e9\\/\\ud83d\\ude00 漢"}],' +
    '"next_month":{"b":12345678901234567890123,"a":1.50,"stream":false,"e":[1E400,-0,1e-7]}, "b":1, "b":2,"":null }';
  const id = await acme.accepted(`{"request":${request}}`);
  await acme.untilCompleted(id);
  assert.equal(bodyOf('exact'), request.replace(/}$/, ',"stream":true}'));
  assert.equal((await acme.job(id)).model, 'claude-next');
});

test('whatever a request says of streaming, it is streamed', async () => {
  const around = (before, after) => `{${before}"model":"m","max_tokens":9,"messages":[{"role":"user","content":"streams"}]${after}}`;
  const plain = around('', ',"stream":true');
  for (const request of [
    around('"stream":false,', ''),
    around('', ',"stream":false'),
    around('', ',"stream":true'),
    around('"stream":{"a":[1]},', ',"stream":null'),
    around('"str\\u0065am":false,', ''),
  ]) {
    await acme.answerTo(`{"request":${request}}`);
    assert.equal(world.tap.callsWith('streams').at(-1).body.toString(), plain, request);
  }
});

test('version and betas go to Claude with the job that named them, and with no other', async () => {
  const named = { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'context-1m-2025-08-07,files-api-2025-04-14' };
  await acme.answerTo({ request: promptRequest('with betas') }, named);
  await acme.answerTo({ request: promptRequest('without betas') });
  const [betas] = world.tap.callsWith('with betas');
  const [none] = world.tap.callsWith('without betas');
  for (const [name, value] of Object.entries(named)) assert.equal(betas.headers[name], value);
  assert.equal(none.headers['anthropic-version'], '2023-06-01');
  assert.equal(none.headers['anthropic-beta'], undefined);
});

test('origin, deadline, priority and metadata stand beside a request, before it or after', async () => {
  const request = JSON.stringify(promptRequest('beside'));
  for (const body of [
    `{"origin":"scheduled","deadlineSeconds":60,"metadata":[1],"request":${request}}`,
    `{"request":${request},"origin":"scheduled","deadlineSeconds":60,"metadata":[1]}`,
  ]) {
    const job = await acme.untilCompleted(await acme.accepted(body));
    assert.deepEqual([job.origin, job.priority, job.metadata], ['scheduled', 'standard', [1]]);
  }
});

test('a small request is kept in its row, a large one in R2', async () => {
  for (const [bytes, objects] of [[16_384, 0], [16_385, 1]]) {
    const { objects: { inputs } } = await world.restCounts();
    const request = requestOfSize(`size ${bytes}`, bytes - ',"stream":true'.length);
    await acme.answerTo(`{"request":${request}}`);
    assert.equal(bodyOf(`size ${bytes}`).length, bytes);
    assert.equal((await world.counts()).objects.inputs - inputs, objects);
  }
});

for (const [what, size] of [['of 1,100,000 bytes', 1_100_000], ['of 20 MB', 20_000_000], ['as large as Claude takes', 32_000_000]]) {
  test(`a request ${what} reaches Claude byte for byte with its length`, async () => {
    const request = requestOfSize(what, size - ',"stream":true'.length);
    const answer = await acme.answerTo(`{"request":${request}}`);
    assert.match(answer, /^echo:/);
    const [call] = world.tap.callsWith(`"system":"${what}"`);
    assert.ok(call.body.equals(Buffer.from(request.replace(/}$/, ',"stream":true}'))), 'the bytes differ');
    assert.equal(call.headers['content-length'], String(size));
  });
}

for (const size of [1, 7, 1_000]) {
  test(`a body of unknown length that comes in pieces of ${size} bytes is like any other`, async () => {
    const request = JSON.stringify(promptRequest(`pieces of ${size}: \u0000 é 漢 😀 "${'\\'.repeat(size)}"`));
    const body = Buffer.from(`\uFEFF{"metadata":{"é":"漢"}, "request":${request} ,"origin":"scheduled"}`);
    const reply = await acme.stream('/jobs', piecesOf(body, size), { 'content-type': 'application/json' });
    const job = await acme.untilCompleted(reply.body.jobId);
    assert.deepEqual([job.origin, job.metadata], ['scheduled', { é: '漢' }]);
    assert.equal(bodyOf(`pieces of ${size}:`), request.replace(/}$/, ',"stream":true}'));
  });
}

test('a PDF within a request reaches Claude whole', async () => {
  const pdf = pdfOfSize('inside', 12_000_000);
  const source = { type: 'base64', media_type: 'application/pdf', data: pdf.toString('base64') };
  const content = [{ type: 'document', source }, { type: 'text', text: 'Summarize.' }];
  const answer = await acme.answerTo({ request: promptRequest(content) });
  assert.ok(answer.startsWith(`pdf sha256=${sha256(pdf)}`), answer.slice(0, 200));
});

test('a request that is one byte too large is refused with nothing left behind', async () => {
  const request = requestOfSize('too large', 32_000_001 - ',"stream":true'.length);
  const send = () => acme.submit(`{"request":${request}}`);
  await assertRefused(world, acme, send, { status: 413, type: 'too-large', field: 'request', detail: '32000000 bytes' });
});

test('a body that is padded beyond all bounds is refused with nothing left behind', async () => {
  const send = () => acme.submit(`{"request":${JSON.stringify(promptRequest('x'))}${' '.repeat(34_000_000)}}`);
  await assertRefused(world, acme, send, { status: 413, type: 'too-large', detail: '34000000 bytes' });
});

const good = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] };
for (const [what, body, field, detail] of [
  ['null for a request', '{"request":null}', 'request', 'must be a JSON object'],
  ['a list for a request', { request: [] }, 'request', 'must be a JSON object'],
  ['a text for a request', { request: 'x' }, 'request', 'must be a JSON object'],
  ['an empty request', { request: {} }, 'request.model', 'is missing'],
  ['no max_tokens', { request: { ...good, max_tokens: undefined } }, 'request.max_tokens', 'is missing'],
  ['no messages', { request: { ...good, messages: undefined } }, 'request.messages', 'is missing'],
  ['a number for the model', { request: { ...good, model: 4 } }, 'request.model', 'must be a string'],
  ['a text for max_tokens', { request: { ...good, max_tokens: '9' } }, 'request.max_tokens', 'a whole number'],
  ['a negative max_tokens', { request: { ...good, max_tokens: -1 } }, 'request.max_tokens', 'a whole number'],
  ['an object for messages', { request: { ...good, messages: {} } }, 'request.messages', 'must be an array'],
  ['two requests', `{"request":${JSON.stringify(good)},"request":${JSON.stringify(good)}}`, 'request', 'appears twice'],
  ['two models in the request', '{"request":{"model":"a","model":"b"}}', 'request.model', 'appears twice'],
  ['a prompt beside a request', { request: good, prompt: 'x' }, 'prompt', '`request.messages`'],
  ['a model beside a request', { model: 'x', request: good }, 'model', '`request.model`'],
  ['maxTokens beside a request', { request: good, maxTokens: 9 }, 'maxTokens', '`request.max_tokens`'],
  ['a system prompt beside a request', { request: good, system: 'x' }, 'system', '`request.system`'],
  ['an unknown field beside a request', { request: good, colour: 1 }, 'colour', 'unknown field'],
  ['a large request that breaks off', `{"request":{"a":"${'x'.repeat(6_000_000)}`, 'request', 'not valid JSON'],
  ['a large request and then a bad field', `{"request":${requestOfSize('bad', 6_000_000)},"origin":"moon"}`, 'origin', 'one of'],
]) {
  test(`a body with ${what} is refused and leaves nothing behind`, async () => {
    await assertRefused(world, acme, () => acme.submit(body), { status: 400, type: 'invalid-request', field, detail });
  });
}

/** A request of exactly `size` bytes that has `name` for its system prompt. */
function requestOfSize(name, size) {
  const around = JSON.stringify(promptRequest('', { system: name }));
  const filling = Buffer.alloc(size - around.length, 'the quick brown fox ').toString();
  return JSON.stringify(promptRequest(filling, { system: name }));
}

function bodyOf(text) {
  return world.tap.callsWith(text).at(-1).body.toString();
}
