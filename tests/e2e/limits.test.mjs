// The bad and odd inputs of real callers, in a house with limits: what is
// refused takes no place, and a full house says so whatever is sent.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertProblem, assertWorks } from './support/assertions.mjs';
import { CASE_FORM, fixture } from './support/files.mjs';
import { rowOf } from './support/faults.mjs';
import { stage, until } from './support/stage.mjs';

const CAPACITY = 120;

let world, acme, other;
before(async () => {
  const vars = { QUEUE_CAPACITY: String(CAPACITY), TENANT_SHARE_PERCENT: '100', RATE_FREE_PER_MINUTE: '6000' };
  world = await stage({ vars, tap: true });
  [acme, other] = await Promise.all(['acme', 'other'].map((name) => world.tenant(name)));
});
after(() => world?.stop());

const CASES = [
  ['c01-lf-only.multipart', 400],
  ['c02-backslash-end.multipart', 202],
  ['c02-escaped-quote.multipart', 202],
  ['c02-latin1.multipart', 202],
  ['c02-percent22.multipart', 202],
  ['c02-raw-utf8.multipart', 202],
  ['c02-star-and-plain.multipart', 202],
  ['c02-star-only.multipart', 202],
  ['c05-charset-binary.multipart', 202],
  ['c05-name-only.multipart', 202],
  ['c05-no-filename-no-type.multipart', 202],
  ['c05-octet-stream.multipart', 202],
  ['c05-type-first.multipart', 202],
  ['c05-type-only.multipart', 202],
  ['c07-100-same-name.multipart', 202],
  ['c07-101.multipart', 400],
  ['c08-batch.multipart', 202],
  ['c12-no-parts.multipart', 400],
  ['c12-nothing-chosen.multipart', 400],
  ['c12-zero.multipart', 400],
  ['c14-bom.json', 202],
  ['c16-nul.json', 202],
  ['c17-depth-100.json', 202],
  ['c17-depth-20000.json', 400],
  ['c17-depth-20000-objects.json', 400],
];

const send = (name) =>
  name.endsWith('.json') ? acme.post('/jobs', fixture(`intake/${name}`)) : acme.upload(fixture(`upload/${name}`), CASE_FORM);

for (const [name, status] of CASES) {
  test(`C01-C17: ${name} takes places if it is accepted, and none if it is not`, async () => {
    const before = await world.restCounts(60_000);
    const reply = await send(name);
    assert.equal(reply.status, status, reply.text);
    if (status === 202) return world.restCounts(120_000);
    await world.nothingLeftBehind(before);
    await assertWorks(acme);
  });
}

test('C01-C17: a full house answers 429 to each of them, and keeps nothing', async () => {
  await world.whileHeld(async () => {
    for (let i = 0; i < CAPACITY * 0.9; i++) await other.accepted({ prompt: `fills ${i}` });
    const { rows, objects, scheduler } = await world.counts();
    const kept = { rows, objects, depth: scheduler.depth };
    for (const [name] of CASES) {
      const reply = await send(name);
      assertProblem(reply, { status: 429, type: 'queue-saturated' });
      const { rows, objects, scheduler } = await world.counts();
      assert.deepEqual({ rows, objects, depth: scheduler.depth }, kept, name);
    }
  });
  await world.restCounts(120_000);
  await assertWorks(acme);
});

test('C40: Han text is charged before its call for what it is, and set right after it', async () => {
  const han = await stage({ tap: true, vars: { LIMIT_INPUT_TOKENS_PER_MINUTE: '20000', SLACK_MS: '1' } });
  try {
    const [tenant, second] = await Promise.all(['han', 'second'].map((name) => han.tenant(name)));
    han.tap.hold();
    const { prompt } = JSON.parse(fixture('intake/c40-20k-han.json'));
    const job = await tenant.accepted({ prompt, maxTokens: 16 });
    const { estimated_input_tokens: estimate } = await rowOf(han, job);
    assert.ok(estimate >= 12_000, `${estimate} tokens`);
    await until(() => han.tap.calls.length === 1, { what: 'the call' });
    const next = await second.accepted({ prompt: 'x'.repeat(40_000) });
    const { waitingFor } = await second.job(next);
    assert.equal(waitingFor.reason, 'tokens', 'there is no room for 10,000 more');
    han.tap.release();
    const { inputTokens } = await tenant.untilCompleted(job);
    assert.ok(inputTokens >= 12_000, `${inputTokens} tokens used`);
    await second.request('DELETE', `/jobs/${next}`);
    await han.restCounts();
  } finally {
    await han.stop();
  }
});

test('C40: an answer larger than the whole minute is asked for all the same, and its job ends', async () => {
  const small = await stage({ vars: { LIMIT_OUTPUT_TOKENS_PER_MINUTE: '8000' } });
  try {
    const tenant = await small.tenant('acme');
    const job = await tenant.accepted({ prompt: 'write a book', maxTokens: 64_000 });
    await tenant.untilCompleted(job);
    await small.restCounts();
  } finally {
    await small.stop();
  }
});
