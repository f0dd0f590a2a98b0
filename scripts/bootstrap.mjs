// The first step of every npm script: runs on the Node that is there, with no
// dependency installed, and hands over to the project's own Node, because
// wrangler needs a newer one than many machines have.
import { createHash } from 'node:crypto';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter } from 'node:path';
import { ROOT, run, step } from './progress.mjs';

const STAMP = `${ROOT}/node_modules/.installed-from`;
const NODE = `${ROOT}/node_modules/node/bin/node${process.platform === 'win32' ? '.exe' : ''}`;

const [script, ...args] = process.argv.slice(2);
await installPackages();
handOver(`${ROOT}/scripts/${script}.mjs`, args);

async function installPackages() {
  const wanted = createHash('sha256').update(readFileSync(`${ROOT}/package-lock.json`)).digest('hex');
  const installed = existsSync(NODE) && existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted;
  if (installed) return;
  await step('Installing npm packages', () => run('npm', ['ci', '--no-audit', '--no-fund']));
  writeFileSync(STAMP, wanted);
}

function handOver(file, args) {
  if (!existsSync(file)) {
    console.error(`There is no such script: ${file}`);
    process.exit(1);
  }
  // wrangler, wasm-opt and others start "node" from the PATH.
  const PATH = `${ROOT}/node_modules/.bin${delimiter}${process.env.PATH}`;
  const child = spawn(NODE, ['--disable-warning=ExperimentalWarning', file, ...args], {
    cwd: ROOT,
    env: { ...process.env, PATH },
    stdio: 'inherit',
  });
  // Outlives the child, so that the prompt comes back after the last word.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}
