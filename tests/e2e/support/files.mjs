/**
 * Files for the tests: those of the real-world cases, and PDFs of any size.
 */
import { createCipheriv, createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { makePdf } from '../../support/claude/samples.mjs';

/** Where the `.http` answers for `raw=` are. */
export const RAW_DIR = fileURLToPath(new URL('../fixtures', import.meta.url));

/** A file of the cases, `upload/…` or `intake/…`. */
export function fixture(path) {
  return readFileSync(new URL(`../../fixtures/${path}`, import.meta.url));
}

/** The content type of the forms among the cases. */
export const CASE_FORM = 'multipart/form-data; boundary=XcaseBoundary7';

/** The PDFs of a form of the cases, in order. */
export function pdfsInForm(form) {
  const found = form.toString('latin1').match(/%PDF-[^]*?%%EOF\n/g);
  return found.map((pdf) => Buffer.from(pdf, 'latin1'));
}

/**
 * A PDF of exactly `size` bytes that shows `text`. Its filling repeats
 * nowhere, so that no two parts of it can be swapped unnoticed.
 */
export function pdfOfSize(text, size) {
  const bare = makePdf(text);
  if (size <= bare.length + ROOM + PATTERN.length) return padded(bare, size);
  const pdf = makePdf(text, { bytes: size - bare.length - ROOM });
  const begin = pdf.indexOf(PATTERN);
  const end = pdf.lastIndexOf('\nendstream');
  noise(text, end - begin).copy(pdf, begin);
  return padded(pdf, size);
}

/** `bytes` cut into pieces of `size` bytes, wherever that falls. */
export function* piecesOf(bytes, size) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

function padded(pdf, size) {
  if (pdf.length > size) throw new Error(`a PDF of this text has ${pdf.length} bytes at least, not ${size}`);
  return Buffer.concat([pdf, Buffer.alloc(size - pdf.length, '\n')]);
}

function noise(seed, length) {
  const key = createHash('md5').update(seed).digest();
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(length));
}

// What `makePdf` fills with, and room for the object that holds it.
const PATTERN = '0123456789abcdef';
const ROOM = 120;
