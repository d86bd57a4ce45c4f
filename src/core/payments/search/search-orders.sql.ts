import type { Pool } from 'pg';
import { runStatement } from '../../../platform/database/run-statement.ts';
import { walk } from '../../database/walk-back.ts';
import type { Walked } from '../../database/walk-back.ts';
import type { Environment, OrderStatus, PaymentOption, PaymentType } from '../../domain/order.ts';
import type { StoredId } from '../../../contract/public-id.ts';

/** The stored ids and values that orders are searched by. Undefined or an empty list means no filter. */
export interface StoredOrderFilter {
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  /** Only orders with a lower id. */
  readonly belowId: StoredId<'ord'> | undefined;
  /** Only orders with this id or a higher one. */
  readonly fromId: StoredId<'ord'> | undefined;
  readonly orderNumber: string | undefined;
  /** The first matching order_number, and the first one after all matches. */
  readonly orderNumberRange: { readonly from: string; readonly to: string } | undefined;
  /** The customer_phone, in E.164 form. */
  readonly customerPhone: string | undefined;
  /** The customer_phone or the phone of a payment attempt, in E.164 form. */
  readonly phone: string | undefined;
  readonly providerTransactionId: string | undefined;
  readonly currency: string | undefined;
  readonly minMinorUnits: bigint | undefined;
  readonly maxMinorUnits: bigint | undefined;
  readonly statuses: readonly OrderStatus[];
  readonly completedFrom: Date | undefined;
  readonly completedTo: Date | undefined;
  readonly paymentTypes: readonly PaymentType[];
  readonly paymentOptions: readonly PaymentOption[];
}

/** The number of orders that one call examines, after the index. This takes about 50 ms of CPU in PostgreSQL. */
const walkedRows = 50_000;
/** A lower limit, because the latest attempt of each order is looked up as well. */
const walkedRowsWithAttempts = 10_000;
/** Beyond this number of payments of one phone, at all merchants together, its newest ones are searched. */
const phoneAttempts = 10_000;
/** With more matches of a prefix than this, a walk through all orders is as fast. */
const sortedRows = 20_000;

/**
 * Returns up to `limit` ids of matching orders, newest first, from one walk. An index finds an order_number, a rare
 * prefix of one, a phone, a wallet's transaction and payment links. For other filters, the statement walks back from
 * the newest order, through a bounded number of orders (docs/adr/0010). `isRarePrefix` is the result of `isPrefixRare` for the
 * filter. The statement is planned each time, because its values determine the better index.
 */
export async function searchOrderIds(
  pool: Pool,
  filter: StoredOrderFilter,
  isRarePrefix: boolean,
  limit: number,
): Promise<Walked<StoredId<'ord'>>> {
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const source = sourceOf(filter, isRarePrefix, bind);
  const wanted = wantedOf(filter, isRarePrefix, bind);
  const rows = filter.paymentOptions.length > 0 ? walkedRowsWithAttempts : walkedRows;

  return walk(pool, { source, row: 'o', wanted, rows, limit, values });
}

type Bind = (value: unknown) => string;

/** The orders to examine. An index returns them newest first, or they are few. */
function sourceOf(filter: StoredOrderFilter, isRarePrefix: boolean, bind: Bind): string {
  const {
    belowId,
    fromId,
    orderNumber,
    orderNumberRange,
    customerPhone,
    phone,
    providerTransactionId: transaction,
  } = filter;
  const owner = `o.merchant_id = ${bind(filter.merchantId)} and o.environment = ${bind(filter.environment)}`;
  const conditions = [
    owner,
    ...(belowId === undefined ? [] : [`o.id < ${bind(belowId)}`]),
    ...(fromId === undefined ? [] : [`o.id >= ${bind(fromId)}`]),
    ...(orderNumber === undefined ? [] : [`o.order_number = ${bind(orderNumber)}`]),
    ...(customerPhone === undefined ? [] : [isPhone(bind(customerPhone))]),
    ...(phone === undefined ? [] : [`o.id in (${ordersOfPhone(filter, phone, bind)})`]),
    ...(areLinks(filter) ? [`o.payment_type in ('LINK', 'QR')`] : []),
    ...(transaction === undefined ? [] : [`o.id in (${ordersOfTransaction(filter, transaction, bind)})`]),
  ];
  if (!isRarePrefix || orderNumberRange === undefined)
    return `core.orders o where ${conditions.join(' and ')}`;
  // Kept as a separate query, so that the planner does not choose the walk.
  const few = `select o.* from core.orders o where ${owner} and ${rangeOf(orderNumberRange, bind)} offset 0`;
  return `(${few}) o where ${conditions.join(' and ')}`;
}

