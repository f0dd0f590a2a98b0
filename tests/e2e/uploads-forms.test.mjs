import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertRefused } from './support/assertions.mjs';
import { CASE_FORM, fixture, pdfOfSize, pdfsInForm, sha256 } from './support/files.mjs';
import { FORM_TYPE, formOf, stage } from './support/stage.mjs';

let world, acme;
before(async () => {
  world = await stage();
  acme = await world.tenant('acme');
});
after(() => world?.stop());

test('C01: a form whose lines end with LF only is refused, the line ends named', async () => {
  const send = () => acme.upload(fixture('upload/c01-lf-only.multipart'), CASE_FORM);
  await assertRefused(world, acme, send, { status: 400, detail: 'must end with CRLF' });
});

for (const [kind, file, names] of [
  ['C02: a file name that ends with a backslash', 'c02-backslash-end', ['file-1.pdf', 'b.pdf']],
  ['C02: a file name with escaped quotes', 'c02-escaped-quote', ['the "final" one.pdf']],
  ['C02: a file name in Latin-1', 'c02-latin1', ['résumé.pdf']],
  ['C02: a file name with %22', 'c02-percent22', ['the "final" one 50%25.pdf']],
  ['C02: a file name in raw UTF-8', 'c02-raw-utf8', ['請求書 📄.pdf']],
  ['C02: a file name in both forms', 'c02-star-and-plain', ['請求.pdf']],
  ['C02: a file name only as filename*', 'c02-star-only', ['übersicht №1.pdf']],
  ['C05: a part with a decorated type', 'c05-charset-binary', ['a.pdf']],
  ['C05: a part without a type', 'c05-name-only', ['a.pdf']],
  ['C05: a part without name and type', 'c05-no-filename-no-type', ['file-1.pdf']],
  ['C05: a part with a generic type', 'c05-octet-stream', ['a.pdf']],
  ['C05: a part with its type first', 'c05-type-first', ['a.pdf']],
  ['C05: a part with a type and no name', 'c05-type-only', ['file-1.pdf']],
]) {
  test(`${kind} is a file like any other`, async () => {
    const form = fixture(`upload/${file}.multipart`);
    const { jobs, texts } = await ended(await acme.upload(form, CASE_FORM));
    assert.deepEqual(jobs.map(({ filename }) => filename), names);
    const sums = pdfsInForm(form).map(sha256);
    assert.deepEqual(texts.map((text) => /sha256=(\w+)/.exec(text)[1]), sums);
    assert.deepEqual(jobs.map(({ status }) => status), sums.map(() => 'completed'));
  });
}

test('C07: a hundred and one files are refused, and none is kept', async () => {
  const send = () => acme.upload(fixture('upload/c07-101.multipart'), CASE_FORM);
  await assertRefused(world, acme, send, { status: 400, field: 'files', detail: 'at most 100 files' });
});

test('C10: a page of HTML named .pdf is refused by name before any call', async () => {
  const calls = world.claude.calls.length;
  const files = [good(), { name: 'login.pdf', bytes: fixture('upload/c10-html.pdf') }];
  await assertRefused(world, acme, () => acme.submitFiles(files), { status: 400, field: 'login.pdf', detail: 'not a PDF' });
  // The one call is that of the plain job after the refusal.
  assert.equal(world.claude.calls.length, calls + 1);
});

test('C10: a file that only begins like a PDF fails after one call and harms no other', async () => {
  const bytes = fixture('upload/c10-magic-only.pdf');
  const reply = await acme.submitFiles([good(), { name: 'magic.pdf', bytes }, good()]);
  const { batch, jobs } = await ended(reply);
  assert.deepEqual(jobs.map(({ status }) => status), ['completed', 'failed', 'completed']);
  assert.match(jobs[1].error.message, /not valid/);
  assert.equal(batch.counts['dead-lettered'], 0);
  assert.equal(world.claude.callsFor(({ pdfs }) => pdfs[0]?.sha256 === sha256(bytes)).length, 1);
});

test('C12: an empty file is refused by name, and the good file with it', async () => {
  const send = () => acme.upload(fixture('upload/c12-zero.multipart'), CASE_FORM);
  await assertRefused(world, acme, send, { status: 400, field: 'empty.pdf', detail: 'the file is empty' });
});

