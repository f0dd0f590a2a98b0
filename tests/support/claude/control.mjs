/**
 * The control endpoints, for tests that run in another process:
 *
 *     GET  /_sim/calls?since=N   { calls: [...] }, those with n > N
 *     GET  /_sim/stats           counts, tokens, calls in flight
 *     GET  /_sim/config          the settings in force
 *     POST /_sim/set             { setting: value, ... }
 *     POST /_sim/outage          { on: true, status: 529 }; `status` may be any step
 *     POST /_sim/script          { script: "529x2; 200" | ["529", null, "cut"] | null }
 *     POST /_sim/reset           everything as it was at the start
 */
import { text } from 'node:stream/consumers';
import { sendJson } from './wire.mjs';

/** Answers a request under `/_sim/`. */
export async function handleControl(controls, req, res, path, query) {
  const route = ROUTES[`${req.method} ${path}`];
  if (!route) return sendJson(res, 404, { error: `no control endpoint ${req.method} ${path}` });
  try {
    const body = req.method === 'POST' ? await bodyOf(req) : {};
    return sendJson(res, 200, route(controls, body, query) ?? { ok: true });
  } catch (error) {
    return sendJson(res, 400, { error: error.message });
  }
}

async function bodyOf(req) {
  const body = await text(req);
  return body === '' ? {} : JSON.parse(body);
}

const ROUTES = {
  'GET /_sim/calls': ({ calls }, _, query) => ({ calls: calls.filter(({ n }) => n > Number(query.get('since') ?? 0)) }),
  'GET /_sim/stats': (controls) => controls.stats(),
  'GET /_sim/config': ({ config }) => config,
  'POST /_sim/set': (controls, changes) => controls.set(changes),
  'POST /_sim/outage': (controls, { on = true, status }) => controls.outage(on, status),
  'POST /_sim/script': (controls, { script = null }) => controls.script(script),
  'POST /_sim/reset': (controls) => controls.reset(),
};