/** Whether only payment links match. Their index is used only under exactly this condition. */
const areLinks = ({ paymentTypes }: StoredOrderFilter): boolean =>
  paymentTypes.length > 0 && paymentTypes.every((type) => type === 'LINK' || type === 'QR');

/** The second condition is that of the index of the phones, so PostgreSQL uses the index. */
const isPhone = (phone: string): string => `o.customer_phone_e164 = ${phone} and o.customer_phone_e164 <> ''`;

/** The orders that name the phone, and those that it paid or was asked to pay. Each index returns the newest first. */
function ordersOfPhone(filter: StoredOrderFilter, phone: string, bind: Bind): string {
  const { belowId } = filter;
  const [merchantId, environment, number] = [filter.merchantId, filter.environment, phone].map(bind);
  const below = belowId === undefined ? '' : `and o.id < ${bind(belowId)}`;
  return `
(
  select o.id from core.orders o
  where o.merchant_id = ${merchantId} and o.environment = ${environment} and ${isPhone(number ?? '')} ${below}
  order by o.id desc limit ${walkedRows}
)
union
select order_id from (
  select a.* from core.payment_attempts a where a.phone = ${number} order by a.created_at desc limit ${phoneAttempts}
) asked
where merchant_id = ${merchantId} and environment = ${environment}`;
}

/** The orders of the payments and stray payments that a wallet reported under this number. */
function ordersOfTransaction(filter: StoredOrderFilter, transaction: string, bind: Bind): string {
  const [merchantId, environment, number] = [filter.merchantId, filter.environment, transaction].map(bind);
  return ['payment_attempts', 'stray_payments']
    .map(
      (table) => `
select order_id from core.${table}
where environment = ${environment} and provider_transaction_id = ${number} and merchant_id = ${merchantId}`,
    )
    .join(' union ');
}

/** The conditions for each examined order. */
function wantedOf(filter: StoredOrderFilter, isRarePrefix: boolean, bind: Bind): string[] {
  const { currency, minMinorUnits, maxMinorUnits, statuses, paymentTypes, paymentOptions } = filter;
  const { completedFrom, completedTo } = filter;
  const isCompleted = `w.status = 'COMPLETED' and w.updated_at`;
  const optionOf =
    '(select a.payment_option from core.payment_attempts a where a.merchant_id = w.merchant_id and a.id = w.latest_attempt_id)';
  return [
    ...(isRarePrefix || filter.orderNumberRange === undefined
      ? []
      : [rangeOf(filter.orderNumberRange, bind, 'w')]),
    ...(currency === undefined ? [] : [`w.currency = ${bind(currency)}`]),
    ...(minMinorUnits === undefined ? [] : [`w.amount_minor_units >= ${bind(String(minMinorUnits))}`]),
    ...(maxMinorUnits === undefined ? [] : [`w.amount_minor_units <= ${bind(String(maxMinorUnits))}`]),
    ...(statuses.length === 0 ? [] : [`w.status = any(${bind(statuses)}::core.order_status[])`]),
    // An order changes no more after it became COMPLETED.
    ...(completedFrom === undefined ? [] : [`${isCompleted} >= ${bind(completedFrom)}`]),
    ...(completedTo === undefined ? [] : [`${isCompleted} < ${bind(completedTo)}`]),
    ...(paymentTypes.length === 0
      ? []
      : [`w.payment_type = any(${bind(paymentTypes)}::core.payment_type[])`]),
    ...(paymentOptions.length === 0 ? [] : [`${optionOf} = any(${bind(paymentOptions)}::text[])`]),
  ];
}

type OrderNumberRange = NonNullable<StoredOrderFilter['orderNumberRange']>;

const rangeOf = ({ from, to }: OrderNumberRange, bind: Bind, row = 'o'): string =>
  `${row}.order_number >= ${bind(from)} and ${row}.order_number < ${bind(to)}`;

/** Whether so few orders match an order_number prefix that all can be read and sorted. */
export async function isPrefixRare(pool: Pool, filter: StoredOrderFilter): Promise<boolean> {
  const { merchantId, environment, orderNumberRange } = filter;
  if (orderNumberRange === undefined) return false;
  const [row] = await runStatement<{ count: string }>(pool, {
    text: `
select count(*) as count from (
  select from core.orders
  where merchant_id = $1 and environment = $2 and order_number >= $3 and order_number < $4
  limit ${sortedRows + 1}
) few`,
    values: [merchantId, environment, orderNumberRange.from, orderNumberRange.to],
  });
  return Number(row?.count) <= sortedRows;
}
