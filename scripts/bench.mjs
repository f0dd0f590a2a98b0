// `npm run bench`: what the pipeline does with the release build on local
// workerd, against a simulated Claude in a process of its own.
//   npm run bench -- --only memory,drain     some of the measurements
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { buildWorker } from './build.mjs';
import { CommandFailed, ROOT, main } from './progress.mjs';
import { line } from './bench/line.mjs';
import { memory } from './bench/memory.mjs';
import { overload } from './bench/overload.mjs';
import { scheduler } from './bench/scheduler.mjs';
import { cpuMillis, openWorld } from './bench/world.mjs';

const { values } = parseArgs({ options: { only: { type: 'string' } }, allowPositionals: true });

const MEASUREMENTS = { size, start, submit, idle, drain, overload, line, scheduler, inline, memory };

await main(async () => {
  await buildWorker();
  for (const name of chosen()) {
    console.log(`\n━━ ${name}`);
    await MEASUREMENTS[name](row);
  }
});

function chosen() {
  const names = values.only?.split(',') ?? Object.keys(MEASUREMENTS);
  const unknown = names.find((name) => !MEASUREMENTS[name]);
  if (unknown) throw new CommandFailed(`Nothing is called ${unknown}; there are: ${Object.keys(MEASUREMENTS).join(', ')}`);
  return names;
}

function row(what, figure, remark = '') {
  console.log(`  ${what.padEnd(46)} ${String(figure).padStart(12)}  ${remark}`);
}

async function size() {
  const wasm = readFileSync(`${ROOT}/build/index_bg.wasm`);
  const script = readFileSync(`${ROOT}/build/index.js`);
  row('module', `${(wasm.length / 1e3).toFixed(0)} kB`);
  row('module and script, gzip', `${((gzipSync(wasm).length + gzipSync(script).length) / 1e3).toFixed(0)} kB`);
}

async function start() {
  const started = performance.now();
  const world = await openWorld();
  row('start to first answer', ms(performance.now() - started), 'migrations included');
  await world.close();
}

async function submit() {
  for (const callers of [1, 16, 64]) {
    const world = await openWorld({ latency: 10 });
    const cpu = cpuMillis(world.pid);
    const { count, millis, waits } = await world.submitFor(3_000, callers);
    row(`submit, ${callers} callers`, `${((count / millis) * 1_000).toFixed(0)} /s`, `p50 ${ms(median(waits))}`);
    await world.untilDone();
    row(`  CPU of workerd per job, door to result`, ms((cpuMillis(world.pid) - cpu) / count));
    await world.close();
  }
}

async function idle() {
  for (const [priority, job] of [['high', {}], ['bulk', { priority: 'bulk' }]]) {
    const latency = 200;
    const world = await openWorld({ latency });
    await world.runOne(job);
    const added = [];
    for (let i = 0; i < 20; i++) added.push((await world.runOne(job)) - latency);
    row(`added to Claude's time, one idle ${priority} job`, ms(median(added)), `worst of 20: ${ms(Math.max(...added))}`);
    await world.close();
  }
}

// The backlog is rows that the sweep finds, so that it is whole at the start.
async function drain() {
  const world = await openWorld({ latency: 50 });
  await world.runOne({});
  await world.addBacklog(500);
  const cpu = cpuMillis(world.pid);
  const started = performance.now();
  await world.runtime.runCron();
  await world.untilDone();
  const millis = performance.now() - started;
  row('drain of 500 jobs at 50 ms each', `${(500 / (millis / 1_000)).toFixed(0)} /s`, `bound with 32 slots: 640 /s`);
  row('  CPU of workerd per job, release to result', ms((cpuMillis(world.pid) - cpu) / 500));
  await world.close();
}

// The reason for INLINE_INPUT_BYTES: what a row costs against an object.
async function inline() {
  for (const [place, bytes] of [['its row', '500000'], ['R2', '1']]) {
    const world = await openWorld({ latency: 10, vars: { INLINE_INPUT_BYTES: bytes } });
    const { count, millis } = await world.submitFor(3_000, 16, 'x'.repeat(12_000));
    row(`submit of 12 kB prompts kept in ${place}`, `${((count / millis) * 1_000).toFixed(0)} /s`);
    await world.close();
  }
}

function ms(millis) {
  return `${millis.toFixed(1)} ms`;
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}
