// Who may do what: every route there is, and every kind of caller.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { makePdf } from '../support/claude/samples.mjs';
import { ADMIN_TOKEN, dumpOf } from './support/admin.mjs';
import { assertProblem } from './support/assertions.mjs';
import { FORM_TYPE, describedReply, formOf, stage, until } from './support/stage.mjs';

const JSON_TYPE = 'application/json';

let world, keys, own;
before(async () => {
  world = await stage({ tap: true });
  const { admin } = world;
  const [owner, other, suspended] = await Promise.all(['owner', 'other', 'suspended'].map((name) => admin.tenant(name)));
  // Refused before they were ever used: nobody remembers them.
  const revoked = await admin.client('owner');
  await admin.revoke('owner', revoked.prefix);
  await admin.change('suspended', { suspended: true });
  keys = { revoked: revoked.key, suspended: suspended.key, other: other.key, owner: owner.key, admin: ADMIN_TOKEN };
  own = { owner, prefix: revoked.prefix, ...(await belongings(owner)) };
});
after(() => world?.stop());

const CALLERS = {
  'no key': () => ({}),
  'a wrong key': () => ({ authorization: 'Bearer cpk_00000000000000000000000000000000' }),
  'a revoked key': () => bearer(keys.revoked),
  'the key of a suspended tenant': () => bearer(keys.suspended),
  'the key of another tenant': () => bearer(keys.other),
  'the key of the owner': () => bearer(keys.owner),
  'the token of the operator': () => bearer(keys.admin),
};

// What each caller is told, in the order of CALLERS.
const everybody = Array(7).fill(200);
const tenants = (other, owner) => [401, 401, 401, 403, other, owner, 401];
const operator = (status) => [401, 401, 401, 401, 401, 401, status];
const TYPES = { 401: 'unauthorized', 403: 'suspended', 404: 'not-found' };

// `target` is where the route leads: to something of the owner. `held` is a
// target that has to be under way.
const MATRIX = {
  'GET /healthz': { told: everybody },
  'POST /jobs': { told: tenants(202, 202), body: () => ['{"prompt":"matrix"}', JSON_TYPE] },
  'GET /jobs': { told: tenants(200, 200) },
  'GET /jobs/:job': { told: tenants(404, 200), target: () => `/jobs/${own.job}` },
  'DELETE /jobs/:job': { told: tenants(404, 200), held: runningJob },
  'GET /jobs/:job/result': { told: tenants(404, 200), target: () => `/jobs/${own.job}/result` },
  'POST /batches': { told: tenants(202, 202), body: () => [formOf([pdf('matrix')]), FORM_TYPE] },
  'GET /batches': { told: tenants(200, 200) },
  'GET /batches/:batch': { told: tenants(404, 200), target: () => `/batches/${own.batch}` },
  'DELETE /batches/:batch': { told: tenants(404, 200), held: runningBatch },
  'POST /admin/tenants': { told: operator(201), body: () => ['{"tenantId":"third"}', JSON_TYPE] },
  'GET /admin/tenants': { told: operator(200) },
  'GET /admin/tenants/:tenant': { told: operator(200), target: () => '/admin/tenants/owner' },
  'PATCH /admin/tenants/:tenant': { told: operator(200), target: () => '/admin/tenants/owner', body: () => ['{"plan":"pro"}', JSON_TYPE] },
  'POST /admin/tenants/:tenant/keys': { told: operator(201), target: () => '/admin/tenants/owner/keys' },
  'GET /admin/tenants/:tenant/keys': { told: operator(200), target: () => '/admin/tenants/owner/keys' },
  'DELETE /admin/tenants/:tenant/keys/:prefix': { told: operator(200), target: () => `/admin/tenants/owner/keys/${own.prefix}` },
  'GET /admin/audit': { told: operator(200) },
};

test('every route of the Worker is in the matrix, and no other', () => {
  assert.deepEqual(Object.keys(MATRIX).sort(), routes().sort());
});

for (const [route, row] of Object.entries(MATRIX)) {
  test(`${route} tells each caller what it should`, async () => {
    if (row.held) await world.whileHeld(() => walk(route, row));
    else await walk(route, row);
  });
}

test('a list shows an owner its own and nobody else\'s', async () => {
  for (const [path, id] of [['/jobs', own.job], ['/batches', own.batch]]) {
    assert.ok((await send('GET', path, bearer(keys.owner))).text.includes(id), path);
    assert.ok(!(await send('GET', path, bearer(keys.other))).text.includes(id), path);
  }
});

async function walk(route, row) {
  const [method, template] = route.split(' ');
  const path = (await (row.held ?? row.target)?.()) ?? template;
  for (const [at, [who, headers]] of Object.entries(CALLERS).entries()) {
    const status = row.told[at];
    const asked = () => send(method, path, headers(), row.body?.());
    if (status < 400) {
      const reply = await asked();
      assert.equal(reply.status, status, `${who}: ${reply.text}`);
    } else {
      await assertRefusedWhole(row, asked, { status, type: TYPES[status] }, who);
    }
  }
}

/** Refused, and nothing is other than before. */
async function assertRefusedWhole({ held }, asked, problem, who) {
  const counts = () => (held ? world.counts() : world.restCounts());
  const before = [await counts(), await dumpOf(world)];
  const reply = await asked();
  assert.equal(reply.status, problem.status, `${who}: ${reply.text}`);
  assertProblem(reply, problem);
  assert.deepEqual([await world.counts(), await dumpOf(world)], before, who);
}

/** The rows of ROUTES, as the source has them. */
function routes() {
  const source = readFileSync(new URL('../../src/pipeline/route.rs', import.meta.url), 'utf8');
  const [, rows] = source.match(/pub const ROUTES: [^=]*= \[([^\]]*)\];/);
  return Array.from(rows.matchAll(/\("([A-Z]+)", "([^"]+)"\)/g), ([, method, path]) => `${method} ${path}`);
}

async function send(method, path, headers, [body, type] = []) {
  const typed = type ? { 'content-type': type } : {};
  return describedReply(method, path, await fetch(world.url + path, { method, body, headers: { ...typed, ...headers } }));
}

const bearer = (key) => ({ authorization: `Bearer ${key}` });

const pdf = (text) => ({ name: `${text}.pdf`, bytes: makePdf(text) });

async function runningJob() {
  const id = await own.owner.accepted({ prompt: 'to be canceled' });
  await until(async () => (await own.owner.job(id)).status === 'running', { what: 'a job that runs' });
  return `/jobs/${id}`;
}

async function runningBatch() {
  const { batchId } = (await own.owner.submitFiles([pdf('to be canceled')])).body;
  await until(async () => (await own.owner.batch(batchId)).counts.running === 1, { what: 'a batch that runs' });
  return `/batches/${batchId}`;
}

/** A job that completed, and a batch that ended. */
async function belongings(tenant) {
  const job = await tenant.accepted({ prompt: 'of the owner' });
  const { batchId: batch } = (await tenant.submitFiles([pdf('of the owner')])).body;
  await Promise.all([tenant.untilCompleted(job), tenant.untilBatchEnded(batch)]);
  return { job, batch };
}
