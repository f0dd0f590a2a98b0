/**
 * What a call can be told to do, as words. They come from markers in the
 * request, from `script`, and from `outage`.
 *
 * Refusals (nothing is taken from the buckets):
 *   400 401 402 403 404 408 409 413 429 500 503 504 529   Claude's error form
 *   502html       an HTML page with status 502
 *   spend429      monthly spend limit, no retry-after
 *   contract429   contract spend limit, no retry-after
 *   ramp429       acceleration limit, with retry-after
 *   spend400      own spend limit, as a 400
 *   pdf400        "Could not process PDF", which sometimes works when repeated
 *   ra=SECONDS    with any of these: sets retry-after, `ra=none` leaves it out
 *
 * Broken connections and answers:
 *   reset         socket reset before any header
 *   hang          never answers
 *   stall         headers and message_start, then silence
 *   cut           connection cut in the middle of the answer
 *   eof           clean end without message_stop (JSON: half of it)
 *   cutjson       clean end in the middle of a JSON text
 *   sse-error     error event first (JSON: 200 with an error object)
 *   sse-error-mid overloaded_error after some text
 *   raw=NAME      writes the file NAME or NAME.http as it is, then closes
 *
 * Answers:
 *   200           a normal answer
 *   refusal       stop_reason refusal and no content; `refusal=partial` keeps some
 *   max_tokens    half the text, stop_reason max_tokens
 *   tool_use      text and a tool_use block
 *   thinking      a thinking block first
 *   stop=REASON   any stop_reason
 *   tokens=N      N output tokens
 *   size=BYTES    a text of exactly that many bytes, whatever max_tokens says
 *   bom           a byte order mark before the body
 *   slow=MS       time to the first byte (of any of the above but reset)
 *   decode=MS     time spread over the answer
 */

/** Turns words, `[[name, value]]`, into one plan; an unknown word is an error. */
export function planOf(words) {
  const plan = { word: null, answer: {} };
  for (const [name, value] of words) {
    if (!Object.hasOwn(WORDS, name)) throw new Error(`unknown simulated behaviour: ${name}`);
    WORDS[name](plan, value);
    if (!QUIET.has(name)) plan.word ??= name;
  }
  return plan;
}

const refusals = {
  400: ['invalid_request_error', 'simulated invalid request'],
  401: ['authentication_error', 'invalid x-api-key'],
  402: ['billing_error', 'simulated billing problem'],
  403: ['permission_error', 'simulated missing permission'],
  404: ['not_found_error', 'simulated missing resource'],
  408: ['timeout_error', 'Request timeout'],
  409: ['conflict_error', 'simulated conflict'],
  413: ['request_too_large', 'Request exceeds the maximum size'],
  429: ['rate_limit_error', 'simulated rate limit', { retryAfter: '1' }],
  500: ['api_error', 'Internal server error'],
  503: ['api_error', 'Service unavailable'],
  504: ['timeout_error', 'Request timed out'],
  529: ['overloaded_error', 'Overloaded'],
  '502html': ['api_error', 'Bad gateway', { html: true }],
  spend429: ['rate_limit_error', 'You have reached your monthly spend limit.', code('enforced_spend_limit_reached')],
  contract429: ['rate_limit_error', 'You have reached the spend limit of your contract.', code('contract_spend_limit_reached')],
  ramp429: ['rate_limit_error', 'Your usage is rising too fast.', { ...code('ramp_limit_exceeded'), retryAfter: '1' }],
  spend400: ['invalid_request_error', 'You have reached your specified API usage limits.'],
  pdf400: ['invalid_request_error', 'Could not process PDF'],
};

function code(errorCode) {
  return { details: { error_code: errorCode } };
}

function refuse([name, [type, message, more]]) {
  const status = Number(/\d{3}/.exec(name)[0]);
  return [name, (plan) => (plan.refusal = { status, type, message, ...more })];
}

const breaks = ['reset', 'hang', 'stall', 'cut', 'eof', 'cutjson', 'sse-error', 'sse-error-mid'];

const WORDS = {
  200: () => {},
  ...Object.fromEntries(Object.entries(refusals).map(refuse)),
  ...Object.fromEntries(breaks.map((name) => [name, (plan) => (plan.break = name)])),
  raw: (plan, name) => (plan.raw = name),
  ra: (plan, value) => (plan.retryAfter = value),
  slow: (plan, ms) => (plan.latencyMs = wholeNumber('slow', ms)),
  decode: (plan, ms) => (plan.decodeMs = wholeNumber('decode', ms)),
  bom: (plan) => (plan.bom = true),
  refusal: (plan, kind) => Object.assign(plan.answer, { stop: 'refusal', empty: kind !== 'partial' }),
  max_tokens: (plan) => (plan.answer.stop = 'max_tokens'),
  stop: (plan, reason) => (plan.answer.stop = reason),
  tool_use: (plan) => (plan.answer.toolUse = true),
  thinking: (plan) => (plan.answer.thinking = true),
  tokens: (plan, n) => (plan.answer.tokens = wholeNumber('tokens', n)),
  size: (plan, n) => (plan.answer.size = wholeNumber('size', n)),
};

/** Whether the plan ends the call without an answer of the model. */
export function endsCall(plan) {
  return Boolean(plan.refusal || plan.raw || plan.break === 'reset' || plan.break === 'hang');
}

// Words that colour an answer without being its outcome.
const QUIET = new Set(['200', 'ra', 'slow', 'decode', 'tokens', 'size', 'thinking', 'bom']);

function wholeNumber(name, value) {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 0) throw new Error(`${name} needs a whole number, not ${value}`);
  return number;
}
