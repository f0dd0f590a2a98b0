import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, beforeEach, test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { PdfReader } from './pdf.mjs';
import { makePdf, pdfRequest, post, promptRequest } from './samples.mjs';
import { startSimulatedClaude } from './server.mjs';

let claude;
before(async () => (claude = await startSimulatedClaude()));
after(() => claude.stop());
beforeEach(() => claude.reset());

function fixture(name) {
  return readFileSync(new URL(`fixtures/${name}`, import.meta.url));
}

function read(pdf, pieceSize = pdf.length) {
  const reader = new PdfReader();
  for (let at = 0; at < pdf.length; at += pieceSize) reader.push(pdf.subarray(at, at + pieceSize));
  return reader.finish();
}

async function problemWith(pdf) {
  const res = await post(claude, pdfRequest(pdf));
  return res.status === 200 ? null : (await res.json()).error.message;
}

test('the answer names the PDF it read', async () => {
  const pdf = makePdf('Invoice (No. 7) \\ paid', { pages: 3 });
  const hash = createHash('sha256').update(pdf).digest('hex');
  const { content, usage } = await (await post(claude, pdfRequest(pdf))).json();

  assert.ok(content[0].text.startsWith(`pdf sha256=${hash} pages~3 text=Invoice (No. 7) \\ paid\necho:`));
  assert.ok(usage.input_tokens >= 6000);
  assert.deepEqual(claude.calls[0].pdfs, [{ sha256: hash, bytes: pdf.length, pages: 3, textSample: 'Invoice (No. 7) \\ paid' }]);
  assert.equal(claude.callsFor('Invoice (No. 7)').length, 1);
});

test('a PDF that only has an owner password is read', async () => {
  assert.equal(await problemWith(fixture('c08-owner-only.pdf')), null);
  assert.equal(claude.calls[0].pdfs[0].textSample, 'Owner password only');
});

test('a PDF that needs a password is refused', async () => {
  assert.equal(
    await problemWith(fixture('c08-user-password.pdf')),
    'messages.0.content.0.pdf.source.base64.data: The PDF specified is password protected',
  );
});

test('what is no PDF is refused', async () => {
  const notValid = 'messages.0.content.0.pdf.source.base64.data: The PDF specified was not valid.';
  for (const bytes of [fixture('c10-html.pdf'), fixture('c10-magic-only.pdf'), Buffer.alloc(0), Buffer.from(' %PDF-1.4 %%EOF')]) {
    assert.equal(await problemWith(bytes), notValid);
  }
});

test('base64 must be strict, in short and in long documents', async () => {
  for (const bytes of [0, 60_000]) {
    const good = pdfRequest(makePdf('x', { bytes }));
    const { source } = good.messages[0].content[0];
    const whole = source.data;
    for (const damaged of [`${whole}=`, whole.slice(0, -1), `${whole.slice(0, 5000)}-_${whole.slice(5002)}`, `${whole} `, `AA==${whole}`]) {
      source.data = damaged;
      assert.equal((await post(claude, good)).status, 400, damaged.slice(-20));
    }
    source.data = whole;
    assert.equal((await post(claude, good)).status, 200);
  }
});

test('media type and page count are checked', async () => {
  const wrong = pdfRequest(makePdf('x'));
  wrong.messages[0].content[0].source.media_type = 'application/octet-stream';
  assert.match((await (await post(claude, wrong)).json()).error.message, /media_type: Input should be 'application\/pdf'/);

  const haiku = (pages) => post(claude, pdfRequest(makePdf('x', { pages }), 'x', { model: 'claude-haiku-4-5' }));
  assert.equal((await haiku(100)).status, 200);
  assert.match((await (await haiku(101)).json()).error.message, /A maximum of 100 PDF pages/);
});

test('a marker on a page is obeyed, for that PDF alone', async () => {
  const status = async (pdf) => (await post(claude, pdfRequest(pdf))).status;
  const marked = makePdf('Scan 1 [[sim:529x1]]');
  assert.deepEqual([await status(marked), await status(makePdf('Scan 2')), await status(marked)], [529, 200, 200]);
});

test('a large PDF is counted, hashed and read, whatever its pieces', () => {
  const pdf = makePdf('Far from the end', { pages: 12, bytes: 5_000_000 });
  for (const size of [65_537, 4099]) {
    const { valid, pages, text } = read(pdf, size);
    assert.deepEqual([valid, pages, text], [true, 12, 'Far from the end']);
  }
});

test('compressed pages and arrays of strings are read', () => {
  const content = deflateSync(Buffer.from('BT [(Hel) -20 (lo)] TJ (w\\157rld\\)) Tj ET'));
  const head = Buffer.from(`%PDF-1.5\n4 0 obj\n<< /Filter /FlateDecode /Length ${content.length} >>\nstream\n`);
  assert.equal(read(Buffer.concat([head, content, Buffer.from('\nendstream\nendobj\n%%EOF')])).text, 'Hello world)');
});

test('documents as text or by reference pass without a PDF', async () => {
  const sources = [{ type: 'text', media_type: 'text/plain', data: 'words '.repeat(2000) }, { type: 'file', file_id: 'file_1' }];
  const content = [...sources.map((source) => ({ type: 'document', source })), { type: 'text', text: 'x' }];
  const { usage } = await (await post(claude, promptRequest(content))).json();
  assert.ok(usage.input_tokens >= 3000);
  assert.deepEqual(claude.calls[0].pdfs, []);
});
