/**
 * Requests, PDFs and a small client, for tests that talk to the simulated
 * Claude directly.
 */

/** A PDF of `pages` pages that shows `text`, filled up to about `bytes` bytes. */
export function makePdf(text, { pages = 1, bytes = 0 } = {}) {
  const shown = text.replace(/[\\()]/g, '\\$&');
  const content = `BT /F1 18 Tf 72 720 Td (${shown}) Tj ET`;
  const kids = Array.from({ length: pages }, (_, i) => `${5 + i} 0 R`).join(' ');
  const page = '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 3 0 R >> >> >>';
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Count ${pages} /Kids [${kids}] >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    `<< /Length ${Buffer.byteLength(content, 'latin1')} >>\nstream\n${content}\nendstream`,
    ...Array(pages).fill(page),
  ];
  const filler = bytes > 0 ? [`<< /Length ${bytes} >>\nstream\n${'0123456789abcdef'.repeat(bytes / 16 + 1).slice(0, bytes)}\nendstream`] : [];
  return assemble([...objects, ...filler]);
}

function assemble(objects) {
  let file = '%PDF-1.4\n';
  const offsets = objects.map((object, i) => {
    const offset = file.length;
    file += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}`;
  return Buffer.from(`${file}${table}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`, 'latin1');
}

/** A request with one user message. */
export function promptRequest(text, more = {}) {
  return { model: 'claude-sonnet-4-6', max_tokens: 1024, messages: [{ role: 'user', content: text }], ...more };
}

/** A request about one PDF, given as bytes. */
export function pdfRequest(pdf, text = 'Summarize.', more = {}) {
  const source = { type: 'base64', media_type: 'application/pdf', data: Buffer.from(pdf).toString('base64') };
  return promptRequest([{ type: 'document', source }, { type: 'text', text }], more);
}

/** Posts a request, a string being a prompt; header values of null are left out. */
export function post(server, request, { headers = {}, path = '/v1/messages', body, signal } = {}) {
  const all = { 'x-api-key': 'test-key', 'anthropic-version': '2023-06-01', 'content-type': 'application/json', ...headers };
  const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
  const asked = typeof request === 'string' ? promptRequest(request) : request;
  return fetch(server.url + path, { method: 'POST', headers: sent, body: body ?? JSON.stringify(asked), signal });
}

/** The events of a server-sent stream, as `{ event, data }`. */
export function eventsIn(text) {
  const frames = text.split('\n\n').filter((frame) => frame.trim() !== '');
  return frames.map((frame) => {
    const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(frame);
    return { event, data: JSON.parse(data) };
  });
}

/** The text a list of events adds up to. */
export function textOf(events) {
  return events.map(({ data }) => data.delta?.text ?? '').join('');
}
