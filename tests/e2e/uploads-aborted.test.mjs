import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { assertWorks } from './support/assertions.mjs';
import { pdfOfSize } from './support/files.mjs';
import { FORM_TYPE, formOf, stage, until } from './support/stage.mjs';

// More than all buffers on the way hold, so that the Worker is in the midst of it.
const SENT = 16_000_000;

const form = () => formOf([{ name: 'small.pdf', bytes: pdfOfSize('small', 700) }, { name: 'large.pdf', bytes: pdfOfSize('large', 20_000_000) }]);
const request = () => Buffer.from(`{"request":{"model":"m","max_tokens":9,"messages":[],"filling":"${'x'.repeat(20_000_000)}"}}`);

for (const [what, path, type, body] of [
  ['a form', '/batches', FORM_TYPE, form],
  ['a large request', '/jobs', 'application/json', request],
]) {
  for (const [how, leave] of [
    ['reset the connection', (socket) => socket.resetAndDestroy()],
    ['close it', (socket) => socket.end()],
  ]) {
    test(`clients that ${how} within ${what} lock nobody out and leave nothing behind`, async (t) => {
      const world = await stage();
      t.after(() => world.stop());
      const acme = await world.tenant('acme');
      const before = await world.restCounts();
      const whole = body();
      for (let i = 0; i < 4; i += 1) await vanish({ url: world.url, path, type, key: acme.key, whole, leave });
      await until(async () => assert.deepEqual(await world.counts(), before) ?? true, { within: 10_000, what: 'clean stores' });
      assert.equal((await acme.answersTo([{ name: 'next.pdf', bytes: pdfOfSize('next', 700) }])).length, 1);
      await acme.answerTo({ prompt: 'x'.repeat(100_000) });
      await assertWorks(acme);
    });
  }
}

/** Sends part of a body, and goes away. */
async function vanish({ url, path, type, key, whole, leave }) {
  const { hostname, port } = new URL(url);
  const socket = connect(port, hostname);
  socket.on('error', () => {});
  socket.resume();
  const head = `POST ${path} HTTP/1.1\r\nhost: local\r\nauthorization: Bearer ${key}\r\ncontent-type: ${type}\r\ncontent-length: ${whole.length}\r\n\r\n`;
  socket.write(head);
  await new Promise((resolve) => socket.write(whole.subarray(0, SENT), resolve));
  const closed = once(socket, 'close');
  leave(socket);
  await closed;
}
