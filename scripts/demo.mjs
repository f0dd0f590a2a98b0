// A tenant and a key to try the pipeline with, the same after every restart.
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';

const TENANT = 'demo';

const secret = (prefix) => `${prefix}_${randomBytes(24).toString('base64url')}`;

export function openDemo(folder, baseUrl) {
  const file = `${folder}/demo.json`;
  const kept = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const demo = { key: secret('demo'), adminToken: secret('admin'), ...kept, baseUrl };
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 });
  // The mode above counts only for a new file.
  chmodSync(file, 0o600);
  return demo;
}

export async function seedDemo(d1, { key }) {
  const hash = createHash('sha256').update(key).digest('hex');
  const now = Date.now();
  await d1.batch([
    d1
      .prepare('INSERT OR IGNORE INTO tenants (tenant_id, name, plan, created_at) VALUES (?, ?, ?, ?)')
      .bind(TENANT, 'Demo', 'free', now),
    d1
      .prepare('INSERT OR IGNORE INTO api_keys (key_hash, tenant_id, prefix, created_at) VALUES (?, ?, ?, ?)')
      .bind(hash, TENANT, key.slice(0, 12), now),
  ]);
}
