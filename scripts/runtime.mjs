// The Worker on local workerd, with the bindings of wrangler.toml: for
// `npm start`, the end-to-end tests and the benchmarks.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { Log, LogLevel, Miniflare, convertV4MiniflareOptions } from 'miniflare';
import { unstable_getMiniflareWorkerOptions as toMiniflare, unstable_readConfig as readConfig } from 'wrangler';
import { localConsumers } from './consumers.mjs';
import { applyMigrations } from './migrations.mjs';
import { ROOT } from './progress.mjs';

const PIPELINE = 'claude-pipeline';
const DLQ = 'claude-jobs-dlq';
const CRON = '* * * * *';

// Else wrangler tells, at every start, that it has read .dev.vars.
process.env.WRANGLER_LOG ??= 'error';

// Options, all of them optional:
//   vars       {NAME: value}       over [vars] of wrangler.toml; secrets too
//   queues     {name: {maxBatchSize}}: how many messages a consumer gets at once
//   persist    folder that keeps D1, R2 and the objects; without it they are
//              gone after stop(). Queues are never kept.
//   port       0: any free one
//   inspectorPort  where V8 can be asked, for measurements
//   build      folder of the built Worker
//   migrations false: leave the database empty
//   onLog      called with each {level, message, timestamp}; without it they
//              are kept in `logs`
//   worker     more Miniflare options of this Worker (outboundService, …)
//   workers    further Workers, as Miniflare options
export async function startRuntime(options = {}) {
  const logs = [];
  const onLog = options.onLog ?? ((entry) => logs.push(entry));
  const { mf, url, workerd } = await startMiniflare(options, onLog);
  const d1 = await mf.getD1Database('DB');
  if (options.migrations !== false) await applyMigrations(d1);
  return {
    mf,
    url,
    logs,
    d1,
    pid: workerd.pid,
    r2: await mf.getR2Bucket('BUCKET'),
    // Sends as the Worker does, by the name of the binding: queue('QUEUE_HIGH').
    queue: (binding) => mf.getQueueProducer(binding),
    // Calls the queue handler with messages of one's own; tells what became of each.
    consume: async (name, messages) => (await mf.getWorker()).queue(name, messages),
    runCron: async (time = Date.now()) =>
      (await mf.getWorker()).scheduled({ cron: CRON, scheduledTime: new Date(time) }),
    stop: () => mf.dispose(),
    kill: () => kill(mf, workerd),
  };
}

// One after another, so that each finds the process that is its own.
let earlier = Promise.resolve();

function startMiniflare(options, onLog) {
  const starting = earlier.then(() => startOne(options, onLog));
  earlier = starting.catch(() => {});
  return starting;
}

async function startOne(options, onLog) {
  const found = catchWorkerd();
  const mf = new Miniflare(miniflareOptions(options, onLog));
  try {
    const url = (await mf.ready).origin;
    return { mf, url, workerd: found() };
  } catch (error) {
    await mf.dispose();
    throw error;
  } finally {
    found();
  }
}

function miniflareOptions({ persist, port = 0, inspectorPort, build = `${ROOT}/build`, workers = [], ...rest }, onLog) {
  return convertV4MiniflareOptions({
    host: '127.0.0.1',
    port,
    inspectorPort,
    cf: false,
    log: new Log(LogLevel.ERROR),
    handleStructuredLogs: onLog,
    resourcePersistencePath: persist,
    workers: [...pipelineWorkers(build, rest), ...workers],
  });
}

function pipelineWorkers(build, { vars = {}, queues = {}, worker = {} }) {
  const config = readConfig({ config: `${ROOT}/wrangler.toml` });
  const { workerOptions: base } = toMiniflare(config);
  const { [DLQ]: dlq, ...jobs } = base.queueConsumers;
  const sizes = Object.entries(jobs).map(([name, consumer]) => [name, { ...consumer, ...queues[name] }.maxBatchSize]);
  const producers = config.queues.producers.map(({ binding, queue }) => [queue, binding]);
  const pipeline = {
    ...base,
    name: PIPELINE,
    rootPath: build,
    modulesRoot: '.',
    modules: modules(build),
    // Not base.bindings: they hold .dev.vars, and no test may see a real key.
    bindings: { ...config.vars, ...vars },
    // Not the database_id: the first deploy changes it, and kept rows with it.
    d1Databases: Object.fromEntries(config.d1_databases.map(({ binding }) => [binding, { id: binding }])),
    queueConsumers: { [DLQ]: { ...dlq, maxBatchTimeout: 0, ...queues[DLQ] } },
    ...worker,
  };
  return [pipeline, localConsumers(PIPELINE, Object.fromEntries(sizes), Object.fromEntries(producers))];
}

function modules(build) {
  const wasm = readdirSync(build).filter((file) => file.endsWith('.wasm'));
  return [
    { type: 'ESModule', path: 'index.js' },
    ...wasm.map((path) => ({ type: 'CompiledWasm', path })),
  ];
}

// Miniflare tells nobody the process it starts; Node does.
function catchWorkerd() {
  const seen = [];
  const listen = ({ process }) => seen.push(process);
  subscribe('child_process', listen);
  return () => {
    unsubscribe('child_process', listen);
    return seen.find((child) => child.spawnfile?.includes('workerd'));
  };
}

// As a crash would: nothing is flushed, nothing is told.
async function kill(mf, workerd) {
  if (workerd.exitCode === null && workerd.signalCode === null) {
    const gone = once(workerd, 'exit');
    workerd.kill('SIGKILL');
    await gone;
  }
  await mf.dispose();
}
