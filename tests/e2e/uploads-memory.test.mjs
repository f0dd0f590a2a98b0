import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { pdfOfSize, sha256 } from './support/files.mjs';
import { stage } from './support/stage.mjs';

const MOST_WASM_BYTES = 24_000_000;

let world, acme;
before(async () => {
  world = await stage();
  acme = await world.tenant('acme');
});
after(() => world?.stop());

test('five PDFs of 20 MB one by one do not fill the memory of the Worker', async () => {
  for (let i = 0; i < 5; i += 1) await answered(i);
  await assertBounded();
});

test('five PDFs of 20 MB at once do not fill the memory of the Worker', async () => {
  await Promise.all([5, 6, 7, 8, 9].map(answered));
  await assertBounded();
});

async function answered(i) {
  const bytes = pdfOfSize(`memory ${i}`, 20_000_000);
  const [answer] = await acme.answersTo([{ name: `${i}.pdf`, bytes }]);
  assert.ok(answer.startsWith(`pdf sha256=${sha256(bytes)}`), answer.slice(0, 200));
}

async function assertBounded() {
  const { wasmMemoryBytes } = await world.health();
  assert.ok(wasmMemoryBytes < MOST_WASM_BYTES, `${wasmMemoryBytes} bytes of Wasm memory`);
}
