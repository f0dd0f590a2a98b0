/**
 * `POST /v1/messages`: from the request to the answer, in the order Claude
 * decides: ordered faults, headers and body, documents, faults the request
 * asks for, rate limits, answer.
 */
import { composeAnswer, messageOf } from './answer.mjs';
import { readBody } from './body.mjs';
import { retryAfterOf } from './buckets.mjs';
import { deliverFault, deliverMessage } from './deliver.mjs';
import { digestOf, pdfsOf, takeDocuments } from './digest.mjs';
import { Exchange } from './exchange.mjs';
import { endsCall, planOf } from './faults.mjs';
import { markersIn } from './markers.mjs';
import { invalid, refuseBody, refuseDocuments, refuseHeaders, refuseLength, refuseShape } from './validate.mjs';

/** Answers one call; never throws. */
export async function handleMessages(sim, req, res) {
  const x = new Exchange(sim, req, res);
  try {
    await answer(x);
  } catch (error) {
    x.call.detail = error.message;
    if (x.gone || res.headersSent || !req.complete) return res.destroy();
    x.refuse({ status: 500, type: 'api_error', message: `simulator: ${error.message}` }, 'bug');
  }
}

async function answer(x) {
  const { sim, settings } = x;
  const body = await readBody(x.req, settings.maxBodyBytes);
  const { documents, pdfs } = record(x, body);
  const order = sim.orders.next(x.call, settings);
  const ordered = order && planOf(order.words);
  if (order?.outage) await x.pause(settings.outageDelayMs);
  if (ordered && endsCall(ordered)) return deliverFault(x, ordered);

  const { headers } = x.req;
  const refusal =
    refuseHeaders(headers, settings) ??
    refuseBody(body, headers, settings) ??
    refuseShape(body.request, headers, settings) ??
    refuseDocuments(documents, body.request, headers);
  if (refusal) return x.refuse(refusal, 'invalid');

  const digest = digestOf(body.request, pdfs);
  const tooLong = refuseLength(digest.inputTokens, settings);
  if (tooLong) return x.refuse(tooLong, 'invalid');
  return carryOut(x, body.request, digest, ordered);
}

function record(x, { bytes, request = null, blobs }) {
  const documents = request === null ? [] : takeDocuments(request, blobs);
  const pdfs = pdfsOf(documents);
  const shown = pdfs.map(({ sha256, bytes: size, pages, textSample }) => ({ sha256, bytes: size, pages, textSample }));
  const model = typeof request?.model === 'string' ? request.model : null;
  x.sim.ledger.receive(x.call, { bodyBytes: bytes, request, model, pdfs: shown }, x.settings.keepRequests);
  return { documents, pdfs };
}

async function carryOut(x, request, digest, ordered) {
  const plan = ordered ?? markedPlan(x, digest);
  if (plan.unknown) return x.refuse(invalid(plan.unknown), 'invalid');
  if (endsCall(plan)) return deliverFault(x, plan);

  const size = { input: digest.inputTokens, maxTokens: request.max_tokens };
  const ticket = x.sim.limits.admit(request.model, size, x.now());
  if (ticket.refused) return x.refuse(rateLimited(ticket, request.model, x.settings), 'rate-limited');
  x.ticket = ticket;

  const id = `msg_sim_${x.requestId.slice('req_sim_'.length)}`;
  const composed = composeAnswer({ request, digest, plan, settings: x.settings });
  const message = messageOf({ id, model: request.model, answer: composed, inputTokens: digest.inputTokens });
  x.call.usage = { input_tokens: message.usage.input_tokens, output_tokens: message.usage.output_tokens };
  return deliverMessage(x, message, plan, request.stream === true);
}

function markedPlan(x, { key, userText, pdfs }) {
  const markers = [userText, ...pdfs.map(({ text }) => text)].flatMap(markersIn);
  try {
    return planOf(x.sim.counts.next(key, markers));
  } catch (error) {
    // A misspelt marker must not pass for a normal answer.
    return { unknown: error.message };
  }
}

function rateLimited(refusal, model, settings) {
  const what = { requests: 'requests', input: 'input tokens', output: 'output tokens' }[refusal.refused];
  const limit = refusal.perMinute.toLocaleString('en-US');
  const place = `(org: org-simulated, model: ${model})`;
  const message = `This request would exceed your organization's rate limit of ${limit} ${what} per minute ${place}.`;
  return { status: 429, type: 'rate_limit_error', message, retryAfter: retryAfterOf(refusal, settings.retryAfter) };
}
