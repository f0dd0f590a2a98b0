// Applies migrations/*.sql to a local database and keeps wrangler's own table
// of them, so that `wrangler d1 migrations` would go on where this ended.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { unstable_splitSqlQuery as splitSql } from 'wrangler';
import { ROOT } from './progress.mjs';

const FOLDER = `${ROOT}/migrations`;

export async function applyMigrations(d1) {
  await d1
    .prepare(
      `CREATE TABLE IF NOT EXISTS "d1_migrations"(
        id         INTEGER PRIMARY KEY AUTOINCREMENT,
        name       TEXT UNIQUE,
        applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
      )`,
    )
    .run();
  const { results } = await d1.prepare('SELECT name FROM d1_migrations').all();
  const applied = new Set(results.map(({ name }) => name));
  for (const name of migrationFiles().filter((name) => !applied.has(name))) await apply(d1, name);
}

const migrationFiles = () =>
  existsSync(FOLDER) ? readdirSync(FOLDER).filter((name) => name.endsWith('.sql')).sort() : [];

// One transaction: a migration is applied and noted, or neither.
async function apply(d1, name) {
  const statements = splitSql(readFileSync(`${FOLDER}/${name}`, 'utf8')).filter((sql) => sql.trim());
  await d1.batch([
    ...statements.map((sql) => d1.prepare(sql)),
    d1.prepare('INSERT INTO d1_migrations (name) VALUES (?)').bind(name),
  ]);
}
