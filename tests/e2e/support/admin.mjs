/**
 * The operator, as a client of the admin API.
 *
 *     const acme = await world.admin.tenant('acme', { plan: 'pro' });
 *     await world.admin.change('acme', { suspended: true });
 */
import assert from 'node:assert/strict';
import { Tenant, describedReply } from './tenant.mjs';

/** What every stage sets, unless its `vars` say otherwise. */
export const ADMIN_TOKEN = 'the operator of the tests';

const JSON_TYPE = { 'content-type': 'application/json' };

export class Admin {
  #world;

  /** `world()` tells where the Worker is now. */
  constructor(world) {
    this.#world = world;
    this.headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  }

  /** Any request with the token; text and bytes are sent as they are, anything else as JSON. */
  async request(method, path, body, headers = {}) {
    const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
    const sent = { ...JSON_TYPE, ...this.headers, ...headers };
    const response = await fetch(this.#world().url + path, { method, body: raw ? body : JSON.stringify(body), headers: sent });
    return describedReply(method, path, response);
  }

  /** The body of an answer of this status. */
  async told(status, ...asked) {
    const reply = await this.request(...asked);
    assert.equal(reply.status, status, reply.text);
    return reply.body;
  }

  get(path) {
    return this.told(200, 'GET', path);
  }

  create(tenantId, fields) {
    return this.told(201, 'POST', '/admin/tenants', { tenantId, ...fields });
  }

  change(tenant, patch) {
    return this.told(200, 'PATCH', `/admin/tenants/${tenant}`, patch);
  }

  /** A new key: `{ key, prefix, name?, createdAt }`. */
  key(tenant, name) {
    return this.told(201, 'POST', `/admin/tenants/${tenant}/keys`, { name });
  }

  revoke(tenant, prefix) {
    return this.told(200, 'DELETE', `/admin/tenants/${tenant}/keys/${prefix}`);
  }

  /** The entries of the audit, newest first. */
  async audit(query = '') {
    return (await this.get(`/admin/audit?limit=100${query}`)).entries;
  }

  /** A new tenant with a key, as a client. */
  async tenant(tenantId, fields) {
    await this.create(tenantId, fields);
    return this.client(tenantId);
  }

  /** A client with a new key; `client.prefix` names the key. */
  async client(tenantId) {
    const { key, prefix } = await this.key(tenantId);
    return Object.assign(new Tenant(this.#world, tenantId, key), { prefix });
  }
}

/** All that D1 holds, table by table. */
export async function dumpOf({ runtime: { d1 } }) {
  const tables = ['tenants', 'api_keys', 'audit', 'batches', 'jobs', 'idempotency'];
  const found = await d1.batch(tables.map((table) => d1.prepare(`SELECT * FROM ${table}`)));
  return Object.fromEntries(tables.map((table, i) => [table, found[i].results]));
}
