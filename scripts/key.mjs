// `npm run key -- TENANT [NAME]`: a tenant (if it is new) and a new key of it,
// in the deployed database. The key is shown once; only its hash is kept.
import { createHash, randomBytes } from 'node:crypto';
import { CommandFailed, ROOT, main, run } from './progress.mjs';

await main(async () => {
  const [tenant, name = tenant] = process.argv.slice(2);
  if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(tenant ?? '') || name.startsWith('-')) {
    throw new CommandFailed('npm run key -- TENANT [NAME]: a tenant is 1 to 64 lower-case letters, digits or dashes');
  }
  const key = `cpk_${randomBytes(24).toString('base64url')}`;
  const sql = statements(tenant, name, key);
  const args = ['d1', 'execute', 'claude-pipeline', '--remote', '--yes', '--command', sql];
  await run(`${ROOT}/node_modules/.bin/wrangler`, args);
  console.log(`The key of ${tenant}, shown this once: ${key}`);
});

function statements(tenant, name, key) {
  const hash = createHash('sha256').update(key).digest('hex');
  const quoted = (text) => `'${text.replaceAll("'", "''")}'`;
  const now = Date.now();
  return [
    `INSERT OR IGNORE INTO tenants (tenant_id, name, plan, created_at) VALUES (${quoted(tenant)}, ${quoted(name)}, 'free', ${now})`,
    `INSERT INTO api_keys (key_hash, tenant_id, prefix, created_at) VALUES ('${hash}', ${quoted(tenant)}, '${key.slice(0, 9)}', ${now})`,
  ].join('; ');
}
