import { randomBytes } from 'node:crypto';
import { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { clone, fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from '@jest/globals';
import type { Pool, PoolClient } from 'pg';
import { AuditFindingKind, AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { OrderEventSchema } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { blockHashOf, blockSealOf, commitmentOf } from '../../../src/core/audit/event-commitment.ts';
import { createRootSigner } from '../../../src/core/audit/day-root.ts';
import { sealEvents } from '../../../src/core/audit/seal-events.ts';
import { verifyEvents as findChanges } from '../../../src/core/audit/verify-events.ts';
import { deriveKey } from '../../../src/main/derive-key.ts';
import { storedId } from '../../support/ids.ts';
import {
  sharedClient,
  sharedConnection,
  sharedCoreDatabase,
  sharedStack,
  sharedTestDatabase,
} from '../../support/shared-stack.ts';
import { holdLocks } from '../../support/database-connections.ts';
import { outcomeOf } from '../../support/rpc-failure.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';
import { untilSealed, verifyEvents } from './verified-events.ts';
import type { Verified } from './verified-events.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);
const reader = sharedClient(stack, AuditService, 'reader');
const superuser = sharedConnection(() => stack.databaseUrl);

const emptyDatabase = sharedTestDatabase({ migrated: true });
const manyEvents = sharedCoreDatabase('event-chain', () => emptyDatabase.url, 4);

const verify = (request: Parameters<typeof verifyEvents>[1] = {}) => verifyEvents(reader, request);
const sealed = () => untilSealed(reader);

const wordsOf = ({ findings }: Verified): string[] =>
  findings.map(({ kind, orderNumber, sequence, blockNumber, day, fields }) =>
    [
      AuditFindingKind[kind],
      orderNumber,
      sequence > 0n ? `event ${sequence}` : '',
      orderNumber === '' && blockNumber > 0n ? `block ${blockNumber}` : '',
      day === '' ? '' : 'root',
      ...fields.map(({ field, sealed, stored }) => `${field} ${sealed}>${stored}`),
    ]
      .filter((word) => word !== '')
      .join(' '),
  );

/** A merchant with a paid and refunded order, a declined one, one with stray money, and a registered one. */
async function trade(): Promise<string> {
  const { id: merchantId } = await stack.createMerchant();
  const paid = await desk.startDirect({ merchantId, orderNumber: 'PAID' });
  await desk.settle(paid, outcomes.completed('t-1'));
  const { refundId } = await desk.refund(merchantId, 'PAID', { amount: '40.5' });
  await desk.recordRefund(await desk.takeRefund(refundId), { case: 'done', value: {} });
  const declined = await desk.startDirect({ merchantId, orderNumber: 'DECLINED' });
  await desk.settle(declined, outcomes.declined());
  const stray = await desk.startDirect({ merchantId, orderNumber: 'STRAY' });
  await desk.settle(stray, outcomes.completed('t-2', '1.00'));
  await desk.registerHosted({ merchantId, orderNumber: 'OPEN' });
  await sealed();
  return merchantId;
}

/** Adds completed refunds of 0.01 to the order PAID, with their events. */
async function addRefunds(merchantId: string, count: number): Promise<void> {
  const { rows } = await superuser.query<
    Record<'order_id' | 'sequence' | 'id', string> & { payload: Buffer }
  >(sql`select e.order_id, e.sequence, e.payload, r.id from core.order_events e
    join core.refunds r on r.merchant_id = e.merchant_id and r.order_id = e.order_id
    where e.merchant_id = ${storedId('mer', merchantId)} order by e.sequence desc limit 1`);
  const [last] = rows;
  if (last === undefined) throw new Error('no order has a refund');
  const completed = fromBinary(OrderEventSchema, last.payload);
  const events = Array.from({ length: count }, (_, index) => {
    const [eventId, refundId] = [newRandomId('evt', new Date()), newRandomId('rfd', new Date())];
    const event = { ...clone(OrderEventSchema, completed), eventId };
    Object.assign(event.refund ?? {}, { refundId, refundNumber: `ADDED-${index}`, amount: '0.01' });
    Object.assign(event.order ?? {}, { lastEventSequence: BigInt(Number(last.sequence) + index + 1) });
    return {
      id: storedId('evt', eventId),
      refundId: storedId('rfd', refundId),
      payload: toBinary(OrderEventSchema, event),
    };
  });
  const lists = [
    events.map(({ id }) => id),
    events.map(({ payload }) => Buffer.from(payload)),
    events.map(({ refundId }) => refundId),
  ];
  await superuser.query(
    `with added as (
       select n, id, payload, refund_id from unnest($3::uuid[], $4::bytea[], $5::uuid[]) with ordinality u (id, payload, refund_id, n)
     ), refund as (
       insert into core.refunds select (made).* from (
         select jsonb_populate_record(r, jsonb_build_object(
           'id', added.refund_id, 'refund_number', 'ADDED-' || n - 1, 'amount_minor_units', 1)) as made
         from core.refunds r, added where r.id = $2) made
     ), changed as (
       update core.orders o set last_event_sequence = last_event_sequence + (select count(*) from added) where o.id = $1
     )
     insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
     select e.merchant_id, e.environment, e.order_id, e.sequence + n, added.id, e.type, e.occurred_at, added.payload
     from core.order_events e, added where e.order_id = $1 and e.sequence = $6`,
    [last.order_id, last.id, ...lists, last.sequence],
  );
}

const changedTables = [
  'orders',
  'order_events',
  'payment_attempts',
  'refunds',
  'event_blocks',
  'event_chains',
  'audit_roots',
] as const;

/** Makes a change that only a superuser can make, without triggers and foreign keys, and reverts it afterwards. */
async function tampering<T>(statements: readonly string[], look: () => Promise<T>): Promise<T> {
  await superuser.query('create schema saved');
  await superuser.query("set session_replication_role = 'replica'");
  try {
    for (const table of changedTables)
      await superuser.query(`create table saved.${table} as table core.${table}`);
    for (const statement of statements) await superuser.query(statement);
    return await look();
  } finally {
    await superuser.query("set session_replication_role = 'replica'");
    for (const table of changedTables) {
      await superuser.query(`delete from core.${table}`);
      await superuser.query(`insert into core.${table} overriding system value select * from saved.${table}`);
    }
    await superuser.query('drop schema saved cascade');
    await superuser.query('reset session_replication_role');
  }
}

/** A pool whose connections call `after` when a query has ended. */
function watched(pool: Pool, after: (client: PoolClient, result: { rows?: unknown[] }) => unknown): Pool {
  const watchClient = (client: PoolClient): PoolClient =>
    new Proxy(client, {
      get(target, member) {
        const value: unknown = Reflect.get(target, member);
        if (typeof value !== 'function') return value;
        if (member !== 'query') return value.bind(target) as unknown;
        return async (...args: unknown[]) => {
          const result = (await Reflect.apply(value, target, args)) as { rows?: unknown[] };
          await after(target, result);
          return result;
        };
      },
    });
  return new Proxy(pool, {
    get: (target, member) =>
      member === 'connect'
        ? async () => watchClient(await target.connect())
        : (Reflect.get(target, member) as unknown),
  });
}

/** Writes the chains again over the events in their present form, all sealed at one time. */
async function rewriteChains(masterKey: Buffer, sealedAt: Date): Promise<void> {
  const { rows: events } = await superuser.query<Record<string, string> & { payload: Buffer }>(`
    select merchant_id, environment, order_id, sequence, id, type, (extract(epoch from occurred_at) * 1000)::bigint as at,
      payload, position from core.order_events order by xid, position`);
  await superuser.query("set session_replication_role = 'replica'");
  await superuser.query('delete from core.event_blocks');
  await superuser.query('delete from core.event_chains');
  for (const [merchantId, own] of Map.groupBy(events, (event) => event['merchant_id'] ?? '')) {
    const salts = randomBytes(16 * own.length);
    const commitments = Buffer.concat(
      own.map((event, index) =>
        commitmentOf(salts.subarray(index * 16, index * 16 + 16), {
          id: event['id'] ?? '',
          merchantId,
          environment: event['environment'] ?? '',
          orderId: event['order_id'] ?? '',
          sequence: Number(event['sequence']),
          type: event['type'] ?? '',
          occurredAt: new Date(Number(event['at'])),
          payload: event.payload,
        }),
      ),
    );
    const positions = own.map((event) => Number(event['position']));
    const previousHash = Buffer.alloc(32);
    const firstPosition = String(Math.min(...positions));
    const lastPosition = String(Math.max(...positions));
    const range = { firstPosition, lastPosition };
    const hash = blockHashOf({ merchantId, number: 1n, previousHash, sealedAt, ...range, commitments });
    const seal = blockSealOf(deriveKey(masterKey, 'event-seal'), hash);
    const ids = own.map((event) => event['order_id']);
    const sequences = own.map((event) => event['sequence']);
    await superuser.query(
      'insert into core.event_blocks values ($1, 1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
      [
        ...[merchantId, previousHash, hash, seal, sealedAt, firstPosition, lastPosition],
        ...[ids, sequences, salts, commitments],
      ],
    );
    await superuser.query(sql`insert into core.event_chains values (${merchantId}, 1, ${hash})`);
  }
  await superuser.query('reset session_replication_role');
}

const yesterday = () => new Date(Date.now() - 86_400_000);
const dayOf = (at: Date) => at.toISOString().slice(0, 10);

describe('the chains of events', () => {
  test('prove that nothing was changed, even while payments go on, and name each row that a superuser changed', async () => {
    const merchantId = await trade();
    const orders = "(select id from core.orders where order_number = 'PAID')";

    const untouched = await verify();
    expect(wordsOf(untouched)).toEqual([]);
    expect(untouched.summary).toMatchObject({ orderCount: 4n, findingCount: 0n, incomparableOrderCount: 0n });
    expect(untouched.summary.eventCount).toBeGreaterThanOrEqual(9n);

    const live = Array.from({ length: 20 }, (_, index) =>
      desk.startDirect({ merchantId, orderNumber: `LIVE-${index}` }),
    );
    const during = await Promise.all([verify(), ...live]);
    expect(wordsOf(during[0])).toEqual([]);
    await sealed();

    const lastBlock = `(select max(number) from core.event_blocks where merchant_id = '${storedId('mer', merchantId)}')`;
    const events = 'update core.order_events set';
    const ofPaid = `where order_id = ${orders}`;
    const cases: Readonly<Record<string, readonly [statements: string[], found: string[]]>> = {
      'the amount of an order': [
        ["update core.orders set deducted_minor_units = 1 where order_number = 'PAID'"],
        ['ROW_CHANGED PAID deducted_minor_units 10050>1'],
      ],
      'the environment of an order, its payment and its refund': [
        ['orders', 'payment_attempts', 'refunds'].map(
          (table) =>
            `update core.${table} set environment = 'PRODUCTION' where ${table === 'orders' ? 'id' : 'order_id'} = ${orders}`,
        ),
        Array<string>(3).fill('ROW_CHANGED PAID environment SANDBOX>PRODUCTION'),
      ],
      'the state of an order': [
        ["update core.orders set status = 'EXPIRED', sweep_at = null where order_number = 'OPEN'"],
        ['ROW_CHANGED OPEN status PENDING>EXPIRED'],
      ],
      'a deleted order': [[`delete from core.orders where order_number = 'OPEN'`], ['ROW_DELETED OPEN']],
      'an inserted order': [
        [
          `insert into core.orders select (o).* from (
             select jsonb_populate_record(o, jsonb_build_object('id', gen_random_uuid(), 'order_number', 'EXTRA')) as o
             from core.orders o where order_number = 'OPEN') made`,
        ],
        ['ROW_INSERTED EXTRA'],
      ],
      'a deleted event': [
        [`delete from core.order_events ${ofPaid} and sequence = 2`],
        ['EVENT_DELETED PAID event 2'],
      ],
      'an event with a number far away': [
        [`${events} sequence = sequence + 2000000000 ${ofPaid} and sequence > 4`],
        [...[5, 6].map((n) => `EVENT_DELETED PAID event ${n}`), 'EVENT_NOT_SEALED PAID event 2000000005'],
      ],
      'an edited event': [
        [`${events} occurred_at = occurred_at - interval '1 hour' ${ofPaid} and sequence = 3`],
        ['EVENT_CHANGED PAID event 3'],
      ],
      'an edited payload': [
        [
          `${events} payload = set_byte(payload, length(payload) - 1, get_byte(payload, length(payload) - 1) # 1)
           ${ofPaid} and sequence = 3`,
        ],
        ['EVENT_CHANGED PAID event 3'],
      ],
      'an inserted event': [
        [
          `insert into core.order_events overriding system value
           select merchant_id, environment, order_id, sequence + 1, gen_random_uuid(), type, occurred_at, payload, xid, -1
           from core.order_events where order_id = (select id from core.orders where order_number = 'OPEN')`,
        ],
        ['EVENT_NOT_SEALED OPEN event 2'],
      ],
      'two swapped events': [
        [
          ...[
            [1, 99],
            [2, 1],
            [99, 2],
          ].map(([from, to]) => `${events} sequence = ${to} ${ofPaid} and sequence = ${from}`),
        ],
        ['EVENT_CHANGED PAID event 1', 'EVENT_CHANGED PAID event 2'],
      ],
      'the state of an attempt': [
        [
          "update core.payment_attempts set status = 'SUCCEEDED', decline_reason = null where decline_reason = 'insufficient_funds'",
        ],
        ['ROW_CHANGED DECLINED status DECLINED>SUCCEEDED decline_reason insufficient_funds>'],
      ],
      'a refund': [
        ['update core.refunds set amount_minor_units = 1'],
        ['ROW_CHANGED PAID amount_minor_units 4050>1'],
      ],
      'a deleted refund': [['delete from core.refunds'], ['ROW_DELETED PAID']],
      'a block': [
        [`update core.event_blocks set sealed_at = sealed_at - interval '1 day' where number = 1`],
        ['BLOCK_CHANGED block 1'],
      ],
      'an event added to a block': [
        ['update core.event_blocks set sequences = sequences || 9 where number = 1'],
        ['BLOCK_CHANGED block 1'],
      ],
      'an event without an order added to a block': [
        [
          `update core.event_blocks set sequences = sequences || 9, order_ids = order_ids || null::uuid,
             salts = salts || substr(salts, 1, 16) where number = 1`,
        ],
        ['BLOCK_CHANGED block 1'],
      ],
    };
    const foundAfter = (statements: readonly string[]) =>
      tampering(statements, async () => wordsOf(await verify({ merchantId })));
    for (const [what, [statements, found]] of Object.entries(cases))
      expect({ what, words: await foundAfter(statements) }).toEqual({ what, words: found });
    expect(wordsOf(await verify())).toEqual([]);

    const withoutLast = [`delete from core.event_blocks where number = ${lastBlock}`];
    const untraced = ['update core.event_chains set number = number - 1', ...withoutLast];
    expect((await foundAfter(withoutLast))[0]).toMatch(/^BLOCK_DELETED block \d+$/);
    expect((await foundAfter(untraced))[0]).toMatch(/^EVENT_NOT_SEALED LIVE-\d+ event \d$/);
    // The number of findings is not that of the missing blocks.
    const raised = await foundAfter(['update core.event_chains set number = number + 1e15::bigint']);
    expect(raised).toEqual([expect.stringMatching(/^BLOCK_DELETED block \d+$/)]);

    // Without its salt nobody can recompute a commitment, so a removed salt is a change.
    const unsalted = await foundAfter([
      `update core.event_blocks set salts = decode(repeat('00', octet_length(salts)), 'hex') where number = ${lastBlock}`,
    ]);
    expect(unsalted.length).toBeGreaterThan(0);
    expect(unsalted.every((words) => words.startsWith('EVENT_CHANGED '))).toBe(true);
  });

  test('have a signed root for each day, which finds a rewritten chain even when the keys are known', async () => {
    const masterKey = Buffer.from(stack.coreSettings['GATEHOUSE_MASTER_KEY'] ?? '', 'hex');
    const merchantId = await trade();
    const at = yesterday();
    await rewriteChains(masterKey, at);
    const kept = await waitUntil('the day is closed', () =>
      reader.getAuditRoot({ day: dayOf(at) }).catch(() => undefined),
    );
    const keptRoots = [kept.root ?? {}];

    expect(wordsOf(await verify({ keptRoots }))).toEqual([]);
    expect(wordsOf(await verify({ keptRoots: [{ ...kept.root!, chains: [] }] }))).toEqual([]);
    expect((await verify({ keptRoots })).summary.rootCount).toBe(2n);

    const day = dayOf(at);
    const nameless = {
      day,
      previousRoot: randomBytes(32),
      root: randomBytes(32),
      chains: [{ blockNumber: 1n }],
    };
    await expect(verify({ keptRoots: [nameless] })).rejects.toThrow(
      'kept_roots[0].chains[0].merchant_id must be an id of the form mer_…',
    );

    // Without core's key the seal is wrong. With it, the roots differ.
    const withoutKey = await tampering([], async () => {
      await rewriteChains(randomBytes(32), at);
      return wordsOf(await verify({ merchantId }));
    });
    expect(withoutKey).toEqual(['BLOCK_FORGED block 1']);
    const edit = "update core.orders set amount_text = '1.00' where order_number = 'OPEN'";
    const [rewritten, ofMerchant] = await tampering([edit], async () => {
      await rewriteChains(masterKey, at);
      await superuser.query("set session_replication_role = 'replica'");
      await superuser.query('delete from core.audit_roots');
      return [await verify({ keptRoots }), await verify({ merchantId, keptRoots })] as const;
    });
    expect(wordsOf(rewritten)).toContain('ROOT_DIFFERS root');
    expect(
      rewritten.findings.every(({ keptRoot, kind }) => keptRoot || kind !== AuditFindingKind.ROOT_DIFFERS),
    ).toBe(true);
    expect(wordsOf(ofMerchant)).toContain('ROOT_DIFFERS root');

    const forgedRoot = await tampering(['update core.audit_roots set root = sha256(root)'], async () =>
      wordsOf(await verify()),
    );
    expect(forgedRoot).toEqual(['ROOT_DIFFERS root', 'ROOT_FORGED root']);
    for (const [days, previous, found] of [
      [1, 'root', []],
      [1, 'previous_root', ['ROOT_DELETED root']],
      [2, 'root', ['ROOT_DELETED root']],
    ] as const) {
      const later = `insert into core.audit_roots (day, previous_root, root, signature)
        select day + ${days}, ${previous}, root, signature from core.audit_roots`;
      const words = await tampering([later], async () => wordsOf(await verify()));
      expect(words).toEqual(['ROOT_DIFFERS root', 'ROOT_FORGED root', ...found]);
    }

    // A message of all chains would be too long.
    const chains = await tampering(
      [
        "insert into core.event_chains select gen_random_uuid(), 1, sha256('') from generate_series(1, 60000)",
        `insert into core.event_blocks select merchant_id, 1, hash, hash, hash, '${at.toISOString()}', 1, 1, '{}', '{}', '', ''
         from core.event_chains on conflict do nothing`,
      ],
      async () => (await reader.getAuditRoot({ day: dayOf(at) })).root?.chains,
    );
    expect(chains).toEqual([]);

    // A restored database has other chains for the time that it lost, and for no other day.
    const begin = Date.parse(dayOf(at));
    const end = begin + 86_400_000;
    const lostTimes = [
      [begin - 2, begin - 1, false],
      [begin - 1, begin, true],
      [end - 1, end, true],
      [end, end + 1, false],
    ] as const;
    const explained = await tampering([], async () => {
      await rewriteChains(masterKey, at);
      const answers: (readonly unknown[])[] = [];
      for (const [from, until] of lostTimes) {
        await superuser.query(
          `insert into core.recoveries (id, cause, lost_from, lost_until, closed, finished_at)
           values (gen_random_uuid(), 'OPERATOR', $1, $2, '{}', $2)`,
          [new Date(from), new Date(until)],
        );
        const { findings, summary } = await verify({ keptRoots });
        await superuser.query('delete from core.recoveries');
        const roots = findings.filter(({ kind }) => kind === AuditFindingKind.ROOT_DIFFERS);
        const areExplained = roots.map(({ explainedByRestore }) => explainedByRestore);
        answers.push([from, until, ...new Set([...areExplained, summary.findingCount === 0n])]);
      }
      return answers;
    });
    expect(explained).toEqual(lostTimes);
  });

  test('have a gap that only a restore explains which lost the time between the events around it', async () => {
    const masterKey = Buffer.from(stack.coreSettings['GATEHOUSE_MASTER_KEY'] ?? '', 'hex');
    const merchantId = await trade();
    const paid = `(select id from core.orders where order_number = 'PAID' and merchant_id = '${storedId('mer', merchantId)}')`;
    // The second event is missing, between 11:00 and 13:00.
    const gap = [
      `delete from core.order_events where order_id = ${paid} and sequence = 2`,
      `update core.order_events set occurred_at = '2026-01-01 10:00Z'::timestamptz + sequence * interval '1 hour' where order_id = ${paid}`,
    ];
    const lostTimes = [
      ['10:00', '10:59', false],
      ['10:30', '11:00', true],
      ['11:30', '12:30', true],
      ['13:00', '14:00', true],
      ['13:01', '14:00', false],
    ] as const;

    const explained = await tampering(gap, async () => {
      await rewriteChains(masterKey, new Date());
      const answers: (readonly (boolean | string)[])[] = [];
      for (const [from, until] of lostTimes) {
        await superuser.query(
          `insert into core.recoveries (id, cause, lost_from, lost_until, closed, finished_at)
           values (gen_random_uuid(), 'OPERATOR', $1, $2, '{}', $2)`,
          [`2026-01-01 ${from}Z`, `2026-01-01 ${until}Z`],
        );
        const { findings } = await verify({ merchantId });
        await superuser.query('delete from core.recoveries');
        const deleted = findings.filter(({ kind }) => kind === AuditFindingKind.EVENT_DELETED);
        answers.push([from, until, ...deleted.map(({ explainedByRestore }) => explainedByRestore)]);
      }
      return answers;
    });

    expect(explained).toEqual(lostTimes);
  });

  test('of an order with very many refunds name each row that was changed', async () => {
    const merchantId = await trade();
    await addRefunds(merchantId, 700);
    await waitUntil('all events are sealed', async () => {
      const { summary } = await verify({ merchantId });
      return summary.waitingEventCount === 0n;
    });

    const untouched = await verify({ merchantId });
    expect(wordsOf(untouched)).toEqual([]);
    expect(untouched.summary).toMatchObject({ orderCount: 4n, incomparableOrderCount: 0n });
    expect(untouched.summary.eventCount).toBeGreaterThan(700n);

    const own = `merchant_id = '${storedId('mer', merchantId)}'`;
    const refund = (number: number) => `${own} and refund_number = 'ADDED-${number}'`;
    const cases: Readonly<Record<string, readonly [statements: string[], found: string[]]>> = {
      'the amount of the order': [
        [`update core.orders set deducted_minor_units = 1 where ${own} and order_number = 'PAID'`],
        ['ROW_CHANGED PAID deducted_minor_units 10050>1'],
      ],
      'the wallet of its payment': [
        [
          `update core.payment_attempts set payment_option = 'walletb_ussd' where ${own} and status = 'SUCCEEDED'`,
        ],
        ['ROW_CHANGED PAID payment_option walleta_ussd>walletb_ussd'],
      ],
      'two refunds': [
        [1, 699].map((number) => `update core.refunds set amount_minor_units = 2 where ${refund(number)}`),
        Array<string>(2).fill('ROW_CHANGED PAID amount_minor_units 1>2'),
      ],
      'a deleted refund': [[`delete from core.refunds where ${refund(650)}`], ['ROW_DELETED PAID']],
      'an inserted refund': [
        [
          `insert into core.refunds select (made).* from (
             select jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'refund_number', 'EXTRA')) as made
             from core.refunds r where ${refund(650)}) made`,
        ],
        ['ROW_INSERTED PAID'],
      ],
      'an edited event': [
        [
          `update core.order_events set occurred_at = occurred_at - interval '1 hour' where ${own} and sequence = 600`,
        ],
        ['EVENT_CHANGED PAID event 600'],
      ],
      'a deleted event': [
        [`delete from core.order_events where ${own} and sequence = 600`],
        ['EVENT_DELETED PAID event 600'],
      ],
    };
    for (const [what, [statements, found]] of Object.entries(cases)) {
      const words = await tampering(statements, async () => wordsOf(await verify({ merchantId })));
      expect({ what, words }).toEqual({ what, words: found });
    }
  });

  test('are compared for one role at a time, and for another role beside it', async () => {
    const operator = stack.client(AuditService, 'operator');
    const release = await holdLocks(stack.databaseUrl, 'lock table core.recoveries in access exclusive mode');
    const compare = (audit: typeof operator) =>
      Array.from({ length: 6 }, () => outcomeOf(verifyEvents(audit)));

    const byReaders = compare(stack.client(AuditService, 'reader'));
    const first = await Promise.race(byReaders);
    const byOperators = compare(operator);
    await Promise.race(byOperators);
    await release();

    expect(first).toBe('OVERLOADED');
    for (const calls of [byReaders, byOperators])
      expect(new Set(await Promise.all(calls))).toEqual(new Set(['done', 'OVERLOADED']));
  });

  test('with many events are sealed in order, and compared with one page in memory at a time', async () => {
    const parts = {
      database: manyEvents,
      sealKey: randomBytes(32),
      erasureKey: randomBytes(32),
      signer: createRootSigner(randomBytes(32)),
      randomBytes,
      now: () => new Date(),
    };
    const [ofSmall, ofLarge, merchants] = [12_000, 4_000, 2];
    const events = ofSmall + ofLarge;
    await manyEvents.pool.query(
      `insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
       select md5((i % $2)::text)::uuid, 'SANDBOX', md5((i / 6)::text)::uuid, i / 2 % 3 + 1, gen_random_uuid(), 'CREATED', now(), '\\x'
       from generate_series(0, $1 - 1) i`,
      [ofSmall, merchants],
    );
    await manyEvents.pool.query(
      `insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
       select md5('0')::uuid, 'SANDBOX', md5('large')::uuid, i, gen_random_uuid(), 'CREATED', now(), '\\x'
       from generate_series(1, $1::integer) i`,
      [ofLarge],
    );
    const never = new AbortController().signal;
    const day = 24 * 60 * 60_000;
    const threeDaysAgo = () => new Date(Date.now() - 3 * day);
    // A transaction that has written and goes on would delay the events of all orders.
    let openWriters = 0;
    const watchWrites = async (client: PoolClient): Promise<void> => {
      const { rows } = await client.query<{ writes: boolean }>(`
        select pg_current_xact_id_if_assigned() is not null as writes`);
      openWriters += Number(rows[0]?.writes);
    };
    const sealing = { ...parts, database: { pool: watched(manyEvents.pool, watchWrites) } };
    // A transaction of another test may hold the events back.
    await waitUntil('all events are sealed', async () => {
      await sealEvents({ ...sealing, now: threeDaysAgo }, never);
      const { rows } = await manyEvents.pool.query<{ sealed: number }>(`
        select coalesce(sum(cardinality(sequences)), 0)::int as sealed from core.event_blocks`);
      return rows[0]?.sealed === events;
    });
    await sealEvents(sealing, never);
    expect(openWriters).toBe(0);

    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    let maxRows = 0;
    let fullPages = 0;
    let maxKept = 0;
    const seen: WeakRef<object>[] = [];
    const countRows = (_client: PoolClient, { rows = [] }: { rows?: unknown[] }): void => {
      maxRows = Math.max(maxRows, rows.length);
      seen.push(...(rows as object[]).map((row) => new WeakRef(row)));
      // A collection takes half a second in the heap of many tests. Eight pages are more than may be in memory.
      if (rows.length < 500 || ++fullPages % 8 > 0) return;
      collectGarbage();
      maxKept = Math.max(maxKept, seen.filter((row) => row.deref() !== undefined).length);
    };
    const pool = watched(manyEvents.pool, countRows);
    // Any silence is longer. The server sorts for seconds in a large gateway.
    pool.on('acquire', ({ connection: { stream } }) => stream instanceof Socket && stream.setTimeout(1));
    const summary = { events: 0, erased: 0, waiting: 0, orders: 0, incomparable: 0, blocks: 0, roots: 0 };
    const asked = { merchantId: undefined, keptRoots: [] };
    for await (const finding of findChanges({ ...parts, database: { pool } }, asked, summary))
      expect(finding).toBe('no finding');
    expect(summary).toMatchObject({
      events,
      waiting: 0,
      blocks: (ofSmall / 500) * merchants + ofLarge / 500,
      roots: 3,
    });
    expect(maxRows).toBeLessThanOrEqual(500);
    expect(maxKept).toBeGreaterThan(0);
    expect(maxKept).toBeLessThanOrEqual(4 * 500);
  });
});
