import { create, fromBinary } from '@bufbuild/protobuf';
import { isPublicId, publicId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import {
  CheckSubject,
  MoneyDifferenceSchema,
  MoneyFactsSchema,
  MoneyFault as MoneyFaultMessage,
} from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { Check, MoneyDifference } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import { OrderEventSchema } from '../../gen/gatehouse/v1/order_pb.js';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Database } from '../database/database.ts';
import { Currency } from '../domain/currency.ts';
import { Money } from '../domain/money.ts';
import type { OrderStatus } from '../domain/order.ts';
import type { RefundProgress } from '../domain/refund-record.ts';
import { agreementCheck } from './check-outcome.ts';
import { moneyFaults } from './money-agreement.ts';
import type { MoneyFault, StoredMoney } from './money-agreement.ts';
import { recentEvents, recentOrders } from './recent-orders.sql.ts';

const namedDifferences = 5;
/** An order with more events is left out, because the number of its refunds has no limit. Each refund has an event. */
const maxEvents = 2_000;

/**
 * The money of the orders of the latest events, where there is any. One statement sees one snapshot, so that an order that is
 * changing does not look like a difference. Events of a status other than COMPLETED carry no other amount.
 *
 * An order has at most one attempt with one of the four states, and their index finds it. The last condition compares texts, so that the planner
 * does not use the index of all successful attempts. Without statistics, as in a new database, it would read all of it for each order. The
 * range of one id has the same purpose. When one order has most refunds, the planner expects as many of each order, and would read them all.
 */
const statement = `
with ${recentOrders}
select o.merchant_id, o.id, o.status, o.currency, o.deducted_minor_units::text as debited,
  coalesce(o.refunded_minor_units, 0)::text as refunded,
  array(
    select exists (
      select from core.wallet_receipts w
      where w.environment = a.environment and w.wallet = regexp_replace(a.payment_option, '_[a-z]+$', '')
        and w.provider_transaction_id = a.provider_transaction_id
        and w.merchant_id = a.merchant_id and w.payment_attempt_id = a.id
    )
    from core.payment_attempts a
    where a.merchant_id = o.merchant_id and a.environment = o.environment and a.order_id = o.id
      and a.status in ('REQUESTED', 'SENT', 'UNKNOWN', 'SUCCEEDED') and a.status::text = 'SUCCEEDED'
  ) as receipts,
  coalesce((
    select json_agg(json_build_object('id', r.id, 'status', r.status, 'amount', r.amount_minor_units::text))
    from core.refunds r where r.merchant_id = o.merchant_id and r.order_id between o.id and o.id
  ), '[]') as refunds,
  array(
    select e.payload from core.order_events e
    where e.merchant_id = o.merchant_id and e.order_id = o.id and e.type in ('COMPLETED', 'REFUND_COMPLETED')
  ) as payloads
from recent
join core.orders o
  on o.merchant_id = recent.merchant_id and o.environment = recent.environment and o.id = recent.order_id
    and o.last_event_sequence <= ${maxEvents}`;

interface Row {
  readonly merchant_id: StoredId<'mer'>;
  readonly id: StoredId<'ord'>;
  readonly status: OrderStatus;
  readonly currency: string;
  readonly debited: string;
  readonly refunded: string;
  readonly receipts: readonly boolean[];
  readonly refunds: readonly {
    readonly id: StoredId<'rfd'>;
    readonly status: RefundProgress['status'];
    readonly amount: string;
  }[];
  readonly payloads: readonly Buffer[];
}

const states = {
  AWAITING_APPROVAL: 'open',
  APPROVAL_DECLINED: 'failed',
  REVERSAL_DUE: 'open',
  REVERSAL_REFUSED: 'failed',
  REVERSED: 'completed',
} as const satisfies Record<RefundProgress['status'], string>;

const faultNumbers = {
  payment_differs: MoneyFaultMessage.PAYMENT_DIFFERS,
  transaction_differs: MoneyFaultMessage.TRANSACTION_DIFFERS,
  debited_differs: MoneyFaultMessage.DEBITED_DIFFERS,
  refunded_differs: MoneyFaultMessage.REFUNDED_DIFFERS,
  refunds_exceed_debited: MoneyFaultMessage.REFUNDS_EXCEED_DEBITED,
  refund_differs: MoneyFaultMessage.REFUND_DIFFERS,
  refund_without_event: MoneyFaultMessage.REFUND_WITHOUT_EVENT,
} as const satisfies Record<MoneyFault, MoneyFaultMessage>;

function moneyOf(row: Row): StoredMoney {
  const currency = Currency.of(row.currency);
  const minorUnitsOf = (text: string): bigint => {
    const money = Money.parse(text, 'amount', currency);
    return money.ok ? money.value.minorUnits : 0n;
  };
  const events = row.payloads.map((payload) => fromBinary(OrderEventSchema, payload));
  return {
    isCompleted: row.status === 'COMPLETED',
    debited: BigInt(row.debited),
    refunded: BigInt(row.refunded),
    payments: row.receipts.map((hasReceipt) => ({ hasReceipt })),
    refunds: row.refunds.map(({ id, status, amount }) => ({
      id: publicId('rfd', id),
      state: states[status],
      amount: BigInt(amount),
    })),
    debitedByEvents: events.flatMap(({ refund, order }) =>
      refund === undefined ? [minorUnitsOf(order?.deducted ?? '')] : [],
    ),
    refundsByEvents: new Map(
      events.flatMap(({ refund }) =>
        refund !== undefined && isPublicId('rfd', refund.refundId)
          ? [[refund.refundId, minorUnitsOf(refund.amount)] as const]
          : [],
      ),
    ),
  };
}

/** Whether the money of orders agrees with that of their payments, refunds, transactions and events. */
export async function checkMoney({ pool }: Database): Promise<Check> {
  const rows = await runStatement<Row>(pool, { text: statement, values: [recentEvents] });
  let differingCount = 0n;
  const differences: MoneyDifference[] = [];
  for (const row of rows) {
    const faults = moneyFaults(moneyOf(row));
    if (faults.length > 0) differingCount += 1n;
    for (const { fault, refundId = '' } of faults)
      if (differences.length < namedDifferences)
        differences.push(
          create(MoneyDifferenceSchema, {
            merchantId: publicId('mer', row.merchant_id),
            orderId: publicId('ord', row.id),
            refundId,
            fault: faultNumbers[fault],
          }),
        );
  }
  const orderCount = BigInt(rows.length);
  const value = create(MoneyFactsSchema, { orderCount, differingCount, differences });
  return agreementCheck(CheckSubject.MONEY, { case: 'money', value });
}
