// One plain line per step with its time, and a sign of life while it is slow.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '');

const HEARTBEAT_MS = 10_000;

export const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;

export async function step(title, work) {
  const started = Date.now();
  console.log(`▸ ${title}`);
  const result = await work();
  console.log(`  ${title}: done in ${seconds(started)}`);
  return result;
}

export class CommandFailed extends Error {}

// Runs quietly: the output is shown only if the command fails, its latest line
// with every heartbeat. With `show` the output goes straight to the terminal.
export function run(command, args, { env = {}, cwd = ROOT, show = false } = {}) {
  const started = Date.now();
  const output = [];
  // Windows finds npm and the like only through its shell.
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: show ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  });
  for (const stream of show ? [] : [child.stdout, child.stderr]) stream.on('data', (data) => output.push(data));
  const heartbeat = show
    ? undefined
    : setInterval(() => console.log(`  … ${seconds(started)}  ${lastLine(output)}`), HEARTBEAT_MS);
  return new Promise((resolve, reject) => {
    child.on('error', (error) => reject(new CommandFailed(`${command} could not be run: ${error.message}`)));
    child.on('close', (code, signal) => {
      const text = Buffer.concat(output).toString();
      if (code === 0) return resolve(text);
      reject(new CommandFailed(`${text}\n${command} ${args.join(' ')} ended with ${signal ?? `code ${code}`}`));
    });
  }).finally(() => clearInterval(heartbeat));
}

// For the top of a script: a failed command is told by its own output, not by
// a JavaScript stack.
export async function main(work) {
  try {
    await work();
  } catch (error) {
    console.error(error instanceof CommandFailed ? error.message : error);
    process.exit(1);
  }
}

function lastLine(output) {
  const lines = Buffer.concat(output.slice(-5)).toString().trim().split(/[\r\n]+/);
  return lines.at(-1).trim().slice(0, 100);
}
