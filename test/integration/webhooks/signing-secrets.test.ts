import { randomBytes, randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { leaseLanes } from '../../../src/webhooks/delivery/lease-lanes.sql.ts';
import { writeLanes } from '../../../src/webhooks/delivery/write-lanes.ts';
import { insertDeliveries } from '../../../src/webhooks/intake/insert-deliveries.sql.ts';
import { createSigningSecrets } from '../../../src/webhooks/secrets/signing-secrets.ts';
import type { SigningSecretsParts } from '../../../src/webhooks/secrets/signing-secrets.ts';
import { insertRow } from '../../support/insert-row.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { newDelivery } from './dispatch-desk.ts';
import { sharedWebhooksDatabase } from './shared-webhooks-database.ts';

const day = 24 * 3600_000;
const by = { actor: 'operator:abebe', requestId: 'req-1' };
const namedKey = (name: string) => ({ name, key: randomBytes(32) });
const key = namedKey('k1');

const database = sharedWebhooksDatabase();
let merchantId: string;
let clock: Date;
/** The time that every reader of the clock gets. A test moves it. */
const passTime = (ms: number): void => void (clock = new Date(clock.getTime() + ms));

beforeEach(async () => {
  await database.pool.query('truncate webhooks.signing_secrets, webhooks.audit_outbox');
  merchantId = newRandomId('mer', new Date());
  clock = new Date();
});

/** The secrets as one process has them, with its own cache. */
const openSecrets = (own: Partial<SigningSecretsParts> = {}) =>
  createSigningSecrets({
    database,
    keys: [key],
    newId: newRandomId,
    randomBytes,
    now: () => clock,
    machineNow: () => clock,
    monotonicMs: () => clock.getTime(),
    ...own,
  });

const sandbox = () => ({ merchantId, environment: 'SANDBOX' as const, endpointId: '' });
/** Adds a webhook endpoint, and returns its id. */
async function addEndpoint(of = merchantId): Promise<string> {
  const id = newRandomId('whe', new Date());
  await insertRow(database.pool, 'webhooks.webhook_endpoints', {
    ...{ merchant_id: of, id, environment: 'SANDBOX', url: `https://shop.example/${id}` },
    ...{ description: '', created_at: clock, updated_at: clock },
  });
  return id;
}
const stored = async (): Promise<unknown[]> => {
  const { rows } = await database.pool.query<object>(`
    select * from webhooks.signing_secrets order by is_current desc`);
  return rows;
};

describe('the first secret', () => {
  test('does not exist before it is shown, and signs the next call in every process', async () => {
    const [one, other] = [openSecrets(), openSecrets()];

    expect(await Promise.all([one.live(sandbox()), other.live(sandbox())])).toEqual([undefined, undefined]);
    expect(await one.problem(sandbox())).toBe('NOT_SHOWN');
    expect(await stored()).toHaveLength(0);
    const { secret, text } = await one.rotate(sandbox(), day, by);

    expect(secret).toMatchObject({ state: 'CURRENT', shown: true, promoteAt: null, ending: text.slice(-4) });
    expect(text).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(await Promise.all([one.live(sandbox()), other.live(sandbox())])).toEqual([
      { current: text },
      { current: text },
    ]);
    expect(await one.problem(sandbox())).toBeUndefined();
  });

  test('is replaced within five seconds in every process, even when the clock was set back meanwhile', async () => {
    // The cache treats an entry of time 0 as one without an end.
    let passedMs = 1;
    const other = openSecrets({ monotonicMs: () => passedMs });
    const one = openSecrets();
    const first = await one.rotate(sandbox(), 0, by);
    expect(await other.live(sandbox())).toEqual({ current: first.text });

    passTime(-3_600_000);
    const second = await one.rotate(sandbox(), 0, by);
    passedMs += 5_001;

    expect((await other.live(sandbox()))?.current).toBe(second.text);
  });

  test('is created once, and the next one is one of those returned, however many processes create them at once', async () => {
    const processes = [openSecrets(), openSecrets(), openSecrets(), openSecrets()];

    const made = await Promise.all(
      Array.from({ length: 12 }, (_, index) => processes[index % 4]!.rotate(sandbox(), day, by)),
    );

    const [current, ...others] = made.filter(({ secret }) => secret.state === 'CURRENT');
    expect(others).toEqual([]);
    const live = await openSecrets().live(sandbox());
    expect(live?.current).toBe(current?.text);
    expect(made.map(({ text }) => text)).toContain(live?.next);
    expect(await stored()).toHaveLength(2);
  });

  test('differs by environment, merchant and webhook endpoint', async () => {
    const secrets = openSecrets();
    const other = newRandomId('mer', new Date());
    const owners = [
      sandbox(),
      { ...sandbox(), environment: 'PRODUCTION' as const },
      { ...sandbox(), merchantId: other },
      { ...sandbox(), endpointId: await addEndpoint() },
    ];
    const made = await Promise.all(owners.map((owner) => secrets.rotate(owner, day, by)));

    expect(await Promise.all(owners.map((owner) => secrets.live(owner)))).toEqual(
      made.map(({ text }) => ({ current: text })),
    );
    expect(await secrets.list(other, undefined)).toHaveLength(1);
    expect((await secrets.list(merchantId, undefined)).map(({ id }) => id)).toEqual([
      made[0]?.secret.id,
      made[1]?.secret.id,
    ]);
    const { endpointId } = owners[3]!;
    const listed = await secrets.listOf(merchantId, [endpointId]);
    expect(listed(endpointId)).toMatchObject([{ id: made[3]?.secret.id }]);
  });

  test('of an earlier version that was never shown signs until one is shown, which replaces it at once', async () => {
    const secrets = openSecrets();
    const unseen = await secrets.rotate(sandbox(), day, by);
    await database.pool.query('update webhooks.signing_secrets set shown = false');
    expect(await openSecrets().live(sandbox())).toEqual({ current: unseen.text });

    const { secret, text } = await secrets.rotate(sandbox(), day, by);

    expect(secret).toMatchObject({ state: 'CURRENT', shown: true });
    expect(await secrets.live(sandbox())).toEqual({ current: text });
  });
});

describe('a lane that begins to wait for a secret', () => {
  const endpoint = 'https://shop.example';
  const holdKey = 4_711;

  /** Keeps transactions open that have changed a lane, while the test has the lock. */
  beforeEach(async () => {
    await database.pool.query(`
      create function webhooks.hold_lane() returns trigger language plpgsql as
        'begin perform pg_advisory_xact_lock_shared(${holdKey}); return null; end';
      create trigger hold_lane after update on webhooks.lanes execute function webhooks.hold_lane()`);
  });
  afterEach(async () => {
    await database.pool.query('drop trigger hold_lane on webhooks.lanes; drop function webhooks.hold_lane()');
  });

  /** The lane of a new delivery is released by the holder of this lease. */
  const release = (leaseId: string) => {
    const lane = { merchantId, environment: 'SANDBOX' as const, endpoint };
    return writeLanes(database.pool, [{ lane, leaseId, release: { delayMs: 0, awaitsSecret: true } }], {
      leaseMs: 20_000,
      random: Math.random,
    });
  };
  const waitOfLane = async () => {
    const { rows } = await database.pool.query<object>(sql`
      select awaits_secret_since::date::text as since, next_due_at <= now() as is_due from webhooks.lanes
      where merchant_id = ${merchantId}`);
    return rows[0];
  };

  test('has waited since its first release, whether or not the other environment has a secret', async () => {
    await insertDeliveries(database.pool, [newDelivery({ merchantId, url: `${endpoint}/hook` })]);
    await openSecrets().rotate({ ...sandbox(), environment: 'PRODUCTION' }, day, by);
    const leaseId = randomUUID();
    await database.pool.query(sql`update webhooks.lanes
      set awaits_secret_since = '2026-01-01T00:00:00Z', lease_id = ${leaseId}, leased_until = now()
      where merchant_id = ${merchantId}`);

    await release(leaseId);

    expect(await waitOfLane()).toEqual({ since: '2026-01-01', is_due: null });
  });

  test('is woken by a secret that is created meanwhile', async () => {
    const { pool } = database;
    await insertDeliveries(pool, [newDelivery({ merchantId, url: `${endpoint}/hook` })]);
    const leaseId = randomUUID();
    const leased = { lanes: 10, unhealthyLanes: 10, exceptOwners: [], leaseId, leaseMs: 20_000 };
    await leaseLanes(pool, leased);
    const holder = await pool.connect();
    await holder.query(sql`select pg_advisory_lock(${holdKey})`);

    const releasing = release(leaseId);
    await waitUntil('the release has changed the lane', async () => (await advisoryWaits()) === 1);
    let isRotated = false;
    const rotating = openSecrets()
      .rotate(sandbox(), day, by)
      .finally(() => (isRotated = true));
    await waitUntil('the secret is stored, or waits', async () => isRotated || (await advisoryWaits()) === 2);
    await holder.query(sql`select pg_advisory_unlock(${holdKey})`);
    holder.release();
    await Promise.all([releasing, rotating]);

    expect(await waitOfLane()).toEqual({ since: null, is_due: true });
  });

  async function advisoryWaits(): Promise<number> {
    const { rows } = await database.pool.query<{ count: number }>(`select count(*)::int as count from pg_locks
      where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`);
    return rows[0]?.count ?? 0;
  }
});

describe('rotation', () => {
  test('signs with both secrets until its time, and then with the new one only, to the millisecond and before any sweep', async () => {
    const secrets = openSecrets();
    const first = await secrets.rotate(sandbox(), day, by);
    const second = await secrets.rotate(sandbox(), day, by);

    expect(second.secret).toMatchObject({ state: 'NEXT', promoteAt: new Date(clock.getTime() + day) });
    expect(await secrets.live(sandbox())).toEqual({ current: first.text, next: second.text });
    passTime(day - 1);
    expect(await secrets.live(sandbox())).toEqual({ current: first.text, next: second.text });
    passTime(1);
    expect(await secrets.live(sandbox())).toEqual({ current: second.text });
    expect(await openSecrets().live(sandbox())).toEqual({ current: second.text });
    expect(await secrets.list(merchantId, 'SANDBOX')).toMatchObject([
      { id: second.secret.id, state: 'CURRENT', promoteAt: null },
    ]);
  });

  test('ends with a sweep that removes the previous secret once', async () => {
    const secrets = openSecrets();
    await secrets.rotate(sandbox(), day, by);
    const second = await secrets.rotate(sandbox(), day, by);
    expect(await secrets.promoteDue()).toBe(0);
    passTime(day);

    const counts = await Promise.all([secrets.promoteDue(), openSecrets().promoteDue()]);

    expect(counts.sort()).toEqual([0, 1]);
    expect(await stored()).toMatchObject([{ id: second.secret.id, is_current: true, promote_at: null }]);
  });

  test.each(['now', 'machineNow'] as const)(
    'does not end early while %s is ahead, and loses no secret',
    async (aheadClock) => {
      const secrets = openSecrets();
      const first = await secrets.rotate(sandbox(), day, by);
      const second = await secrets.rotate(sandbox(), day, by);
      const ahead = openSecrets({ [aheadClock]: () => new Date(clock.getTime() + 2 * day) });

      expect(await ahead.promoteDue()).toBe(0);
      expect(await ahead.live(sandbox())).toEqual({ current: first.text, next: second.text });
      expect(await ahead.list(merchantId, 'SANDBOX')).toMatchObject([
        { id: first.secret.id, state: 'CURRENT' },
        { id: second.secret.id, state: 'NEXT' },
      ]);
      const third = await ahead.rotate(sandbox(), day, by);
      expect(await secrets.live(sandbox())).toEqual({ current: first.text, next: third.text });
    },
  );

  test('that is repeated replaces the next secret, or keeps it when its time has passed and it is the current one', async () => {
    const secrets = openSecrets();
    const first = await secrets.rotate(sandbox(), day, by);
    await secrets.rotate(sandbox(), day, by);
    const third = await secrets.rotate(sandbox(), day, by);
    expect(await secrets.live(sandbox())).toEqual({ current: first.text, next: third.text });
    passTime(day);
    const fourth = await secrets.rotate(sandbox(), day, by);
    expect(await secrets.live(sandbox())).toEqual({ current: third.text, next: fourth.text });
  });

  test('happens at once on request', async () => {
    const secrets = openSecrets();
    await secrets.rotate(sandbox(), day, by);
    await secrets.rotate(sandbox(), day, by);
    const last = await secrets.rotate(sandbox(), 0, by);
    expect(last.secret.state).toBe('CURRENT');
    expect(await secrets.live(sandbox())).toEqual({ current: last.text });
    expect(await stored()).toHaveLength(1);
  });

  test('ends once with a manual promotion', async () => {
    const secrets = openSecrets();
    await secrets.rotate(sandbox(), day, by);
    expect(await secrets.promote(sandbox(), by)).toBeUndefined();
    const second = await secrets.rotate(sandbox(), day, by);

    expect(await secrets.promote(sandbox(), by)).toMatchObject({ id: second.secret.id, state: 'CURRENT' });
    expect(await secrets.live(sandbox())).toEqual({ current: second.text });
    expect(await secrets.promote(sandbox(), by)).toBeUndefined();
  });

  test('is in the audit log with the change, without the secret', async () => {
    const secrets = openSecrets();
    await secrets.rotate(sandbox(), day, by);
    passTime(1);
    const { secret, text } = await secrets.rotate(sandbox(), day, by);
    passTime(1);
    await secrets.promote(sandbox(), by);
    const { rows } = await database.pool.query('select * from webhooks.audit_outbox order by created_at, id');
    expect(rows).toMatchObject([
      { action: 'signing_secret.rotate', details: { promote_time: null } },
      {
        action: 'signing_secret.rotate',
        target_id: secret.id,
        merchant_id: merchantId,
        ...{ actor: by.actor },
      },
      { action: 'signing_secret.promote', target_id: secret.id, request_id: 'req-1' },
    ]);
    expect(JSON.stringify(rows)).not.toContain(text.slice(6));
  });
});

describe('encryption at rest', () => {
  test('no column of the schema holds a secret or its bytes', async () => {
    const secrets = openSecrets();
    const first = await secrets.rotate(sandbox(), day, by);
    const second = await secrets.rotate(sandbox(), day, by);

    const { rows } = await database.pool.query<{ text: string }>(`
      select schema_to_xml('webhooks', true, false, '')::text as text`);

    const dump = rows[0]!.text;
    // Bytes are dumped in base64, in places with line breaks.
    const bytes = [...dump.matchAll(/<sealed>([^<]+)<\/sealed>/g)].map(([, base64 = '']) =>
      Buffer.from(base64, 'base64'),
    );
    expect(bytes.length).toBeGreaterThan(0);
    for (const { text } of [first, second]) {
      const canaries = [text, text.slice(6), Buffer.from(text.slice(6), 'base64').toString('hex')];
      for (const canary of canaries) expect(dump.replaceAll(/\s/g, '')).not.toContain(canary);
      for (const each of bytes) {
        expect(each.includes(text.slice(6))).toBe(false);
        expect(each.includes(Buffer.from(text.slice(6), 'base64'))).toBe(false);
      }
    }
  });

  test('a new first key re-encrypts all secrets in batches while both keys are known', async () => {
    const old = openSecrets();
    const owners = await Promise.all(
      Array.from({ length: 250 }, async (_, index) => {
        const of = newRandomId('mer', new Date());
        return { ...sandbox(), merchantId: of, endpointId: index % 2 === 0 ? '' : await addEndpoint(of) };
      }),
    );
    const before: Awaited<ReturnType<typeof old.rotate>>[] = [];
    for (const owner of owners) before.push(await old.rotate(owner, day, by));
    const newKey = namedKey('k2');
    const rotating = [openSecrets({ keys: [newKey, key] }), openSecrets({ keys: [newKey, key] })];

    const rounds = await Promise.all(rotating.map((each) => each.reseal()));

    expect(rounds.reduce((sum, { resealed }) => sum + resealed, 0)).toBe(250);
    expect(await rotating[0]!.reseal()).toEqual({ resealed: 0, unusable: 0 });
    const withNewOnly = openSecrets({ keys: [newKey] });
    for (const [index, owner] of owners.entries())
      expect(await withNewOnly.live(owner)).toEqual({ current: before[index]?.text });
  });

  test('a secret with an unknown key is named, delays no other, and can be replaced at once', async () => {
    await openSecrets().rotate(sandbox(), day, by);
    const other = { ...sandbox(), merchantId: newRandomId('mer', new Date()) };
    const without = openSecrets({ keys: [namedKey('k2')] });

    await expect(without.live(sandbox())).rejects.toThrow('encrypted with the key "k1"');
    await without.rotate(other, day, by);
    expect(await without.live(other)).toMatchObject({ current: expect.any(String) });
    expect(await without.reseal()).toMatchObject({
      resealed: 0,
      unusable: 1,
      problem: { problem: { kind: 'KEY_MISSING', keyName: 'k1' } },
    });
    const { text } = await without.rotate(sandbox(), 0, by);
    expect(await without.live(sandbox())).toEqual({ current: text });
  });

  test('a row copied to another merchant does not sign', async () => {
    const secrets = openSecrets();
    await secrets.rotate(sandbox(), day, by);
    const thief = newRandomId('mer', new Date());
    await database.pool.query(sql`update webhooks.signing_secrets set merchant_id = ${thief}`);
    await expect(secrets.live({ ...sandbox(), merchantId: thief })).rejects.toThrow('cannot be decrypted');
  });
});
