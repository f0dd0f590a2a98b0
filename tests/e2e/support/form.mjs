/**
 * Multipart forms as bytes, so that a test decides every one of them.
 */

const BOUNDARY = 'e2eBoundary7f3a';

/** The content type of every form made here. */
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

/** A form of text fields, `{name: value}`, and then files, `[{name, bytes, field, type}]`. */
export function formOf(files, fields = {}) {
  const texts = Object.entries(fields).map(([field, value]) => part(`name="${field}"`, value));
  const parts = files.map(({ name, bytes, field = 'files', type = 'application/pdf' }) =>
    part(`name="${field}"; filename="${name}"\r\nContent-Type: ${type}`, bytes));
  return Buffer.concat([...texts, ...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

function part(disposition, content) {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(content), Buffer.from('\r\n')]);
}
