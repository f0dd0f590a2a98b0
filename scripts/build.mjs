// Builds the Worker into build/, if what it is made of has changed.
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { nameByLikeness } from './order.mjs';
import { ROOT, main, run, step } from './progress.mjs';
import { ensureToolchain, workerBuild, workerBuildEnv } from './toolchain.mjs';

const OUT = `${ROOT}/build`;
const STAMP = `${OUT}/.built-from`;
// What rustc emits and workerd runs, and no more.
const WASM_FEATURES = [
  'mutable-globals', 'sign-ext', 'nontrapping-float-to-int', 'bulk-memory', 'multivalue',
  'reference-types', 'exception-handling',
];
const WASM_PASSES = [
  '-Oz',
  // A function with one caller stays a function, beside others like it: the
  // caller has nothing that gzip could find again. 35 kB.
  '--one-caller-inline-max-function-size=30',
  // Rust keeps its stack there: only a stack about to overflow uses these
  // bytes. 3.5 kB (gzip).
  '--low-memory-unused',
  '--strip-debug', '--strip-producers',
];
const LOCK = `${ROOT}/.tools/build.lock`;
const SOURCES = [
  'src/**', 'templates/**', 'dashboard/**', 'build.rs',
  'Cargo.toml', 'Cargo.lock', 'rust-toolchain.toml', 'package-lock.json', 'scripts/toolchain.mjs', 'scripts/build.mjs',
  'scripts/order.mjs',
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
  await step('Making it small', optimize);
  writeFileSync(STAMP, wanted);
  console.log(`  ${sizes()}`);
}

// worker-build's own pass keeps the names of functions: a quarter of the
// module, and of use only where somebody reads stack traces. Names of ours say
// how they are to stand, and go as well.
async function optimize() {
  const [wasm, small] = [`${OUT}/index_bg.wasm`, `${OUT}/small.wasm`];
  const features = WASM_FEATURES.map((feature) => `--enable-${feature}`);
  const wasmOpt = (...passes) =>
    run('wasm-opt', [wasm, '-o', small, ...features, ...passes], { env: workerBuildEnv() });
  await wasmOpt(...WASM_PASSES);
  // 20 kB.
  writeFileSync(wasm, nameByLikeness(readFileSync(small)));
  await wasmOpt('--reorder-functions-by-name', '--strip-debug');
  renameSync(small, wasm);
  shareShortNames(wasm, `${OUT}/index.js`);
}

// What the module imports from the script is named after hashes, which gzip
// cannot shorten. Numbers do as well: 5.0 kB. They keep the length of the name,
// so that nothing moves within the module.
function shareShortNames(...files) {
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(readFileSync(files[0])));
  const hashed = imports.map(({ name }) => name).filter((name) => /_[0-9a-f]{16}$/.test(name));
  const numbers = new Map(hashed.map((name, at) => [name, String(at).padStart(name.length, '_')]));
  for (const file of files) {
    const text = readFileSync(file, 'latin1');
    const renamed = text.replace(/__wbg_\w+?_[0-9a-f]{16}/g, (name) => numbers.get(name) ?? name);
    writeFileSync(file, renamed, 'latin1');
  }
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
