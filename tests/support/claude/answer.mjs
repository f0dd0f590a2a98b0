/**
 * The answer to a request, derived from what was asked, so that answers of two
 * jobs cannot be mistaken for each other.
 */
import { firstChars, sha256, tokensOf } from './digest.mjs';

/** The default answer to a text: `echo:SHA12:FIRST200:LENGTH`, length in code points. */
export function echoOf(text) {
  let length = 0;
  for (const _ of text) length += 1;
  return `echo:${sha256(text).slice(0, 12)}:${firstChars(text, 200)}:${length}`;
}

/** The line of the default answer that stands for a PDF. */
export function echoOfPdf({ sha256: hash, pages, textSample }) {
  return `pdf sha256=${hash} pages~${pages} text=${textSample}`;
}

/** `{ content, stop_reason, stop_details, output_tokens, thinking_tokens }` */
export function composeAnswer({ request, digest, plan, settings }) {
  const { answer } = plan;
  const given = settings.answer;
  const facts = { request, userText: digest.userText, pdfs: digest.pdfs };
  const echo = () => [...digest.pdfs.map(echoOfPdf), echoOf(digest.userText)].join('\n');
  const base = typeof given === 'function' ? given(facts) : given ?? echo();
  const { text, tokens, stop } = sized(base, request.max_tokens, answer, settings);
  const blocks = blocksFor(answer, text, request);
  const extra = (answer.thinking ? tokensOf(THOUGHT) : 0) + (answer.toolUse ? TOOL_TOKENS : 0);
  return {
    content: blocks,
    stop_reason: answer.stop ?? (answer.toolUse ? 'tool_use' : stop),
    stop_details: answer.stop === 'refusal' ? REFUSAL_DETAILS : null,
    output_tokens: answer.empty ? 0 : tokens + extra,
    thinking_tokens: answer.thinking ? tokensOf(THOUGHT) : 0,
  };
}

function sized(base, maxTokens, answer, settings) {
  if (answer.size !== undefined) return whole(fitBytes(base, answer.size));
  const wanted = answer.tokens ?? settings.answerTokens;
  let text = wanted === null ? base : base + padding(wanted - tokensOf(base));
  let tokens = wanted ?? tokensOf(text);
  if (answer.stop === 'max_tokens') [text, tokens] = [cutText(text, 1 / 2), Math.ceil(tokens / 2)];
  if (tokens <= maxTokens) return { text, tokens, stop: 'end_turn' };
  return { text: cutText(text, maxTokens / tokens), tokens: maxTokens, stop: 'max_tokens' };
}

function whole(text) {
  return { text, tokens: tokensOf(text), stop: 'end_turn' };
}

function padding(tokens) {
  return tokens > 0 ? ' sim'.repeat(tokens) : '';
}

function cutText(text, share) {
  const chars = Array.from(text);
  return chars.slice(0, Math.floor(chars.length * share)).join('');
}

function fitBytes(text, size) {
  let bytes = 0;
  let kept = '';
  for (const char of text) {
    bytes += Buffer.byteLength(char);
    if (bytes > size) break;
    kept += char;
  }
  return kept + '.'.repeat(size - Buffer.byteLength(kept));
}

function blocksFor(answer, text, request) {
  if (answer.empty) return [];
  const blocks = text === '' ? [] : [{ type: 'text', text }];
  if (answer.thinking) blocks.unshift({ type: 'thinking', thinking: THOUGHT, signature: 'c2ltdWxhdGVk' });
  if (answer.toolUse) blocks.push(toolBlock(request, text));
  return blocks;
}

function toolBlock(request, text) {
  const name = request.tools?.[0]?.name ?? 'record_result';
  return { type: 'tool_use', id: `toolu_sim_${sha256(text).slice(0, 12)}`, name, input: { echo: firstChars(text, 40) } };
}

/** The complete message, as a request without streaming gets it. */
export function messageOf({ id, model, answer, inputTokens }) {
  const { content, stop_reason, stop_details } = answer;
  const usage = usageOf(inputTokens, answer.output_tokens, answer.thinking_tokens);
  return { id, type: 'message', role: 'assistant', model, content, stop_reason, stop_sequence: null, stop_details, usage };
}

/** A usage object. */
export function usageOf(inputTokens, outputTokens, thinkingTokens = 0) {
  return {
    input_tokens: inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: thinkingTokens > 0 ? { thinking_tokens: thinkingTokens } : null,
    service_tier: 'standard',
    inference_geo: 'global',
  };
}

const THOUGHT = 'Considering the simulated request.';
const TOOL_TOKENS = 12;
const REFUSAL_DETAILS = { type: 'refusal', category: 'general_harms', explanation: null };
