/**
 * What goes wrong around a Worker: crashes, second deliveries, jobs that fell
 * between two stores, and receivers of webhooks that misbehave.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Admin } from './admin.mjs';
import { stage, until } from './stage.mjs';
import { createTenant } from './tenant.mjs';

/** Where the answers of `[[sim:raw=NAME]]` and the files of the cases lie. */
export const FIXTURES = fileURLToPath(new URL('../fixtures', import.meta.url));

export const fixture = (name) => readFileSync(join(FIXTURES, name));

/** A stage that outlives its runtime, with one simulated Claude throughout. */
export async function lastingStage({ vars = {}, ...options } = {}) {
  const persist = await mkdtemp(join(tmpdir(), 'claude-pipeline-'));
  // Consumers die with the process here: a new boot knows it.
  const start = (more) => stage({ ...options, persist, vars: { BOOT_ID: randomUUID(), ...vars, ...more } });
  return new Lasting(persist, start, await start());
}

class Lasting {
  #start;
  #worlds;

  constructor(persist, start, world) {
    Object.assign(this, { persist, claude: world.claude, admin: new Admin(() => this.now) });
    [this.#start, this.#worlds] = [start, [world]];
  }

  get now() {
    return this.#worlds.at(-1);
  }

  get runtime() {
    return this.now.runtime;
  }

  get url() {
    return this.now.url;
  }

  health = () => this.now.health();

  counts = () => this.now.counts();

  restCounts = (within) => this.now.restCounts(within);

  tenant = (name, options) => createTenant(() => this.now, name, options);

  /** Ends the runtime, as a crash would with `kill`, and starts the next, with `vars` over the first. */
  async restart({ kill = false, vars = {}, meanwhile } = {}) {
    await (kill ? this.runtime.kill() : this.runtime.stop());
    await meanwhile?.(this.persist);
    this.#worlds.push(await this.#start({ ANTHROPIC_BASE_URL: this.claude.url, ...vars }));
  }

  async stop() {
    await this.runtime.stop();
    await Promise.all(this.#worlds.map(({ claude }) => claude.stop()));
    await rm(this.persist, { recursive: true, force: true });
  }
}

/**
 * A receiver of webhooks. `answer(event)` gives the status, or null for a
 * connection that stays silent.
 */
export async function startReceiver(answer = () => 200) {
  const events = [];
  const server = createServer(async (request, response) => {
    const event = JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString());
    events.push(event);
    const status = answer(event);
    if (status !== null) response.writeHead(status).end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const about = (job) => events.filter(({ data }) => data.jobId === job);
  return {
    url: `http://127.0.0.1:${server.address().port}/hook`,
    events,
    about,
    untilTold: (job, within = 10_000) =>
      until(() => about(job)[0], { within, what: `the webhook about job ${job}` }),
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The row of a job, as the database holds it. */
export function rowOf({ runtime }, job) {
  return runtime.d1.prepare('SELECT * FROM jobs WHERE job_id = ?').bind(job).first();
}

/** A copy of the message that handed the job over, as the queue carries it. */
export async function messageOf(world, job, changes = {}) {
  const { lease, attempts } = await rowOf(world, job);
  return JSON.stringify({ v: 1, jobId: job, lease, attempt: attempts, until: Date.now() + 60_000, ...changes });
}

/** Delivers one batch of messages at once, beside the queue's own; tells what became of them. */
export function deliver({ runtime }, queue, ...bodies) {
  const message = (body, i) => ({ id: `copy-${i}`, timestamp: new Date(), attempts: 1, body });
  return runtime.consume(queue, bodies.map(message));
}

/**
 * A job that the scheduler has never heard of: the row of `template`, whose
 * prompt has to be "template", with another id and prompt.
 */
export async function orphan(world, template, facts) {
  const [id] = await orphans(world, template, [facts]);
  return id;
}

/** Many at once; each of `jobs` is `{ prompt, ageMs, status, attempts, lease }`. */
export async function orphans({ runtime }, template, jobs) {
  const now = Date.now();
  const rows = jobs.map(({ prompt, ageMs = 60_000, status = 'pending', attempts = 0, lease = 0 }) =>
    ({ id: uuidV7(now - ageMs), at: now - ageMs, prompt, status, attempts, lease }));
  await runtime.d1.prepare(INSERT_ORPHANS).bind(JSON.stringify(rows), template).run();
  return rows.map(({ id }) => id);
}

const INSERT_ORPHANS = `
  INSERT INTO jobs (job_id, tenant_id, status, priority, origin, model, estimated_input_tokens,
                    max_output_tokens, input, created_at, attempts, lease)
  SELECT value->>'id', tenant_id, value->>'status', priority, origin, model, estimated_input_tokens,
         max_output_tokens, replace(input, 'template', value->>'prompt'), value->>'at',
         value->>'attempts', value->>'lease'
  FROM jobs, json_each(?1) WHERE job_id = ?2`;

function uuidV7(millis) {
  const time = millis.toString(16).padStart(12, '0');
  const chance = randomBytes(10).toString('hex');
  return [time.slice(0, 8), time.slice(8), `7${chance.slice(0, 3)}`, `8${chance.slice(3, 6)}`, chance.slice(6, 18)].join('-');
}

/** The keys in the result store. */
export async function storedResults({ runtime }) {
  const keys = [];
  let cursor;
  do {
    const page = await runtime.r2.list({ prefix: 'results/', cursor });
    keys.push(...page.objects.map(({ key }) => key));
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor);
  return keys;
}
