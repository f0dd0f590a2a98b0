/**
 * Runs the simulated Claude by itself:
 *
 *     node tests/support/claude/main.mjs --port 8788 --latency 400 --decode 600
 *
 * Prints one line with the address and serves until it is told to stop.
 */
import { parseArgs } from 'node:util';
import { startSimulatedClaude } from './server.mjs';

const OPTIONS = {
  port: { type: 'string', default: '0' },
  host: { type: 'string', default: '127.0.0.1' },
  latency: { type: 'string' },
  decode: { type: 'string' },
  jitter: { type: 'string' },
  deltas: { type: 'string' },
  rpm: { type: 'string' },
  itpm: { type: 'string' },
  otpm: { type: 'string' },
  burst: { type: 'string' },
  'time-scale': { type: 'string' },
  'otpm-mode': { type: 'string' },
  'retry-after': { type: 'string' },
  'answer-tokens': { type: 'string' },
  'fail-rate': { type: 'string' },
  fail: { type: 'string' },
  seed: { type: 'string' },
  'api-key': { type: 'string', multiple: true },
  'raw-dir': { type: 'string', multiple: true },
  help: { type: 'boolean', default: false },
};

const NUMBERS = {
  latency: 'latencyMs',
  decode: 'decodeMs',
  jitter: 'jitter',
  deltas: 'deltas',
  burst: 'burstS',
  'time-scale': 'timeScale',
  'answer-tokens': 'answerTokens',
  'fail-rate': 'failRate',
  seed: 'seed',
};
const WORDS = { 'otpm-mode': 'otpmMode', 'retry-after': 'retryAfter', fail: 'fail', 'api-key': 'apiKey', 'raw-dir': 'rawDir' };
const LIMITS = { rpm: 'requests', itpm: 'input', otpm: 'output' };

/** Settings of the server from the command line's values. */
export function settingsFrom(values) {
  const pick = (names, convert) =>
    Object.entries(names).flatMap(([flag, name]) => (values[flag] === undefined ? [] : [[name, convert(values[flag], flag)]]));
  const limits = Object.fromEntries(pick(LIMITS, number));
  const settings = Object.fromEntries([...pick(NUMBERS, number), ...pick(WORDS, (value) => value)]);
  return Object.keys(limits).length > 0 ? { ...settings, limits } : settings;
}

function number(text, flag) {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new Error(`--${flag} needs a number, not "${text}"`);
  return value;
}

async function main() {
  const { values } = parseArgs({ options: OPTIONS });
  if (values.help) return console.log(`options: ${Object.keys(OPTIONS).map((name) => `--${name}`).join(' ')}`);
  const place = { port: number(values.port, 'port'), host: values.host };
  const server = await startSimulatedClaude({ ...place, ...settingsFrom(values) });
  console.log(`simulated Claude listening on ${server.url}`);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.stop().then(() => process.exit(0)));
}

if (process.argv[1] && import.meta.url === new URL(`file://${process.argv[1]}`).href) {
  main().catch((error) => {
    console.error(`simulated Claude: ${error.message}`);
    process.exitCode = 1;
  });
}
