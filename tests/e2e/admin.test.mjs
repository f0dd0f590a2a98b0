// The operator's API. Time runs SPEED times faster for the Worker, because keys
// are remembered for half a minute.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { ADMIN_TOKEN, dumpOf } from './support/admin.mjs';
import { RFC_3339, assertProblem, assertWorks } from './support/assertions.mjs';
import { fastClock } from './support/fast-clock.mjs';
import { rowOf } from './support/faults.mjs';
import { stage, until } from './support/stage.mjs';

const SPEED = 10;
const clock = fastClock(SPEED);

let world, admin;
before(async () => {
  world = await stage({ worker: clock.worker() });
  admin = world.admin;
});
after(() => world?.stop());

test('a tenant is made, read, listed and changed', async () => {
  const reply = await admin.request('POST', '/admin/tenants', { tenantId: 'first' });
  assert.equal(reply.status, 201, reply.text);
  assert.equal(reply.headers.get('location'), '/admin/tenants/first');
  const { createdAt, ...rest } = reply.body;
  assert.match(createdAt, RFC_3339);
  assert.deepEqual(rest, {
    tenantId: 'first', name: 'first', plan: 'free', weight: null, dailyInputTokens: null, requestsPerMinute: null, suspended: false,
  });
  assert.deepEqual(await admin.get('/admin/tenants/first'), reply.body);
  const patch = { name: 'The first', plan: 'pro', weight: 100, dailyInputTokens: 1e12, requestsPerMinute: 1e9 };
  const changed = await admin.change('first', patch);
  assert.deepEqual(changed, { ...reply.body, ...patch });
  assert.deepEqual(await admin.get('/admin/tenants/first'), changed);
  const back = { weight: null, dailyInputTokens: null, requestsPerMinute: null };
  assert.deepEqual(await admin.change('first', back), { ...changed, ...back });
});

test('a tenant that exists is not made again', async () => {
  const made = await admin.create('once', { plan: 'pro' });
  assertProblem(await admin.request('POST', '/admin/tenants', { tenantId: 'once' }), { status: 409, type: 'tenant-exists', field: 'tenantId' });
  assert.deepEqual(await admin.get('/admin/tenants/once'), made);
});

test('names are any text: they come back as they were', async () => {
  const name = 'Zoë & 株式会社 “x” \\ \'; DROP TABLE tenants; -- 🦊';
  assert.equal((await admin.create('unicode', { name })).name, name);
  assert.equal((await admin.change('unicode', { name: `${name}!` })).name, `${name}!`);
  const { key, ...view } = await admin.key('unicode', name);
  assert.equal(view.name, name);
  assert.deepEqual((await admin.get('/admin/tenants/unicode/keys')).keys, [view]);
  assert.deepEqual((await admin.audit('&tenant=unicode')).map(({ detail }) => detail.name), [name, `${name}!`, name]);
  const marked = `\ufeff{"name":"after a mark"}`;
  assert.equal((await admin.change('unicode', marked)).name, 'after a mark');
});

test('tenants come in pages, in the order of their ids', async () => {
  for (const id of ['page-c', 'page-a', 'page-b']) await admin.create(id);
  const seen = [];
  let query = '?limit=2&cursor=page';
  while (query) {
    const { tenants, nextCursor } = await admin.get(`/admin/tenants${query}`);
    assert.ok(tenants.length <= 2);
    seen.push(...tenants.map(({ tenantId }) => tenantId));
    query = nextCursor && `?limit=2&cursor=${nextCursor}`;
  }
  const all = (await dumpOf(world)).tenants.map(({ tenant_id: id }) => id).filter((id) => id > 'page').sort();
  assert.deepEqual(seen, all);
});

test('a key works at once, in either header, and has the form it should have', async () => {
  await admin.create('keys');
  const made = await admin.key('keys', 'laptop');
  assert.match(made.key, /^cpk_[\w-]{32}$/);
  assert.equal(made.prefix, made.key.slice(0, 12));
  assert.match(made.createdAt, RFC_3339);
  for (const headers of [{ authorization: `Bearer ${made.key}` }, { 'x-api-key': made.key }]) {
    assert.equal((await fetch(`${world.url}/jobs`, { method: 'POST', body: '{"prompt":"x"}', headers })).status, 202);
  }
  assert.equal((await admin.told(201, 'POST', '/admin/tenants/keys/keys')).name, undefined);
  const { keys } = await admin.get('/admin/tenants/keys/keys');
  assert.deepEqual(new Set(keys.map(({ name }) => name)), new Set(['laptop', undefined]));
  const { key, ...view } = made;
  assert.deepEqual((await admin.get(`/admin/tenants/keys/keys?prefix=${made.prefix.slice(0, 9)}`)).keys, [view]);
});

