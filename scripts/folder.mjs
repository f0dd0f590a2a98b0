// One pipeline at a time in a state folder: two would share one database, and
// each would release the jobs of both.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandFailed } from './progress.mjs';

const noteIn = (folder) => `${folder}/running.json`;

// Refuses if another runs here; ends a workerd that outlived its parent.
export async function claimFolder(folder) {
  const { pid, workerd } = readNote(folder);
  if (pid !== process.pid && is(pid, 'start.mjs')) {
    throw new CommandFailed(`The pipeline runs in ${folder} already, as process ${pid}. Another place: STATE_DIR=… npm start`);
  }
  if (is(workerd, 'workerd')) {
    console.log(`▸ Ending workerd ${workerd}, left over from a run that was killed`);
    process.kill(workerd, 'SIGKILL');
    while (lives(workerd)) await sleep(20);
  }
}

export function noteRunning(folder, workerd) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(noteIn(folder), JSON.stringify({ pid: process.pid, workerd }));
}

function readNote(folder) {
  try {
    return JSON.parse(readFileSync(noteIn(folder), 'utf8'));
  } catch {
    return {};
  }
}

function lives(pid) {
  try {
    return pid !== undefined && process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

// A number may belong to another process by now. Where that cannot be told,
// it is taken for one.
function is(pid, name) {
  const command = `/proc/${pid}/cmdline`;
  return lives(pid) && existsSync(command) && readFileSync(command, 'utf8').includes(name);
}
