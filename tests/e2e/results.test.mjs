import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertProblem } from './support/assertions.mjs';
import { stage, until } from './support/stage.mjs';

let world, acme;
before(async () => {
  // With one slot a second job has to wait for the first.
  world = await stage({ tap: true, claude: { deltas: 40 }, vars: { SLOTS: '1' } });
  acme = await world.tenant('acme');
});
after(() => world?.stop());

test('a result is the text of the answer, as text', async () => {
  const id = await acme.accepted({ prompt: 'plain <b>text</b> & 漢 😀' });
  await acme.untilCompleted(id);
  for (const format of [undefined, 'text']) {
    const reply = await acme.result(id, format);
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('content-type'), 'text/plain; charset=utf-8');
    assert.match(reply.text, /^echo:[0-9a-f]{12}:plain <b>text<\/b> & 漢 😀:\d+$/u);
  }
});

for (const [what, marker] of [
  ['a short answer', '200'],
  ['an answer of 200 KB', 'size=200000'],
  ['an answer of 2 MB', 'size=2000000'],
  ['an empty answer', 'size=0'],
  ['a tool call', 'tool_use'],
  ['thoughts', 'thinking'],
  ['thoughts before a tool call', 'thinking,tool_use'],
  ['thoughts before 200 KB of text and a tool call', 'thinking,tool_use,size=200000'],
  ['a refusal without a word', 'refusal'],
  ['a refusal after some text', 'refusal=partial'],
  ['an answer cut by max_tokens', 'max_tokens'],
  ['a stop reason that nobody knows', 'stop=next_month'],
]) {
  test(`the message of ${what} is the one that Claude sent`, async () => {
    const id = await acme.accepted({ prompt: `message "漢" 😀 of ${what} [[sim:${marker}]]` });
    const job = await acme.untilCompleted(id);
    const sent = messageIn(world.tap.callsWith(`of ${what} [[`)[0].answer.toString());
    const reply = await acme.result(id, 'message');
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('content-type'), 'application/json');
    assert.deepEqual(reply.body, sent);
    assert.equal((await acme.result(id)).text, textOf(sent));
    assert.equal(job.stopReason, sent.stop_reason);
    assert.equal(job.outputTokens, sent.usage.output_tokens);
    assert.equal(job.attempts, 1);
  });
}

test('a long answer that is asked for ten times at once is the same ten times', async () => {
  const id = await acme.accepted({ prompt: 'often [[sim:size=1000000]]' });
  await acme.untilCompleted(id);
  const texts = await Promise.all(Array.from({ length: 10 }, async () => (await acme.result(id)).text));
  assert.equal(new Set(texts).size, 1);
  assert.equal(texts[0].length, 1_000_000);
});

test('a job that waits or runs has no result yet, and says so', async () => {
  await world.whileHeld(async () => {
    const running = await acme.accepted({ prompt: 'runs' });
    await until(async () => (await acme.job(running)).status === 'running', { what: 'a running job' });
    const pending = await acme.accepted({ prompt: 'waits' });
    for (const [id, status] of [[running, 'running'], [pending, 'pending']]) {
      const reply = await acme.result(id);
      assertProblem(reply, { status: 409, type: 'no-result', detail: `the job is ${status}` });
      assert.equal(reply.body.jobStatus, status);
    }
  });
});

test('a job that failed has no result, and says why', async () => {
  for (const [marker, status, why] of [['400', 'failed', 'simulated invalid request'], ['529', 'dead-lettered', 'Overloaded']]) {
    const id = await acme.accepted({ prompt: `[[sim:${marker}]] no result` });
    await acme.untilEnded(id);
    for (const format of [undefined, 'message']) {
      const reply = await acme.result(id, format);
      assertProblem(reply, { status: 409, type: 'no-result', detail: why });
      assert.equal(reply.body.jobStatus, status);
    }
  }
});

test('a format that nobody knows is refused by the name of the parameter', async () => {
  const id = await acme.accepted({ prompt: 'formats' });
  await acme.untilCompleted(id);
  for (const format of ['html', 'TEXT', 'message%00', '%22']) {
    assertProblem(await acme.result(id, format), { status: 400, field: 'format', detail: 'one of text, message' });
  }
});

test('a result is kept once, and only the answer of the last attempt', async () => {
  const { objects: { results } } = await world.restCounts();
  const id = await acme.accepted({ prompt: '[[sim:cut; sse-error-mid; 200]] third time' });
  const job = await acme.untilCompleted(id);
  assert.equal(job.attempts, 3);
  const { text } = await acme.result(id);
  assert.match(text, /^echo:[0-9a-f]{12}:\[\[sim:cut; sse-error-mid; 200\]\] third time:\d+$/);
  assert.equal((await world.restCounts()).objects.results, results + 1);
});

/** The message that a stream of events adds up to. */
function messageIn(stream) {
  const events = stream.replace(/^\uFEFF/, '').split('\n\n').flatMap((frame) => /^data: (.*)$/m.exec(frame)?.[1] ?? []);
  const message = {};
  for (const event of events.map((data) => JSON.parse(data))) apply[event.type]?.(message, event);
  return message;
}

const apply = {
  message_start: (message, event) => Object.assign(message, event.message),
  content_block_start: ({ content }, event) => (content[event.index] = event.content_block),
  content_block_delta: ({ content }, { index, delta }) => grow[delta.type](content[index], delta),
  content_block_stop: ({ content }, { index }) => closeBlock(content[index]),
  message_delta: (message, event) => {
    Object.assign(message, event.delta);
    Object.assign(message.usage, event.usage);
  },
};

const grow = {
  text_delta: (block, delta) => (block.text += delta.text),
  thinking_delta: (block, delta) => (block.thinking += delta.thinking),
  signature_delta: (block, delta) => (block.signature = delta.signature),
  input_json_delta: (block, delta) => (block.json = (block.json ?? '') + delta.partial_json),
};

function closeBlock(block) {
  if (block.json === undefined) return;
  block.input = JSON.parse(block.json || '{}');
  delete block.json;
}

function textOf({ content }) {
  return content.filter(({ type }) => type === 'text').map(({ text }) => text).join('');
}