test('a revoked key is refused within a minute, the tenant\'s other keys are not', async () => {
  const acme = await admin.tenant('revoked');
  const other = await admin.client('revoked');
  await assertWorks(acme);
  const began = clock.now();
  const view = await admin.revoke('revoked', acme.prefix);
  assert.match(view.revokedAt, RFC_3339);
  await until(async () => (await acme.submit({ prompt: 'x' })).status === 401, { what: 'the end of a key' });
  assert.ok(clock.now() - began < 60_000, `${clock.now() - began} ms`);
  await assertWorks(other);
  assert.deepEqual(await admin.revoke('revoked', acme.prefix), view, 'again, the same');
  const { keys } = await admin.get(`/admin/tenants/revoked/keys?prefix=${acme.prefix}`);
  assert.deepEqual(keys, [view]);
  assert.equal((await admin.audit('&tenant=revoked')).filter(({ action }) => action === 'key.revoked').length, 1);
});

test('a suspended tenant is refused within a minute; what it had is done; it can come back', async () => {
  const acme = await admin.tenant('suspended');
  const job = await acme.accepted({ prompt: 'before' });
  const began = clock.now();
  assert.match((await admin.change('suspended', { suspended: true })).suspendedAt, RFC_3339);
  const isTold = (status) => async () => (await acme.get(`/jobs/${job}`)).status === status;
  await until(isTold(403), { what: 'the suspension' });
  assert.ok(clock.now() - began < 60_000, `${clock.now() - began} ms`);
  assertProblem(await acme.submit({ prompt: 'x' }), { status: 403, type: 'suspended' });
  await until(async () => (await rowOf(world, job)).status === 'completed', { what: 'the job from before' });
  const lifted = await admin.change('suspended', { suspended: false });
  assert.deepEqual([lifted.suspended, lifted.suspendedAt], [false, undefined]);
  await until(isTold(200), { what: 'the end of the suspension' });
  await assertWorks(acme);
});

test('a tenant\'s own rate is in force', async () => {
  const acme = await admin.tenant('rated', { requestsPerMinute: 1_234 });
  const reply = await acme.submit({ prompt: 'x' });
  assert.equal(reply.headers.get('ratelimit-policy'), '"requests";q=1234;w=60');
});

test('the audit tells every change, newest first, and no more', async () => {
  const { prefix } = await admin.tenant('audited', { weight: 2 });
  await admin.change('audited', { weight: 2, plan: 'free' });
  await admin.change('audited', { weight: 2, suspended: true });
  await admin.revoke('audited', prefix);
  await admin.revoke('audited', prefix);
  const entries = await admin.audit('&tenant=audited');
  assert.deepEqual(entries.map(({ action, detail }) => [action, detail]), [
    ['key.revoked', { prefix }],
    ['tenant.changed', { suspended: true }],
    ['key.created', { prefix }],
    ['tenant.created', { name: 'audited', plan: 'free', weight: 2 }],
  ]);
  for (const { id, at, tenantId } of entries) {
    assert.ok(Number.isInteger(id));
    assert.match(at, RFC_3339);
    assert.equal(tenantId, 'audited');
  }
  const paged = [];
  for (let query = '&limit=3'; query; ) {
    const page = await admin.get(`/admin/audit?tenant=audited${query}`);
    paged.push(...page.entries);
    query = page.nextCursor && `&limit=3&cursor=${page.nextCursor}`;
  }
  assert.deepEqual(paged, entries);
  const all = await admin.audit();
  assert.ok(all.every(({ id }, i) => i === 0 || id < all[i - 1].id));
});

test('a key is told once: no answer, no log, no row has it again, and its hash has one place', async () => {
  await admin.create('secret');
  const { key, prefix } = await admin.key('secret', 'the secret one');
  const hash = createHash('sha256').update(key).digest('hex');
  const wrong = await fetch(`${world.url}/admin/tenants`, { headers: { authorization: `Bearer ${key}` } });
  const told = [
    await wrong.text(),
    await admin.get('/admin/tenants'),
    await admin.get('/admin/tenants/secret'),
    await admin.get('/admin/tenants/secret/keys'),
    await admin.revoke('secret', prefix),
    await admin.audit(),
    world.runtime.logs,
  ];
  for (const text of told.map((one) => JSON.stringify(one))) {
    assert.ok(!text.includes(key) && !text.includes(hash) && !text.includes(ADMIN_TOKEN), text);
  }
  const dump = JSON.stringify(await dumpOf(world));
  assert.ok(!dump.includes(key) && !dump.includes(ADMIN_TOKEN));
  assert.equal(dump.split(hash).length - 1, 1);
});

