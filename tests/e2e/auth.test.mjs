import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { assertProblem, assertWorks } from './support/assertions.mjs';
import { FORM_TYPE, formOf, replyOf, stage } from './support/stage.mjs';
import { makePdf } from '../support/claude/samples.mjs';

let world, acme, done;
before(async () => {
  world = await stage();
  acme = await world.tenant('acme');
  done = await acme.accepted({ prompt: 'for reading' });
  await acme.untilCompleted(done);
});
after(() => world?.stop());

const ROUTES = [
  ['POST', () => '/jobs', () => '{"prompt":"x"}', 'application/json'],
  ['POST', () => '/batches', () => formOf([{ name: 'a.pdf', bytes: makePdf('a') }]), FORM_TYPE],
  ['GET', () => `/jobs/${done}`],
  ['GET', () => `/jobs/${done}/result`],
  ['GET', () => '/batches/01890000-0000-7000-8000-000000000000'],
];

for (const [what, headersOf] of [
  ['no key', () => ({})],
  ['a wrong key', () => ({ authorization: 'Bearer wrong' })],
  ['a wrong x-api-key', () => ({ 'x-api-key': 'wrong' })],
  ['an empty key', () => ({ authorization: 'Bearer ' })],
  ['an empty x-api-key', () => ({ 'x-api-key': '' })],
  ['a key of another scheme', () => ({ authorization: `Basic ${acme.key}` })],
  ['a key without a scheme', () => ({ authorization: acme.key })],
  ['a key in other case', () => ({ 'x-api-key': acme.key.toUpperCase() })],
  ['a key with something after it', () => ({ 'x-api-key': `${acme.key}0` })],
  ['the hash of a key', () => ({ 'x-api-key': createHash('sha256').update(acme.key).digest('hex') })],
  ['a key of 10,000 characters', () => ({ 'x-api-key': 'k'.repeat(10_000) })],
  ['SQL for a key', () => ({ 'x-api-key': "' OR 1=1 --" })],
  ['a valid key behind a wrong x-api-key', () => ({ 'x-api-key': 'wrong', ...acme.headers })],
]) {
  test(`${what} is refused on every route alike and leaves nothing behind`, async () => {
    const before = await world.restCounts();
    const bodies = new Set();
    for (const route of ROUTES) {
      const reply = await send(route, headersOf());
      assertProblem(reply, { status: 401, type: 'unauthorized' });
      assert.equal(reply.headers.get('www-authenticate'), 'Bearer');
      bodies.add(reply.text);
    }
    assert.equal(bodies.size, 1);
    await world.nothingLeftBehind(before);
  });
}

test('a key is welcome in either header', async () => {
  for (const headers of [
    { authorization: `Bearer ${acme.key}` },
    { authorization: `bearer  ${acme.key} ` },
    { 'x-api-key': acme.key },
    { 'x-api-key': acme.key, authorization: 'Bearer wrong' },
  ]) {
    assert.equal((await send(ROUTES[2], headers)).status, 200, JSON.stringify(headers));
  }
});

test('two keys of a tenant open the same jobs', async () => {
  const second = await world.tenant('acme');
  assert.notEqual(second.key, acme.key);
  assert.equal((await second.job(done)).jobId, done);
});

test('no key is kept in the database as it is', async () => {
  const { results } = await world.runtime.d1.prepare('SELECT * FROM api_keys').all();
  assert.ok(results.length > 0);
  assert.ok(!JSON.stringify(results).includes(acme.key));
});

test('Claude never sees the key of a tenant', async () => {
  await assertWorks(acme);
  const seen = JSON.stringify(world.claude.calls.map(({ headers }) => headers));
  assert.ok(!seen.includes(acme.key));
});

for (const [name, value, allowed] of [
  ['x-user-id', 'u'.repeat(129), '128 bytes'],
  ['x-user-id', '\u00ff\u00fe', 'UTF-8'],
  ['anthropic-version', 'latest', 'a date like 2023-06-01'],
  ['anthropic-beta', 'b'.repeat(2_001), '2000 bytes'],
]) {
  test(`a bad header ${name} is refused by its name: ${allowed}`, async () => {
    const before = await world.restCounts();
    const reply = await acme.submit({ prompt: 'x' }, { [name]: value });
    assertProblem(reply, { status: 400, field: name, detail: allowed });
    await world.nothingLeftBehind(before);
  });
}

async function send([method, path, body, type], headers) {
  const typed = type ? { 'content-type': type } : {};
  return replyOf(await fetch(world.url + path(), { method, body: body?.(), headers: { ...typed, ...headers } }));
}
