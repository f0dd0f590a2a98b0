/**
 * What every answer of the API has to be like.
 */
import assert from 'node:assert/strict';

/** A refusal in the form of RFC 9457; `detail` is a pattern or a text within. */
export function assertProblem(reply, { status, type, field, detail }) {
  assert.equal(reply.status, status, reply.text);
  assert.equal(reply.headers.get('content-type'), 'application/problem+json');
  assert.match(reply.headers.get('request-id'), /^[0-9a-f]{16}$/);
  const { body } = reply;
  assert.equal(body.status, status);
  if (type) assert.equal(body.type, type, reply.text);
  for (const word of ['type', 'title', 'detail']) assert.ok(body[word].length > 0, reply.text);
  assert.equal(body.field, field, reply.text);
  if (detail instanceof RegExp) assert.match(body.detail, detail);
  else if (detail) assert.ok(body.detail.includes(detail), reply.text);
}

/** Refused with this problem, nothing is left behind, and a plain job still works. */
export async function assertRefused(world, tenant, send, problem) {
  const before = await world.restCounts();
  assertProblem(await send(), problem);
  await world.nothingLeftBehind(before);
  await assertWorks(tenant);
}

let plain = 0;

/** A plain job is accepted and answered. */
export async function assertWorks(tenant) {
  plain += 1;
  const prompt = `plain job ${plain}`;
  const answer = await tenant.answerTo({ prompt });
  assert.ok(answer.includes(`:${prompt}:`), answer);
}

export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
