import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { BodyScanner, blobBehind } from './body.mjs';

const bytes = Buffer.from(Array.from({ length: 6001 }, (_, i) => (i * 7919) & 255));
const long = bytes.toString('base64');

function scan(json, pieceSize = json.length) {
  const scanner = new BodyScanner();
  const all = Buffer.from(json);
  for (let at = 0; at < all.length; at += pieceSize) scanner.push(all.subarray(at, at + pieceSize));
  return scanner.finish();
}

const bodies = {
  'a long value': { data: long },
  'a short value': { data: 'AAAA' },
  'an empty value': { data: '' },
  'a value with quotes': { data: 'say "data":"x\\"' },
  'a long text': { data: `${'word '.repeat(2000)}"end"` },
  'other keys': { text: long, metadata: 'data', 'x"data': long, data2: long },
  'other types': { data: [long, { data: 1 }, 'data', null], more: { data: null } },
  'several values': { a: [{ data: long }, { data: long.slice(4) }], data: 'x' },
};
for (const [what, body] of Object.entries(bodies)) {
  test(`${what} of a key named data comes out whole, whatever the pieces`, () => {
    const json = JSON.stringify(body, null, 1);
    for (const size of [1, 7, 4096, 4097, json.length]) {
      const { request, blobs } = scan(json, size);
      assert.deepEqual(expand(request, blobs), hashed(body));
    }
  });
}

test('an escaped slash belongs to the base64', () => {
  const escaped = `{"data":"${long.replaceAll('/', '\\/')}"}`;
  for (const size of [1, 5, 4096, escaped.length]) {
    const { blobs } = scan(escaped, size);
    assert.deepEqual([blobs[0].base64, blobs[0].sha256], [true, sha256(bytes)]);
  }
});

test('a body that breaks off is a parse error', () => {
  for (const json of [`{"data":"${long}`, '{"data":"AAAA', '{"data":', '']) {
    assert.ok(scan(json).parseError);
  }
});

test('very deep nesting is refused before it is parsed', () => {
  const nested = (levels) => `{"data":${'['.repeat(levels)}${']'.repeat(levels)},"text":"[[[["}`;
  assert.equal(scan(nested(999)).parseError, undefined);
  assert.equal(scan(nested(20_000)).parseError, 'nested too deeply');
});

test('bytes that are not UTF-8, or begin with a byte order mark, are a parse error', () => {
  for (const hex of ['22ff22', 'efbbbf7b7d']) {
    const scanner = new BodyScanner();
    scanner.push(Buffer.from(hex, 'hex'));
    assert.ok(scanner.finish().parseError);
  }
});

/** Puts hashes where long base64 was, on both sides of the comparison. */
function expand(value, blobs) {
  const blob = blobBehind(value, blobs);
  return blob ? `sha256 ${blob.sha256}` : mapped(value, (inner) => expand(inner, blobs));
}

function hashed(value, key) {
  const isBlob = key === 'data' && typeof value === 'string' && /^[\w+/]{4096}/.test(value);
  return isBlob ? `sha256 ${sha256(Buffer.from(value, 'base64'))}` : mapped(value, hashed);
}

function mapped(value, change) {
  if (Array.isArray(value)) return value.map((inner) => change(inner));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, change(inner, key)]));
}

function sha256(data) {
  return createHash('sha256').update(data).digest('hex');
}
