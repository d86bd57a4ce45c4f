import { fromBinary } from '@bufbuild/protobuf';
import type { PoolClient } from 'pg';
import { OrderEventSchema, PaymentAttemptStatus } from '../../gen/gatehouse/v1/order_pb.js';
import type { OrderEvent, Refund } from '../../gen/gatehouse/v1/order_pb.js';
import { withAdvisoryLock } from '../../platform/database/advisory-lock.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { pause } from '../../platform/pause.ts';
import type { Database } from '../database/database.ts';
import { Currency } from '../domain/currency.ts';
import { Money } from '../domain/money.ts';
import { beginning } from '../../contract/event-cursor.ts';
import type { EventCursor } from '../../contract/event-cursor.ts';
import { endedUnsent } from '../../contract/ended-unsent.ts';
import { isCancellation } from '../../contract/is-cancellation.ts';
import { paymentOptionOf } from '../rpc/order-messages.ts';
import { addToCounts, forgetCounts, nextEventGroups } from './count-events.sql.ts';
import type { CountedEvents, EventGroup } from './count-events.sql.ts';

const pageSize = 2_000;

/** The pause after a page, as a multiple of its duration. So counting many events, as after a restore, does not delay payments. */
const pauseFactor = 4;

/** One core counts at a time. The others skip the task. */
const countLock = { key: 7_142_010, silenceMs: 30_000, keepAliveMs: 10_000 };

const readCursor = `
select xid::text as xid, position::text as position, xid >= pg_snapshot_xmax(pg_current_snapshot()) as is_ahead
from core.order_counts_cursor`;

type CursorRow = EventCursor & { readonly is_ahead: boolean };

/**
 * Counts new events until there are none, another core counts, or `stop` aborts. The counts and their position are written
 * together, so each event counts once, even after a crash. A position that this server has not reached comes from another
 * server's backup. Then all events are counted again.
 */
export async function countEvents({ pool }: Pick<Database, 'pool'>, stop: AbortSignal): Promise<void> {
  await withAdvisoryLock(pool, countLock, async (client, lost) => {
    for (;;) {
      const begunAtMs = performance.now();
      if (stop.aborted || lost.aborted || !(await countPage(client))) return;
      await pause(pauseFactor * (performance.now() - begunAtMs), stop);
    }
  });
}

/** Counts one page, and gives whether more events are waiting. */
async function countPage(client: PoolClient): Promise<boolean> {
  const [cursor] = await runStatement<CursorRow>(client, { text: readCursor });
  if (cursor === undefined) throw new Error('the position of the counts cannot be read');
  if (cursor.is_ahead) {
    await forgetCounts(client, beginning);
    return true;
  }
  const page = await nextEventGroups(client, cursor, pageSize);
  if (page.next === undefined) return false;
  const isCounted = await addToCounts(
    client,
    mergedCounts(page.groups.flatMap(countedOf)),
    cursor,
    page.next,
  );
  return isCounted && page.eventCount === pageSize;
}

/** The numbers that a group of events adds. A started payment is counted when its outcome is known. */
function countedOf(group: EventGroup): CountedEvents[] {
  const { environment, type, quarter } = group;
  const common = { merchantId: group.merchant_id, environment, type, quarter };
  if (type === 'PAYMENT_STARTED') return [];
  if (group.payloads === null) {
    const events = Number(group.events);
    return [{ ...common, currency: '', paymentOption: '', reason: '', events, minorUnits: 0n }];
  }
  return group.payloads.map((payload) => {
    const event = fromBinary(OrderEventSchema, payload);
    return { ...common, ...detailsOf(type, event), events: 1 };
  });
}

type Details = Pick<CountedEvents, 'currency' | 'paymentOption' | 'reason' | 'minorUnits'>;

function detailsOf(type: EventGroup['type'], event: OrderEvent): Details {
  const { order, paymentAttempt, refund, decision } = event;
  if (refund !== undefined) return refundDetails(type, refund);
  if (type === 'COMPLETED' && order !== undefined) {
    const { currency, deducted } = order;
    const money = Money.parse(deducted, 'deducted', Currency.of(currency));
    if (!money.ok) throw new Error(`the order ${order.orderId} is COMPLETED with ${deducted} ${currency}`);
    const paymentOption = paymentOptionOf(order.paymentOption) ?? '';
    return { currency, paymentOption, reason: '', minorUnits: money.value.minorUnits };
  }
  const none = { currency: '', minorUnits: 0n };
  if (type === 'STRAY_PAYMENT_SETTLED') return { ...none, paymentOption: '', reason: '' };
  if (type === 'EXPIRED') return { ...none, paymentOption: '', reason: 'session_ended' };
  if (paymentAttempt === undefined || isCancellation(event))
    return { ...none, paymentOption: '', reason: 'cancelled' };
  // The wallet of the attempt got no request, so the payment is no failed one of that wallet.
  if (endedUnsent(event))
    return { ...none, paymentOption: '', reason: type === 'FAILED' ? 'money_not_returned' : '' };
  const timedOut = paymentAttempt.status === PaymentAttemptStatus.TIMED_OUT;
  return {
    ...none,
    paymentOption: paymentOptionOf(paymentAttempt.paymentOption) ?? '',
    reason: timedOut ? (decision?.unsent === true ? 'not_sent' : 'timed_out') : paymentAttempt.declineReason,
  };
}

/** Only a COMPLETED refund moved money. */
function refundDetails(type: EventGroup['type'], refund: Refund): Details {
  const { currency, amount, failureReason: reason } = refund;
  const money = Money.parse(amount, 'amount', Currency.of(currency));
  if (!money.ok) throw new Error(`the refund ${refund.refundId} has the amount ${amount} ${currency}`);
  const minorUnits = type === 'REFUND_COMPLETED' ? money.value.minorUnits : 0n;
  return { currency, paymentOption: paymentOptionOf(refund.paymentOption) ?? '', reason, minorUnits };
}

/** One item per row of the counts, because a statement can change a row only once. They are sorted to avoid deadlocks. */
function mergedCounts(items: readonly CountedEvents[]): CountedEvents[] {
  const byKey = new Map<string, CountedEvents>();
  for (const item of items) {
    const { merchantId, environment, type, quarter, currency, paymentOption, reason } = item;
    const key = [merchantId, environment, type, quarter.toISOString(), currency, paymentOption, reason].join(
      ' ',
    );
    const before = byKey.get(key);
    byKey.set(key, {
      ...item,
      events: item.events + (before?.events ?? 0),
      minorUnits: item.minorUnits + (before?.minorUnits ?? 0n),
    });
  }
  return [...byKey.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
}
