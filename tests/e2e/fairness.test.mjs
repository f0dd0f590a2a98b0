// Many jobs of one tenant, and one job of another, at the rates that Claude
// publishes: the one waits for nobody, and no call is refused, whatever crashes.
//
// Time runs SPEED times faster, for the Worker and for the simulated Claude:
// the buckets hold and earn what they would, in a quarter of the time. Durations
// below are those of that clock. Each test has a model of its own, whose buckets
// are full, and tenants of its own.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fastClock } from './support/fast-clock.mjs';
import { lastingStage, storedResults } from './support/faults.mjs';
import { stage, until } from './support/stage.mjs';

const SPEED = 4;
const SLOTS = 10;
const BEFORE = 10;
const RATES = { requests: 50, input: 40_000, output: 8_000 };
// What a call takes: the time to the first byte, and the answer.
const SERVICE = { latencyMs: 400, decodeMs: 500 };
const SERVICE_MS = SERVICE.latencyMs + SERVICE.decodeMs;
const QUICK_MS = SERVICE_MS + 2_000;
// Some 500 tokens.
const TEXT = 'lorem ipsum dolor sit amet '.repeat(70);

const clock = fastClock(SPEED);
let world;

before(async () => {
  world = await lastingStage({
    worker: clock.worker(),
    claude: { clock, limits: RATES, answerTokens: 60, ...SERVICE },
    vars: {
      SLOTS: String(SLOTS),
      LIMIT_REQUESTS_PER_MINUTE: String(RATES.requests),
      LIMIT_INPUT_TOKENS_PER_MINUTE: String(RATES.input),
      LIMIT_OUTPUT_TOKENS_PER_MINUTE: String(RATES.output),
    },
  });
});
after(() => world.stop());

test('one job behind a hundred of another tenant is quick, and no call is refused', async () => {
  const load = await begin('plain', 'claude-sonnet-4-6', 100);
  await quick(load, 'at once', 75);
  await load.untilStarved();
  await quick(load, 'without tokens', 30);
  await load.assertEndedWell();
  assert.equal(world.claude.calls.length, load.jobs.length);
});

test('the same with a scheduler thrown out of memory again and again', async () => {
  const load = await begin('evicted', 'claude-haiku-4-5', 75);
  await evict();
  await quick(load, 'at once', 55);
  for (const calls of [30, 50]) {
    await world.claude.waitUntil((all) => all.length >= calls);
    await evict();
  }
  await load.untilStarved();
  await evict();
  await quick(load, 'without tokens', 15);
  await evict();
  await load.assertEndedWell();
  assert.equal(world.claude.calls.length, load.jobs.length);
});

// Claude has counted calls whose answers the killed process never saw. None is
// refused all the same: what a call may use was taken from the buckets, and
// written down, before it was made.
test('the same with a kill -9 in between: what was under way is paid for twice, and nothing else', async () => {
  const load = await begin('killed', 'claude-opus-4-1', 75);
  await world.claude.waitUntil((all) => all.length >= BEFORE + 20);
  await world.restart({ kill: true });
  await world.runtime.runCron();
  const before = world.claude.calls.length;
  await world.claude.waitUntil((all) => all.length > before);
  await quick(load, 'at once', 35);
  await load.untilStarved();
  await quick(load, 'without tokens', 15);
  const again = await load.assertEndedWell({ lost: SLOTS });
  assert.ok(again > 0, 'the crash hit calls under way');
});

test('a tenant beyond its daily input goes behind the others, and is told so', async (t) => {
  const budget = await stage({ tap: true, vars: { SLOTS: '1', DAILY_INPUT_TOKENS: '100' } });
  t.after(() => budget.stop());
  const [spender, other, first] = await Promise.all(['spender', 'other', 'first'].map((name) => budget.tenant(name)));
  await spender.answerTo({ prompt: TEXT });
  await until(async () => (await budget.health()).scheduler.demoted === 1, { what: 'a demoted tenant' });
  const told = budget.runtime.logs.filter(({ message }) => message.includes('spender is served as batch until'));
  assert.deepEqual(told.map(({ level, message }) => [level, message.split(': ').at(-1)]), [['warn', 'daily_input']]);

  const ids = await budget.whileHeld(async () => {
    await first.accepted({ prompt: 'takes the slot' });
    const { body: accepted } = await spender.submit({ prompt: 'urgent' });
    const urgent = accepted.jobId;
    const usual = await other.accepted({ prompt: 'usual', origin: 'scheduled', deadlineSeconds: 3600 });
    const { priority, waitingFor } = await spender.job(urgent);
    for (const { demotion } of [accepted, waitingFor]) {
      assert.equal(demotion.reason, 'daily_input');
      assert.ok(Date.parse(demotion.until) > Date.now());
    }
    assert.equal((await other.job(usual)).waitingFor.demotion, undefined);
    assert.equal(priority, 'critical', 'the job keeps its priority');
    return { urgent, usual };
  });
  await spender.untilCompleted(ids.urgent);
  const [urgent, usual] = ['urgent', 'usual'].map((text) => budget.claude.callsFor(text)[0]);
  assert.ok(usual.n < urgent.n, 'the other tenant goes first');
  const waited = await spender.submit({ prompt: 'waited for' }, { prefer: 'wait=30' });
  assert.deepEqual([waited.status, waited.body.demotion.reason], [200, 'daily_input']);
  assert.equal((await other.submit({ prompt: 'waited for, too' }, { prefer: 'wait=30' })).body.demotion, undefined);
});

