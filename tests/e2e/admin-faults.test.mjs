// The operator's API when D1 loses its answers, and when there is no operator.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN_TOKEN, dumpOf } from './support/admin.mjs';
import { assertProblem, assertWorks } from './support/assertions.mjs';
import { brokenStores } from './support/faults-stores.mjs';
import { stage } from './support/stage.mjs';

const stores = brokenStores();
let world, admin;
before(async () => {
  world = await stage({ worker: stores.worker });
  admin = world.admin;
});
after(() => world?.stop());

test('every change whose answer is lost is made once, and told once in the audit', async () => {
  const lost = stores.fail({ binding: 'DB', op: 'batch', about: /INSERT INTO audit/, times: 0, done: true });
  const losing = async (work) => {
    lost.times = 2;
    const made = await work();
    assert.equal(lost.times, 0);
    return made;
  };
  await losing(() => admin.create('acme', { plan: 'pro', weight: 3 }));
  const acme = await losing(() => admin.client('acme'));
  await assertWorks(acme);
  await losing(() => admin.change('acme', { weight: 4, suspended: true }));
  await losing(() => admin.revoke('acme', acme.prefix));
  const actions = (await admin.audit()).map(({ action }) => action);
  assert.deepEqual(actions, ['key.revoked', 'tenant.changed', 'key.created', 'tenant.created']);
  const { tenants, api_keys: keys } = await dumpOf(world);
  assert.deepEqual([tenants.length, keys.length], [1, 1]);
  stores.heal();
});

test('a database that stays away is told as such, and nothing is half done', async () => {
  const before = await dumpOf(world);
  stores.fail({ binding: 'DB', op: 'batch', times: 4 });
  const reply = await admin.request('POST', '/admin/tenants', { tenantId: 'never' });
  assertProblem(reply, { status: 503, type: 'unavailable', detail: 'whether the change was made is not known' });
  assert.ok(Number(reply.headers.get('retry-after')) >= 1);
  assert.deepEqual(await dumpOf(world), before);
  stores.heal();
});

for (const [what, token] of [['no token', ''], ['a token of 15 characters', 'fifteen-letters']]) {
  test(`with ${what} configured nobody is an operator`, async () => {
    const closed = await stage({ vars: { ADMIN_TOKEN: token } });
    try {
      for (const sent of [token, ADMIN_TOKEN, '']) {
        for (const headers of [{ authorization: `Bearer ${sent}` }, { 'x-api-key': sent }]) {
          const reply = await closed.admin.request('GET', '/admin/tenants', undefined, { authorization: '', ...headers });
          assertProblem(reply, { status: 401, type: 'unauthorized' });
        }
      }
      await assertWorks(await closed.tenant('acme'));
    } finally {
      await closed.stop();
    }
  });
}
