/**
 * A Worker on local workerd and a simulated Claude, for one test file.
 *
 *     const world = await stage({ vars, claude: {…}, queues, persist, tap: true });
 *     after(() => world.stop());
 *     const acme = await world.tenant('acme');
 *
 * The Worker's own limits are out of the way and its retries quick; `vars` says
 * otherwise. `claude` are the settings of the simulated Claude, `tap` puts a
 * wiretap before it (`world.tap`). Other options go to `startRuntime`.
 * `world.admin` is the operator.
 */
import assert from 'node:assert/strict';
import { startRuntime } from '../../../scripts/runtime.mjs';
import { startSimulatedClaude } from '../../support/claude/server.mjs';
import { ADMIN_TOKEN, Admin } from './admin.mjs';
import { atRest, countsOf, healthOf } from './counts.mjs';
import { createTenant } from './tenant.mjs';
import { until } from './until.mjs';
import { startWiretap } from './wiretap.mjs';

export { FORM_TYPE, formOf } from './form.mjs';
export { describedReply, replyOf } from './tenant.mjs';
export { until } from './until.mjs';

const VARS = {
  ANTHROPIC_API_KEY: 'test-key',
  LIMIT_REQUESTS_PER_MINUTE: '1000000000',
  LIMIT_INPUT_TOKENS_PER_MINUTE: '1000000000',
  LIMIT_OUTPUT_TOKENS_PER_MINUTE: '1000000000',
  QUEUE_CAPACITY: '100000',
  TENANT_SHARE_PERCENT: '100',
  RATE_FREE_PER_MINUTE: '0',
  RATE_PRO_PER_MINUTE: '0',
  ADMIN_TOKEN,
  BACKOFF_CRITICAL_MS: '20',
  BACKOFF_STANDARD_MS: '20',
  BACKOFF_BATCH_MS: '20',
};

export async function stage({ vars = {}, claude: settings = {}, tap: tapped = false, ...options } = {}) {
  const claude = await startSimulatedClaude(settings);
  const tap = tapped ? await startWiretap(claude.url) : undefined;
  const all = { ...VARS, ANTHROPIC_BASE_URL: (tap ?? claude).url, ...vars };
  const start = () => startRuntime({ ...options, vars: all });
  const world = new World({ claude, tap, start });
  await world.start();
  return world;
}

class World {
  #start;
  #runtime;

  constructor({ claude, tap, start }) {
    Object.assign(this, { claude, tap, admin: new Admin(() => this) });
    this.#start = start;
  }

  /** Starts the runtime; what does not start leaves no server behind. */
  async start() {
    try {
      this.#runtime = await this.#start();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** What `startRuntime` returned: `d1`, `r2`, `logs`, `queue`, `consume`, `runCron` … */
  get runtime() {
    return this.#runtime;
  }

  get url() {
    return this.#runtime.url;
  }

  /** A new key of the tenant `name`, which is created if need be. */
  tenant(name, options) {
    return createTenant(() => this, name, options);
  }

  health() {
    return healthOf(this.url);
  }

  counts() {
    return countsOf(this);
  }

  /** The counts once the scheduler holds no job any more. */
  async restCounts(within = 20_000) {
    await until(async () => atRest(await this.health()), { within, what: 'a scheduler at rest' });
    return this.counts();
  }

  /** Rows, objects and scheduler are as `before`, at once. */
  async nothingLeftBehind(before, message) {
    assert.deepEqual(await this.counts(), before, message);
  }

  /** Does `work` while the wiretap holds back every call to Claude; all jobs before have ended. */
  async whileHeld(work) {
    await this.restCounts();
    this.tap.hold();
    try {
      return await work();
    } finally {
      this.tap.release();
    }
  }

  /** Ends the runtime (as a crash would, with `kill`) and starts another; needs `persist` to keep its stores. */
  async restart({ kill = false } = {}) {
    await (kill ? this.#runtime.kill() : this.#runtime.stop());
    await this.start();
  }

  async stop() {
    await this.#runtime?.stop();
    await this.tap?.stop();
    await this.claude.stop();
  }
}
