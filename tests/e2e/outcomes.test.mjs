// The outcome table, end to end: what each kind of upstream failure means for
// the job. Faults of the account, which stop everything, are in `pause`.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { FIXTURES, fixture } from './support/faults.mjs';
import { stage } from './support/stage.mjs';

const PERMANENT = [
  ['400', 'invalid_request_error'],
  ['404', 'not_found_error'],
  ['413', 'request_too_large'],
];

const TRANSIENT = [
  ['408', 'timeout_error'],
  ['409', 'conflict_error'],
  ['500', 'api_error'],
  ['502html', 'api_error'],
  ['503', 'api_error'],
  ['504', 'timeout_error'],
  ['529', 'overloaded_error'],
  ['reset', 'connection_error'],
  ['cut', 'connection_error'],
  ['eof', 'incomplete_answer'],
  ['cutjson', 'incomplete_answer'],
  ['sse-error', 'overloaded_error'],
  ['sse-error-mid', 'overloaded_error'],
  ['raw=c22-c-json-error', 'overloaded_error'],
  ['raw=c22-d-bare-error', 'unexpected_answer'],
];

// As standard jobs, whose time limit is short here.
const SILENT = ['hang', 'stall'];

const ATTEMPTS = 5;

let world;
let acme;

before(async () => {
  // Jobs that fail side by side are no outage here.
  const vars = { TIMEOUT_STANDARD_MS: '700', OUTAGE_AFTER: '1000' };
  world = await stage({ vars, claude: { rawDir: FIXTURES } });
  acme = await world.tenant('acme');
});
after(() => world.stop());

describe('A permanent failure', { concurrency: true }, () => {
  for (const [fault, type] of PERMANENT) {
    test(`${fault} fails the job at its first attempt`, async () => {
      const job = await run({ prompt: `always [[sim:${fault}]]` });
      expect(job, { status: 'failed', attempts: 1, calls: 1, type });
    });
  }
});

describe('A transient failure', { concurrency: true }, () => {
  for (const [fault, type] of TRANSIENT) {
    test(`${fault}, if it lasts, uses up every attempt and dead-letters the job`, async () => {
      const job = await run({ prompt: `always [[sim:${fault}]]` });
      expect(job, { status: 'dead-lettered', attempts: ATTEMPTS, calls: ATTEMPTS, type });
    });

    test(`${fault}, if it passes, costs one attempt`, async () => {
      const job = await run({ prompt: `once [[sim:${fault};200]]` });
      expect(job, { status: 'completed', attempts: 2, calls: 2 });
    });
  }

  for (const fault of SILENT) {
    test(`${fault} ends at our own time limit, and counts as an attempt`, async () => {
      const job = await run({ prompt: `always [[sim:${fault}]]`, origin: 'scheduled', deadlineSeconds: 3_600 });
      expect(job, { status: 'dead-lettered', attempts: ATTEMPTS, calls: ATTEMPTS, type: 'timeout' });
      assert.ok(job.calls.every(({ aborted }) => aborted));
    });
  }

  test('"Could not process PDF" is tried again, though it is a 400', async () => {
    const files = [{ name: 'scan.pdf', bytes: fixture('good-1page.pdf') }];
    const { body } = await acme.submitFiles(files, { prompt: 'intermittent [[sim:pdf400x1]]' });
    const [{ jobId }] = body.jobs;
    const job = { ...(await acme.untilEnded(jobId)), calls: world.claude.callsFor('intermittent') };
    expect(job, { status: 'completed', attempts: 2, calls: 2 });
  });

  test('retry-after on an overload is waited out', async () => {
    const job = await run({ prompt: 'polite [[sim:529x1,ra=1]]' });
    expect(job, { status: 'completed', attempts: 2, calls: 2 });
    assertWaits(job.calls, 1000);
  });
});

describe('A throttled call', { concurrency: true }, () => {
  // Each in a model class of its own, which it closes.
  for (const [fault, shortest] of [['429x2,ra=1', 1000], ['ramp429x2', 1000], ['429x1,ra=none', 1000], ['429x1,ra=0.3', 300]]) {
    test(`${fault} uses no attempt, and none comes before its time`, async () => {
      const job = await run({ prompt: `throttled [[sim:${fault}]]`, model: `model-of-${fault.replace(/\W/g, '-')}` });
      const calls = Number(/x(\d)/.exec(fault)[1]) + 1;
      expect(job, { status: 'completed', attempts: 1, calls });
      assertWaits(job.calls, shortest);
    });
  }
});

async function run(job) {
  const id = await acme.accepted(job);
  const ended = await acme.untilEnded(id, 60_000);
  return { ...ended, calls: world.claude.callsFor(job.prompt) };
}

function expect({ status, attempts, error, calls }, { type, ...expected }) {
  const found = { status, attempts, calls: calls.length };
  assert.deepEqual(found, expected, JSON.stringify(error));
  assert.equal(error?.type, type);
  if (type) assert.ok(error.message.length > 0);
}

function assertWaits(calls, shortest) {
  for (const [i, { at }] of calls.slice(1).entries()) {
    const waited = at - calls[i].endedAt;
    assert.ok(waited >= shortest, `called again after ${waited} ms`);
  }
}
