-- Times are milliseconds since the Unix epoch. STRICT, because numbers arrive
-- as doubles and would otherwise be stored as such.

CREATE TABLE tenants (
  tenant_id  TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  plan       TEXT NOT NULL DEFAULT 'free' CHECK (plan IN ('free', 'pro')),
  created_at INTEGER NOT NULL
) STRICT;

-- Only the SHA-256 of a key is kept; the prefix lets its owner tell keys apart.
CREATE TABLE api_keys (
  key_hash   TEXT PRIMARY KEY,
  tenant_id  TEXT NOT NULL REFERENCES tenants (tenant_id),
  prefix     TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

-- Jobs submitted together, and the prompt they share.
CREATE TABLE batches (
  batch_id   TEXT PRIMARY KEY,
  tenant_id  TEXT NOT NULL,
  user_id    TEXT,
  total      INTEGER NOT NULL,
  template   TEXT NOT NULL,
  prompt     TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

-- One row a job: what was accepted, for whom, and how it ended.
CREATE TABLE jobs (
  job_id        TEXT PRIMARY KEY,
  batch_id      TEXT REFERENCES batches (batch_id),
  batch_index   INTEGER,
  filename      TEXT,
  tenant_id     TEXT NOT NULL,
  user_id       TEXT,
  status        TEXT NOT NULL CHECK (status IN
                  ('pending', 'running', 'completed', 'failed', 'dead-lettered', 'canceled')),
  priority      TEXT NOT NULL CHECK (priority IN ('critical', 'standard', 'batch')),
  origin        TEXT NOT NULL CHECK (origin IN ('user_action', 'scheduled', 'batch_job')),
  model         TEXT NOT NULL,
  -- What the call may use, for the scheduler's budget.
  estimated_input_tokens INTEGER NOT NULL,
  max_output_tokens      INTEGER NOT NULL,
  -- How to make the request: a JSON object (pipeline/input.rs).
  input         TEXT NOT NULL,
  metadata      TEXT,
  created_at    INTEGER NOT NULL,
  started_at    INTEGER,
  completed_at  INTEGER,
  -- Attempts used, the current one included.
  attempts      INTEGER NOT NULL DEFAULT 0,
  -- The number of the latest lease that was claimed: the fencing token.
  lease         INTEGER NOT NULL DEFAULT 0,
  -- Who claimed it: a claim that is repeated is told from a second one.
  claimant      INTEGER,
  input_tokens  INTEGER,
  output_tokens INTEGER,
  stop_reason   TEXT,
  error_type    TEXT,
  error_message TEXT
) STRICT;

CREATE INDEX jobs_by_status ON jobs (status, created_at);
CREATE INDEX jobs_by_user ON jobs (tenant_id, user_id, status);
CREATE INDEX jobs_by_batch ON jobs (batch_id, batch_index) WHERE batch_id IS NOT NULL;
