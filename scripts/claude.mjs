// Which Claude the Worker will call: the real one with a key of yours, or the
// simulated one of the tests.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { CommandFailed, ROOT } from './progress.mjs';

const SIMULATED = `${ROOT}/tests/support/claude/main.mjs`;
const LISTENING = /simulated Claude listening on (http:\S+)/;

export async function chooseClaude({ ANTHROPIC_API_KEY }) {
  const { CLAUDE_BASE_URL } = process.env;
  if (CLAUDE_BASE_URL) {
    return {
      vars: { ANTHROPIC_BASE_URL: CLAUDE_BASE_URL, ANTHROPIC_API_KEY: ANTHROPIC_API_KEY ?? 'none' },
      told: `Jobs go to ${CLAUDE_BASE_URL} (CLAUDE_BASE_URL).`,
    };
  }
  if (ANTHROPIC_API_KEY) {
    return { vars: {}, told: 'Jobs go to the real Claude, at the cost of your ANTHROPIC_API_KEY.' };
  }
  return simulate();
}

// A process of its own, so that its work does not slow the cron sweep.
async function simulate() {
  const child = spawn(process.execPath, [SIMULATED, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  process.on('exit', () => child.kill());
  const url = await address(child);
  // Read on, or the child would block once the pipe is full.
  child.stdout.resume();
  return {
    vars: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'simulated' },
    told: `Jobs go to a simulated Claude on ${url}; for the real one put ANTHROPIC_API_KEY=… into .dev.vars.`,
  };
}

async function address(child) {
  for await (const line of createInterface({ input: child.stdout })) {
    const found = line.match(LISTENING);
    if (found) return found[1];
  }
  throw new CommandFailed('The simulated Claude did not start.');
}
