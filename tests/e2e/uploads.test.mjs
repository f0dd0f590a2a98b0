import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { pdfOfSize, piecesOf, sha256 } from './support/files.mjs';
import { FORM_TYPE, formOf, stage } from './support/stage.mjs';

const MIB = 1024 * 1024;

let world, acme;
before(async () => {
  world = await stage();
  acme = await world.tenant('acme');
});
after(() => world?.stop());

// Parts in R2 are of 5 MiB: around that size, and around two of them.
for (const size of [600, 16 * 1024, MIB, 5 * MIB - 1, 5 * MIB, 5 * MIB + 1, 10 * MIB, 10 * MIB + 1, 20 * MIB]) {
  test(`a PDF of ${size} bytes reaches Claude unchanged`, async () => {
    const bytes = pdfOfSize(`of ${size}`, size);
    assert.equal(bytes.length, size);
    const [answer] = await acme.answersTo([{ name: 'sized.pdf', bytes }]);
    assert.ok(answer.startsWith(`pdf sha256=${sha256(bytes)} pages~1 text=of ${size}`), answer.slice(0, 200));
  });
}

test('files of all sizes in one form reach Claude unchanged and in order', async () => {
  const sizes = [6 * MIB, 700, 5 * MIB, 1_000_000, 5 * MIB + 1, 601, 2 * MIB];
  const files = sizes.map((size, i) => ({ name: `${i}.pdf`, bytes: pdfOfSize(`mixed ${i}`, size) }));
  assertAbout(files, await acme.answersTo(files));
});

test('forms that arrive side by side do not mix', async () => {
  const forms = Array.from({ length: 5 }, (_, i) => [
    { name: 'a.pdf', bytes: pdfOfSize(`form ${i} a`, 300_000 + i) },
    { name: 'b.pdf', bytes: pdfOfSize(`form ${i} b`, 5_400_000 + i) },
  ]);
  const answers = await Promise.all(forms.map((files) => acme.answersTo(files)));
  for (const [i, files] of forms.entries()) assertAbout(files, answers[i]);
});

for (const size of [1, 61, 65_536]) {
  test(`a form of unknown length that comes in pieces of ${size} bytes is like any other`, async () => {
    const files = [0, 1].map((i) => ({ name: `${i}.pdf`, bytes: pdfOfSize(`${size} ${i}`, size * 40 + 650) }));
    const form = formOf(files, { prompt: 'In pieces, 漢.' });
    const reply = await acme.stream('/batches', piecesOf(form, size), { 'content-type': FORM_TYPE });
    assert.equal(reply.status, 202, reply.text);
    await acme.untilBatchEnded(reply.body.batchId);
    const texts = await Promise.all(reply.body.jobs.map(async ({ jobId }) => (await acme.result(jobId)).text));
    assertAbout(files, texts);
    for (const text of texts) assert.match(text, /:In pieces, 漢\.:13$/);
  });
}

test('a request about a PDF has its length known beforehand', async () => {
  const bytes = pdfOfSize('length', 3_000_001);
  await acme.answersTo([{ name: 'length.pdf', bytes }]);
  const [call] = world.claude.callsFor(({ pdfs }) => pdfs[0]?.sha256 === sha256(bytes));
  assert.equal(call.chunked, false);
  assert.equal(call.contentLength, call.bodyBytes);
});

function assertAbout(files, answers) {
  for (const [i, { bytes }] of files.entries()) {
    assert.ok(answers[i].startsWith(`pdf sha256=${sha256(bytes)}`), answers[i].slice(0, 200));
  }
}
