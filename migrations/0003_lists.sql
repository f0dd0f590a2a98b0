-- Lists are in the order in which things were accepted. An id is older than its
-- row: by as long as the upload took. The moment goes before the id, both of
-- one width, so that one text compares as the two would.
ALTER TABLE jobs ADD COLUMN listed TEXT;
UPDATE jobs SET listed = printf('%015d-%s', created_at, job_id);
ALTER TABLE batches ADD COLUMN listed TEXT;
UPDATE batches SET listed = printf('%015d-%s', created_at, batch_id);

DROP INDEX jobs_by_user;
CREATE INDEX jobs_by_user ON jobs (tenant_id, user_id, status, priority, listed)
  WHERE user_id IS NOT NULL;
DROP INDEX jobs_by_tenant;
CREATE INDEX jobs_by_tenant ON jobs (tenant_id, status, priority, listed);
DROP INDEX batches_by_tenant;
CREATE INDEX batches_by_tenant ON batches (tenant_id, priority, listed);
