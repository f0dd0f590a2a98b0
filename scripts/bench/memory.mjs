// Memory while large PDFs are uploaded and processed. Wasm memory never
// shrinks, so its size afterwards is its peak.
import { makePdf } from '../../tests/support/claude/samples.mjs';
import { openWorld, peakMemory } from './world.mjs';

const MB = 1e6;
const BOUNDARY = 'bench-boundary';

export async function memory(row) {
  for (const [count, bytes] of [[20, 5 * MB], [100, 1 * MB], [5, 20 * MB]]) {
    const world = await openWorld({ latency: 50 });
    await upload(world, 1, 1_000);
    await world.untilDone();
    const before = await sizes(world);
    await upload(world, count, bytes);
    await world.untilDone();
    const after = await sizes(world);
    const what = `${count} PDFs of ${bytes / MB} MB`;
    row(`peak Wasm memory, ${what}`, mb(after.wasm), `before: ${mb(before.wasm)}; aim: under 24 MB`);
    row('  growth of the whole process (workerd)', mb(after.process - before.process), `of ${mb(count * bytes)} sent`);
    await world.close();
  }
}

async function upload(world, count, bytes) {
  const parts = [];
  for (let i = 0; i < count; i++) {
    const head = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="files"; filename="${i}.pdf"\r\n\r\n`;
    parts.push(Buffer.from(head), makePdf(`file ${i}`, { bytes }), Buffer.from('\r\n'));
  }
  parts.push(Buffer.from(`--${BOUNDARY}--\r\n`));
  const type = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
  await world.post('/batches', Buffer.concat(parts), type);
}

async function sizes(world) {
  const { wasmMemoryBytes } = await world.get('/healthz');
  return { wasm: wasmMemoryBytes, process: peakMemory(world.pid) };
}

const mb = (bytes) => `${(bytes / MB).toFixed(1)} MB`;
