/**
 * Stands between the Worker and the simulated Claude and keeps what passes:
 * the bytes of each request, and what was answered.
 *
 * A call is `{ headers, body, status, answer, closed }`, the last three once it
 * is over; one that was given up is closed without a status.
 * `hold()` keeps calls from going on until `release()`.
 */
import { createServer, request } from 'node:http';

export async function startWiretap(target) {
  const calls = [];
  const gate = new Gate();
  const server = createServer((req, res) => pass({ target, calls, gate }, req, res));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    calls,
    hold: () => gate.close(),
    release: () => gate.open(),
    /** The calls whose body holds `text`. */
    callsWith: (text) => calls.filter(({ body }) => body.includes(text)),
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

class Gate {
  opened = Promise.resolve();
  open = () => {};

  close() {
    this.opened = new Promise((resolve) => (this.open = resolve));
  }
}

async function pass({ target, calls, gate }, req, res) {
  const body = await bytesOf(req);
  const call = { headers: req.headers, body };
  calls.push(call);
  res.on('close', () => (call.closed = true));
  await gate.opened;
  if (call.closed) return;
  const { host, ...headers } = req.headers;
  const onward = request(`${target}${req.url}`, { method: req.method, headers });
  onward.on('error', () => res.destroy());
  onward.on('response', (answer) => {
    const chunks = [];
    res.writeHead(answer.statusCode, answer.headers);
    answer.on('data', (chunk) => chunks.push(chunk));
    answer.on('end', () => Object.assign(call, { status: answer.statusCode, answer: Buffer.concat(chunks) }));
    answer.on('error', () => res.destroy());
    answer.pipe(res);
  });
  res.on('close', () => onward.destroy());
  onward.end(body);
}

async function bytesOf(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
