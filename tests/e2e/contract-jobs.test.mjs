import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { RFC_3339, UUID_V7 } from './support/assertions.mjs';
import { stage, until } from './support/stage.mjs';

let world, acme;
before(async () => {
  world = await stage({ tap: true });
  acme = await world.tenant('acme');
});
after(() => world?.stop());

test('a prompt is accepted with its id, its priority and where to poll', async () => {
  const reply = await acme.submit({ prompt: 'hello' });
  assert.equal(reply.status, 202);
  assert.equal(reply.headers.get('content-type'), 'application/json');
  const { jobId, ...rest } = reply.body;
  assert.match(jobId, UUID_V7);
  assert.deepEqual(rest, { status: 'pending', priority: 'critical', pollUrl: `/jobs/${jobId}` });
  assert.equal(reply.headers.get('location'), `/jobs/${jobId}`);
});

test('a job id tells when the job was accepted', async () => {
  const id = await acme.accepted({ prompt: 'time' });
  const made = Number.parseInt(id.replace('-', '').slice(0, 12), 16);
  assert.ok(Math.abs(made - Date.parse((await acme.job(id)).createdAt)) < 5_000);
});

test('a completed job tells its whole story', async () => {
  const id = await acme.accepted({ prompt: 'story' });
  const { createdAt, startedAt, completedAt, ...job } = await acme.untilCompleted(id);
  for (const time of [createdAt, startedAt, completedAt]) assert.match(time, RFC_3339);
  assert.ok(createdAt <= startedAt && startedAt <= completedAt);
  const { usage } = world.claude.callsFor('story')[0];
  assert.deepEqual(job, {
    jobId: id,
    status: 'completed',
    priority: 'critical',
    origin: 'user_action',
    model: 'claude-sonnet-4-6',
    attempts: 1,
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    stopReason: 'end_turn',
    resultUrl: `/jobs/${id}/result`,
  });
});

test('the caller is told when to ask again while a job is unfinished, and not after', async () => {
  const running = await world.whileHeld(async () => {
    const id = await acme.accepted({ prompt: 'patience' });
    await until(async () => (await acme.job(id)).status === 'running', { what: 'a running job' });
    return acme.get(`/jobs/${id}`);
  });
  assert.match(running.headers.get('retry-after'), /^[1-9]\d*$/);
  assert.ok(running.body.startedAt);
  assert.equal(running.body.completedAt, undefined);
  assert.equal(running.body.resultUrl, undefined);
  const { jobId } = running.body;
  await acme.untilCompleted(jobId);
  assert.equal((await acme.get(`/jobs/${jobId}`)).headers.get('retry-after'), null);
});

test('a job that Claude refuses fails with the reason and one call', async () => {
  const id = await acme.accepted({ prompt: '[[sim:400]] refused' });
  const job = await acme.untilEnded(id);
  assert.equal(job.status, 'failed');
  assert.equal(job.attempts, 1);
  assert.equal(job.error.type, 'invalid_request_error');
  assert.match(job.error.message, /simulated invalid request/);
  assert.equal(job.resultUrl, undefined);
  assert.match(job.completedAt, RFC_3339);
  assert.equal(world.claude.callsFor('400]] refused').length, 1);
});

test('a high job that fails every time is dead-lettered after five attempts, a bulk one after three', async () => {
  const attempts = { high: 5, bulk: 3 };
  for (const [priority, calls] of Object.entries(attempts)) {
    const id = await acme.accepted({ prompt: `[[sim:500]] hopeless ${priority}`, priority });
    const job = await acme.untilEnded(id);
    assert.equal(job.status, 'dead-lettered');
    assert.equal(job.attempts, calls);
    assert.equal(job.error.type, 'api_error');
    assert.equal(world.claude.callsFor(`hopeless ${priority}`).length, calls);
  }
});

