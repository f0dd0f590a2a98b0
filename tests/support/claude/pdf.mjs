/**
 * What Claude would find in a PDF: is it one, is it locked, how many pages,
 * which text. Bytes arrive in pieces and are not kept: of a large file only
 * the first and the last megabyte are looked at for anything but the page
 * count, so text in the middle of a large file is not seen.
 */
import { inflateSync } from 'node:zlib';
import { decryptStream, tryEmptyPassword } from './pdf-password.mjs';
import { shownText } from './pdf-strings.mjs';

/** Reads a PDF piece by piece; `finish()` tells what it is. */
export class PdfReader {
  #head = [];
  #headBytes = 0;
  #tail = [];
  #tailBytes = 0;
  #pages = new PageCounter();

  push(bytes) {
    this.#pages.push(bytes);
    if (this.#headBytes < KEPT_BYTES) {
      this.#head.push(bytes);
      this.#headBytes += bytes.length;
      return;
    }
    this.#tail.push(bytes);
    this.#tailBytes += bytes.length;
    while (this.#tailBytes - this.#tail[0].length >= KEPT_BYTES) {
      this.#tailBytes -= this.#tail.shift().length;
    }
  }

  /** `{ valid, locked, pages, text }` */
  finish() {
    const source = Buffer.concat([...this.#head, ...this.#tail]).toString('latin1');
    if (!source.startsWith('%PDF-') || !STRUCTURE.test(source)) {
      return { valid: false, locked: false, pages: 0, text: '' };
    }
    const lock = tryEmptyPassword(source);
    const text = lock.opens ? textOf(source, lock).slice(0, TEXT_CHARS) : '';
    const pages = this.#pages.finish() || declaredPages(source) || 1;
    return { valid: true, locked: !lock.opens, pages, text };
  }
}

class PageCounter {
  #carry = '';
  #count = 0;

  push(bytes) {
    const text = this.#carry + bytes.toString('latin1');
    const safe = Math.max(0, text.length - LONGEST_MATCH);
    this.#count += pagesIn(text, safe);
    this.#carry = text.slice(safe);
  }

  finish() {
    return this.#count + pagesIn(this.#carry, Infinity);
  }
}

// Counts page objects that begin before `end`; a later one is left for the next piece.
function pagesIn(text, end) {
  let count = 0;
  for (let at = text.indexOf('/Type'); at !== -1 && at < end; at = text.indexOf('/Type', at + 5)) {
    if (/^\/Type\s{0,8}\/Page(?![A-Za-z])/.test(text.slice(at, at + LONGEST_MATCH))) count += 1;
  }
  return count;
}

function declaredPages(source) {
  return Math.max(0, ...[...source.matchAll(/\/Count\s+(\d{1,5})\b/g)].map(([, count]) => Number(count)));
}

function textOf(source, lock) {
  const shown = [];
  for (const { number, generation, dictionary, body } of streamsOf(source)) {
    const plain = lock.encrypted ? decrypted(lock.key, number, generation, body) : body;
    const text = shownText(/\/FlateDecode/.test(dictionary) ? inflated(plain) : plain);
    if (text !== '') shown.push(text);
  }
  return shown.join(' ');
}

function* streamsOf(source) {
  for (const found of source.matchAll(/(?<!end)stream\r?\n/g)) {
    const objectAt = source.lastIndexOf(' obj', found.index);
    const label = /(\d+)\s+(\d+)$/.exec(source.slice(Math.max(0, objectAt - 20), objectAt));
    if (!label) continue;
    const start = found.index + found[0].length;
    const dictionary = source.slice(objectAt, found.index);
    const length = Number(/\/Length\s+(\d+)(?!\s+\d+\s+R)\b/.exec(dictionary)?.[1] ?? NaN);
    const marked = source.indexOf('endstream', start);
    const end = Number.isNaN(length) ? marked : start + length;
    if (end > source.length || end < start) continue;
    yield { number: Number(label[1]), generation: Number(label[2]), dictionary, body: source.slice(start, end) };
  }
}

function decrypted(key, number, generation, body) {
  if (key === null) return '';
  return decryptStream(key, number, generation, Buffer.from(body, 'latin1')).toString('latin1');
}

function inflated(body) {
  try {
    return inflateSync(Buffer.from(body, 'latin1'), { maxOutputLength: 4 * KEPT_BYTES }).toString('latin1');
  } catch {
    return '';
  }
}

const KEPT_BYTES = 1024 * 1024;
const TEXT_CHARS = 65_536;
const LONGEST_MATCH = 32;
const STRUCTURE = /%%EOF|\btrailer\b|xref\b|\d+\s+\d+\s+obj\b/;
