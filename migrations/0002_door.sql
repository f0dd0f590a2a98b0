-- What an operator may set for a tenant. NULL: what the plan or a variable says.
ALTER TABLE tenants ADD COLUMN weight INTEGER CHECK (weight BETWEEN 1 AND 100);
-- 0: no budget.
ALTER TABLE tenants ADD COLUMN daily_input_tokens INTEGER CHECK (daily_input_tokens >= 0);
ALTER TABLE tenants ADD COLUMN requests_per_minute INTEGER CHECK (requests_per_minute > 0);
-- Its keys are refused since then; what was accepted before still runs.
ALTER TABLE tenants ADD COLUMN suspended_at INTEGER;

ALTER TABLE api_keys ADD COLUMN name TEXT;
ALTER TABLE api_keys ADD COLUMN revoked_at INTEGER;
-- A key is named by its prefix.
CREATE UNIQUE INDEX api_keys_by_prefix ON api_keys (tenant_id, prefix);

-- Every change an operator made.
CREATE TABLE audit (
  audit_id   INTEGER PRIMARY KEY,
  at         INTEGER NOT NULL,
  action     TEXT NOT NULL,
  tenant_id  TEXT NOT NULL,
  -- JSON: what it is from now on. Never a key.
  detail     TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_tenant ON audit (tenant_id, audit_id);

-- The first answers to requests that named an Idempotency-Key.
CREATE TABLE idempotency (
  tenant_id   TEXT NOT NULL,
  key         TEXT NOT NULL,
  -- SHA-256 of what was asked for.
  fingerprint TEXT NOT NULL,
  -- Where the job or batch is that was made.
  location    TEXT NOT NULL,
  -- JSON: what its caller was told.
  answer      TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (created_at);

-- Content was removed; times, tokens and status stay.
ALTER TABLE jobs ADD COLUMN purged_at INTEGER;

-- The one priority of a batch's jobs: lists ask for it.
ALTER TABLE batches ADD COLUMN priority TEXT CHECK (priority IN ('critical', 'standard', 'batch'));
UPDATE batches SET priority =
  (SELECT priority FROM jobs WHERE jobs.batch_id = batches.batch_id LIMIT 1);

-- Lists, the newest first, whatever they are filtered by. An index entry costs a
-- write with every change of status: the one by label is for jobs that have one.
DROP INDEX jobs_by_user;
CREATE INDEX jobs_by_user ON jobs (tenant_id, user_id, status, priority, job_id)
  WHERE user_id IS NOT NULL;
CREATE INDEX jobs_by_tenant ON jobs (tenant_id, status, priority, job_id);
CREATE INDEX batches_by_tenant ON batches (tenant_id, priority, batch_id);
