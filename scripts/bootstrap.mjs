// The first step of every npm script: runs on the Node that is there, with no
// dependency installed, and hands over to the project's own Node, because
// wrangler needs a newer one than many machines have.
import { createHash } from 'node:crypto';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
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
  if (!existsSync(fileURLToPath(new URL(`file://${file}`)))) {
    console.error(`There is no such script: ${file}`);
    process.exit(1);
  }
  // Ctrl-C reaches the child by itself; the parent only has to outlive it.
  const child = spawn(NODE, ['--disable-warning=ExperimentalWarning', file, ...args], { cwd: ROOT, stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}
