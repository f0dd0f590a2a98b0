import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planOf } from './faults.mjs';
import { MarkerCounts, markersIn, parseSteps, wordsAt } from './markers.mjs';

/** The first word of each of the first `calls` calls, a dot for none. */
function course(text, calls = 5) {
  const steps = parseSteps(text);
  return Array.from({ length: calls }, (_, call) => wordsAt(steps, call)[0]?.[0] ?? '.').join(' ');
}

test('a step holds as often as it says, the last one for ever', () => {
  assert.equal(course('529'), '529 529 529 529 529');
  assert.equal(course('529x2'), '529 529 . . .');
  assert.equal(course('529x2; 200'), '529 529 200 200 200');
  assert.equal(course('529; cut; 408x1'), '529 cut 408 . .');
  assert.equal(course('429 x3 ; reset'), '429 429 429 reset reset');
  assert.equal(course('502htmlx1;max_tokens'), '502html max_tokens max_tokens max_tokens max_tokens');
  assert.equal(course(''), '. . . . .');
});

test('words of one step come with their values', () => {
  const [step] = parseSteps('raw=c22-a-sse-error-first.http x1, slow=20 ,ra=5');
  assert.equal(step.count, 1);
  assert.deepEqual(step.words, [['raw', 'c22-a-sse-error-first.http'], ['slow', '20'], ['ra', '5']]);
});

test('markers are found anywhere in a text', () => {
  assert.equal(markersIn('a [[sim:529x1]] b\n[[sim:slow=5]]').length, 2);
  assert.equal(markersIn('[sim:529] [[sim]]').length, 0);
});

test('calls are counted for each request apart, and markers add up', () => {
  const counts = new MarkerCounts();
  const markers = markersIn('[[sim:529x1]] [[sim:slow=5]]');
  assert.deepEqual(counts.next('a', markers), [['529', undefined], ['slow', '5']]);
  assert.deepEqual(counts.next('b', markers), [['529', undefined], ['slow', '5']]);
  assert.deepEqual(counts.next('a', markers), [['slow', '5']]);
});

test('a plan merges words and refuses unknown ones', () => {
  const plan = planOf([['529', undefined], ['ra', '5'], ['slow', '20']]);
  assert.equal(plan.word, '529');
  assert.deepEqual([plan.refusal.status, plan.retryAfter, plan.latencyMs], [529, '5', 20]);
  assert.throws(() => planOf([['592', undefined]]), /unknown simulated behaviour: 592/);
  assert.throws(() => planOf([['constructor', undefined]]), /unknown/);
  assert.throws(() => planOf([['slow', 'soon']]), /slow needs a whole number/);
});