/**
 * The load of a test: many jobs of one tenant at once. Some go before them: a
 * bucket that is full earns nothing, so that a first call that is long on its
 * way loses what the scheduler counts on. At this speed that can be too much.
 */
async function begin(name, model, many) {
  world.claude.reset();
  const load = new Load(name, model, await world.tenant(`${name}-many`));
  const before = await world.tenant(`${name}-before`);
  await Promise.all(Array.from({ length: BEFORE }, async () => before.untilCompleted((await load.submit(before)).id)));
  await Promise.all(Array.from({ length: many }, () => load.submit(load.many)));
  return load;
}

class Load {
  jobs = [];

  constructor(name, model, many) {
    Object.assign(this, { name, model, many });
  }

  async submit(tenant) {
    const prompt = `${this.name} ${this.jobs.length}; ${TEXT}`;
    const job = { tenant, prompt };
    this.jobs.push(job);
    job.id = await tenant.accepted({ prompt, model: this.model, maxTokens: 512 });
    return job;
  }

  /** How many jobs of the tenant with many wait for their turn. */
  async pending() {
    const sql = "SELECT count(*) AS n FROM jobs WHERE tenant_id = ? AND status = 'pending'";
    return (await world.runtime.d1.prepare(sql).bind(this.many.name).first()).n;
  }

  /** Once the requests are used up: slots are free, though jobs wait. */
  untilStarved() {
    const starved = async () => {
      const { waiting, running } = (await world.health()).scheduler;
      return world.claude.calls.length > RATES.requests * 0.8 && running <= SLOTS / 3 && waiting.critical > 0;
    };
    return until(starved, { what: 'jobs that wait for tokens' });
  }

  /** Everything is answered once, and nothing was refused; `lost` attempts at most had to be made again. */
  async assertEndedWell({ lost = 0 } = {}) {
    await world.restCounts(30_000);
    const stored = await storedResults(world);
    const attempts = await Promise.all(this.jobs.map((job) => this.answered(job, stored)));
    const refused = world.claude.calls.filter(({ status }) => status === 429);
    assert.deepEqual(refused.map(({ n, detail }) => [n, detail]), []);
    const again = attempts.reduce((sum, n) => sum + n, 0) - this.jobs.length;
    assert.ok(again <= lost, `${again} attempts were made again`);
    const calls = world.claude.calls.length;
    assert.ok(calls <= this.jobs.length + again, `${calls} calls for ${this.jobs.length} jobs, ${again} attempts lost`);
    return again;
  }

  async answered({ tenant, prompt, id }, stored) {
    const job = await tenant.job(id);
    assert.equal(job.status, 'completed', JSON.stringify(job));
    assert.equal(stored.filter((key) => key === `results/${id}.txt`).length, 1);
    const text = prompt.slice(0, prompt.indexOf(';') + 1);
    const calls = world.claude.callsFor(text);
    assert.ok(calls.length <= job.attempts, `${calls.length} calls in ${job.attempts} attempts`);
    return job.attempts;
  }
}

/** A tenant that is new submits one job, which is quick though most of the others wait. */
async function quick(load, when, waiting) {
  const one = await world.tenant(`${load.name}-${when.replace(' ', '-')}`);
  const sent = clock.now();
  const { id } = await load.submit(one);
  await one.untilCompleted(id);
  const took = Math.round(clock.now() - sent);
  const pending = await load.pending();
  assert.ok(took <= QUICK_MS, `${when}: ${took} ms, of which ${SERVICE_MS} are Claude's`);
  assert.ok(pending >= waiting, `${when}: only ${pending} jobs of the other tenant wait`);
}

function evict() {
  const evicted = async () => {
    await world.runtime.mf.unsafeEvictDurableObject('claude-pipeline', 'SchedulerObject', { name: 'main' });
    return true;
  };
  return until(evicted, { what: 'an object to evict' });
}
