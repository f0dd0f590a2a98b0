/**
 * Whether an encrypted PDF opens without a password: the standard security
 * handler, revisions 2 to 6, tried with the empty user password.
 *
 * A file that only has an owner password opens that way and is accepted. A
 * handler or dictionary this code does not understand counts as locked.
 */
import { createCipheriv, createHash } from 'node:crypto';
import { stringBytes } from './pdf-strings.mjs';

/** `{ encrypted, opens, key }`; `key` is the RC4 file key, null where streams use another cipher. */
export function tryEmptyPassword(pdf) {
  const dictionary = encryptDictionary(pdf);
  if (dictionary === null) return { encrypted: false, opens: true, key: null };
  const facts = readDictionary(dictionary, pdf);
  if (facts === null) return { encrypted: true, opens: false, key: null };
  if (facts.revision >= 5) return { encrypted: true, opens: opensAes256(facts), key: null };
  const key = fileKey(facts);
  const opens = userEntry(key, facts).equals(facts.user.subarray(0, facts.revision === 2 ? 32 : 16));
  const rc4 = !/\/AESV2\b/.test(dictionary);
  return { encrypted: true, opens, key: opens && rc4 ? key : null };
}

/** Decrypts one RC4 stream of object `number`. */
export function decryptStream(key, number, generation, bytes) {
  const suffix = Buffer.alloc(5);
  suffix.writeUIntLE(number, 0, 3);
  suffix.writeUIntLE(generation, 3, 2);
  const objectKey = md5(key, suffix).subarray(0, Math.min(16, key.length + 5));
  return rc4(objectKey, bytes);
}

function encryptDictionary(pdf) {
  const reference = [...pdf.matchAll(/\/Encrypt\s+(\d+)\s+(\d+)\s+R/g)].at(-1);
  if (!reference) return /\/Encrypt\s*<<([\s\S]{0,2000})/.exec(pdf)?.[1] ?? null;
  const [, number, generation] = reference;
  const object = new RegExp(`(?:^|[\\r\\n ])${number}\\s+${generation}\\s+obj([\\s\\S]{0,4000}?)endobj`);
  return object.exec(pdf)?.[1] ?? '';
}

function readDictionary(dictionary, pdf) {
  const number = (name) => Number(new RegExp(`/${name}\\s+(-?\\d+)`).exec(dictionary)?.[1] ?? NaN);
  const text = (name) => stringBytes(dictionary, new RegExp(`/${name}\\s*(?=[<(])`));
  const facts = {
    revision: number('R'),
    permissions: number('P'),
    keyBytes: keyBits(number('V'), dictionary) / 8,
    owner: text('O'),
    user: text('U'),
    id: stringBytes(pdf, /\/ID\s*\[\s*/) ?? Buffer.alloc(0),
    hidesMetadata: !/\/EncryptMetadata\s+false/.test(dictionary),
  };
  const usable = /\/Filter\s*\/Standard/.test(dictionary) && facts.revision >= 2 && facts.revision <= 6;
  const whole = facts.owner?.length >= 32 && facts.user?.length >= 32 && !Number.isNaN(facts.permissions);
  return usable && whole ? facts : null;
}

function keyBits(version, dictionary) {
  if (version === 1) return 40;
  // Crypt filters carry a /Length of their own, in bytes: only plausible bit counts are taken.
  const declared = /\/Length\s+([4-9]\d|1[0-2]\d)\b/.exec(dictionary)?.[1];
  return Number(declared ?? (version >= 4 ? 128 : 40));
}

function fileKey({ revision, permissions, keyBytes, owner, id, hidesMetadata }) {
  const flags = Buffer.alloc(4);
  flags.writeInt32LE(permissions | 0);
  const tail = revision >= 4 && !hidesMetadata ? Buffer.alloc(4, 0xff) : Buffer.alloc(0);
  const length = revision === 2 ? 5 : keyBytes;
  let key = md5(PADDING, owner.subarray(0, 32), flags, id, tail);
  if (revision >= 3) for (let i = 0; i < 50; i += 1) key = md5(key.subarray(0, length));
  return key.subarray(0, length);
}

function userEntry(key, { revision, id }) {
  if (revision === 2) return rc4(key, PADDING);
  let entry = rc4(key, md5(PADDING, id));
  for (let i = 1; i <= 19; i += 1) entry = rc4(key.map((byte) => byte ^ i), entry);
  return entry;
}

function opensAes256({ revision, user }) {
  const salt = user.subarray(32, 40);
  const hash = revision === 5 ? sha(256, salt) : hardenedHash(salt);
  return hash.equals(user.subarray(0, 32));
}

// Revision 6 hashes until the last byte of a round allows it to stop.
function hardenedHash(salt) {
  let key = sha(256, salt);
  for (let round = 1; ; round += 1) {
    const cipher = createCipheriv('aes-128-cbc', key.subarray(0, 16), key.subarray(16, 32));
    const block = cipher.setAutoPadding(false).update(Buffer.concat(Array(64).fill(key)));
    const remainder = block.subarray(0, 16).reduce((sum, byte) => sum + byte, 0) % 3;
    key = sha([256, 384, 512][remainder], block);
    if (round >= 64 && block.at(-1) <= round - 32) return key.subarray(0, 32);
  }
}

function rc4(key, bytes) {
  const state = Uint8Array.from({ length: 256 }, (_, i) => i);
  const swap = (i, j) => ([state[i], state[j]] = [state[j], state[i]]);
  for (let i = 0, j = 0; i < 256; i += 1) swap(i, (j = (j + state[i] + key[i % key.length]) & 255));
  let i = 0;
  let j = 0;
  return Buffer.from(bytes).map((byte) => {
    i = (i + 1) & 255;
    j = (j + state[i]) & 255;
    swap(i, j);
    return byte ^ state[(state[i] + state[j]) & 255];
  });
}

function md5(...parts) {
  return parts.reduce((hash, part) => hash.update(part), createHash('md5')).digest();
}

function sha(bits, bytes) {
  return createHash(`sha${bits}`).update(bytes).digest();
}

const PADDING = Buffer.from('28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a', 'hex');
