// A panic of one request, message or alarm hurts nothing else. The hook that
// panics on request sleeps unless PANIC_HOOK is set; the build is the real one.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { deliver, fixture, messageOf, orphan, startReceiver } from './support/faults.mjs';
import { FORM_TYPE, formOf, stage, until } from './support/stage.mjs';

let world;
let acme;
let receiver;
let template;

before(async () => {
  receiver = await startReceiver();
  world = await stage({ vars: { PANIC_HOOK: '1', NOTIFY_WEBHOOK_URL: receiver.url } });
  acme = await world.tenant('acme');
  template = await acme.accepted({ prompt: 'template' });
  await acme.untilCompleted(template);
});
after(() => Promise.all([world.stop(), receiver.stop()]));

test('a panic in a request fails that request, and no call or upload under way', async () => {
  const running = await acme.accepted({ prompt: 'under way [[sim:slow=800]]' });
  await world.claude.waitUntil(() => world.claude.callsFor('under way').length === 1);
  const upload = slowUpload();
  for (let i = 0; i < 3; i += 1) {
    // The page of 500 is the platform's.
    const { status } = await fetch(`${world.url}/healthz`, { headers: { 'x-panic': 'fetch' } });
    assert.equal(status, 500);
  }
  assert.equal((await world.health()).status, 'ok');
  const { status, body } = await upload.finish();
  assert.equal(status, 202);
  assert.equal((await acme.untilBatchEnded(body.batchId)).counts.completed, 1);
  assert.equal((await acme.untilCompleted(running)).attempts, 1);
  assert.equal(world.claude.callsFor('under way').length, 1);
});

test('a panic in a turn of the scheduler tells its caller at once, and the state stays right', async () => {
  const running = await acme.accepted({ prompt: 'holds a slot [[sim:slow=2000]]' });
  await world.claude.waitUntil(() => world.claude.callsFor('holds a slot').length === 1);
  const started = Date.now();
  await assert.rejects(askScheduler('turn'), /panic/i);
  assert.ok(Date.now() - started < 2_000, 'the caller hung');
  assert.equal((await world.health()).scheduler.running, 1);
  await acme.answerTo({ prompt: 'after the turn' });
  await acme.untilCompleted(running);
  assert.equal((await world.restCounts()).scheduler.running, 0);
});

test('a panic in an alarm does not silence the later ones', async () => {
  const before = await acme.accepted({ prompt: 'delayed before [[sim:500x2,ra=1]]' });
  await world.claude.waitUntil(() => world.claude.callsFor('delayed before').length === 1);
  await askScheduler('alarm');
  await until(() => panics('alarm') === 1, { what: 'the panic in the alarm' });
  const later = await acme.accepted({ prompt: 'delayed after [[sim:500x2]]' });
  assert.equal((await acme.untilCompleted(later)).attempts, 3);
  assert.equal((await acme.untilCompleted(before)).attempts, 3);
  assert.equal(panics('alarm'), 1);
});

test('a job that panics is dead-lettered after its attempts, and its batch is not hurt (C32)', async () => {
  const prompts = Array.from({ length: 10 }, (_, i) => (i === 4 ? 'poison [[panic]]' : `good ${i};`));
  const ids = await Promise.all(prompts.map((prompt) => orphan(world, template, { prompt })));
  const messages = await Promise.all(ids.map((id) => messageOf(world, id, { lease: 1, attempt: 1 })));
  const { outcome, explicitAcks, retryMessages } = await deliver(world, 'claude-jobs-high', ...messages);
  assert.deepEqual([outcome, explicitAcks.length, retryMessages.length], ['ok', 10, 0]);
  for (const id of ids.filter((_, i) => i !== 4)) assert.equal((await acme.job(id)).status, 'completed');
  // Nobody but this test handed the poison over: the sweep brings it to the scheduler.
  await world.runtime.runCron();
  const poison = await acme.untilEnded(ids[4]);
  assert.deepEqual([poison.status, poison.attempts], ['dead-lettered', 5]);
  assert.equal(poison.error.type, 'internal_error');
  for (const prompt of prompts.filter((_, i) => i !== 4)) assert.equal(world.claude.callsFor(prompt).length, 1);
  assert.equal(world.claude.callsFor('poison').length, 0);
  await receiver.untilTold(ids[4]);
  await acme.answerTo({ prompt: 'after the poison' });
  assert.equal(receiver.about(ids[4]).length, 1);
});

test('unless the operator sets the hook, nobody can ask for a panic', async (t) => {
  const plain = await stage();
  t.after(() => plain.stop());
  const beta = await plain.tenant('beta');
  assert.equal((await beta.get('/healthz', { 'x-panic': 'fetch' })).status, 200);
  assert.match(await beta.answerTo({ prompt: 'a word like [[panic]]' }), /a word like/);
});

test('ten jobs submitted together survive the one of them that panics (C32)', async () => {
  const submitted = Array.from({ length: 10 }, (_, i) => ({ prompt: i === 4 ? 'bad neighbour [[panic]]' : `neighbour ${i};` }));
  const ids = await Promise.all(submitted.map((job) => acme.accepted(job)));
  const jobs = await Promise.all(ids.map((id) => acme.untilEnded(id)));
  assert.equal(jobs.filter(({ status, attempts }) => status === 'completed' && attempts === 1).length, 9);
  assert.deepEqual([jobs[4].status, jobs[4].attempts], ['dead-lettered', 5]);
  assert.equal((await world.health()).status, 'ok');
});

// An upload whose second half is sent only by `finish()`.
function slowUpload() {
  const form = formOf([{ name: 'a.pdf', bytes: fixture('good-1page.pdf') }]);
  const half = Math.floor(form.length / 2);
  const { readable, writable } = new TransformStream();
  const writer = writable.getWriter();
  const headers = { ...acme.headers, 'content-type': FORM_TYPE };
  const sent = fetch(`${world.url}/batches`, { method: 'POST', headers, body: readable, duplex: 'half' });
  writer.write(form.subarray(0, half));
  return {
    async finish() {
      writer.write(form.subarray(half));
      writer.close();
      const response = await sent;
      return { status: response.status, body: await response.json() };
    },
  };
}

async function askScheduler(panic) {
  const namespace = await world.runtime.mf.getDurableObjectNamespace('SCHEDULER');
  const stub = namespace.get(namespace.idFromName('main'));
  return (await stub.fetch('https://scheduler/state', { headers: { 'x-panic': panic } })).text();
}

function panics(place) {
  return world.runtime.logs.filter(({ message }) => message.includes(`asked to panic: ${place}`)).length;
}
