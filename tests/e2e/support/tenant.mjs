/**
 * A tenant of the pipeline with a key of its own, as a client.
 *
 * A reply is `{ status, headers, bytes, text, body }`; `body` is the parsed
 * JSON where the reply says it is JSON, its text otherwise.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { assertDescribed } from './described.mjs';
import { FORM_TYPE, formOf } from './form.mjs';
import { until } from './until.mjs';

const JSON_TYPE = { 'content-type': 'application/json' };

/** Creates the tenant in the database. `world()` tells where the Worker is now. */
export async function createTenant(world, name, { plan = 'free' } = {}) {
  const key = `key-${name}-${randomBytes(12).toString('hex')}`;
  const { d1 } = world().runtime;
  await d1.batch([
    d1.prepare('INSERT OR IGNORE INTO tenants (tenant_id, name, plan, created_at) VALUES (?, ?, ?, ?)').bind(name, name, plan, Date.now()),
    d1
      .prepare('INSERT INTO api_keys (key_hash, tenant_id, prefix, created_at) VALUES (?, ?, ?, ?)')
      .bind(createHash('sha256').update(key).digest('hex'), name, key.slice(0, name.length + 12), Date.now()),
  ]);
  return new Tenant(world, name, key);
}

export class Tenant {
  #world;

  constructor(world, name, key) {
    this.#world = world;
    Object.assign(this, { name, key, headers: { authorization: `Bearer ${key}` } });
  }

  /** Any request, with this tenant's key; `headers` come on top. */
  async request(method, path, { body, headers = {}, signal } = {}) {
    const sent = { ...this.headers, ...headers };
    const response = await fetch(this.#world().url + path, { method, headers: sent, body, signal, redirect: 'manual' });
    return describedReply(method, path, response);
  }

  /** Posts `pieces` as they are, without telling their length beforehand. */
  async stream(path, pieces, headers) {
    const sent = { ...this.headers, ...headers };
    const response = await fetch(this.#world().url + path, { method: 'POST', body: ReadableStream.from(pieces), duplex: 'half', headers: sent });
    return describedReply('POST', path, response);
  }

  get(path, headers) {
    return this.request('GET', path, { headers });
  }

  /** Text and bytes are sent as they are, anything else as JSON. */
  post(path, body, headers = {}) {
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    return this.request('POST', path, { body: raw ? body : JSON.stringify(body), headers: { ...JSON_TYPE, ...headers } });
  }

  submit(job, headers) {
    return this.post('/jobs', job, headers);
  }

  /** Submits a job that has to be accepted; its id. */
  async accepted(job, headers) {
    const reply = await this.submit(job, headers);
    assert.equal(reply.status, 202, reply.text);
    return reply.body.jobId;
  }

  /** `files` are `[{name, bytes}]`, `fields` the other fields of the form. */
  submitFiles(files, fields, headers) {
    return this.upload(formOf(files, fields), FORM_TYPE, headers);
  }

  upload(form, contentType, headers = {}) {
    return this.request('POST', '/batches', { body: form, headers: { ...headers, 'content-type': contentType } });
  }

  /** The job as its owner sees it. */
  async job(id) {
    const reply = await this.get(`/jobs/${id}`);
    assert.equal(reply.status, 200, reply.text);
    return reply.body;
  }

  async batch(id) {
    const reply = await this.get(`/batches/${id}`);
    assert.equal(reply.status, 200, reply.text);
    return reply.body;
  }

  result(id, format) {
    return this.get(`/jobs/${id}/result${format ? `?format=${format}` : ''}`);
  }

  /** The job once it has ended, however it did. */
  untilEnded(id, within = 30_000) {
    const ended = async () => {
      const job = await this.job(id);
      return !['pending', 'running'].includes(job.status) && job;
    };
    return until(ended, { within, what: `the end of job ${id}` });
  }

  /** The job once it has completed; any other end is an error. */
  async untilCompleted(id, within) {
    const job = await this.untilEnded(id, within);
    assert.equal(job.status, 'completed', JSON.stringify(job));
    return job;
  }

  untilBatchEnded(id, within = 60_000) {
    const ended = async () => {
      const batch = await this.batch(id);
      return batch.status === 'ended' && batch;
    };
    return until(ended, { within, what: `the end of batch ${id}` });
  }

  /** The texts that the files of a batch are answered with, in order; each of them has to complete. */
  async answersTo(files, fields) {
    const reply = await this.submitFiles(files, fields);
    assert.equal(reply.status, 202, reply.text);
    const { counts } = await this.untilBatchEnded(reply.body.batchId, 120_000);
    assert.equal(counts.completed, files.length, JSON.stringify(counts));
    return Promise.all(reply.body.jobs.map(async ({ jobId }) => (await this.result(jobId)).text));
  }

  /** Submits, waits, and tells the text of the answer. */
  async answerTo(job, headers) {
    const id = await this.accepted(job, headers);
    await this.untilCompleted(id);
    return (await this.result(id)).text;
  }
}

/** A response to this request, read to its end; it has to be as the API is described. */
export async function describedReply(method, target, response) {
  const reply = await replyOf(response);
  assertDescribed(method, target, reply);
  return reply;
}

/** A response, read to its end. */
export async function replyOf(response) {
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString();
  const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '') && bytes.length > 0;
  return { status: response.status, headers: response.headers, bytes, text, body: isJson ? JSON.parse(text) : text };
}
