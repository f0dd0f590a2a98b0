// A Worker that stands between the local queues and ours, because local workerd
// hands a queue's batches over one after another: a single slow call would
// hold up every later job. It takes batches as they come and hands them on side
// by side, in batches of the configured size, as Cloudflare's consumers do.

export const NAME = 'local-consumers';

// `sizes` holds each queue's batch size, `producers` its producer's binding.
export function localConsumers(pipeline, sizes, producers) {
  const queues = Object.keys(sizes);
  return {
    name: NAME,
    modules: true,
    script: SCRIPT,
    compatibilityDate: '2026-11-01',
    // Lets a Worker call another's queue handler.
    compatibilityFlags: ['service_binding_extra_handlers'],
    bindings: { SIZES: sizes, PRODUCERS: producers },
    serviceBindings: { PIPELINE: pipeline, SELF: NAME },
    queueProducers: Object.fromEntries(queues.map((queue) => [producers[queue], queue])),
    queueConsumers: Object.fromEntries(queues.map((queue) => [queue, CONSUMER])),
  };
}

const CONSUMER = { maxBatchSize: 100, maxBatchTimeout: 0, maxRetries: 10 };

// A handler's answer waits for its waitUntil if it handles a queue, and does
// not if it handles a request: hence the way over SELF.
const SCRIPT = `
export default {
  async queue(batch, env) {
    const messages = batch.messages.map(({ id, timestamp, body, attempts }) => ({ id, timestamp, body, attempts }));
    const body = JSON.stringify({ queue: batch.queue, messages });
    await env.SELF.fetch('http://self/', { method: 'POST', body });
  },
  async fetch(request, env, context) {
    const { queue, messages } = await request.json();
    for (let from = 0; from < messages.length; from += env.SIZES[queue]) {
      context.waitUntil(handOn(env, queue, messages.slice(from, from + env.SIZES[queue])));
    }
    return new Response();
  },
};

async function handOn(env, queue, messages) {
  const batch = messages.map((message) => ({ ...message, timestamp: new Date(message.timestamp) }));
  const result = await env.PIPELINE.queue(queue, batch).catch((error) => ({ outcome: String(error) }));
  for (const { body, delaySeconds } of again(result, messages)) {
    await env[env.PRODUCERS[queue]].send(body, { contentType: 'text', delaySeconds });
  }
}

function again({ outcome, retryBatch, ackAll, explicitAcks = [], retryMessages = [] }, messages) {
  const delays = new Map(retryMessages.map(({ msgId, delaySeconds }) => [msgId, delaySeconds]));
  const all = outcome !== 'ok' || retryBatch?.retry;
  return messages
    .filter(({ id }) => delays.has(id) || (all && !ackAll && !explicitAcks.includes(id)))
    .map(({ id, body }) => ({ body, delaySeconds: delays.get(id) ?? 1 }));
}
`;
