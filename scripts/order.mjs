// In which order functions stand in the module. gzip finds again what it saw
// within the last 32 kB: functions that share much come to stand together.

// The module with names that sort as its functions are to stand, for
// `wasm-opt --reorder-functions-by-name`. It must have none yet.
export function nameByLikeness(wasm) {
  const imported = importedFunctions(wasm);
  const names = [];
  orderByLikeness(functions(wasm)).forEach((body, rank) => {
    names[body] = String(rank).padStart(8, '0');
  });
  const entries = names.flatMap((name, at) => [...leb(imported + at), ...text(name)]);
  const table = [...leb(names.length), ...entries];
  const section = [...text('name'), FUNCTION_NAMES, ...leb(table.length), ...table];
  return Buffer.concat([wasm, Buffer.from([CUSTOM, ...leb(section.length), ...section])]);
}

// Greedily: next comes the one that shares most, for its length, with those
// just before it.
function orderByLikeness(bodies) {
  const { runs, owners } = shared(bodies);
  const sizes = bodies.map((body) => (body.length + 20) ** 0.8);
  const left = new Set(bodies.keys());
  const largestFirst = [...left].sort((a, b) => sizes[b] - sizes[a]);
  const order = [];
  while (left.size > 0) {
    const likeness = likenesses(order.slice(-REACH).reverse(), runs, owners);
    let next = largestFirst.find((body) => left.has(body));
    let most = 0;
    for (const body of left) {
      const relative = likeness[body] / sizes[body];
      if (relative > most) [next, most] = [body, relative];
    }
    left.delete(next);
    order.push(next);
  }
  return order;
}

// What each function shares with the latest, the very last above all. A run
// that few have counts for more.
function likenesses(latest, runs, owners) {
  const found = new Float64Array(runs.length);
  const seen = new Set();
  latest.forEach((body, distance) => {
    for (const run of runs[body]) {
      if (seen.has(run)) continue;
      seen.add(run);
      const worth = 0.85 ** distance * owners[run].length ** -0.4;
      for (const owner of owners[run]) found[owner] += worth;
    }
  });
  return found;
}

// The runs of bytes in each function, and in which functions each run is.
// What many have is never far away, and counts for nothing.
function shared(bodies) {
  const numbers = new Map();
  const owners = [];
  const runs = bodies.map((body, at) => {
    const found = new Set();
    for (let i = 0; i + RUN <= body.length; i++) {
      const bytes = body.readUIntLE(i, RUN);
      if (!numbers.has(bytes)) numbers.set(bytes, owners.push([]) - 1);
      found.add(numbers.get(bytes));
    }
    for (const run of found) owners[run].push(at);
    return found;
  });
  const few = (run) => owners[run].length > 1 && owners[run].length <= MANY;
  return { runs: runs.map((found) => [...found].filter(few)), owners };
}

// The code of each function that is not imported.
function functions(wasm) {
  const read = reader(wasm, 8);
  while (read.at < wasm.length) {
    const section = wasm[read.at++];
    const content = read.bytes();
    if (section !== CODE) continue;
    const inside = reader(content, 0);
    return Array.from({ length: inside.number() }, () => inside.bytes());
  }
  throw new Error('the module has no code');
}

function importedFunctions(wasm) {
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(wasm));
  return imports.filter(({ kind }) => kind === 'function').length;
}

const reader = (wasm, at) => ({
  at,
  number() {
    let value = 0;
    for (let worth = 1; ; worth *= 128) {
      const byte = wasm[this.at++];
      value += (byte % 128) * worth;
      if (byte < 128) return value;
    }
  },
  bytes() {
    const length = this.number();
    this.at += length;
    return wasm.subarray(this.at - length, this.at);
  },
});

const leb = (value) => (value < 128 ? [value] : [(value % 128) + 128, ...leb(Math.floor(value / 128))]);
const text = (ascii) => [...leb(ascii.length), ...Buffer.from(ascii)];

const CUSTOM = 0;
const CODE = 10;
const FUNCTION_NAMES = 1;

// Chosen by trial. A run of bytes so long, in at most so many functions;
// likeness to so many before.
const RUN = 5;
const MANY = 150;
const REACH = 10;
