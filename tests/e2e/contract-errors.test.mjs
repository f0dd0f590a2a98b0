import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { assertProblem } from './support/assertions.mjs';
import { replyOf, stage } from './support/stage.mjs';

const UNKNOWN = '01890000-0000-7000-8000-000000000000';
const NO_JOBS = { critical: 0, standard: 0, batch: 0 };

let world, acme;
before(async () => {
  world = await stage();
  acme = await world.tenant('acme');
});
after(() => world?.stop());

test('healthz tells without a key that the Worker lives and what the scheduler does', async () => {
  const reply = await replyOf(await fetch(`${world.url}/healthz`));
  assert.equal(reply.status, 200);
  assert.equal(reply.body.status, 'ok');
  assert.ok(reply.body.wasmMemoryBytes > 65_536);
  assert.deepEqual(reply.body.scheduler, { waiting: NO_JOBS, delayed: 0, running: 0, slots: 32, depth: 0, capacity: 100_000, demoted: 0, paused: null });
});

test('a path that nobody knows is not found', async () => {
  for (const path of ['/', '/job', '/jobs/', `/jobs/${UNKNOWN}/`, `/jobs/${UNKNOWN}/results`, '/v2', '/healthz/', '//jobs']) {
    assertProblem(await acme.get(path), { status: 404, type: 'not-found' });
  }
});

test('a method that a path does not answer to is told the right one', async () => {
  for (const [method, path, allow] of [
    ['PUT', '/jobs', 'POST, GET, HEAD'],
    ['DELETE', '/jobs', 'POST, GET, HEAD'],
    ['POST', `/jobs/${UNKNOWN}`, 'GET, DELETE, HEAD'],
    ['PUT', `/jobs/${UNKNOWN}/result`, 'GET, HEAD'],
    ['PATCH', '/batches', 'POST, GET, HEAD'],
    ['PATCH', `/batches/${UNKNOWN}`, 'GET, DELETE, HEAD'],
    ['POST', '/healthz', 'GET, HEAD'],
  ]) {
    const reply = await acme.request(method, path);
    assertProblem(reply, { status: 405, type: 'method-not-allowed', detail: allow });
    assert.equal(reply.headers.get('allow'), allow, `${method} ${path}`);
  }
});

// `?nope=1` is refused with the list of what is allowed.
test('every route takes the parameters of its description, and no other', async () => {
  const description = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url)));
  const ids = { job: UNKNOWN, batch: UNKNOWN, tenant: 'acme', prefix: 'cpk_none' };
  let asked = 0;
  for (const [path, item] of Object.entries(description.paths).filter(([path]) => path !== '/healthz')) {
    for (const [verb, { parameters }] of Object.entries(item)) {
      const target = path.replaceAll(/\{(\w+)\}/g, (_, name) => ids[name]);
      const caller = path.startsWith('/admin') ? world.admin : acme;
      const reply = await caller.request(verb.toUpperCase(), `${target}?nope=1`);
      assertProblem(reply, { status: 400, type: 'invalid-request', field: 'nope' });
      const allowed = reply.body.detail.split('allowed are ')[1]?.split(', ') ?? [];
      const described = (parameters ?? []).filter((parameter) => parameter.in === 'query').map(({ name }) => name);
      assert.deepEqual(allowed.sort(), described.sort(), `${verb} ${path}`);
      asked += 1;
    }
  }
  assert.equal(asked, 17);
});

test('an empty parameter is refused: a variable may not be set', async () => {
  for (const [method, target, field] of [
    ['GET', '/jobs?cursor=', 'cursor'],
    ['GET', '/batches?status=', 'status'],
    ['DELETE', `/jobs/${UNKNOWN}?purge`, 'purge'],
    ['DELETE', `/batches/${UNKNOWN}?purge=`, 'purge'],
    ['GET', `/jobs/${UNKNOWN}/result?format=`, 'format'],
  ]) {
    assertProblem(await acme.request(method, target), { status: 400, field, detail: 'empty' });
  }
});

test('a compressed body is told to come as it is', async () => {
  const send = (body, headers) => acme.post('/jobs', body, { 'content-encoding': 'gzip', ...headers });
  assertProblem(await send(gzipSync('{"prompt":"x"}')), { status: 415, type: 'unsupported-type', detail: 'gzip' });
  assert.equal((await send('{"prompt":"x"}', { 'content-encoding': 'identity' })).status, 202);
  const reply = await world.admin.request('POST', '/admin/tenants', { tenantId: 'zip' }, { 'content-encoding': 'br' });
  assertProblem(reply, { status: 415, type: 'unsupported-type', detail: 'br' });
});

test('an id that is unknown is not found on every route', async () => {
  for (const path of [`/jobs/${UNKNOWN}`, `/jobs/${UNKNOWN}/result`, `/batches/${UNKNOWN}`]) {
    assertProblem(await acme.get(path), { status: 404, type: 'not-found' });
  }
});

test('every answer has a request id of its own, is not cached and is not sniffed', async () => {
  const id = await acme.accepted({ prompt: 'headers' });
  await acme.untilCompleted(id);
  const replies = await Promise.all([
    acme.get('/healthz'),
    acme.get('/nowhere'),
    acme.get('/jobs'),
    acme.submit({ prompt: 'ids' }),
    acme.submit({ prompt: '' }),
    acme.get(`/jobs/${id}`),
    acme.result(id),
    acme.result(id, 'message'),
    acme.get(`/jobs/${id}`, { authorization: 'Bearer wrong' }),
  ]);
  for (const { headers } of replies) {
    assert.match(headers.get('request-id'), /^[0-9a-f]{16}$/);
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('cache-control'), 'no-store');
  }
  assert.equal(new Set(replies.map(({ headers }) => headers.get('request-id'))).size, replies.length);
});

test('a refusal has the fields of RFC 9457 and names the field at fault', async () => {
  const { body } = await acme.submit({ prompt: 7 });
  assert.deepEqual(body, {
    type: 'invalid-request',
    status: 400,
    title: 'The request is not valid',
    detail: '`prompt` must be a string, not a number',
    field: 'prompt',
  });
});
