import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { makePdf } from '../support/claude/samples.mjs';
import { assertProblem } from './support/assertions.mjs';
import { stage } from './support/stage.mjs';

const UNKNOWN = '01890000-0000-7000-8000-000000000000';

let world, acme, rival, own;
before(async () => {
  world = await stage({ vars: { SLOTS: '64' } });
  [acme, rival] = await Promise.all(['acme', 'rival'].map((name) => world.tenant(name)));
  own = { acme: await belongings(acme, 'secret of acme'), rival: await belongings(rival, 'secret of rival') };
});
after(() => world?.stop());

const ROUTES = [
  ['a job', (id) => `/jobs/${id}`],
  ['a result', (id) => `/jobs/${id}/result`],
  ['a message', (id) => `/jobs/${id}/result?format=message`],
  ['a batch', (id) => `/batches/${id}`],
];

for (const [what, path] of ROUTES) {
  test(`C47: ${what} of another tenant, an unknown one and a malformed id answer alike, byte for byte`, async () => {
    for (const method of ['GET', 'HEAD']) {
      const unknown = await acme.request(method, path(UNKNOWN));
      assert.equal(unknown.status, 404);
      for (const id of [...Object.values(own.rival), ...strangeIds(own.rival.job), ...strangeIds(own.acme.job)]) {
        const reply = await acme.request(method, path(id));
        assert.equal(reply.status, 404, `${method} ${path(id)}`);
        assert.ok(reply.bytes.equals(unknown.bytes), `${path(id)}: ${reply.text}`);
        assert.deepEqual(headersOf(reply), headersOf(unknown), path(id));
      }
    }
  });
}

test('C47: an id of another kind is not found, even if it is one\'s own', async () => {
  assertProblem(await acme.get(`/batches/${own.acme.job}`), { status: 404 });
  assertProblem(await acme.get(`/jobs/${own.acme.batch}`), { status: 404 });
  assertProblem(await acme.get(`/jobs/${own.acme.batch}/result`), { status: 404 });
});

test('C47: every tenant reads what is its own, in the very same words', async () => {
  for (const [tenant, { job, batch, batchJob, failed }] of [[acme, own.acme], [rival, own.rival]]) {
    assert.equal((await tenant.job(job)).status, 'completed');
    assert.equal((await tenant.job(failed)).status, 'failed');
    assert.equal((await tenant.job(batchJob)).batchId, batch);
    assert.equal((await tenant.batch(batch)).jobs[0].jobId, batchJob);
    assert.match((await tenant.result(job)).text, new RegExp(`secret of ${tenant.name}`));
  }
});

test('C47: a malformed format tells nothing of a job of another tenant', async () => {
  const foreign = await acme.get(`/jobs/${own.rival.job}/result?format=html`);
  const unknown = await acme.get(`/jobs/${UNKNOWN}/result?format=html`);
  assert.equal(foreign.status, unknown.status);
  assert.ok(foreign.bytes.equals(unknown.bytes));
});

test('C47: a job that waits, runs or failed is as hidden as one that completed', async () => {
  const job = await rival.accepted({ prompt: 'still going [[sim:slow=400]]' });
  const unknown = await acme.get(`/jobs/${UNKNOWN}`);
  for (const id of [job, own.rival.failed]) {
    for (const path of [`/jobs/${id}`, `/jobs/${id}/result`]) {
      assert.ok((await acme.get(path)).bytes.equals(unknown.bytes), path);
    }
  }
  await rival.untilCompleted(job);
});

test('C47: the same label x-user-id in two tenants joins nothing', async () => {
  const label = { 'x-user-id': 'ann' };
  const id = await rival.accepted({ prompt: 'label' }, label);
  assertProblem(await acme.get(`/jobs/${id}`, label), { status: 404 });
});

test('a hundred jobs of three tenants at once all end with their own answers', async () => {
  const tenants = [acme, rival, await world.tenant('third')];
  const prompts = Array.from({ length: 100 }, (_, i) => ({ tenant: tenants[i % 3], prompt: `job ${i} of ${tenants[i % 3].name}` }));
  const jobs = await Promise.all(prompts.map(async ({ tenant, prompt }, i) => {
    const options = { metadata: { i }, priority: i % 2 ? 'bulk' : undefined };
    return { tenant, prompt, i, id: await tenant.accepted({ prompt, ...options }, { 'x-user-id': `user-${i}` }) };
  }));
  assert.equal(new Set(jobs.map(({ id }) => id)).size, 100);
  await Promise.all(jobs.map(async ({ tenant, prompt, i, id }) => {
    const { attempts, metadata, userId } = await tenant.untilCompleted(id);
    assert.deepEqual({ attempts, metadata, userId }, { attempts: 1, metadata: { i }, userId: `user-${i}` });
    assert.ok((await tenant.result(id)).text.endsWith(`:${prompt}:${prompt.length}`), prompt);
  }));
  for (const { prompt } of jobs) assert.equal(world.claude.callsFor(prompt).filter((call) => saysExactly(call, prompt)).length, 1, prompt);
});

/** A job that completed, one that failed, and a batch with its job. */
async function belongings(tenant, prompt) {
  const job = await tenant.accepted({ prompt, metadata: { prompt } });
  const failed = await tenant.accepted({ prompt: `[[sim:400]] ${prompt}` });
  const { batchId: batch, jobs } = (await tenant.submitFiles([{ name: `${prompt}.pdf`, bytes: makePdf(prompt) }])).body;
  await Promise.all([tenant.untilCompleted(job), tenant.untilEnded(failed), tenant.untilBatchEnded(batch)]);
  return { job, failed, batch, batchJob: jobs[0].jobId };
}

/** What is nearly `id`, and what is none at all. */
function strangeIds(id) {
  return [
    id.toUpperCase(),
    id.replaceAll('-', ''),
    `{${id}}`,
    `urn:uuid:${id}`,
    ` ${id}`.replace(' ', '%20'),
    `${id}%00`,
    `${id}%20`,
    id.slice(0, -1),
    `${id}0`,
    id.replace(/^./, '%30'),
    '00000000-0000-0000-0000-000000000000',
    '%27%20OR%201=1--',
    '%ff%fe',
    '..%2f',
    '*',
    'null',
    '1',
    'x'.repeat(5_000),
  ];
}

function headersOf({ headers }) {
  const same = ['content-type', 'cache-control', 'x-content-type-options', 'retry-after', 'content-length'];
  return Object.fromEntries(same.map((name) => [name, headers.get(name)]));
}

function saysExactly({ request }, prompt) {
  return request.messages[0].content === prompt;
}
