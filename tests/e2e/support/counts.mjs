/**
 * What the stores hold, to be compared before and after.
 */

/** `{ rows: {table: n}, objects: {prefix: n}, scheduler: {waiting, delayed, running, depth} }` */
export async function countsOf({ runtime, url }) {
  const [rows, objects, health] = await Promise.all([rowsOf(runtime.d1), objectsOf(runtime.r2), healthOf(url)]);
  const { waiting, delayed, running, depth } = health.scheduler;
  return { rows, objects, scheduler: { waiting, delayed, running, depth } };
}

/** Whether the scheduler holds no job and no place any more. */
export function atRest({ scheduler: { depth } }) {
  return depth === 0;
}

export async function healthOf(url) {
  return (await fetch(`${url}/healthz`)).json();
}

async function rowsOf(d1) {
  const tables = ['batches', 'jobs', 'idempotency', 'tenants', 'api_keys', 'audit'];
  const found = await d1.batch(tables.map((table) => d1.prepare(`SELECT COUNT(*) AS n FROM ${table}`)));
  return Object.fromEntries(tables.map((table, i) => [table, found[i].results[0].n]));
}

async function objectsOf(r2) {
  const counts = { inputs: 0, uploads: 0, results: 0 };
  let cursor;
  do {
    const page = await r2.list({ cursor });
    for (const { key } of page.objects) {
      const prefix = key.split('/', 1)[0];
      counts[prefix] = (counts[prefix] ?? 0) + 1;
    }
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor);
  return counts;
}
