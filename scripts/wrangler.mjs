// `npm run wrangler -- <arguments>`: wrangler on the project's own Node.
import { ROOT, main, run } from './progress.mjs';

await main(() => run(`${ROOT}/node_modules/.bin/wrangler`, process.argv.slice(2), { show: true }));
