/**
 * Reads a request body without keeping its documents. While the bytes arrive,
 * long base64 values of keys named `data` are cut out of the JSON, decoded on
 * the fly and replaced by a placeholder; the rest is parsed as usual.
 */
import { BlobReader } from './blob.mjs';

/** Reads `stream` to its end: `{ bytes, tooLarge, request, blobs, parseError }`. */
export async function readBody(stream, maxBytes) {
  const scanner = new BodyScanner();
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    // What is over the limit is still drained, or the client would see a reset before the refusal.
    if (bytes <= maxBytes) scanner.push(chunk);
  }
  if (bytes > maxBytes) return { bytes, tooLarge: true, blobs: [] };
  return { bytes, tooLarge: false, ...scanner.finish() };
}

/** The blob a placeholder stands for, or undefined. */
export function blobBehind(value, blobs) {
  return typeof value === 'string' && value.startsWith(MARK) ? blobs[Number(value.slice(MARK.length))] : undefined;
}

/** Splits JSON bytes, in pieces of any size, into a small JSON text and its blobs. */
export class BodyScanner {
  #kept = [];
  #blobs = [];
  #inString = false;
  #escaped = false;
  #word = '';
  #valueOfData = false;
  #depth = 0;
  #deepest = 0;
  /** Characters of a `data` value too short yet to be called a blob. */
  #candidate = null;
  #reader = null;

  push(chunk) {
    let at = 0;
    while (at < chunk.length) {
      if (this.#reader) at = this.#readBlob(chunk, at);
      else if (this.#candidate !== null) at = this.#readCandidate(chunk, at);
      else at = this.#readPlain(chunk, at);
    }
  }

  finish() {
    if (this.#candidate) this.#keep(Buffer.from(this.#candidate, 'latin1'));
    const json = Buffer.concat(this.#kept);
    this.#kept = [];
    if (this.#deepest > MOST_LEVELS) return { parseError: 'nested too deeply', blobs: this.#blobs };
    try {
      return { request: JSON.parse(UTF8.decode(json)), blobs: this.#blobs };
    } catch (error) {
      return { parseError: error.message, blobs: this.#blobs };
    }
  }

  #readPlain(chunk, from) {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (this.#inString) this.#stringByte(byte);
      else if (byte === QUOTE && this.#valueOfData) {
        this.#keep(chunk.subarray(from, at + 1));
        this.#candidate = '';
        return at + 1;
      } else this.#structureByte(byte);
    }
    this.#keep(chunk.subarray(from));
    return chunk.length;
  }

  #stringByte(byte) {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) [this.#escaped, this.#word] = [true, '\\'];
    else if (byte === QUOTE) this.#inString = false;
    else if (this.#word.length < 5) this.#word += String.fromCharCode(byte);
  }

  #structureByte(byte) {
    if (byte === QUOTE) [this.#inString, this.#word, this.#valueOfData] = [true, '', false];
    else if (byte === COLON) this.#valueOfData = this.#word === 'data';
    else if (byte > SPACE) [this.#word, this.#valueOfData] = ['', false];
    // The codes of both opening and both closing brackets differ only in one bit.
    if ((byte | 0x20) === OPENING) this.#deepest = Math.max(this.#deepest, ++this.#depth);
    else if ((byte | 0x20) === CLOSING) this.#depth -= 1;
  }

  // A short value, or one that does not look like base64, stays in the JSON.
  #readCandidate(chunk, from) {
    const room = CANDIDATE_CHARS - this.#candidate.length;
    const piece = chunk.toString('latin1', from, Math.min(chunk.length, from + room));
    const alike = /^(?:[A-Za-z0-9+/=]|\\(?=\/|$))*/.exec(piece)[0].length;
    const before = this.#candidate;
    this.#candidate += piece.slice(0, alike);
    const brokenEscape = before.endsWith('\\') && piece[0] !== '/';
    if (brokenEscape || alike < piece.length) return this.#abandonCandidate(before, brokenEscape, from, alike);
    if (this.#candidate.length === CANDIDATE_CHARS) this.#promoteCandidate();
    return from + piece.length;
  }

  #abandonCandidate(before, brokenEscape, from, alike) {
    const text = brokenEscape ? before : this.#candidate;
    this.#keep(Buffer.from(text, 'latin1'));
    [this.#candidate, this.#valueOfData, this.#word] = [null, false, '\\'];
    [this.#inString, this.#escaped] = [true, brokenEscape];
    return brokenEscape ? from : from + alike;
  }

  #promoteCandidate() {
    this.#reader = new BlobReader();
    this.#reader.push(this.#candidate);
    this.#keep(Buffer.from(`\\u0000blob:${this.#blobs.length}`));
    [this.#candidate, this.#valueOfData, this.#word] = [null, false, '\\'];
  }

  #readBlob(chunk, from) {
    const quote = chunk.indexOf(QUOTE, from);
    const end = quote === -1 ? chunk.length : quote;
    this.#reader.push(chunk.toString('latin1', from, end));
    if (quote !== -1) {
      this.#blobs.push(this.#reader.finish());
      this.#reader = null;
      this.#inString = true;
    }
    return end;
  }

  #keep(bytes) {
    if (bytes.length > 0) this.#kept.push(bytes);
  }
}

const [QUOTE, BACKSLASH, COLON, SPACE, OPENING, CLOSING] = ['"', '\\', ':', ' ', '{', '}'].map((char) => char.charCodeAt(0));
const MOST_LEVELS = 1000;
const CANDIDATE_CHARS = 4096;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const MARK = '\u0000blob:';
