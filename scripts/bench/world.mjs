// A Worker, a simulated Claude in its own process, and callers.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../progress.mjs';
import { startRuntime } from '../runtime.mjs';

const KEY = 'bench-key';
const UNLIMITED = '1000000000';
const CLOCK_TICKS = 100;

export async function openWorld({ latency = 0, vars = {}, inspectorPort } = {}) {
  const claude = await startClaude(latency);
  const runtime = await startRuntime({
    inspectorPort,
    vars: {
      ANTHROPIC_BASE_URL: claude.url,
      ANTHROPIC_API_KEY: 'bench',
      LIMIT_REQUESTS_PER_MINUTE: UNLIMITED,
      LIMIT_INPUT_TOKENS_PER_MINUTE: UNLIMITED,
      LIMIT_OUTPUT_TOKENS_PER_MINUTE: UNLIMITED,
      QUEUE_CAPACITY: '1000000',
      TENANT_SHARE_PERCENT: '100',
      RATE_FREE_PER_MINUTE: '0',
      ...vars,
    },
    onLog: ({ level, message }) => level === 'error' && console.error(message),
  });
  await addTenant(runtime.d1, 'bench', KEY);
  return new World(claude, runtime);
}

class World {
  #sent = 0;

  constructor(claude, runtime) {
    Object.assign(this, { claude, runtime, pid: runtime.pid });
  }

  async post(path, body, headers = {}) {
    const response = await fetch(this.runtime.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, ...headers },
      body,
    });
    const reply = await response.json();
    if (response.status !== 202) throw new Error(`${response.status} ${JSON.stringify(reply)}`);
    return reply;
  }

  async get(path) {
    const response = await fetch(this.runtime.url + path, { headers: { authorization: `Bearer ${KEY}` } });
    return response.json();
  }

  submit(job = {}, text = '') {
    return this.post('/jobs', JSON.stringify({ prompt: `job ${(this.#sent += 1)} ${text}`, ...job }));
  }

  // Submits, whatever comes of it.
  async status() {
    const body = JSON.stringify({ prompt: `job ${(this.#sent += 1)}` });
    const headers = { authorization: `Bearer ${KEY}` };
    const response = await fetch(`${this.runtime.url}/jobs`, { method: 'POST', headers, body });
    await response.arrayBuffer();
    return response.status;
  }

  // A caller of a tenant of its own: tells what each submission is answered.
  async caller(name) {
    await addTenant(this.runtime.d1, name, `key of ${name}`);
    const headers = { authorization: `Bearer key of ${name}` };
    return async (path, body) => {
      const response = await fetch(this.runtime.url + path, { method: 'POST', headers, body });
      await response.arrayBuffer();
      return { status: response.status, retryAfter: Number(response.headers.get('retry-after')) };
    };
  }

  // Submits to a full house; how many refusals there were.
  async refusedFor(millis, callers) {
    this.refusing = true;
    const started = performance.now();
    let count = 0;
    const call = async () => {
      for (; performance.now() - started < millis; count++) {
        const status = await this.status();
        if (status !== 429) throw new Error(`${status} in place of a refusal`);
      }
    };
    await Promise.all(Array.from({ length: callers }, call));
    return count;
  }

  // Accepted jobs that the scheduler does not know yet.
  async addBacklog(count) {
    const created = Date.now() - 120_000;
    const insert = this.runtime.d1.prepare(INSERT);
    const row = (_, i) => insert.bind(uuidV7(created, i), inputOf(`backlog ${i}`), created);
    await this.runtime.d1.batch(Array.from({ length: count }, row));
  }

  async submitFor(millis, callers, text) {
    const waits = [];
    const started = performance.now();
    const call = async () => {
      while (performance.now() - started < millis) {
        const sent = performance.now();
        await this.submit({}, text);
        waits.push(performance.now() - sent);
      }
    };
    await Promise.all(Array.from({ length: callers }, call));
    return { count: waits.length, millis: performance.now() - started, waits };
  }

  // Submits one job; how long until its result is there.
  async runOne(job) {
    const started = performance.now();
    const { jobId } = await this.submit(job);
    while ((await this.get(`/jobs/${jobId}`)).status !== 'completed') await sleep(5);
    return performance.now() - started;
  }

  async unfinished() {
    const counted = await this.runtime.d1
      .prepare("SELECT count(*) AS n FROM jobs WHERE status IN ('pending', 'running')")
      .first();
    return counted.n;
  }

  async untilDone() {
    while ((await this.unfinished()) > 0) await sleep(20);
  }

  async close() {
    await this.runtime.stop();
    this.claude.child.kill();
  }
}

const INSERT = `
  INSERT INTO jobs (job_id, tenant_id, status, priority, origin, model, estimated_input_tokens,
                    max_output_tokens, input, created_at)
  VALUES (?, 'bench', 'pending', 'standard', 'scheduled', 'claude-sonnet-4-6', 10, 1024, ?, ?)`;

function inputOf(prompt) {
  const request = { stream: true, model: 'claude-sonnet-4-6', max_tokens: 1024, messages: [{ role: 'user', content: prompt }] };
  return JSON.stringify({ version: '2023-06-01', source: { inline: { body: JSON.stringify(request) } } });
}

function uuidV7(millis, number) {
  const time = millis.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${number.toString(16).padStart(12, '0')}`;
}

// CPU time of a process so far, its threads included.
export function cpuMillis(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / CLOCK_TICKS;
}

async function startClaude(latency) {
  const script = `${ROOT}/tests/support/claude/main.mjs`;
  const child = spawn(process.execPath, [script, '--port', '0', '--latency', String(latency)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.on('exit', () => child.kill());
  for await (const line of createInterface({ input: child.stdout })) {
    const found = line.match(/listening on (http:\S+)/);
    if (found) return { child, url: found[1] };
  }
  throw new Error('the simulated Claude did not start');
}

async function addTenant(d1, name, key) {
  const hash = createHash('sha256').update(key).digest('hex');
  await d1.batch([
    d1.prepare("INSERT INTO tenants (tenant_id, name, plan, created_at) VALUES (?1, ?1, 'free', 0)").bind(name),
    d1.prepare("INSERT INTO api_keys (key_hash, tenant_id, prefix, created_at) VALUES (?1, ?2, 'bench', 0)").bind(hash, name),
  ]);
}
