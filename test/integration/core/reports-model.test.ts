import { newRandomId, storedId } from '../../../src/contract/public-id.ts';
import type { StoredId } from '../../../src/contract/public-id.ts';
import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type pg from 'pg';
import { v7 } from 'uuid';
import type { OrderEventType } from '../../../src/core/domain/order.ts';
import { countEvents } from '../../../src/core/reports/count-events.ts';
import { orderReport } from '../../../src/core/reports/order-report.ts';
import { readBehindSince, readReport } from '../../../src/core/reports/read-report.sql.ts';
import { stepStarts } from '../../../src/core/reports/step-starts.ts';
import {
  OrderEventSchema,
  OrderEventType as SentType,
  PaymentAttemptStatus,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import { encodeMessage } from '../../../src/platform/rpc/message-bytes.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sharedTestDatabase, sharedConnection, sharedCoreDatabase } from '../../support/shared-stack.ts';
import { connectToDatabase } from '../../support/database-connections.ts';
import { sql } from '../../support/sql.ts';

const stop = new AbortController();

const testDatabase = sharedTestDatabase();
const client = sharedConnection(() => testDatabase.url);
const database = sharedCoreDatabase('counting', () => testDatabase.url, 4);

const from = new Date('2026-11-01T00:00:00Z');
const hours = 48;
const hourMs = 3_600_000;
const options = ['walleta_ussd', 'walletb_ussd', 'walleta_wallet'] as const;

interface Happened {
  readonly type: OrderEventType;
  readonly minute: number;
  readonly minorUnits: number;
  readonly currency: 'ETB' | 'USD';
  readonly option: (typeof options)[number];
  /** '' for an attempt that timed out. */
  readonly reason: string;
  /** Whether the event is about an attempt. */
  readonly aboutAttempt: boolean;
  /** The command of the event's decision. `cancel` only has a meaning for FAILED events. */
  readonly command: 'cancel' | 'send_attempt' | 'decline_attempt';
  /** Whether the wallet certainly got no request. */
  readonly unsent: boolean;
}

const happened: fc.Arbitrary<Happened> = fc.record({
  type: fc.constantFrom<OrderEventType>(
    ...(['CREATED', 'PAYMENT_STARTED', 'PAYMENT_DECLINED', 'COMPLETED', 'FAILED', 'EXPIRED'] as const),
  ),
  minute: fc.integer({ min: -120, max: hours * 60 + 120 }),
  minorUnits: fc.integer({ min: 1, max: 10 ** 14 - 1 }),
  currency: fc.constantFrom('ETB', 'USD'),
  option: fc.constantFrom(...options),
  reason: fc.constantFrom('', 'wrong_pin', 'insufficient_funds'),
  aboutAttempt: fc.boolean(),
  command: fc.constantFrom('cancel', 'send_attempt', 'decline_attempt'),
  unsent: fc.boolean(),
});

/** A registration soon after the beginning of the report. */
const event: Happened = {
  ...{ type: 'CREATED', minute: 5, minorUnits: 1, currency: 'ETB', option: 'walleta_ussd', reason: '' },
  ...{ aboutAttempt: false, command: 'decline_attempt', unsent: false },
};

const text = (minorUnits: number | bigint): string => {
  const digits = String(minorUnits).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
};

const hasAttempt = ({ type, aboutAttempt }: Happened): boolean =>
  type === 'PAYMENT_DECLINED' || (type === 'FAILED' && aboutAttempt);

const isCancelled = (event: Happened): boolean =>
  event.type === 'FAILED' && (event.command === 'cancel' || !hasAttempt(event));
const isUnsent = (event: Happened): boolean => hasAttempt(event) && event.command === 'send_attempt';
const isFailedPayment = (event: Happened): boolean =>
  hasAttempt(event) && !isCancelled(event) && !isUnsent(event);
const isUnpaid = (event: Happened): boolean =>
  event.type === 'FAILED' && (isCancelled(event) || isUnsent(event));

function payloadOf(event: Happened): Buffer {
  const message = create(OrderEventSchema, {
    type: SentType[event.type],
    decision: { command: event.command, unsent: event.unsent },
    occurTime: timestampFromDate(from),
    order: {
      ...{ orderId: 'ord_x', currency: event.currency },
      ...{ deducted: text(event.minorUnits), paymentOption: event.option },
    },
    ...(hasAttempt(event) && {
      paymentAttempt: {
        ...{ paymentOption: event.option, declineReason: event.reason },
        status: event.reason === '' ? PaymentAttemptStatus.TIMED_OUT : PaymentAttemptStatus.DECLINED,
      },
    }),
  });
  return encodeMessage(OrderEventSchema, message);
}

const newMerchantId = () => storedId('mer', newRandomId('mer', new Date()));

async function store(
  through: pg.Client,
  merchantId: StoredId<'mer'>,
  events: readonly Happened[],
): Promise<void> {
  for (const event of events) {
    await through.query(sql`
      insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
      values (${merchantId}, 'SANDBOX', ${v7()}, 1, ${v7()}, ${event.type}, ${atHour(event.minute / 60)},
        ${payloadOf(event)})`);
  }
}

/** The report, computed from the events themselves. */
function model(events: readonly Happened[]) {
  const within = events.filter(({ minute }) => minute >= 0 && minute < hours * 60);
  const collected = (list: readonly Happened[]) =>
    (['ETB', 'USD'] as const).flatMap((currency) => {
      const paid = list.filter((event) => event.type === 'COMPLETED' && event.currency === currency);
      const sum = paid.reduce((total, { minorUnits }) => total + BigInt(minorUnits), 0n);
      return paid.length === 0 ? [] : [{ currency, amount: text(sum), orders: BigInt(paid.length) }];
    });
  const count = (list: readonly Happened[], type: OrderEventType): bigint =>
    BigInt(list.filter((event) => event.type === type).length);
  const counts = (list: readonly Happened[]) => ({
    registered: count(list, 'CREATED'),
    completed: count(list, 'COMPLETED'),
    failed: count(list, 'FAILED'),
    expired: count(list, 'EXPIRED'),
    cancelled: BigInt(list.filter(isUnpaid).length),
    collected: collected(list),
  });
  const abandoned = within.flatMap((event) => {
    if (event.type === 'EXPIRED') return ['session_ended'];
    if (isCancelled(event)) return ['cancelled'];
    return isUnpaid(event) ? ['money_not_returned'] : [];
  });
  const failed = within
    .filter(isFailedPayment)
    .map(({ reason, unsent }) => (reason !== '' ? reason : unsent ? 'not_sent' : 'timed_out'));
  const timesOf = (reasons: readonly string[]) =>
    new Map(reasons.map((reason) => [reason, reasons.filter((other) => other === reason).length]));
  return {
    total: counts(within),
    steps: Array.from({ length: 2 }, (_, day) =>
      counts(within.filter(({ minute }) => Math.floor(minute / 1440) === day)),
    ),
    failures: timesOf(failed),
    abandoned: timesOf(abandoned),
    options: [...options].sort().flatMap((option) => {
      const own = within.filter(
        (event) => event.option === option && (event.type === 'COMPLETED' || isFailedPayment(event)),
      );
      if (own.length === 0) return [];
      const succeeded = count(own, 'COMPLETED');
      return [{ option, succeeded, failed: BigInt(own.length) - succeeded, collected: collected(own) }];
    }),
  };
}

const atHour = (hour: number): Date => new Date(from.getTime() + hour * hourMs);
const rowsOf = (merchantId: StoredId<'mer'>, starts: readonly Date[], to: Date) =>
  readReport(database.pool, { merchantId, environment: 'SANDBOX', starts, to });

const kill = (): Promise<unknown> =>
  client.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'counting'`);

async function countAll(): Promise<void> {
  await waitUntil('everything is counted', async () => {
    await countEvents(database, stop.signal).catch(() => undefined);
    return (await readBehindSince(database.pool).catch(() => new Date())) === null;
  });
}

test('every event is counted once, through crashes, two concurrent counts and late commits', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(happened, { maxLength: 40 }),
      fc.array(happened, { maxLength: 10 }),
      fc.boolean(),
      async (soon, late, crash) => {
        const merchantId = newMerchantId();
        const slow = await connectToDatabase(testDatabase.url);
        await slow.query('begin');
        await store(slow, merchantId, late);
        const counting = [1, 2].map(() => countEvents(database, stop.signal).catch(() => undefined));
        await store(client, merchantId, soon);
        if (crash) await kill();
        counting.push(countEvents(database, stop.signal).catch(() => undefined));
        await slow.query('commit');
        await slow.end();
        await Promise.all(counting);

        await countAll();

        const report = orderReport(await rowsOf(merchantId, [from, atHour(24)], atHour(hours)), 2);
        const { failures, abandoned, ...expected } = model([...soon, ...late]);
        expect(report).toMatchObject(expected);
        const timesIn = (list: typeof report.failures) =>
          new Map(list.map(({ reason, count }) => [reason, Number(count)]));
        expect(timesIn(report.failures)).toEqual(failures);
        expect(timesIn(report.abandoned)).toEqual(abandoned);
      },
    ),
    { numRuns: 25 },
  );
});

test('amounts of the same quarter of an hour add up, even when they are counted one after the other', async () => {
  const merchantId = newMerchantId();
  for (const minorUnits of [10_050, 4_025]) {
    await store(client, merchantId, [{ ...event, type: 'COMPLETED', minorUnits }]);
    await countAll();
  }

  const rows = await rowsOf(merchantId, [from], atHour(1));
  expect(orderReport(rows, 1).total.collected).toEqual([{ currency: 'ETB', amount: '140.75', orders: 2n }]);
});

test('events are counted again after a restore into a server with an earlier position', async () => {
  const merchantId = newMerchantId();
  await store(client, merchantId, [event]);
  await countAll();
  await client.query(`update core.order_counts set events = events + 7`);
  await client.query(`update core.order_counts_cursor
    set xid = (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 100000)::text::xid8`);

  await countAll();

  const rows = await rowsOf(merchantId, [from], atHour(1));
  expect(rows.map(({ events }) => events)).toEqual(['1']);
});

test.each([
  ['UTC', '2026-11-20T00:00Z', '2026-11-22T00:00Z', [4, 1]],
  ['Asia/Kolkata', '2026-11-19T18:30Z', '2026-11-21T18:30Z', [3, 3]],
  ['Asia/Kathmandu', '2026-11-19T18:15Z', '2026-11-21T18:15Z', [4, 3]],
  ['Africa/Addis_Ababa', '2026-11-19T21:00Z', '2026-11-21T21:00Z', [3, 2]],
])('in %s, an event belongs to the local day of its time', async (timeZone, first, end, expected) => {
  const merchantId = newMerchantId();
  const times = '19T18:16 19T18:20 19T19:00 20T18:10 20T18:20 20T18:40 20T23:50 21T18:20'.split(' ');
  const minutes = times.map((time) => (Date.parse(`2026-11-${time}Z`) - from.getTime()) / 60_000);
  const events = minutes.map((minute) => ({ ...event, minute }));
  await store(client, merchantId, events);

  expect(await readBehindSince(database.pool)).toEqual(new Date('2026-11-19T18:16Z'));
  await countAll();

  const span = { from: new Date(first), to: new Date(end) };
  const starts = stepStarts({ ...span, step: 'day', timeZone });
  const rows = await rowsOf(merchantId, starts, span.to);
  expect(orderReport(rows, 2).steps.map(({ registered }) => Number(registered))).toEqual(expected);
});
