import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { makePdf } from '../support/claude/samples.mjs';
import { assertRefused } from './support/assertions.mjs';
import { fixture, pdfOfSize, sha256 } from './support/files.mjs';
import { stage } from './support/stage.mjs';

const MIB = 1024 * 1024;
const MEMORY_BOUND = 24_000_000;

let world, acme;
before(async () => {
  world = await stage();
  acme = await world.tenant('acme');
});
after(() => world?.stop());

for (const size of [600, 16 * 1024, MIB, 5 * MIB - 1, 5 * MIB, 5 * MIB + 1, 10 * MIB, 10 * MIB + 1, 20 * MIB]) {
  test(`a PDF of ${size} bytes reaches Claude unchanged`, async () => {
    const bytes = pdfOfSize(`of ${size}`, size);
    assert.equal(bytes.length, size);
    const [answer] = await answersTo([{ name: 'sized.pdf', bytes }]);
    assert.ok(answer.startsWith(`pdf sha256=${sha256(bytes)} pages~1 text=of ${size}`), answer.slice(0, 200));
  });
}

test('files of all sizes in one form reach Claude unchanged and in order', async () => {
  const sizes = [6 * MIB, 700, 5 * MIB, 1_000_000, 5 * MIB + 1, 601, 2 * MIB];
  const files = sizes.map((size, i) => ({ name: `${i}.pdf`, bytes: pdfOfSize(`mixed ${i}`, size) }));
  const answers = await answersTo(files);
  for (const [i, { bytes }] of files.entries()) {
    assert.ok(answers[i].startsWith(`pdf sha256=${sha256(bytes)}`), answers[i].slice(0, 200));
  }
});

test('a request about a PDF has its length known beforehand', async () => {
  const bytes = pdfOfSize('length', 3_000_001);
  await answersTo([{ name: 'length.pdf', bytes }]);
  const [call] = world.claude.callsFor((one) => one.pdfs[0]?.sha256 === sha256(bytes));
  assert.equal(call.chunked, false);
  assert.equal(call.contentLength, call.bodyBytes);
});

test('forms that arrive side by side do not mix', async () => {
  const forms = Array.from({ length: 8 }, (_, i) => [
    { name: 'a.pdf', bytes: pdfOfSize(`form ${i} a`, 300_000 + i) },
    { name: 'b.pdf', bytes: pdfOfSize(`form ${i} b`, 6_000_000 + i) },
  ]);
  const answers = await Promise.all(forms.map(answersTo));
  for (const [i, files] of forms.entries()) {
    for (const [j, { bytes }] of files.entries()) assert.ok(answers[i][j].startsWith(`pdf sha256=${sha256(bytes)}`));
  }
});

for (const [what, bad, problem] of [
  ['a page of HTML', () => fixture('upload/c10-html.pdf'), { status: 400, detail: 'not a PDF' }],
  ['an empty file', () => Buffer.alloc(0), { status: 400, detail: 'the file is empty' }],
  ['a ZIP archive', () => Buffer.from('PK\x03\x04 archive'), { status: 400, detail: 'not a PDF' }],
  ['6 MB of something else', () => Buffer.alloc(6_000_000, 'x'), { status: 400, detail: 'not a PDF' }],
  ['a PDF too large for Claude', () => pdfOfSize('too large', 24_000_001), { status: 413, type: 'too-large', detail: 'base64' }],
  ['a PDF of 601 pages', () => makePdf('long', { pages: 601 }), { status: 400, detail: '601 pages' }],
]) {
  for (const [where, place] of [['first', 0], ['last', 2]]) {
    test(`${what} ${where} in a form is refused by name, and the good files with it`, async () => {
      const files = [good('one.pdf'), good('two.pdf')];
      files.splice(place, 0, { name: 'the bad one.pdf', bytes: bad() });
      const send = () => acme.submitFiles(files);
      await assertRefused(world, acme, send, { field: 'the bad one.pdf', ...problem });
    });
  }
}

test('a model that takes fewer pages refuses a file that another takes', async () => {
  const files = [{ name: 'long.pdf', bytes: makePdf('long', { pages: 101 }) }];
  await assertRefused(world, acme, () => acme.submitFiles(files, { model: 'claude-haiku-4-5' }), {
    status: 400,
    field: 'long.pdf',
    detail: '101 pages, and the model takes 100',
  });
  await answersTo(files);
});

test('a form that breaks off leaves nothing behind', async () => {
  const { FORM_TYPE, formOf } = await import('./support/stage.mjs');
  const form = formOf([{ name: 'whole.pdf', bytes: pdfOfSize('whole', 700) }, { name: 'half.pdf', bytes: pdfOfSize('half', 6_000_000) }]);
  const send = () => acme.upload(form.subarray(0, 5_500_000), FORM_TYPE);
  await assertRefused(world, acme, send, { status: 400, field: 'half.pdf', detail: 'cut off' });
});

test('the memory of the Worker stays bounded while PDFs of 20 MB come one by one and all at once', async () => {
  const file = (i) => [{ name: `${i}.pdf`, bytes: pdfOfSize(`memory ${i}`, 20_000_000) }];
  for (let i = 0; i < 5; i += 1) await answersTo(file(i));
  await assertBounded('one by one');
  await Promise.all(Array.from({ length: 5 }, (_, i) => answersTo(file(5 + i))));
  await assertBounded('all at once');
});

async function assertBounded(when) {
  const { wasmMemoryBytes } = await world.health();
  assert.ok(wasmMemoryBytes < MEMORY_BOUND, `${wasmMemoryBytes} bytes of Wasm memory, ${when}`);
}

function good(name) {
  return { name, bytes: pdfOfSize(name, 700) };
}

/** The text that each file is answered with, in order. */
async function answersTo(files) {
  const reply = await acme.submitFiles(files);
  assert.equal(reply.status, 202, reply.text);
  const batch = await acme.untilBatchEnded(reply.body.batchId, 120_000);
  assert.equal(batch.counts.completed, files.length, JSON.stringify(batch.counts));
  return Promise.all(reply.body.jobs.map(async ({ jobId }) => (await acme.result(jobId)).text));
}
