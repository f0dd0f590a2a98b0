/**
 * Holds every answer of the Worker against the API's document: its status is
 * one the route is described with, and its body is what the schema says, with
 * nothing beside it.
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { RFC_3339, UUID_V7 } from './assertions.mjs';

const document = JSON.parse(readFileSync(new URL('../../../docs/openapi.json', import.meta.url)));
const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  formats: { uuid: UUID_V7, 'date-time': RFC_3339, int32: true, int64: true },
});
ajv.addSchema(closed(document), 'api');

const routes = Object.entries(document.paths).map(([path, item]) => ({
  path,
  item,
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));

/** Fails unless this reply to `method` and `target` is as described. */
export function assertDescribed(method, target, { status, headers, body, bytes }) {
  const path = target.split('?')[0];
  const route = routes.find(({ pattern }) => pattern.test(path));
  const verb = method.toLowerCase();
  // Nobody describes what is not there: 404 and 405.
  if (!route?.item[verb]) return;
  const told = `${method} ${route.path} answered ${status} ${JSON.stringify(body)?.slice(0, 500)}`;
  const response = route.item[verb].responses[status];
  assert.ok(response, `not described: ${told}`);
  const type = headers.get('content-type')?.split(';')[0];
  assert.ok(response.content[type], `${type} is not described: ${told}`);
  if (bytes.length === 0 || type === 'text/plain') return;
  const place = ['paths', route.path, verb, 'responses', status, 'content', type, 'schema'];
  const check = ajv.getSchema(`api#/${place.map(escaped).join('/')}`);
  assert.ok(check(body), `${ajv.errorsText(check.errors)}: ${told}`);
}

function escaped(part) {
  return encodeURIComponent(String(part).replaceAll('~', '~0').replaceAll('/', '~1'));
}

/** The document, with every object of an answer closed to what is not described. */
function closed(value) {
  const copy = structuredClone(value);
  const objects = Object.values(copy.components.schemas).filter((schema) => schema.properties);
  for (const schema of objects) schema.additionalProperties = false;
  return copy;
}
