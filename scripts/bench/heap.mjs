// The JavaScript heap of our Worker's isolate, asked of V8 while it works.
import { setTimeout as sleep } from 'node:timers/promises';

export async function watchHeap(port) {
  const targets = await (await fetch(`http://127.0.0.1:${port}/json`)).json();
  const ours = targets.find(({ id }) => id.includes('claude-pipeline'));
  const socket = new WebSocket(ours.webSocketDebuggerUrl);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  const heap = new Heap(socket);
  await heap.ask('Runtime.enable');
  await heap.ask('HeapProfiler.enable');
  return heap;
}

class Heap {
  #id = 0;
  #waiting = new Map();
  #watching = true;
  peak = 0;

  constructor(socket) {
    this.socket = socket;
    socket.onmessage = ({ data }) => {
      const { id, result } = JSON.parse(data);
      this.#waiting.get(id)?.(result);
      this.#waiting.delete(id);
    };
  }

  ask(method) {
    const id = (this.#id += 1);
    this.socket.send(JSON.stringify({ id, method }));
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  // What is alive: garbage is collected first.
  async alive() {
    // Answered only together with the question after it.
    this.ask('HeapProfiler.collectGarbage');
    await this.ask('Runtime.getHeapUsage');
    const { usedSize, backingStorageSize = 0 } = await this.ask('Runtime.getHeapUsage');
    return usedSize + backingStorageSize;
  }

  async watch() {
    while (this.#watching) {
      this.peak = Math.max(this.peak, await this.alive());
      await sleep(50);
    }
    this.socket.close();
  }

  // The question under way is answered before the watch ends.
  stop() {
    this.#watching = false;
  }
}
