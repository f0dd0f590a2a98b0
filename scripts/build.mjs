// Builds the Worker into build/, if what it is made of has changed.
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { ROOT, main, run, step } from './progress.mjs';
import { ensureToolchain, workerBuild, workerBuildEnv } from './toolchain.mjs';

const OUT = `${ROOT}/build`;
const STAMP = `${OUT}/.built-from`;
const LOCK = `${ROOT}/.tools/build.lock`;
const SOURCES = [
  'src/**', 'templates/**', 'dashboard/**', 'build.rs',
  'Cargo.toml', 'Cargo.lock', 'rust-toolchain.toml', 'package-lock.json', 'scripts/toolchain.mjs',
];

export async function buildWorker() {
  const unlock = await lock();
  try {
    await buildIfChanged();
  } finally {
    unlock();
  }
}

async function buildIfChanged() {
  const wanted = sourceHash();
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted) {
    return console.log(`▸ The Worker is up to date: ${sizes()}`);
  }
  await ensureToolchain();
  await step('Building the Worker', () => run(workerBuild, ['--release'], { env: workerBuildEnv() }));
  writeFileSync(STAMP, wanted);
  console.log(`  ${sizes()}`);
}

function sourceHash() {
  const hash = createHash('sha256');
  const files = globSync(SOURCES, { cwd: ROOT }).filter((file) => statSync(`${ROOT}/${file}`).isFile());
  for (const file of files.sort()) hash.update(`${file}\0`).update(readFileSync(`${ROOT}/${file}`));
  return hash.digest('hex');
}

function sizes() {
  const wasm = readFileSync(`${OUT}/index_bg.wasm`);
  const kb = (bytes) => `${Math.round(bytes / 1024).toLocaleString('en')} KiB`;
  return `${kb(wasm.length)} of Wasm, ${kb(gzipSync(wasm).length)} gzipped`;
}

// A folder can be made by one process only; what it holds tells who.
async function lock() {
  mkdirSync(`${ROOT}/.tools`, { recursive: true });
  for (let told = false; ; await sleep(200)) {
    try {
      mkdirSync(LOCK);
      writeFileSync(`${LOCK}/pid`, String(process.pid));
      return () => rmSync(LOCK, { recursive: true, force: true });
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (!ownerLives()) rmSync(LOCK, { recursive: true, force: true });
    else if (!told) told = console.log('▸ Waiting for another build to end') ?? true;
  }
}

function ownerLives() {
  try {
    process.kill(Number(readFileSync(`${LOCK}/pid`, 'utf8')), 0);
    return true;
  } catch (error) {
    // Made a moment ago, its pid not yet written: not to be taken away.
    const age = Date.now() - (statSync(LOCK, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    return error.code === 'EPERM' || (error.code === 'ENOENT' && age < 2_000);
  }
}

if (import.meta.main) await main(buildWorker);
