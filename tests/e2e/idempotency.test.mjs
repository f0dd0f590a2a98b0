import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { makePdf } from '../support/claude/samples.mjs';
import { assertProblem, assertWorks } from './support/assertions.mjs';
import { FORM_TYPE, formOf, stage } from './support/stage.mjs';

let world, acme, bolt;
before(async () => {
  world = await stage();
  [acme, bolt] = await Promise.all(['acme', 'bolt'].map((name) => world.tenant(name)));
});
after(() => world?.stop());

let numbers = 0;
const fresh = () => ({ 'idempotency-key': `key ${++numbers}` });
const pdfs = (text) => [{ name: 'a.pdf', bytes: makePdf(text) }, { name: 'b.pdf', bytes: makePdf(`${text} too`) }];

test('the same request with the same key is answered again, and made once', async () => {
  const key = fresh();
  const first = await acme.submit({ prompt: 'once' }, key);
  assert.equal(first.status, 202);
  assert.equal(first.headers.get('idempotent-replayed'), null);
  await acme.untilCompleted(first.body.jobId);
  const before = await world.restCounts();
  const again = await acme.submit({ prompt: 'once' }, key);
  assert.equal(again.status, 202);
  assert.equal(again.text, first.text);
  assert.equal(again.headers.get('location'), first.headers.get('location'));
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  await world.nothingLeftBehind(before);
  assert.equal(world.claude.callsFor('once').length, 1);
});

test('another request with the key is refused: other body, other label, other version', async () => {
  const key = fresh();
  await acme.accepted({ prompt: 'first' }, key);
  const before = await world.restCounts();
  for (const [body, headers] of [
    [{ prompt: 'second' }, {}],
    [{ prompt: 'first', maxTokens: 9 }, {}],
    [{ prompt: 'first' }, { 'x-user-id': 'ann' }],
    [{ prompt: 'first' }, { 'anthropic-version': '2023-01-01' }],
  ]) {
    const reply = await acme.submit(body, { ...key, ...headers });
    assertProblem(reply, { status: 422, type: 'idempotency-key-reused', field: 'idempotency-key' });
  }
  await world.nothingLeftBehind(before);
});

test('many at the same time make one job, and all are told of it', async () => {
  for (const send of [
    (key) => acme.submit({ prompt: 'together' }, key),
    (key) => acme.submit({ request: { model: 'claude-haiku-4-5', max_tokens: 9, messages: [{ role: 'user', content: 'x'.repeat(30_000) }] } }, key),
    (key) => acme.submitFiles(pdfs('together'), {}, key),
  ]) {
    const before = await world.restCounts();
    const key = fresh();
    const replies = await Promise.all(Array.from({ length: 12 }, () => send(key)));
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([202]));
    assert.equal(new Set(replies.map(({ text }) => text)).size, 1);
    assert.equal(replies.filter(({ headers }) => headers.get('idempotent-replayed') === 'true').length, 11);
    const { rows, objects } = await world.restCounts();
    const made = replies[0].body.total ?? 1;
    assert.equal(rows.jobs, before.rows.jobs + made);
    assert.equal(objects.uploads, before.objects.uploads + (replies[0].body.total ?? 0));
    assert.ok(objects.inputs <= before.objects.inputs + 1);
  }
});

test('a batch is recognised whatever boundary its form has', async () => {
  const key = fresh();
  const first = await acme.submitFiles(pdfs('form'), { prompt: 'sum up' }, key);
  assert.equal(first.status, 202);
  const before = await world.restCounts();
  const again = await acme.upload(...otherFraming(pdfs('form'), { prompt: 'sum up' }), key);
  assert.equal(again.text, first.text);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  for (const [files, fields] of [[pdfs('other'), { prompt: 'sum up' }], [pdfs('form'), {}], [pdfs('form').reverse(), { prompt: 'sum up' }]]) {
    assertProblem(await acme.submitFiles(files, fields, key), { status: 422, field: 'idempotency-key' });
  }
  await world.nothingLeftBehind(before);
});

test('a key belongs to its tenant', async () => {
  const key = fresh();
  const ours = await acme.submit({ prompt: 'same words' }, key);
  const theirs = await bolt.submit({ prompt: 'same words' }, key);
  assert.equal(theirs.status, 202);
  assert.notEqual(theirs.body.jobId, ours.body.jobId);
  assert.equal(theirs.headers.get('idempotent-replayed'), null);
});

test('a refused request leaves its key free', async () => {
  const key = fresh();
  assert.equal((await acme.submit({ prompt: '' }, key)).status, 400);
  assert.equal((await acme.submit('{', key)).status, 400);
  assert.equal((await acme.submitFiles([{ name: 'a.pdf', bytes: Buffer.from('no pdf') }], {}, key)).status, 400);
  const reply = await acme.submit({ prompt: 'now it is right' }, key);
  assert.equal(reply.status, 202);
  assert.equal(reply.headers.get('idempotent-replayed'), null);
});

test('a key is kept for 24 hours, and then free', async () => {
  const key = fresh();
  const first = await acme.accepted({ prompt: 'yesterday' }, key);
  const age = (ms) => world.runtime.d1.prepare('UPDATE idempotency SET created_at = created_at - ? WHERE key = ?').bind(ms, key['idempotency-key']).run();
  await age(23 * 3_600_000);
  assert.equal((await acme.submit({ prompt: 'yesterday' }, key)).body.jobId, first);
  await age(2 * 3_600_000);
  const later = await acme.submit({ prompt: 'today' }, key);
  assert.equal(later.status, 202, later.text);
  assert.notEqual(later.body.jobId, first);
});

test('an answer is given again even if nobody is let in', async () => {
  const full = await stage({ vars: { QUEUE_CAPACITY: '2', TENANT_SHARE_PERCENT: '100' }, tap: true });
  try {
    const tenant = await full.tenant('acme');
    await full.whileHeld(async () => {
      const key = fresh();
      const first = await tenant.submit({ prompt: 'in' }, key);
      assert.equal((await tenant.submit({ prompt: 'out' })).status, 429);
      assert.equal((await tenant.submit({ prompt: 'in' }, key)).text, first.text);
    });
  } finally {
    await full.stop();
  }
});

test('a key that cannot be kept is refused', async () => {
  for (const value of ['k'.repeat(256), 'schlüssel', '', 'a\tb']) {
    const reply = await acme.submit({ prompt: 'x' }, { 'idempotency-key': value });
    assertProblem(reply, { status: 400, field: 'idempotency-key' });
  }
  await assertWorks(acme);
});

/** The same form between other boundaries, and its content type. */
function otherFraming(files, fields) {
  const [, known] = FORM_TYPE.split('boundary=');
  const form = formOf(files, fields).toString('latin1').replaceAll(known, 'another-one');
  return [Buffer.from(form, 'latin1'), 'multipart/form-data; boundary=another-one'];
}