const ACME = '/admin/tenants/bad-input';
const BAD = [
  ['no body', 'POST', '/admin/tenants', '', {}],
  ['no JSON', 'POST', '/admin/tenants', '{"tenantId":"a"', {}],
  ['no UTF-8', 'POST', '/admin/tenants', Buffer.from([0x7b, 0xff, 0x7d]), {}],
  ['a list', 'PATCH', ACME, [], { detail: 'must be a JSON object' }],
  ['deep nesting', 'PATCH', ACME, `{"name":${'['.repeat(2_000)}`, {}],
  ['more than 64 KB', 'PATCH', ACME, { name: 'x'.repeat(70_000) }, { status: 413, type: 'too-large' }],
  ['no id', 'POST', '/admin/tenants', {}, { field: 'tenantId' }],
  ['an id in capitals', 'POST', '/admin/tenants', { tenantId: 'Acme' }, { field: 'tenantId', detail: 'lower-case' }],
  ['a long id', 'POST', '/admin/tenants', { tenantId: 'a'.repeat(65) }, { field: 'tenantId' }],
  ['a tenant that is born suspended', 'POST', '/admin/tenants', { tenantId: 'b', suspended: true }, { field: 'suspended' }],
  ['an empty patch', 'PATCH', ACME, {}, { detail: 'allowed are name, plan, weight' }],
  ['another id', 'PATCH', ACME, { tenantId: 'b' }, { field: 'tenantId', detail: 'allowed are name, plan, weight' }],
  ['a name of blanks', 'PATCH', ACME, { name: ' ' }, { field: 'name' }],
  ['a name with a control character', 'PATCH', ACME, { name: 'a\u0007' }, { field: 'name' }],
  ['a name of 201 characters', 'PATCH', ACME, { name: 'é'.repeat(201) }, { field: 'name' }],
  ['an unknown plan', 'PATCH', ACME, { plan: 'gold' }, { field: 'plan', detail: 'free, pro' }],
  ['no weight at all', 'PATCH', ACME, { weight: 0 }, { field: 'weight', detail: 'from 1 to 100' }],
  ['too large a budget', 'PATCH', ACME, { dailyInputTokens: 1e12 + 1 }, { field: 'dailyInputTokens' }],
  ['a rate in words', 'PATCH', ACME, { requestsPerMinute: '9' }, { field: 'requestsPerMinute' }],
  ['a suspension in words', 'PATCH', ACME, { suspended: 'yes' }, { field: 'suspended', detail: 'true or false' }],
  ['a key of one\'s own', 'POST', `${ACME}/keys`, { key: 'mine' }, { field: 'key' }],
  ['a page without end', 'GET', '/admin/tenants?limit=1000', undefined, { field: 'limit' }],
  ['an unknown parameter', 'GET', '/admin/audit?since=0', undefined, { field: 'since' }],
  ['a cursor that is none', 'GET', '/admin/audit?cursor=x', undefined, { field: 'cursor' }],
];

test('bad input is refused by name, and changes nothing', async (t) => {
  await admin.create('bad-input');
  for (const [what, method, path, body, problem] of BAD) {
    await t.test(what, async () => {
      const before = await dumpOf(world);
      assertProblem(await admin.request(method, path, body), { status: 400, ...problem });
      assert.deepEqual(await dumpOf(world), before);
    });
  }
});

test('what is unknown is not found', async () => {
  for (const [method, path, body] of [
    ['GET', '/admin/tenants/nobody'],
    ['GET', '/admin/tenants/No%20Id'],
    ['PATCH', '/admin/tenants/nobody', { plan: 'pro' }],
    ['GET', '/admin/tenants/nobody/keys'],
    ['POST', '/admin/tenants/nobody/keys', {}],
    ['DELETE', '/admin/tenants/bad-input/keys/cpk_00000000'],
  ]) {
    assertProblem(await admin.request(method, path, body), { status: 404, type: 'not-found' });
  }
});
