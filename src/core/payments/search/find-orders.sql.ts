import type { Pool } from 'pg';
import { bulkStatement, column, rowList } from '../../../platform/database/bulk-statement.ts';
import { runStatement } from '../../../platform/database/run-statement.ts';
import type { Environment } from '../../domain/order.ts';
import type { OrderValues, PaymentAttemptValues } from '../../database/order-rows.ts';
import type { StoredId } from '../../../contract/public-id.ts';

/** The key of an order: its owner and environment, with the merchant's reference or the stored id. */
export interface OrderKey {
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  readonly by: 'order_number' | 'id';
  readonly value: string;
}

export interface FoundOrder {
  readonly order: OrderValues;
  readonly latestAttempt: PaymentAttemptValues | null;
  /** The wallet's number of the transaction that paid the order; '' until it is paid. */
  readonly providerTransactionId: string;
}

const columns = `
  o.merchant_id, o.environment, o.id, o.order_number, o.status, o.payment_type, o.amount_text, o.amount_minor_units,
  o.deducted_minor_units, o.refunded_minor_units, o.currency, o.customer_phone, o.customer_phone_e164, o.reason, o.business_name, o.return_url,
  o.webhook_url, o.last_event_sequence, o.attempt_count, o.latest_attempt_id, o.created_at, o.updated_at, o.expires_at,
  a.status as attempt_status, a.origin, a.payment_option, a.phone, a.decline_reason,
  a.created_at as attempt_created_at, a.updated_at as attempt_updated_at,
  case when a.status = 'SUCCEEDED' then a.provider_transaction_id end as provider_transaction_id`;

/** The parameters of one kind of keys, numbered. `type` is the type of their values. */
const keys = (type: 'text' | 'uuid') =>
  rowList<OrderKey>(
    {
      merchant_id: column('uuid', (key) => key.merchantId),
      environment: column('core.environment', (key) => key.environment),
      value: column(type, (key) => key.value),
    },
    { hidesLength: true, ordinal: 'ordinal' },
  );

const statements = {
  order_number: bulkStatement(
    'find-orders-by-order_number',
    { k: keys('text') },
    (sql) => `
select k.ordinal, ${columns}
from ${sql.k}
join core.orders o
  on o.merchant_id = k.merchant_id and o.environment = k.environment and o.order_number = k.value
left join core.payment_attempts a on a.merchant_id = o.merchant_id and a.id = o.latest_attempt_id`,
  ),
  id: bulkStatement(
    'find-orders-by-id',
    { k: keys('uuid') },
    (sql) => `
select k.ordinal, ${columns}
from ${sql.k}
join core.orders o on o.merchant_id = k.merchant_id and o.environment = k.environment and o.id = k.value
left join core.payment_attempts a on a.merchant_id = o.merchant_id and a.id = o.latest_attempt_id`,
  ),
} as const;

interface FoundRow {
  readonly ordinal: string;
  readonly merchant_id: StoredId<'mer'>;
  readonly environment: OrderValues['environment'];
  readonly id: StoredId<'ord'>;
  readonly order_number: string;
  readonly status: OrderValues['status'];
  readonly payment_type: OrderValues['paymentType'];
  readonly amount_text: string;
  readonly amount_minor_units: string;
  readonly deducted_minor_units: string;
  readonly refunded_minor_units: string | null;
  readonly currency: string;
  readonly customer_phone: string;
  readonly customer_phone_e164: string;
  readonly reason: string;
  readonly business_name: string;
  readonly return_url: string;
  readonly webhook_url: string;
  readonly last_event_sequence: number;
  readonly attempt_count: number;
  readonly latest_attempt_id: StoredId<'pat'> | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly expires_at: Date;
  readonly attempt_status: PaymentAttemptValues['status'] | null;
  readonly origin: PaymentAttemptValues['origin'];
  readonly payment_option: PaymentAttemptValues['paymentOption'] | null;
  readonly phone: string | null;
  readonly decline_reason: PaymentAttemptValues['declineReason'];
  readonly attempt_created_at: Date | null;
  readonly attempt_updated_at: Date | null;
  readonly provider_transaction_id: string | null;
}

/** Looks up all keys in at most two statements; undefined for a key without an order. */
export async function findOrders(pool: Pool, keys: readonly OrderKey[]): Promise<(FoundOrder | undefined)[]> {
  const found: (FoundOrder | undefined)[] = keys.map(() => undefined);
  for (const by of ['order_number', 'id'] as const) {
    const wanted = [...keys.entries()].filter(([, key]) => key.by === by);
    if (wanted.length === 0) continue;
    const rows = await runStatement<FoundRow>(pool, statements[by].with({ k: wanted.map(([, key]) => key) }));
    for (const row of rows) {
      const position = wanted[Number(row.ordinal) - 1]?.[0];
      if (position !== undefined) found[position] = foundOrderOf(row);
    }
  }
  return found;
}

function foundOrderOf(row: FoundRow): FoundOrder {
  const order: OrderValues = {
    merchantId: row.merchant_id,
    environment: row.environment,
    id: row.id,
    orderNumber: row.order_number,
    status: row.status,
    paymentType: row.payment_type,
    amountText: row.amount_text,
    amountMinorUnits: BigInt(row.amount_minor_units),
    deductedMinorUnits: BigInt(row.deducted_minor_units),
    refundedMinorUnits: row.refunded_minor_units === null ? null : BigInt(row.refunded_minor_units),
    currency: row.currency,
    customerPhone: row.customer_phone,
    customerPhoneE164: row.customer_phone_e164,
    reason: row.reason,
    businessName: row.business_name,
    returnUrl: row.return_url,
    webhookUrl: row.webhook_url,
    lastEventSequence: row.last_event_sequence,
    attemptCount: row.attempt_count,
    latestAttemptId: row.latest_attempt_id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    expiresAt: row.expires_at,
    sweepAt: null,
  };
  return {
    order,
    latestAttempt: latestAttemptOf(row),
    providerTransactionId: row.provider_transaction_id ?? '',
  };
}

function latestAttemptOf(row: FoundRow): PaymentAttemptValues | null {
  const { latest_attempt_id: id, attempt_status: status, payment_option: paymentOption, phone } = row;
  const { attempt_created_at: createdAt, attempt_updated_at: updatedAt } = row;
  if (
    id === null ||
    status === null ||
    paymentOption === null ||
    phone === null ||
    createdAt === null ||
    updatedAt === null
  ) {
    return null;
  }
  return {
    merchantId: row.merchant_id,
    id,
    environment: row.environment,
    orderId: row.id,
    status,
    origin: row.origin,
    paymentOption,
    phone,
    declineReason: row.decline_reason,
    createdAt,
    updatedAt,
  };
}
