// `npm test`: every check, in the order in which a failure is cheapest.
//   npm test -- --only unit,e2e         some of the steps
//   npm test -- --only e2e fairness     only files whose name holds a word
import { existsSync, globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { buildWorker } from './build.mjs';
import { CommandFailed, ROOT, main, run, seconds } from './progress.mjs';
import { WASM_ENV, ensureToolchain } from './toolchain.mjs';

const { values, positionals: words } = parseArgs({ options: { only: { type: 'string' } }, allowPositionals: true });

const cargo = (args, env) => run('cargo', args, { show: true, env });
const WASM = ['--target', 'wasm32-unknown-unknown', '--lib'];
const DENY = ['--', '-D', 'warnings'];

const STEPS = {
  fmt: ['Formatting', () => cargo(['fmt', '--check'])],
  clippy: ['Lints, native', () => cargo(['clippy', '--all-targets', ...DENY])],
  'clippy-wasm': ['Lints, Wasm', () => cargo(['clippy', ...WASM, ...DENY], WASM_ENV)],
  docs: ['Documentation', () => cargo(['doc', '--no-deps', '--quiet'], { RUSTDOCFLAGS: '-D warnings' })],
  unit: ['Rust tests', () => cargo(['test', '--quiet'])],
  build: ['The Worker', buildWorker],
  support: ['Tests of the test support', () => nodeTests('tests/support/**/*.test.mjs')],
  e2e: ['End-to-end tests', () => buildWorker().then(() => nodeTests('tests/e2e/**/*.test.mjs'))],
  deploy: ['A deploy that stops short', dryRun],
};

await main(async () => {
  const started = Date.now();
  await ensureToolchain();
  for (const name of chosen()) await runStep(name, ...STEPS[name]);
  console.log(`\nAll passed in ${seconds(started)}`);
});

function chosen() {
  const names = values.only?.split(',') ?? Object.keys(STEPS);
  const unknown = names.find((name) => !STEPS[name]);
  if (unknown) throw new CommandFailed(`No step is called ${unknown}; there are: ${Object.keys(STEPS).join(', ')}`);
  return names;
}

async function runStep(name, title, work) {
  const started = Date.now();
  console.log(`\n━━ ${title} (${name})`);
  try {
    await work();
  } catch (error) {
    console.error(`\n✗ ${title} failed after ${seconds(started)}. Again: npm test -- --only ${name}`);
    throw error;
  }
  console.log(`✓ ${title}: ${seconds(started)}`);
}

async function nodeTests(pattern) {
  const files = globSync(pattern, { cwd: ROOT }).filter((file) => words.every((word) => file.includes(word)));
  if (files.length === 0) return console.log(`  no files match ${pattern}`);
  await run(
    process.execPath,
    [
      '--test',
      // Each file runs a workerd of its own.
      `--test-concurrency=${Math.min(2, availableParallelism())}`,
      '--test-timeout=180000',
      // A test that failed may have left its runtime running.
      '--test-force-exit',
      ...files.sort(),
    ],
    { show: true },
  );
}

function dryRun() {
  if (!existsSync(`${ROOT}/src/lib.rs`)) return console.log('  nothing to deploy yet');
  const args = ['deploy', '--dry-run', '--outdir', `${ROOT}/.wrangler/dry-run`];
  return run(`${ROOT}/node_modules/.bin/wrangler`, args, { env: { WRANGLER_SEND_METRICS: 'false', CI: 'true' } });
}
