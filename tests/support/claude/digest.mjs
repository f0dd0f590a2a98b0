/**
 * Reads a parsed request once: takes the documents out of it and derives all
 * that answers and records need.
 */
import { createHash } from 'node:crypto';
import { blobBehind } from './body.mjs';
import { readBlob } from './blob.mjs';

/**
 * Replaces the base64 of every document and image in `request`, in place, by a
 * short note, and returns the documents as
 * `{ path, role, source, encoded, blob }`; `blob` is absent where the source
 * is not base64.
 */
export function takeDocuments(request, blobs) {
  const documents = [];
  for (const { path, role, block } of blocksOf(request)) {
    if (!['document', 'image'].includes(block.type)) continue;
    const document = { path, role, type: block.type, source: block.source ?? {} };
    if (document.source.type === 'base64') document.blob = takeData(document.source, blobs);
    documents.push(document);
  }
  return documents;
}

function takeData(source, blobs) {
  if (typeof source.data !== 'string') return undefined;
  const blob = blobBehind(source.data, blobs) ?? readBlob(source.data);
  source.data = `<${blob.bytes} bytes, sha256 ${blob.sha256}>`;
  return blob;
}

function* blocksOf(request) {
  const messages = Array.isArray(request?.messages) ? request.messages : [];
  for (const [i, message] of messages.entries()) {
    yield* blocksIn(message?.content, `messages.${i}.content`, message?.role);
  }
}

function* blocksIn(content, path, role) {
  if (!Array.isArray(content)) return;
  for (const [j, block] of content.entries()) {
    if (block === null || typeof block !== 'object') continue;
    yield { path: `${path}.${j}`, role, block };
    if (block.type === 'tool_result') yield* blocksIn(block.content, `${path}.${j}.content`, role);
  }
}

/** What the PDFs among the documents are: `{ sha256, bytes, pages, text, textSample }`. */
export function pdfsOf(documents) {
  return documents.filter(({ type, blob }) => type === 'document' && blob).map(pdfFacts);
}

/** `{ userText, pdfs, inputTokens, key }` of a valid request. */
export function digestOf(request, pdfs) {
  return {
    userText: lastUserText(request),
    pdfs,
    inputTokens: inputTokensOf(request, pdfs),
    key: sha256(JSON.stringify([request.model, request.system, request.messages])),
  };
}

function pdfFacts({ blob: { sha256: hash, bytes, pdf } }) {
  return { sha256: hash, bytes, pages: pdf.pages, text: pdf.text, textSample: firstChars(pdf.text, 200) };
}

/** The text of the last message of the user, its blocks joined with a line break. */
export function lastUserText(request) {
  const messages = Array.isArray(request?.messages) ? request.messages : [];
  return textOf(messages.findLast((message) => message?.role === 'user')?.content);
}

function textOf(content) {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const texts = content.filter((block) => block?.type === 'text' && typeof block.text === 'string');
  return texts.map(({ text }) => text).join('\n');
}

/** Tokens of a text: a quarter per ASCII character, one per CJK character, half for the rest. */
export function tokensOf(text) {
  let quarters = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) quarters += 1;
    else quarters += unit >= 0x2e80 && unit < 0xd800 ? 4 : 2;
  }
  return Math.ceil(quarters / 4);
}

function inputTokensOf(request, pdfs) {
  const texts = request.messages.map(({ content }) => textOf(content));
  const sources = [...blocksOf(request)].map(({ block }) => block.source).filter((source) => source?.type === 'text');
  const extras = [request.system, request.tools].filter(Boolean).map(asText);
  const words = [...texts, ...sources.map(({ data }) => String(data)), ...extras].reduce((sum, text) => sum + tokensOf(text), 0);
  const pages = pdfs.reduce((sum, pdf) => sum + pdf.pages, 0);
  return words + request.messages.length * TOKENS_PER_MESSAGE + pages * TOKENS_PER_PAGE;
}

function asText(part) {
  return typeof part === 'string' ? part : JSON.stringify(part);
}

/** The first `count` code points, so that no character is cut in half. */
export function firstChars(text, count) {
  return Array.from(text.slice(0, count * 2)).slice(0, count).join('');
}

/** Hex digest of a text. */
export function sha256(text) {
  return createHash('sha256').update(text).digest('hex');
}

const TOKENS_PER_MESSAGE = 7;
const TOKENS_PER_PAGE = 2000;
