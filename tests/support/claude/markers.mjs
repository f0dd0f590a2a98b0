/**
 * Faults written into a request: `[[sim:STEPS]]` anywhere in the last user
 * message or in the text of a PDF page.
 *
 *     STEPS = step *( ';' step )
 *     step  = word [ 'x' count ] *( ',' word )
 *     word  = name [ '=' value ]
 *
 * `[[sim:529x2]]` answers 529 twice, then normally. `[[sim:529]]` always.
 * `[[sim:529x1,ra=5; cut; 200]]` answers 529 with retry-after 5, then cuts the
 * stream, then is well for ever. A step without count holds for one call, the
 * last one for ever; when all counts are used up the answer is normal.
 *
 * Calls are counted per request content (model, system, messages), so that two
 * jobs with different texts never share a count. Several markers in one
 * request count apart and add up. The words are listed in `faults.mjs`.
 */

/** The steps of every marker in `text`, in order. */
export function markersIn(text) {
  return [...text.matchAll(/\[\[sim:([^\]]*)\]\]/g)].map(([, steps]) => parseSteps(steps));
}

/** Parses `STEPS` to a list of `{ count, words: [[name, value]] }`. */
export function parseSteps(text) {
  const parts = text.split(';').map((part) => part.trim()).filter(Boolean);
  return parts.map((part, i) => parseStep(part, i === parts.length - 1));
}

function parseStep(text, last) {
  const [head, ...rest] = text.split(',').map((word) => word.trim()).filter(Boolean);
  const counted = /^(.*?)\s*x(\d+)$/.exec(head);
  const count = counted ? Number(counted[2]) : last ? Infinity : 1;
  return { count, words: [counted?.[1] ?? head, ...rest].map(parseWord) };
}

function parseWord(text) {
  const at = text.indexOf('=');
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

/** Remembers how often each request came. */
export class MarkerCounts {
  #calls = new Map();

  /** The words that hold for this call of the request `key`. */
  next(key, markers) {
    if (markers.length === 0) return [];
    const call = this.#calls.get(key) ?? 0;
    this.#calls.set(key, call + 1);
    return markers.flatMap((steps) => wordsAt(steps, call));
  }

  reset() {
    this.#calls.clear();
  }
}

/** The words of the step that holds for the call with this index, from 0. */
export function wordsAt(steps, call) {
  let left = call;
  for (const { count, words } of steps) {
    if (left < count) return words;
    left -= count;
  }
  return [];
}
