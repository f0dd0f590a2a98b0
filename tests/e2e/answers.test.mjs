// Answers with status 200 that are not plain success: failures in disguise
// (C22), refusals (C24), answers cut short by a limit (C25).
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { FIXTURES, fixture, startReceiver, storedResults } from './support/faults.mjs';
import { stage } from './support/stage.mjs';

let world;
let acme;
let receiver;

before(async () => {
  receiver = await startReceiver();
  world = await stage({ vars: { NOTIFY_WEBHOOK_URL: receiver.url }, claude: { rawDir: FIXTURES } });
  acme = await world.tenant('acme');
});
after(() => Promise.all([world.stop(), receiver.stop()]));

const DISGUISED = [
  ['c22-a-sse-error-first', 'overloaded_error'],
  ['c22-b-sse-error-mid', 'overloaded_error'],
  ['c22-c-json-error', 'overloaded_error'],
  ['c22-d-bare-error', 'unexpected_answer'],
  ['c22-e-sse-no-end', 'incomplete_answer'],
];

describe('A failure that comes with status 200 (C22)', { concurrency: true }, () => {
  for (const [file, type] of DISGUISED) {
    test(`${file} is a failed attempt, and nothing of it reaches the result`, async () => {
      const { job, text, calls } = await run(`once [[sim:raw=${file};raw=upstream-ok]]`);
      assert.deepEqual([job.status, job.attempts, calls], ['completed', 2, 2]);
      assert.equal(text, 'fine');
    });

    test(`${file}, every time, ends in the dead-letter queue with one webhook and no result`, async () => {
      const { id, job, calls } = await run(`always [[sim:raw=${file}]]`);
      assert.deepEqual([job.status, job.attempts, calls, job.error.type], ['dead-lettered', 5, 5, type]);
      assert.equal((await acme.result(id)).status, 409);
      assert.equal((await receiver.untilTold(id)).type, 'job.dead_lettered');
      assert.equal(receiver.about(id).length, 1);
      assert.equal((await storedResults(world)).some((key) => key.includes(id)), false);
    });
  }
});

const FINAL = [
  ['c24-a-refusal-empty', 'refusal', ''],
  ['c24-b-refusal-partial', 'refusal', 'I can start but'],
  ['c24-c-new-stop-reason', 'some_future_reason', 'ok'],
  ['c25-a-max-tokens', 'max_tokens', '{"items":[{"name":"one"},{"na'],
  ['c25-b-window', 'model_context_window_exceeded', 'cut off he'],
];

describe('An answer that stopped for another reason (C24, C25)', { concurrency: true }, () => {
  for (const [file, stopReason, expected] of FINAL) {
    test(`${file} completes the job as it is, with its stop reason, after one call`, async () => {
      const { id, job, text, calls } = await run(`[[sim:raw=${file}]]`);
      assert.deepEqual([job.status, job.attempts, calls], ['completed', 1, 1]);
      assert.deepEqual([job.stopReason, text], [stopReason, expected]);
      assert.deepEqual([job.inputTokens, job.outputTokens], [12, 7]);
      const { body } = await acme.result(id, 'message');
      assert.equal(body.stop_reason, stopReason);
      assert.deepEqual(body.stop_details, stopDetails(file));
    });
  }

  // The same, streamed, as the real Claude would.
  for (const [word, stopReason] of [['refusal', 'refusal'], ['refusal=partial', 'refusal'], ['max_tokens', 'max_tokens'], ['stop=pause_turn', 'pause_turn']]) {
    test(`a streamed ${word} is told apart from a good answer, after one call`, async () => {
      const { id, job, calls } = await run(`streamed [[sim:${word}]]`);
      assert.deepEqual([job.status, job.attempts, calls, job.stopReason], ['completed', 1, 1, stopReason]);
      assert.equal((await acme.result(id, 'message')).body.stop_reason, stopReason);
    });
  }

  test('a batch shows the stop reason of each file', async () => {
    const files = [{ name: 'a.pdf', bytes: fixture('good-1page.pdf') }];
    const { body } = await acme.submitFiles(files, { prompt: '[[sim:max_tokens]]' });
    const { jobs } = await acme.untilBatchEnded(body.batchId);
    assert.deepEqual([jobs[0].status, jobs[0].stopReason], ['completed', 'max_tokens']);
  });
});

async function run(prompt) {
  const id = await acme.accepted({ prompt });
  const job = await acme.untilEnded(id);
  const { text } = await acme.result(id);
  return { id, job, text, calls: world.claude.callsFor(prompt).length };
}

function stopDetails(file) {
  return JSON.parse(fixture(`${file}.http`).toString().split('\n').at(-1)).stop_details;
}
