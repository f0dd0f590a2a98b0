// The net under every other file here: an answer that is not as the API's
// document says is found.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertDescribed } from './support/described.mjs';

const ACCEPTED = { jobId: '019acf3e-1111-7000-8000-000000000200', status: 'pending', priority: 'batch', pollUrl: '/jobs/…' };
const told = (body, { status = 202, type = 'application/json', target = '/jobs?x=1' } = {}) =>
  assertDescribed('POST', target, { status, headers: new Headers({ 'content-type': type }), body, bytes: Buffer.from('{}') });

test('an answer that is as described passes, and so does what has no route', () => {
  told(ACCEPTED);
  told({ ...ACCEPTED, demotion: { reason: 'throttles', until: '2026-11-30T08:00:00.000Z' } });
  told({ nobody: 'knows' }, { target: '/nowhere', status: 404 });
});

test('an answer that is not as described is found', () => {
  const { pollUrl, ...less } = ACCEPTED;
  for (const [wrong, options] of [
    [less],
    [{ ...ACCEPTED, more: 1 }],
    [{ ...ACCEPTED, status: 'odd' }],
    [{ ...ACCEPTED, jobId: '7' }],
    [{ ...ACCEPTED, demotion: null }],
    [{ ...ACCEPTED, demotion: { reason: 'throttles', until: 'soon' } }],
    [ACCEPTED, { status: 201 }],
    [ACCEPTED, { type: 'text/html' }],
  ]) {
    assert.throws(() => told(wrong, options), /POST \/jobs answered/, JSON.stringify([wrong, options]));
  }
});
