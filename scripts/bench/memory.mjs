// Memory while large PDFs are uploaded and processed. Wasm memory never
// shrinks, so its size afterwards is its peak.
import { makePdf } from '../../tests/support/claude/samples.mjs';
import { watchHeap } from './heap.mjs';
import { openWorld } from './world.mjs';

const MB = 1e6;
const INSPECTOR = 9_329;
const BOUNDARY = 'bench-boundary';

export async function memory(row) {
  for (const [count, bytes] of [[20, 5 * MB], [100, 1 * MB], [5, 20 * MB]]) {
    const world = await openWorld({ latency: 50, inspectorPort: INSPECTOR });
    await upload(world, 1, 1_000);
    await world.untilDone();
    const heap = await watchHeap(INSPECTOR);
    const before = { wasm: await wasmMemory(world), heap: await heap.alive() };
    const watching = heap.watch();
    await upload(world, count, bytes);
    await world.untilDone();
    heap.stop();
    await watching;
    const what = `${count} PDFs of ${bytes / MB} MB`;
    row(`${what}: peak Wasm memory`, mb(await wasmMemory(world)), `before: ${mb(before.wasm)}; aim: under 24 MB`);
    row(`${' '.repeat(what.length)}  peak JavaScript heap, alive`, mb(heap.peak), `before: ${mb(before.heap)}`);
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

async function wasmMemory(world) {
  return (await world.get('/healthz')).wasmMemoryBytes;
}

const mb = (bytes) => `${(bytes / MB).toFixed(1)} MB`;