test('a job without options is sent with the defaults', async () => {
  await acme.answerTo({ prompt: 'defaults "quoted" ü 漢' });
  const [call] = world.tap.callsWith('defaults');
  assert.deepEqual(JSON.parse(call.body), {
    stream: true,
    model: 'claude-sonnet-4-6',
    max_tokens: 4096,
    messages: [{ role: 'user', content: 'defaults "quoted" ü 漢' }],
  });
  assert.equal(call.headers['anthropic-version'], '2023-06-01');
  assert.equal(call.headers['anthropic-beta'], undefined);
  assert.equal(call.headers['content-length'], String(call.body.length));
});

test('model, maxTokens and system reach Claude', async () => {
  const id = await acme.accepted({ prompt: 'options', model: 'claude-haiku-4-5', maxTokens: 77, system: 'Be brief.' });
  assert.equal((await acme.untilCompleted(id)).model, 'claude-haiku-4-5');
  const { model, max_tokens, system } = JSON.parse(world.tap.callsWith('"options"')[0].body);
  assert.deepEqual({ model, max_tokens, system }, { model: 'claude-haiku-4-5', max_tokens: 77, system: 'Be brief.' });
});

test('an option of null is an option not given', async () => {
  const nothing = { model: null, maxTokens: null, system: null, origin: null, deadlineSeconds: null, priority: null, metadata: null };
  const id = await acme.accepted({ prompt: 'nulls', ...nothing });
  const job = await acme.untilCompleted(id);
  assert.equal(job.origin, 'user_action');
  assert.equal(job.metadata, undefined);
  assert.equal(JSON.parse(world.tap.callsWith('"nulls"')[0].body).system, undefined);
});

test('the service concludes the priority from origin and deadline', async () => {
  const day = 86_400;
  for (const [origin, deadlineSeconds, priority] of [
    ['user_action', undefined, 'critical'],
    ['user_action', 10 * day, 'critical'],
    ['scheduled', undefined, 'batch'],
    ['scheduled', 60, 'standard'],
    ['scheduled', day - 1, 'standard'],
    ['scheduled', day, 'batch'],
    ['batch_job', undefined, 'batch'],
    ['batch_job', 3_600, 'standard'],
  ]) {
    const { body } = await acme.submit({ prompt: 'priority', origin, deadlineSeconds });
    assert.equal(body.priority, priority, `${origin} within ${deadlineSeconds}`);
    const job = await acme.job(body.jobId);
    assert.deepEqual([job.origin, job.priority], [origin, priority]);
  }
});

test('a caller can lower the priority of a job and cannot raise it', async () => {
  for (const [origin, priority, concluded] of [
    ['user_action', 'bulk', 'batch'],
    ['user_action', 'high', 'critical'],
    ['batch_job', 'high', 'batch'],
    ['scheduled', 'bulk', 'batch'],
  ]) {
    const { body } = await acme.submit({ prompt: 'lowered', origin, priority });
    assert.equal(body.priority, concluded, `${origin} ${priority}`);
  }
});

test('x-user-id is a label of the job and no wall', async () => {
  const id = await acme.accepted({ prompt: 'label' }, { 'x-user-id': 'ann@example.com' });
  const reply = await acme.get(`/jobs/${id}`, { 'x-user-id': 'bob' });
  assert.equal(reply.status, 200);
  assert.equal(reply.body.userId, 'ann@example.com');
});

test('metadata comes back with every digit, escape and key', async () => {
  const metadata = '{"z":1,"a":[12345678901234567890,1.50,1E-7],"漢":"\\u0000é\\ud83d\\ude00","z":null}';
  const id = await acme.accepted(`{"prompt":"metadata","metadata":${metadata}}`);
  const { text } = await acme.get(`/jobs/${id}`);
  assert.ok(text.includes(`"metadata":${metadata}`), text);
});

test('HEAD answers like GET without a body', async () => {
  const id = await acme.accepted({ prompt: 'head' });
  await acme.untilCompleted(id);
  for (const path of [`/jobs/${id}`, `/jobs/${id}/result`]) {
    const reply = await acme.request('HEAD', path);
    assert.equal(reply.status, 200, path);
    assert.equal(reply.bytes.length, 0, path);
  }
});
