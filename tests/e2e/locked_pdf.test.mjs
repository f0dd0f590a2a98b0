// PDFs that Claude cannot read: each fails alone (C08, C10).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FIXTURES, fixture, startReceiver } from './support/faults.mjs';
import { stage } from './support/stage.mjs';

const CASE_FORM = 'multipart/form-data; boundary=XcaseBoundary7';

let world;
let acme;
let receiver;

before(async () => {
  receiver = await startReceiver();
  world = await stage({ vars: { NOTIFY_WEBHOOK_URL: receiver.url }, claude: { rawDir: FIXTURES } });
  acme = await world.tenant('acme');
});
after(() => Promise.all([world.stop(), receiver.stop()]));

test('a locked PDF fails alone; one locked only against editing is read (C08)', async () => {
  const accepted = await acme.upload(fixture('c08-batch.multipart'), CASE_FORM);
  assert.equal(accepted.status, 202, accepted.text);
  const batch = await acme.untilBatchEnded(accepted.body.batchId);
  const [good, locked, ownerOnly] = batch.jobs;
  assert.deepEqual([good.status, locked.status, ownerOnly.status], ['completed', 'failed', 'completed']);
  assert.deepEqual([batch.counts.completed, batch.counts.failed], [2, 1]);
  const { error, attempts } = await acme.job(locked.jobId);
  assert.equal(attempts, 1);
  assert.match(error.message, /password protected/);
  assert.equal(world.claude.calls.length, 3, 'one call a file');
  const { type, data } = await receiver.untilTold(locked.jobId);
  assert.deepEqual([type, data.batchId], ['job.failed', accepted.body.batchId]);
  assert.equal(receiver.events.length, 1);
});

test('whatever words Claude has for a locked PDF, they are kept and not repeated (C08)', async () => {
  const job = await onlyJob('locked.pdf', 'good-1page.pdf', '[[sim:raw=c08-upstream-locked]]');
  assert.deepEqual([job.status, job.attempts], ['failed', 1]);
  assert.deepEqual(job.error, { type: 'invalid_request_error', message: 'mock: the document is locked' });
});

test('a web page that is called a PDF is refused by name, and so is its batch (C10)', async () => {
  const before = await world.restCounts();
  const files = [pdf('good.pdf', 'good-1page.pdf'), pdf('login.pdf', 'c10-html.pdf')];
  const { status, body } = await acme.submitFiles(files);
  assert.equal(status, 400);
  assert.match(body.detail, /login\.pdf/);
  await world.nothingLeftBehind(before);
});

test('a file that only begins like a PDF fails at its first call, and its batch goes on (C10)', async () => {
  const prompt = 'begins like one';
  const files = [pdf('empty.pdf', 'c10-magic-only.pdf'), pdf('good.pdf', 'good-1page.pdf')];
  const { status, body, text } = await acme.submitFiles(files, { prompt });
  assert.equal(status, 202, text);
  const { counts, jobs } = await acme.untilBatchEnded(body.batchId);
  assert.deepEqual([counts.failed, counts.completed, counts['dead-lettered']], [1, 1, 0]);
  assert.equal(jobs[0].error.type, 'invalid_request_error');
  assert.equal(world.claude.callsFor(prompt).length, 2);
  assert.equal((await receiver.untilTold(jobs[0].jobId)).type, 'job.failed');
});

test('a PDF that Claude cannot read, in other words, is not sent again (C10)', async () => {
  const job = await onlyJob('odd.pdf', 'c10-magic-only.pdf', '[[sim:raw=c10-upstream-not-a-pdf]]');
  assert.deepEqual([job.status, job.attempts, job.error.type], ['failed', 1, 'invalid_request_error']);
});

function pdf(name, file) {
  return { name, bytes: fixture(file) };
}

async function onlyJob(name, file, prompt) {
  const { body, text } = await acme.submitFiles([pdf(name, file)], { prompt });
  assert.ok(body.jobs, text);
  return acme.untilEnded(body.jobs[0].jobId);
}
