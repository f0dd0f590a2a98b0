/**
 * The refusals Claude gives before it thinks: key, version, shape of the
 * request, documents. Each check returns `{ status, type, message }` or
 * nothing; the first that answers wins.
 */

/** Checks the headers. */
export function refuseHeaders(headers, settings) {
  const bearer = /^Bearer\s+(.+)$/i.exec(headers.authorization ?? '')?.[1];
  const key = headers['x-api-key'] ?? bearer;
  if (!key) return refusal(401, 'authentication_error', 'x-api-key header is required');
  const accepted = settings.apiKey === null || [settings.apiKey].flat().includes(key);
  if (!accepted) return refusal(401, 'authentication_error', 'invalid x-api-key');
  const version = headers['anthropic-version'];
  if (!version) return invalid('anthropic-version: header is required');
  if (!VERSIONS.includes(version)) return invalid(`anthropic-version: "${version}" is not a valid version`);
  return undefined;
}

/** Checks the framing and size of a body that was read. */
export function refuseBody({ tooLarge, parseError, request }, headers, settings) {
  if (settings.requireContentLength && !headers['content-length']) {
    return refusal(411, 'invalid_request_error', 'content-length header is required');
  }
  if (tooLarge) return refusal(413, 'request_too_large', 'Request exceeds the maximum size');
  if (parseError) return invalid(`The request body is not valid JSON: ${parseError}`);
  if (!isObject(request)) return invalid('The request body must be a JSON object');
  return undefined;
}

/** Checks the fields of a request. */
export function refuseShape(request, headers, settings) {
  const { model, max_tokens: maxTokens, messages, stream } = request;
  if (typeof model !== 'string' || model === '') return invalid('model: Field required');
  if (maxTokens === undefined) return invalid('max_tokens: Field required');
  if (!Number.isInteger(maxTokens) || maxTokens < 0) return invalid('max_tokens: Input should be a valid integer of at least 0');
  if (messages === undefined) return invalid('messages: Field required');
  if (!Array.isArray(messages)) return invalid('messages: Input should be a valid list');
  if (messages.length === 0) return invalid('messages: at least one message is required');
  if (stream !== undefined && typeof stream !== 'boolean') return invalid('stream: Input should be a valid boolean');
  if (settings.models && !settings.models.includes(model)) return refusal(404, 'not_found_error', `model: ${model}`);
  return refuseSampling(request, headers) ?? first(messages.map(refuseMessage));
}

function refuseSampling(request, headers) {
  if (headers['anthropic-version'] < '2026-10-21') return undefined;
  const extra = ['temperature', 'top_p', 'top_k'].find((name) => name in request);
  return extra && invalid(`${extra}: Extra inputs are not permitted`);
}

function refuseMessage(message, i) {
  const at = `messages.${i}`;
  if (!isObject(message)) return invalid(`${at}: Input should be an object`);
  if (!['user', 'assistant', 'system'].includes(message.role)) {
    return invalid(`${at}.role: Input should be 'user', 'assistant' or 'system'`);
  }
  const isText = typeof message.content === 'string';
  if (!isText && !Array.isArray(message.content)) return invalid(`${at}.content: Input should be a string or a list`);
  if (message.content.length === 0) return invalid(`${at}: content must be non-empty`);
  if (isText) return undefined;
  return first(message.content.map((block, j) => refuseBlock(block, `${at}.content.${j}`)));
}

function refuseBlock(block, at) {
  if (!isObject(block) || typeof block.type !== 'string') return invalid(`${at}.type: Field required`);
  if (block.type !== 'text') return undefined;
  if (typeof block.text !== 'string') return invalid(`${at}.text: Field required`);
  return block.text === '' ? invalid('messages: text content blocks must be non-empty') : undefined;
}

/** Checks documents as `takeDocuments` returns them. */
export function refuseDocuments(documents, request, headers) {
  const pdfs = documents.filter(({ type }) => type === 'document');
  const bad = first(pdfs.map((pdf) => refuseDocument(pdf, headers)));
  if (bad) return bad;
  const pages = pdfs.reduce((sum, { blob }) => sum + (blob?.pdf.pages ?? 0), 0);
  const most = /haiku-4-5/.test(request.model) ? 100 : 600;
  if (pages <= most) return undefined;
  return invalid(`${pdfs[0].path}.pdf.source.base64.data: A maximum of ${most} PDF pages may be provided.`);
}

function refuseDocument({ path, role, source, blob }, headers) {
  if (role === 'assistant' && headers['anthropic-version'] >= '2026-10-21') {
    return invalid(`${path}: document blocks are not permitted in assistant messages`);
  }
  const known = ['base64', 'url', 'file', 'text', 'content'].includes(source.type);
  if (!known) return invalid(`${path}.document.source.type: Field required`);
  if (source.type !== 'base64') return undefined;
  if (source.media_type !== 'application/pdf') {
    return invalid(`${path}.document.source.base64.media_type: Input should be 'application/pdf'`);
  }
  const data = `${path}.pdf.source.base64.data`;
  if (!blob) return invalid(`${data}: Field required`);
  if (!blob.base64 || !blob.pdf.valid) return invalid(`${data}: The PDF specified was not valid.`);
  if (blob.pdf.locked) return invalid(`${data}: The PDF specified is password protected`);
  return undefined;
}

/** Checks the size of the input against the context window, if one is set. */
export function refuseLength(inputTokens, { contextWindow }) {
  if (contextWindow === null || inputTokens <= contextWindow) return undefined;
  return invalid(`prompt is too long: ${inputTokens} tokens > ${contextWindow} maximum`);
}

/** A 400 with this message. */
export function invalid(message) {
  return refusal(400, 'invalid_request_error', message);
}

function refusal(status, type, message) {
  return { status, type, message };
}

function first(refusals) {
  return refusals.find(Boolean);
}

function isObject(value) {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

const VERSIONS = ['2023-01-01', '2023-06-01', '2026-10-21'];
