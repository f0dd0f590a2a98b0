/**
 * Strings inside PDFs: `(literal)` and `<hex>` forms, and the text a content
 * stream shows. Input and output are Latin-1: one character per byte.
 */

/** The bytes of the string right after `before`, or null. */
export function stringBytes(source, before) {
  const found = before.exec(source);
  if (!found) return null;
  const rest = source.slice(found.index + found[0].length, found.index + found[0].length + 1000);
  const hex = /^<([0-9a-fA-F\s]*)>/.exec(rest);
  if (hex) return Buffer.from(hex[1].replace(/\s/g, ''), 'hex');
  const literal = /^\(((?:\\[\s\S]|[^\\])*?)\)\s*[/>\]<(]/.exec(rest);
  return literal ? Buffer.from(unescape(literal[1]), 'latin1') : null;
}

/** The strings of all Tj and TJ operators, joined with a space. */
export function shownText(content) {
  const shown = [];
  for (const [, single, list] of content.matchAll(SHOWN)) {
    shown.push(single !== undefined ? unescape(single) : joinList(list));
  }
  return shown.join(' ');
}

function joinList(list) {
  return [...list.matchAll(/\(((?:\\[\s\S]|[^\\()])*)\)/g)].map(([, text]) => unescape(text)).join('');
}

function unescape(text) {
  return text.replace(/\\([0-7]{1,3}|\r\n|[\s\S])/g, (_, code) => {
    if (/^[0-7]/.test(code)) return String.fromCharCode(parseInt(code, 8) & 255);
    return ESCAPES[code] ?? code;
  });
}

const SHOWN = /\(((?:\\[\s\S]|[^\\()]){0,20000})\)\s*(?:Tj|'|")|\[((?:\((?:\\[\s\S]|[^\\()])*\)|[-\d.\s])*)\]\s*TJ/g;
const ESCAPES = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', '\n': '', '\r': '', '\r\n': '' };
