/**
 * A message as the sequence of server-sent events that builds it.
 */
import { usageOf } from './answer.mjs';

/**
 * All events in order, as `{ event, data, tokens }`; `tokens` is the output a
 * delta stands for, and together they make the message's output tokens.
 */
export function eventsOf(message, deltas) {
  const pieces = message.content.flatMap((block, index) => piecesOf(block, index, deltas));
  const shares = spread(message.usage.output_tokens, pieces.length);
  const events = [startOf(message)];
  message.content.forEach((block, index) => {
    events.push(event('content_block_start', { index, content_block: opened(block) }));
    if (index === 0) events.push(event('ping', {}));
    const own = pieces.filter((piece) => piece.index === index);
    own.forEach((piece) => events.push({ ...event('content_block_delta', piece), tokens: shares.shift() }));
    events.push(event('content_block_stop', { index }));
  });
  return [...events, endOf(message), event('message_stop', {})];
}

function event(type, data) {
  return { event: type, data: { type, ...data }, tokens: 0 };
}

function startOf(message) {
  const usage = usageOf(message.usage.input_tokens, Math.min(1, message.usage.output_tokens));
  return event('message_start', { message: { ...message, content: [], stop_reason: null, stop_details: null, usage } });
}

function endOf({ stop_reason, stop_sequence, stop_details, usage }) {
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens, output_tokens_details } = usage;
  const total = { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens, output_tokens_details };
  return event('message_delta', { delta: { stop_reason, stop_sequence, stop_details }, usage: total });
}

function opened(block) {
  if (block.type === 'text') return { type: 'text', text: '' };
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  return { ...block, input: {} };
}

function piecesOf(block, index, deltas) {
  if (block.type === 'text') return split(block.text, deltas).map((text) => ({ index, delta: { type: 'text_delta', text } }));
  if (block.type === 'thinking') {
    return [
      { index, delta: { type: 'thinking_delta', thinking: block.thinking } },
      { index, delta: { type: 'signature_delta', signature: block.signature } },
    ];
  }
  const input = split(JSON.stringify(block.input), 2);
  return input.map((partial_json) => ({ index, delta: { type: 'input_json_delta', partial_json } }));
}

/** Splits a text into at least `count` pieces, never inside a character, none over 16,384 units. */
export function split(text, count) {
  const size = Math.max(1, Math.min(Math.ceil(text.length / count), LONGEST_PIECE));
  const pieces = [];
  for (let at = 0; at < text.length; ) {
    const end = Math.min(text.length, at + size);
    const inPair = /[\uD800-\uDBFF]/.test(text[end - 1]) && /[\uDC00-\uDFFF]/.test(text[end] ?? '');
    pieces.push(text.slice(at, end + Number(inPair)));
    at = end + Number(inPair);
  }
  return pieces;
}

function spread(total, count) {
  const upTo = (i) => Math.floor((total * i) / count);
  return Array.from({ length: count }, (_, i) => upTo(i + 1) - upTo(i));
}

const LONGEST_PIECE = 16_384;
