/**
 * A long base64 string of a request, decoded while it arrives: hashed, counted
 * and read as a PDF, never kept.
 */
import { createHash } from 'node:crypto';
import { PdfReader } from './pdf.mjs';

/** Takes the characters of a JSON string that holds base64; `finish()` sums up. */
export class BlobReader {
  #carry = '';
  #padded = false;
  #valid = true;
  #bytes = 0;
  #hash = createHash('sha256');
  #pdf = new PdfReader();

  /** `text` is Latin-1 and may still hold the escape `\/`. */
  push(text) {
    let joined = this.#carry + text;
    let held = '';
    if (joined.includes('\\')) {
      if (joined.endsWith('\\')) [joined, held] = [joined.slice(0, -1), '\\'];
      joined = joined.replaceAll('\\/', '/');
    }
    const whole = joined.length - (joined.length % 4);
    this.#decode(joined.slice(0, whole));
    this.#carry = joined.slice(whole) + held;
  }

  /** `{ base64: is it strict base64, bytes, sha256, pdf }` */
  finish() {
    const base64 = this.#valid && this.#carry === '';
    return { base64, bytes: this.#bytes, sha256: this.#hash.digest('hex'), pdf: this.#pdf.finish() };
  }

  #decode(quads) {
    if (quads === '') return;
    const decoded = Buffer.from(quads, 'base64');
    const padding = quads.endsWith('==') ? 2 : Number(quads.endsWith('='));
    const complete = decoded.length === (quads.length / 4) * 3 - padding;
    // Node also decodes the URL-safe alphabet, which JSON APIs refuse.
    const strict = complete && !this.#padded && !quads.includes('-') && !quads.includes('_');
    this.#valid &&= strict;
    this.#padded ||= padding > 0;
    this.#bytes += decoded.length;
    this.#hash.update(decoded);
    this.#pdf.push(decoded);
  }
}

/** The same for a string that is already in memory. */
export function readBlob(text) {
  const reader = new BlobReader();
  reader.push(text);
  return reader.finish();
}
