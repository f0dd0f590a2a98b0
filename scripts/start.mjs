// `npm start`: the whole pipeline on this machine, ready to be tried by curl.
// Environment: PORT, STATE_DIR, CLAUDE_BASE_URL. The real Claude is called only
// if .dev.vars holds an ANTHROPIC_API_KEY: nobody should pay by surprise.
import { randomUUID } from 'node:crypto';
import { subscribe } from 'node:diagnostics_channel';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { parseEnv } from 'node:util';
import { buildWorker } from './build.mjs';
import { chooseClaude } from './claude.mjs';
import { openDemo, seedDemo } from './demo.mjs';
import { claimFolder, noteRunning } from './folder.mjs';
import { CommandFailed, ROOT, main, step } from './progress.mjs';
import { startRuntime } from './runtime.mjs';

const PORT = Number(process.env.PORT ?? 8787);
const STATE = process.env.STATE_DIR ?? `${ROOT}/.local`;
const SWEEP_MS = 60_000;

await main(start);

async function start() {
  if (!(PORT > 0 && PORT < 65_536)) throw new CommandFailed(`PORT is ${process.env.PORT}; it must be a number from 1 to 65535`);
  await claimFolder(STATE);
  noteEveryWorkerd();
  await requireFreePort(PORT);
  await buildWorker();
  // It took minutes, the first time.
  await requireFreePort(PORT);
  const secrets = readSecrets();
  const demo = openDemo(STATE, `http://127.0.0.1:${PORT}`);
  const claude = await chooseClaude(secrets);
  // Consumers die with this process: another boot means their leases are dead.
  const vars = { BOOT_ID: randomUUID(), ADMIN_TOKEN: demo.adminToken, ...secrets, ...claude.vars };
  const runtime = await step('Starting the Worker on local workerd', () =>
    startRuntime({ vars, port: PORT, persist: `${STATE}/state`, onLog: showLog }));
  await requireHealth(runtime);
  await seedDemo(runtime.d1, demo);
  // Nothing else wakes the scheduler object after a restart.
  await runtime.runCron();
  const sweeps = everyMinute(runtime);
  stopOnSignal(async () => {
    clearInterval(sweeps);
    await runtime.stop();
  });
  console.log(welcome({ ...demo, ...yourOwn(secrets) }, claude));
}

// Miniflare starts another when one dies.
function noteEveryWorkerd() {
  subscribe('child_process', ({ process: child }) => {
    child.once('spawn', () => child.spawnfile.includes('workerd') && noteRunning(STATE, child.pid));
  });
}

async function requireHealth({ url }) {
  const response = await fetch(`${url}/healthz`);
  const { detail } = await response.json();
  if (!response.ok) throw new CommandFailed(`The Worker does not work: ${detail}`);
}

function requireFreePort(port) {
  const probe = createServer();
  return new Promise((resolve, reject) => {
    probe.once('error', ({ code }) =>
      reject(new CommandFailed(
        code === 'EADDRINUSE'
          ? `Port ${port} is taken. Stop what uses it, or choose another: PORT=${port + 1} npm start`
          : `Port ${port} cannot be used (${code}). Choose another: PORT=8788 npm start`,
      )));
    probe.listen(port, '127.0.0.1', () => probe.close(resolve));
  });
}

function readSecrets() {
  const file = `${ROOT}/.dev.vars`;
  return existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {};
}

// A token of .dev.vars goes before the demo's, and is not for the screen.
function yourOwn({ ADMIN_TOKEN }) {
  return ADMIN_TOKEN ? { adminToken: 'YOUR_ADMIN_TOKEN' } : {};
}

// Local workerd knows the cron line but never runs it.
function everyMinute(runtime) {
  return setInterval(() => runtime.runCron().catch((error) => console.error('The sweep failed:', error)), SWEEP_MS);
}

function showLog({ level, message }) {
  (level === 'error' || level === 'warn' ? console.error : console.log)(message);
}

// A second Ctrl-C is not heard: the first is being obeyed.
function stopOnSignal(stop) {
  let stopping;
  for (const signal of ['SIGINT', 'SIGTERM']) {
    // Miniflare's own listener would end the process at once.
    process.removeAllListeners(signal);
    process.on(signal, () => {
      stopping ??= stop().then(() => {
        console.log('\nStopped');
        process.exit(0);
      });
    });
  }
}

function welcome({ baseUrl, key, adminToken }, claude) {
  return `
The pipeline answers on ${baseUrl}
${claude.told}

  # submit a prompt
  curl -s ${baseUrl}/jobs -H 'authorization: Bearer ${key}' \\
    -H 'content-type: application/json' -d '{"prompt": "Why is the sky blue?", "origin": "user_action"}'

  # ask how it stands, and fetch the answer (put in the jobId of the first reply)
  curl -s ${baseUrl}/jobs/JOB_ID -H 'authorization: Bearer ${key}'
  curl -s ${baseUrl}/jobs/JOB_ID/result -H 'authorization: Bearer ${key}'

  # two PDFs as one batch
  curl -s ${baseUrl}/batches -H 'authorization: Bearer ${key}' \\
    -F 'files=@examples/pdfs/a.pdf' -F 'files=@examples/pdfs/b.pdf'

  # as the operator: a second tenant, and a key for it, which is shown once
  curl -s ${baseUrl}/admin/tenants -H 'authorization: Bearer ${adminToken}' \\
    -H 'content-type: application/json' -d '{"tenantId": "second", "plan": "pro"}'
  curl -s -X POST ${baseUrl}/admin/tenants/second/keys -H 'authorization: Bearer ${adminToken}'

Ctrl-C stops it. Jobs are kept in ${STATE.replace(`${ROOT}/`, '')}/.
`;
}
