import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { makePdf } from '../support/claude/samples.mjs';
import { RFC_3339, UUID_V7, assertRefused } from './support/assertions.mjs';
import { stage, until } from './support/stage.mjs';

const NO_JOBS = { pending: 0, running: 0, completed: 0, failed: 0, 'dead-lettered': 0, canceled: 0 };

let world, acme;
before(async () => {
  world = await stage({ tap: true });
  acme = await world.tenant('acme');
});
after(() => world?.stop());

test('a batch is accepted with its id, its total and one job for each file in order', async () => {
  const reply = await acme.submitFiles(filesShowing('first', 'second', 'third'));
  assert.equal(reply.status, 202, reply.text);
  const { batchId, total, pollUrl, jobs } = reply.body;
  assert.match(batchId, UUID_V7);
  assert.equal(total, 3);
  assert.equal(pollUrl, `/batches/${batchId}`);
  assert.equal(reply.headers.get('location'), pollUrl);
  assert.deepEqual(jobs.map(({ index, filename }) => [index, filename]), [[0, 'first.pdf'], [1, 'second.pdf'], [2, 'third.pdf']]);
  assert.equal(new Set(jobs.map(({ jobId }) => jobId)).size, 3);
  for (const { jobId, ...rest } of jobs) {
    assert.match(jobId, UUID_V7);
    assert.deepEqual(Object.keys(rest).sort(), ['filename', 'index']);
  }
});

test('a batch is processing until every job has ended, and counts every status', async () => {
  const reply = await world.whileHeld(async () => {
    const { batchId } = (await acme.submitFiles(filesShowing('held a', 'held b'))).body;
    await until(async () => (await acme.batch(batchId)).counts.running === 2, { what: 'two running jobs' });
    return acme.get(`/batches/${batchId}`);
  });
  assert.deepEqual(reply.body.counts, { ...NO_JOBS, running: 2 });
  assert.equal(reply.body.status, 'processing');
  assert.equal(reply.body.endedAt, undefined);
  assert.match(reply.headers.get('retry-after'), /^[1-9]\d*$/);
  const ended = await acme.untilBatchEnded(reply.body.batchId);
  assert.deepEqual(ended.counts, { ...NO_JOBS, completed: 2 });
  assert.match(ended.createdAt, RFC_3339);
  assert.match(ended.endedAt, RFC_3339);
  assert.equal(ended.total, 2);
  assert.equal((await acme.get(`/batches/${ended.batchId}`)).headers.get('retry-after'), null);
});

test('a batch whose jobs end differently ends, counts each end and tells the reasons', async () => {
  const files = filesShowing('fine', '[[sim:400]] refused', '[[sim:500]] hopeless', 'fine too');
  const { batchId } = (await acme.submitFiles(files)).body;
  const batch = await acme.untilBatchEnded(batchId);
  assert.deepEqual(batch.counts, { ...NO_JOBS, completed: 2, failed: 1, 'dead-lettered': 1 });
  assert.deepEqual(batch.jobs.map(({ status }) => status), ['completed', 'failed', 'dead-lettered', 'completed']);
  assert.deepEqual(batch.jobs.map(({ index }) => index), [0, 1, 2, 3]);
  assert.deepEqual(batch.jobs.map(({ error }) => error?.type), [undefined, 'invalid_request_error', 'api_error', undefined]);
});

test('a job of a batch can be read like any other', async () => {
  const { batchId, jobs } = (await acme.submitFiles(filesShowing('one of many'), {}, { 'x-user-id': 'ann' })).body;
  const job = await acme.untilCompleted(jobs[0].jobId);
  assert.equal(job.batchId, batchId);
  assert.deepEqual([job.index, job.filename, job.userId], [0, 'one of many.pdf', 'ann']);
  assert.deepEqual([job.origin, job.priority], ['batch_job', 'batch']);
  const { text } = await acme.result(jobs[0].jobId);
  assert.match(text, /^pdf sha256=[0-9a-f]{64} pages~1 text=one of many/);
});

