/**
 * What every answer has in common: request id, rate-limit headers, Claude's
 * error form, server-sent events.
 */
import { secondsToFull } from './buckets.mjs';

/** Claude's error body. */
export function errorBody({ type, message, details }, requestId) {
  const error = details ? { type, message, details } : { type, message };
  return { type: 'error', error, request_id: requestId };
}

/** One server-sent event. */
export function sseFrame(event, data) {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** The twelve `anthropic-ratelimit-*` headers for a set of buckets. */
export function rateLimitHeaders(buckets, now) {
  const input = readings(buckets.input, 'input', now);
  const output = readings(buckets.output, 'output', now);
  const tighter = output.remaining / output.limit < input.remaining / input.limit ? output : input;
  const groups = {
    requests: readings(buckets.requests, 'requests', now),
    'input-tokens': input,
    'output-tokens': output,
    tokens: tighter,
  };
  return Object.fromEntries(Object.entries(groups).flatMap(headersOfGroup));
}

function headersOfGroup([name, { limit, remaining, reset }]) {
  const prefix = `anthropic-ratelimit-${name}`;
  const shown = name === 'requests' ? Math.floor(remaining) : Math.round(remaining / 1000) * 1000;
  return [
    [`${prefix}-limit`, String(limit)],
    [`${prefix}-remaining`, String(shown)],
    [`${prefix}-reset`, reset],
  ];
}

function readings(bucket, kind, now) {
  const fullAt = now + secondsToFull(bucket, now) * 1000;
  const limit = bucket.perMinute ?? NOMINAL[kind];
  const remaining = bucket.perMinute === null ? limit : Math.max(0, bucket.level);
  return { limit, remaining, reset: wholeSeconds(fullAt) };
}

function wholeSeconds(ms) {
  const rounded = new Date(Math.ceil(ms / 1000) * 1000);
  return rounded.toISOString().replace('.000Z', 'Z');
}

// An unlimited organisation still has to show figures: those of a high tier.
const NOMINAL = { requests: 10_000, input: 10_000_000, output: 2_000_000 };

/** Reason phrases that differ from the usual ones. */
export const REASONS = { 529: 'Overloaded' };

/** Sends JSON with its length; the caller adds ids and limits to `headers`. */
export function sendJson(res, status, body, headers = {}) {
  const bytes = Buffer.from(JSON.stringify(body));
  const all = { 'content-type': 'application/json', 'content-length': bytes.length, ...headers };
  res.writeHead(status, REASONS[status] ?? undefined, all);
  res.end(bytes);
}
