// Who is refused and comes back when told gets in, however eager others are.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { makePdf } from '../support/claude/samples.mjs';
import { stage, until } from './support/stage.mjs';

const CAPACITY = 20;
const LARGEST = CAPACITY / 2;

let world, greedy;
before(async () => {
  world = await stage({ vars: { QUEUE_CAPACITY: String(CAPACITY), TENANT_SHARE_PERCENT: '50', SLOTS: '4' } });
  greedy = await Promise.all(['a', 'b', 'c', 'd'].map((name) => world.tenant(name)));
});
after(() => world?.stop());

test('a batch as large as one may be gets in beside four tenants who take every place', async () => {
  const eager = besiege();
  await until(async () => (await world.health()).scheduler.depth >= 14, { what: 'a full house' });
  const late = await world.tenant('late');
  const files = Array.from({ length: LARGEST }, (_, i) => ({ name: `${i}.pdf`, bytes: makePdf(`late ${i}`) }));
  const told = await obey(() => late.submitFiles(files), 20);
  assert.ok(told.length > 0, 'it was refused at first');
  assert.ok(told.every((seconds) => seconds <= 60), String(told));
  const accepted = await eager.end();
  assert.ok(accepted > LARGEST, `the others went on: ${accepted}`);
  assert.equal((await world.restCounts(60_000)).scheduler.depth, 0);
});

/** Sends until it is let in, as late as it is told; how long each time. */
async function obey(send, tries) {
  const told = [];
  for (let i = 0; i < tries; i += 1) {
    const reply = await send();
    if (reply.status === 202) return told;
    assert.equal(reply.status, 429, reply.text);
    told.push(Number(reply.headers.get('retry-after')));
    await sleep(told.at(-1) * 1_000);
  }
  assert.fail(`refused ${tries} times: ${told}`);
}

/** Every tenant asks again and again, whatever it is told. */
function besiege() {
  let over = false;
  let accepted = 0;
  const ask = async (tenant) => {
    while (!over) {
      const { status } = await tenant.submit({ prompt: '[[sim:slow=300]] eager' });
      accepted += Number(status === 202);
    }
  };
  const asking = greedy.map(ask);
  const end = async () => {
    over = true;
    await Promise.all(asking);
    return accepted;
  };
  return { end };
}
