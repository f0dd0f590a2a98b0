/**
 * Brings an answer to the caller, as events or as one JSON text, whole or
 * broken as the plan says.
 */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { eventsOf } from './events.mjs';
import { chance } from './options.mjs';
import { errorBody, sseFrame } from './wire.mjs';

/** Carries out a plan that ends the call without an answer of the model. */
export async function deliverFault(x, plan) {
  await x.pause(plan.latencyMs);
  if (plan.refusal) return x.refuse({ ...plan.refusal, retryAfter: retryAfter(plan) }, plan.word);
  if (plan.raw) return deliverRaw(x, plan.raw);
  x.call.outcome = plan.break;
  if (plan.break === 'hang') return x.left();
  x.end(plan.break);
  return x.reset();
}

function retryAfter(plan) {
  if (plan.retryAfter === 'none') return undefined;
  return plan.retryAfter ?? plan.refusal.retryAfter;
}

function deliverRaw(x, name) {
  const bytes = rawFile(x.settings.rawDir, name);
  x.call.status = Number(/^HTTP\/1\.1 (\d{3})/.exec(bytes.toString('latin1', 0, 20))?.[1] ?? NaN);
  x.end('raw');
  x.writeRaw(bytes);
}

function rawFile(directories, name) {
  const names = [basename(name), `${basename(name)}.http`];
  const places = [directories ?? []].flat();
  for (const path of places.flatMap((directory) => names.map((file) => join(directory, file)))) {
    try {
      return readFileSync(path);
    } catch (error) {
      if (!['ENOENT', 'EISDIR'].includes(error.code)) throw error;
    }
  }
  throw new Error(`no file for raw=${name}`);
}

/** Delivers a message; `plan.break` says where it breaks, if it does. */
export async function deliverMessage(x, message, plan, streamed) {
  const { latencyMs, decodeMs } = timesOf(x, plan, message);
  const events = eventsOf(message, x.settings.deltas);
  const deltas = events.filter(isDelta).length;
  x.call.outcome = plan.break ?? null;
  await x.pause(latencyMs);
  const produce = async (event) => {
    await x.pause(decodeMs / deltas);
    if (!x.gone) x.ticket.produce(event.tokens, x.now());
  };
  if (streamed) await deliverStream(x, events, plan, produce);
  else await deliverJson(x, events, message, plan, produce);
}

function timesOf(x, plan, message) {
  const facts = { request: x.call.request, usage: message.usage, n: x.call.n };
  const value = (setting) => (typeof setting === 'function' ? setting(facts) : setting);
  const wobble = 1 + x.settings.jitter * (2 * chance(x.settings.seed, 'time', x.call.n) - 1);
  return {
    latencyMs: plan.latencyMs ?? value(x.settings.latencyMs) * wobble,
    decodeMs: plan.decodeMs ?? value(x.settings.decodeMs) * wobble,
  };
}

async function deliverStream(x, events, plan, produce) {
  if (x.gone) return;
  x.begin(200, 'text/event-stream; charset=utf-8', { 'cache-control': 'no-cache' });
  if (plan.bom) await x.write(BOM);
  const breakAt = breakIndex(plan.break, events);
  for (const [i, event] of events.entries()) {
    if (i === breakAt) return breakStream(x, plan.break, event);
    if (isDelta(event)) await produce(event);
    if (x.gone) return;
    if (i === events.length - 1) x.end(plan.word ?? 'ok');
    await x.write(sseFrame(event.event, event.data));
  }
  x.res.end();
}

function breakIndex(kind, events) {
  if (!kind) return -1;
  if (kind === 'sse-error') return 0;
  const deltas = events.flatMap((event, i) => (isDelta(event) ? [i] : []));
  if (kind === 'stall' || deltas.length === 0) return 1;
  return deltas[Math.ceil(deltas.length / 2)] ?? deltas[0] + 1;
}

async function breakStream(x, kind, event) {
  if (kind === 'stall') return x.left();
  x.end(kind);
  if (kind.startsWith('sse-error')) return x.res.end(sseFrame('error', errorBody(OVERLOADED, x.requestId)));
  if (kind === 'cutjson') return x.res.end(half(sseFrame(event.event, event.data)));
  return kind === 'cut' ? x.cut() : x.res.end();
}

async function deliverJson(x, events, message, plan, produce) {
  for (const event of events.filter(isDelta)) {
    await produce(event);
    if (x.gone) return;
  }
  if (x.gone) return;
  const text = JSON.stringify(plan.break?.startsWith('sse-error') ? errorBody(OVERLOADED, x.requestId) : message);
  if (['stall', 'cut', 'eof', 'cutjson'].includes(plan.break)) return breakJson(x, plan.break, text);
  const body = Buffer.from((plan.bom ? BOM : '') + text);
  x.begin(200, 'application/json', { 'content-length': body.length });
  x.end(plan.word ?? 'ok');
  x.res.end(body);
}

async function breakJson(x, kind, text) {
  x.begin(200, 'application/json', kind === 'cut' ? { 'content-length': Buffer.byteLength(text) } : {});
  if (kind === 'stall') {
    x.res.flushHeaders();
    return x.left();
  }
  x.end(kind);
  if (kind !== 'cut') return x.res.end(half(text));
  await x.write(half(text));
  return x.cut();
}

function isDelta({ event }) {
  return event === 'content_block_delta';
}

function half(text) {
  return text.slice(0, Math.floor(text.length / 2));
}

const OVERLOADED = { type: 'overloaded_error', message: 'Overloaded' };
const BOM = '\uFEFF';