for (const [kind, form, type, field] of [
  ['C12: a form where nothing was chosen', () => fixture('upload/c12-nothing-chosen.multipart'), CASE_FORM, 'files'],
  ['C12: a form without parts', () => fixture('upload/c12-no-parts.multipart'), CASE_FORM, 'files'],
  ['C12: a form with its file in the field `file`', () => formOf([{ ...good(), field: 'file' }]), FORM_TYPE, 'file'],
  ['a form with nothing but a prompt', () => formOf([], { prompt: 'x' }), FORM_TYPE, 'files'],
]) {
  test(`${kind} has no files in field \`files\``, async () => {
    const send = () => acme.upload(form(), type);
    await assertRefused(world, acme, send, { status: 400, field, detail: 'no files in field `files`' });
  });
}

test('C16: a file name with a NUL is refused or cleaned, and never cut', async () => {
  const raw = formOf([{ ...good(), name: 'before\0after.pdf' }]);
  await assertRefused(world, acme, () => acme.upload(raw, FORM_TYPE), { status: 400, detail: 'malformed' });
  const encoded = Buffer.from(raw.toString('latin1').replace(/filename="[^"]*"/, "filename*=UTF-8''before%00after.pdf"), 'latin1');
  const { jobs } = await ended(await acme.upload(encoded, FORM_TYPE));
  assert.equal(jobs[0].filename, 'beforeafter.pdf');
});

for (const [what, type, body, problem] of [
  ['JSON', 'application/json', '{}', { status: 415, type: 'unsupported-type', detail: 'multipart/form-data' }],
  ['a PDF alone', 'application/pdf', pdfOfSize('alone', 700), { status: 415, type: 'unsupported-type' }],
  ['a form without a boundary', 'multipart/form-data', 'x', { status: 400, detail: 'boundary' }],
  ['another boundary than it says', 'multipart/form-data; boundary=other', formOf([good()]), { status: 400, detail: 'cut off or malformed' }],
  ['an empty body', FORM_TYPE, '', { status: 400, detail: 'cut off' }],
  ['a number in words', FORM_TYPE, formOf([good()], { maxTokens: 'many' }), { status: 400, field: 'maxTokens', detail: 'a whole number from 1 to 1000000' }],
  ['a fraction of a second', FORM_TYPE, formOf([good()], { deadlineSeconds: '1.5' }), { status: 400, field: 'deadlineSeconds', detail: 'a whole number from 1 to' }],
  ['a control character in a name', FORM_TYPE, formOf([{ ...good(), name: 'a\u0000b.pdf' }]), { status: 400, detail: 'control character' }],
  ['a part without a name', FORM_TYPE, formOf([good()]).toString('latin1').replace('; name="files"', ''), { status: 400, detail: 'no name' }],
]) {
  test(`a batch of ${what} is refused and leaves nothing behind`, async () => {
    await assertRefused(world, acme, () => acme.upload(body, type), problem);
  });
}

test('a part of another field twice is refused by its name', async () => {
  const form = formOf([good()], { prompt: 'x' }).toString('latin1');
  const [part] = form.match(/--[^]*?(?=--e2e|$)/);
  const send = () => acme.upload(Buffer.from(part + form, 'latin1'), FORM_TYPE);
  await assertRefused(world, acme, send, { status: 400, field: 'prompt', detail: 'sent twice' });
});

test('C07: a hundred files of one name are a hundred jobs, each with its own answer, in order', async () => {
  const form = fixture('upload/c07-100-same-name.multipart');
  const { batch, jobs, texts } = await ended(await acme.upload(form, CASE_FORM));
  assert.equal(batch.total, 100);
  assert.deepEqual(jobs.map(({ index, filename }) => [index, filename]), Array.from({ length: 100 }, (_, i) => [i, 'scan.pdf']));
  for (const [i, pdf] of pdfsInForm(form).entries()) {
    const number = String(i).padStart(3, '0');
    assert.ok(texts[i].startsWith(`pdf sha256=${sha256(pdf)} pages~1 text=Scan number ${number}`), texts[i]);
  }
});

function good() {
  return { name: 'good.pdf', bytes: pdfOfSize('good', 700) };
}

/** The batch once it has ended, its jobs, and the text each was answered with. */
async function ended(reply) {
  assert.equal(reply.status, 202, reply.text);
  const batch = await acme.untilBatchEnded(reply.body.batchId);
  const texts = await Promise.all(batch.jobs.map(async ({ jobId }) => (await acme.result(jobId)).text));
  return { batch, jobs: batch.jobs, texts };
}
