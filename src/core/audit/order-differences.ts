import type {
  Order as OrderMessage,
  OrderEvent as OrderEventMessage,
} from '../../gen/gatehouse/v1/order_pb.js';
import { isInFlight } from '../domain/order.ts';
import type { PaymentAttemptStatus } from '../domain/order.ts';
import { attemptColumns, latestParts, orderColumns, refundColumns } from '../payments/changes/lost-order.ts';

/** The values of a row as text, by column. */
export type RowValues = Readonly<Record<string, string>>;

/** An order as its rows say. Attempts and refunds are keyed by their stored ids. */
export interface StoredOrder {
  readonly order: RowValues | undefined;
  readonly attempts: ReadonlyMap<string, RowValues>;
  readonly refunds: ReadonlyMap<string, RowValues>;
}

export interface DifferingField {
  readonly field: string;
  /** The value by the events. */
  readonly sealed: string;
  /** The value in the row. */
  readonly stored: string;
}

export interface OrderDifference {
  readonly subject: 'ORDER' | 'ATTEMPT' | 'REFUND';
  readonly change: 'CHANGED' | 'DELETED' | 'INSERTED';
  /** The stored id of the attempt or the refund; '' for the order. */
  readonly id: string;
  readonly fields: readonly DifferingField[];
}

type Value = string | number | bigint | boolean | Date | null | undefined;

const textOf = (value: Value): string =>
  value instanceof Date ? value.toISOString() : value == null ? '' : String(value);

const textsOf = (values: Readonly<Record<string, Value>>): RowValues =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, textOf(value)]));

/** The columns of each table that events determine. */
export const comparedColumns = {
  order: {
    environment: 'environment',
    orderNumber: 'order_number',
    status: 'status',
    paymentType: 'payment_type',
    amountText: 'amount_text',
    amountMinorUnits: 'amount_minor_units',
    deductedMinorUnits: 'deducted_minor_units',
    refundedMinorUnits: 'refunded_minor_units',
    currency: 'currency',
    returnUrl: 'return_url',
    webhookUrl: 'webhook_url',
    lastEventSequence: 'last_event_sequence',
    createdAt: 'created_at',
    expiresAt: 'expires_at',
    customerPhone: 'customer_phone',
    customerPhoneE164: 'customer_phone_e164',
    reason: 'reason',
    businessName: 'business_name',
  },
  attempt: {
    environment: 'environment',
    status: 'status',
    paymentOption: 'payment_option',
    declineReason: 'decline_reason',
    providerTransactionId: 'provider_transaction_id',
    createdAt: 'created_at',
    phone: 'phone',
  },
  refund: {
    environment: 'environment',
    refundNumber: 'refund_number',
    orderNumber: 'order_number',
    paymentAttemptId: 'payment_attempt_id',
    paymentOption: 'payment_option',
    providerTransactionId: 'provider_transaction_id',
    amountMinorUnits: 'amount_minor_units',
    currency: 'currency',
    status: 'status',
    requestedBy: 'requested_by',
    createdAt: 'created_at',
    reason: 'reason',
  },
} as const;

/**
 * How the rows of an order differ from what its events say, oldest event first.
 * @throws TypeError for events with a value that this version does not know
 */
export function orderDifferences(
  events: readonly OrderEventMessage[],
  { order, attempts, refunds }: StoredOrder,
): OrderDifference[] {
  const newest = events.findLast((event) => event.order !== undefined)?.order;
  if (newest === undefined) return [];
  return [
    ...orderRowDifferences(newest, order),
    ...attemptDifferences(newest, events, attempts),
    ...refundDifferences(events, refunds),
  ];
}

/** @throws TypeError as `orderDifferences` */
export const orderRowDifferences = (newest: OrderMessage, stored: RowValues | undefined): OrderDifference[] =>
  differencesOf('ORDER', '', textsOf(comparableValues(orderColumns(newest))), stored);

/** Compares the attempts that the events name. @throws TypeError as `orderDifferences` */
export function attemptDifferences(
  newest: OrderMessage,
  events: readonly OrderEventMessage[],
  stored: ReadonlyMap<string, RowValues>,
): OrderDifference[] {
  const { environment } = orderColumns(newest);
  const sealed = new Map<string, RowValues>(
    latestParts(events).attempts.map(({ message, origin, transactionId }) => {
      const attempt = attemptColumns(message, origin, transactionId);
      return [attempt.id, textsOf(comparableValues({ ...attempt, environment }))];
    }),
  );
  return tableDifferences('ATTEMPT', sealed, stored);
}

/** Compares the refunds that the events name. @throws TypeError as `orderDifferences` */
export function refundDifferences(
  events: readonly OrderEventMessage[],
  stored: ReadonlyMap<string, RowValues>,
): OrderDifference[] {
  const sealed = new Map<string, RowValues>(
    latestParts(events).refunds.map((message) => {
      const refund = refundColumns(message);
      return [refund.id, textsOf(comparableValues(refund))];
    }),
  );
  return tableDifferences('REFUND', sealed, stored);
}

const comparableValues = (columns: object): Record<string, Value> =>
  Object.fromEntries(
    Object.entries(columns).filter(
      ([, value]) => typeof value !== 'object' || value instanceof Date || value === null,
    ),
  );

const columnsOf = {
  ORDER: comparedColumns.order,
  ATTEMPT: comparedColumns.attempt,
  REFUND: comparedColumns.refund,
};

function tableDifferences(
  subject: 'ATTEMPT' | 'REFUND',
  sealed: ReadonlyMap<string, RowValues>,
  stored: ReadonlyMap<string, RowValues>,
): OrderDifference[] {
  const inserted = [...stored.keys()].filter((id) => !sealed.has(id));
  return [
    ...[...sealed].flatMap(([id, values]) => differencesOf(subject, id, values, stored.get(id))),
    ...inserted.map((id) => ({ subject, change: 'INSERTED', id, fields: [] }) as const),
  ];
}

function differencesOf(
  subject: OrderDifference['subject'],
  id: string,
  sealed: RowValues,
  stored: RowValues | undefined,
): OrderDifference[] {
  if (stored === undefined) return [{ subject, change: 'DELETED', id, fields: [] }];
  const fields = Object.keys(columnsOf[subject]).flatMap((field): DifferingField[] => {
    const [before, now = ''] = [sealed[field], stored[field]];
    // An event without the value says nothing about it.
    if (before === undefined || before === now) return [];
    if (subject === 'ATTEMPT' && field === 'status' && areBothOpen(before, now)) return [];
    return [{ field, sealed: before, stored: now }];
  });
  return fields.length === 0 ? [] : [{ subject, change: 'CHANGED', id, fields }];
}

/** An attempt moves between its open states without an event. */
const areBothOpen = (...statuses: readonly string[]): boolean =>
  statuses.every((status) => isInFlight({ status: status as PaymentAttemptStatus }));