test('a batch without options asks what its default template says', async () => {
  const template = readFileSync(new URL('../../templates/pdf-summarize-v1.md', import.meta.url), 'utf8');
  const { batchId } = (await acme.submitFiles(filesShowing('template'))).body;
  assert.equal((await acme.untilBatchEnded(batchId)).template, 'pdf-summarize-v1');
  const request = requestAbout('template.pdf');
  assert.deepEqual([request.model, request.max_tokens, request.stream], ['claude-sonnet-4-6', 4096, true]);
  const [document, text] = request.messages[0].content;
  assert.equal(document.type, 'document');
  assert.deepEqual(text, { type: 'text', text: template });
});

test('the other fields of the form hold for every job of the batch', async () => {
  const fields = {
    prompt: 'Only the totals, "bitte" 漢.',
    model: 'claude-haiku-4-5',
    maxTokens: '99',
    origin: 'scheduled',
    deadlineSeconds: '60',
    metadata: '{"n":12345678901234567890}',
  };
  const { batchId, jobs } = (await acme.submitFiles(filesShowing('fields a', 'fields b'), fields)).body;
  await acme.untilBatchEnded(batchId);
  for (const [i, { jobId }] of jobs.entries()) {
    const { text, body } = await acme.get(`/jobs/${jobId}`);
    assert.deepEqual([body.model, body.origin, body.priority], ['claude-haiku-4-5', 'scheduled', 'standard']);
    assert.ok(text.includes(`"metadata":${fields.metadata}`), text);
    const request = requestAbout(`fields ${'ab'[i]}.pdf`);
    assert.deepEqual([request.model, request.max_tokens], ['claude-haiku-4-5', 99]);
    assert.equal(request.messages[0].content[1].text, fields.prompt);
  }
});

test('the headers anthropic-version and anthropic-beta stay with every job of a batch', async () => {
  const headers = { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'a-1,b-2' };
  const { batchId } = (await acme.submitFiles(filesShowing('headers'), {}, headers)).body;
  await acme.untilBatchEnded(batchId);
  const sent = world.tap.callsWith('headers.pdf')[0].headers;
  assert.deepEqual([sent['anthropic-version'], sent['anthropic-beta']], ['2026-10-21', 'a-1,b-2']);
});

for (const [what, fields, field] of [
  ['an unknown template', { template: 'pdf-nothing-v9' }, 'template'],
  ['an unknown field', { promt: 'x' }, 'promt'],
  ['a maxTokens that is no number', { maxTokens: 'many' }, 'maxTokens'],
  ['a maxTokens of zero', { maxTokens: '0' }, 'maxTokens'],
  ['an unknown origin', { origin: 'moon' }, 'origin'],
  ['a negative deadline', { deadlineSeconds: '-1' }, 'deadlineSeconds'],
  ['an unknown priority', { priority: 'urgent' }, 'priority'],
  ['metadata that is no JSON', { metadata: '{oops' }, 'metadata'],
  ['a blank prompt', { prompt: ' \n' }, 'prompt'],
  ['a prompt of 200,001 characters', { prompt: 'x'.repeat(200_001) }, 'prompt'],
  ['a model with blanks', { model: 'two words' }, 'model'],
]) {
  test(`a form with ${what} is refused by the name of the field and leaves nothing behind`, async () => {
    const send = () => acme.submitFiles(filesShowing('a', 'b'), fields);
    await assertRefused(world, acme, send, { status: 400, type: 'invalid-request', field });
  });
}

function filesShowing(...texts) {
  return texts.map((text) => ({ name: `${text}.pdf`, bytes: makePdf(text) }));
}

function requestAbout(filename) {
  const calls = world.tap.callsWith(`"title":${JSON.stringify(filename)}`);
  assert.equal(calls.length, 1, `calls about ${filename}`);
  return JSON.parse(calls[0].body);
}
