import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { RAW_DIR, fixture } from './support/files.mjs';
import { assertProblem, assertRefused, assertWorks } from './support/assertions.mjs';
import { stage } from './support/stage.mjs';

let world, acme;
before(async () => {
  world = await stage({ claude: { rawDir: RAW_DIR } });
  acme = await world.tenant('acme');
});
after(() => world?.stop());

const long = (length) => 'x'.repeat(length);
const nested = (depth, open, close) => open.repeat(depth) + '0' + close.repeat(depth);

for (const [what, body, field, detail] of [
  ['nothing', '', undefined, 'the body is empty'],
  ['no prompt', {}, 'prompt', '`prompt`'],
  ['an empty prompt', { prompt: '' }, 'prompt', 'must not be empty'],
  ['a blank prompt', { prompt: ' \n\t ' }, 'prompt', 'must not be empty'],
  ['a prompt of null', { prompt: null }, 'prompt', '`prompt`'],
  ['a number for a prompt', { prompt: 7 }, 'prompt', 'a string, not a number'],
  ['a list for a prompt', { prompt: ['x'] }, 'prompt', 'a string, not an array'],
  ['200,001 characters of prompt', { prompt: long(200_001) }, 'prompt', '200001 characters; at most 200000'],
  ['200,001 characters of system prompt', { prompt: 'x', system: long(200_001) }, 'system', 'at most 200000'],
  ['a number for a system prompt', { prompt: 'x', system: 1 }, 'system', 'must be a string'],
  ['an empty model', { prompt: 'x', model: '' }, 'model', 'must be a model id'],
  ['a model with a line break', { prompt: 'x', model: 'a\nb' }, 'model', 'must be a model id'],
  ['a model of 101 characters', { prompt: 'x', model: long(101) }, 'model', 'must be a model id'],
  ['maxTokens of zero', { prompt: 'x', maxTokens: 0 }, 'maxTokens', 'from 1 to 1000000, not 0'],
  ['a fraction for maxTokens', { prompt: 'x', maxTokens: 1.5 }, 'maxTokens', 'not 1.5'],
  ['a text for maxTokens', { prompt: 'x', maxTokens: '9' }, 'maxTokens', 'not a string'],
  ['maxTokens of 1e30', '{"prompt":"x","maxTokens":1e30}', 'maxTokens', 'a whole number'],
  ['an unknown origin', { prompt: 'x', origin: 'moon' }, 'origin', 'one of user_action, scheduled, batch_job'],
  ['an origin in capitals', { prompt: 'x', origin: 'USER_ACTION' }, 'origin', 'one of'],
  ['a deadline of zero', { prompt: 'x', deadlineSeconds: 0 }, 'deadlineSeconds', 'from 1 to'],
  ['a deadline beyond a year', { prompt: 'x', deadlineSeconds: 31_536_001 }, 'deadlineSeconds', 'from 1 to'],
  ['an unknown priority', { prompt: 'x', priority: 'critical' }, 'priority', '`bulk`'],
  ['4,097 bytes of metadata', { prompt: 'x', metadata: long(4_095) }, 'metadata', 'at most 4096'],
  ['an unknown field', { prompt: 'x', colour: 'red' }, 'colour', 'unknown field `colour`; allowed are'],
  ['a field name in other case', { Prompt: 'x' }, 'Prompt', 'unknown field'],
  ['__proto__ for a field', '{"prompt":"x","__proto__":{}}', '__proto__', 'unknown field'],
  ['the same field twice', '{"prompt":"x","prompt":"y"}', 'prompt', 'appears twice'],
  ['a list for a body', '[]', undefined, 'must be a JSON object'],
  ['a text for a body', '"prompt"', undefined, 'must be a JSON object'],
  ['half a body', '{"prompt":"hel', 'prompt', 'not valid JSON'],
  ['something after the body', '{"prompt":"x"} {}', undefined, 'not valid JSON'],
  ['single quotes', "{'prompt':'x'}", undefined, 'not valid JSON at byte 1'],
  ['bytes that are no UTF-8', Buffer.from('{"prompt":"\xff"}', 'latin1'), 'prompt', 'not valid JSON'],
  ['a raw line break in a text', '{"prompt":"a\nb"}', 'prompt', 'not valid JSON'],
  ['half of a surrogate pair', '{"prompt":"\\ud83d"}', 'prompt', ''],
]) {
  test(`a body with ${what} is refused and leaves nothing behind`, async () => {
    await assertRefused(world, acme, () => acme.submit(body), { status: 400, type: 'invalid-request', field, detail });
  });
}

