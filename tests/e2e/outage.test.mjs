// What an outage of the upstream costs: a few probes, and no job its attempts.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { stage } from './support/stage.mjs';

let world;
let acme;

before(async () => {
  world = await stage({ vars: { BACKOFF_CRITICAL_MS: '200' } });
  acme = await world.tenant('acme');
});
after(() => world.stop());

test('forty jobs outlive an overloaded upstream, probed by one call at a time', async () => {
  world.claude.outage(true, '529');
  const prompts = Array.from({ length: 40 }, (_, i) => ({ prompt: `patient ${i};` }));
  const ids = await Promise.all(prompts.map((job) => acme.accepted(job)));
  const before = await quiet();
  await world.claude.waitUntil((calls) => calls.length >= before + 3);
  const probes = world.claude.calls.slice(before);
  for (const [i, probe] of probes.slice(1).entries()) {
    const pause = probe.at - probes[i].endedAt;
    assert.ok(pause >= 1_900, `the next probe came after ${pause} ms`);
  }
  world.claude.outage(false);
  const jobs = await Promise.all(ids.map((id) => acme.untilCompleted(id)));
  assert.ok(jobs.every(({ attempts }) => attempts <= 3), 'no job used up its attempts');
  const failed = world.claude.calls.length - ids.length;
  assert.ok(failed < 60, `${failed} calls failed`);
});

// The calls that were under way when the outage began have come back.
async function quiet() {
  let seen;
  do {
    seen = world.claude.calls.length;
    await world.claude.waitUntil((calls) => calls.length > seen);
    const [last, former] = [...world.claude.calls].reverse();
    if (former && last.at - former.at >= 900) return world.claude.calls.length;
  } while (true);
}