test('a prompt of 200,000 characters arrives whole, of one byte each or of four', async () => {
  for (const char of ['x', '漢', '😀']) {
    const body = JSON.stringify({ prompt: char.repeat(200_000) });
    const id = await acme.accepted(body);
    await acme.untilCompleted(id);
    assert.match((await acme.result(id)).text, new RegExp(`^echo:[0-9a-f]{12}:(${char}){200}:200000$`, 'u'));
  }
});

test('C21: a long prompt goes through a queue of small messages, and its long answer comes back', async () => {
  for (const [text, size] of [['lorem ipsum '.repeat(16_664), 200_000], ['漢字仮名'.repeat(14_990), 180_000]]) {
    const prompt = `${text}[[sim:size=${size}]]`;
    const id = await acme.accepted({ prompt });
    assert.equal((await acme.untilCompleted(id)).attempts, 1);
    assert.equal((await acme.result(id)).bytes.length, size);
    const [call] = world.claude.callsFor(prompt);
    assert.equal(call.request.messages[0].content, prompt);
  }
});

test('a body of a prompt may have 1,000,000 bytes and not one more', async () => {
  const body = (bytes) => `{"prompt":"big"${' '.repeat(bytes - 16)}}`;
  assert.equal(body(1_000_000).length, 1_000_000);
  assert.equal((await acme.submit(body(1_000_000))).status, 202);
  await assertRefused(world, acme, () => acme.submit(body(1_000_001)), { status: 413, type: 'too-large' });
});

test('C14: a byte order mark before the body is no part of it', async () => {
  const answer = await acme.answerTo(fixture('intake/c14-bom.json'));
  assert.match(answer, /:hello:5$/);
});

test('C14: a byte order mark before the answer of Claude costs no second call', async () => {
  for (const [prompt, answer] of [['[[sim:raw=c14-upstream-bom]]', /^fine$/], ['[[sim:bom]] streamed', /^echo:/]]) {
    const id = await acme.accepted({ prompt });
    const job = await acme.untilCompleted(id);
    assert.equal(job.attempts, 1);
    assert.match((await acme.result(id)).text, answer);
    assert.equal(world.claude.callsFor(prompt).length, 1);
  }
});

test('C16: a NUL in a prompt reaches Claude and comes back', async () => {
  const answer = await acme.answerTo(fixture('intake/c16-nul.json'));
  assert.match(answer, /:before\0after:12$/);
  const [call] = world.claude.callsFor('before\0after');
  assert.equal(call.request.messages[0].content, 'before\0after');
});

for (const [what, deep] of [
  ['a metadata of 20,000 lists', `{"prompt":"x","metadata":${nested(20_000, '[', ']')}}`],
  ['a metadata of 20,000 objects', `{"prompt":"x","metadata":${nested(20_000, '{"a":', '}')}}`],
  ['a field nobody knows of 20,000 lists', `{"prompt":"x","deep":${nested(20_000, '[', ']')}}`],
  ['20,000 lists that never end', `{"prompt":"x","metadata":${'['.repeat(20_000)}`],
  ['a tool schema of 20,000 objects', `{"request":{"model":"m","max_tokens":9,"messages":[],"tools":[${nested(20_000, '{"a":', '}')}]}}`],
]) {
  test(`C17: ${what} is refused for its depth and the Worker goes on`, async () => {
    await assertRefused(world, acme, () => acme.submit(deep), {
      status: 400,
      field: /"request"/.test(deep) ? 'request' : /"deep"/.test(deep) ? 'deep' : 'metadata',
      detail: 'nested more than 128 levels deep',
    });
  });
}

test('C17: a metadata of 100 levels is welcome and comes back', async () => {
  const id = await acme.accepted(fixture('intake/c17-depth-100.json'));
  const { text } = await acme.get(`/jobs/${id}`);
  assert.ok(text.includes(`"metadata":${nested(100, '[', ']')}`), text);
});

test('a hundred refusals side by side leave nothing behind', async () => {
  const before = await world.restCounts();
  const refusals = Array.from({ length: 100 }, (_, i) => acme.submit({ prompt: 'x', [`field${i}`]: i }));
  for (const [i, reply] of (await Promise.all(refusals)).entries()) {
    assertProblem(reply, { status: 400, field: `field${i}` });
  }
  await world.nothingLeftBehind(before);
  await assertWorks(acme);
});
