import type { Pool } from 'pg';
import { runStatement } from '../../../platform/database/run-statement.ts';
import type { Environment, OrderStatus, PaymentOption, PaymentType } from '../../domain/order.ts';
import type { StoredId } from '../../../contract/public-id.ts';

/** What orders are searched by; stored ids. What is undefined, or an empty list, narrows nothing down. */
export interface StoredOrderFilter {
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  /** Only orders with a lower id. */
  readonly belowId: StoredId<'ord'> | undefined;
  /** Only orders with this id or a higher one. */
  readonly fromId: StoredId<'ord'> | undefined;
  readonly orderNumber: string | undefined;
  /** The first order_number that is wanted, and the first one behind those. */
  readonly orderNumbers: { readonly from: string; readonly to: string } | undefined;
  readonly phone: string | undefined;
  readonly providerTransactionId: string | undefined;
  readonly currency: string | undefined;
  readonly minMinorUnits: bigint | undefined;
  readonly maxMinorUnits: bigint | undefined;
  readonly statuses: readonly OrderStatus[];
  readonly paymentTypes: readonly PaymentType[];
  readonly paymentOptions: readonly PaymentOption[];
}

export interface FoundOrderIds {
  /** Highest first, so newest first. */
  readonly ids: readonly StoredId<'ord'>[];
  /** The id down to which orders were looked at; undefined when there are no others. */
  readonly searchedTo: StoredId<'ord'> | undefined;
}

/** How many orders one call looks at, of those that an index narrows down to: some 50 ms of a core of PostgreSQL. */
const walkedRows = 50_000;
/** For each of these, its latest attempt is looked up as well. */
const walkedRowsWithAttempts = 10_000;
/** More order_numbers of one beginning than this are found as well by walking through all orders. */
const sortedRows = 20_000;

/**
 * Gives up to `limit` ids of the orders that match, newest first, from one walk. An index finds an order_number, the
 * beginning of one that few have, a phone, a wallet's transaction and payment links. For everything else the statement walks
 * from the newest order back, through a bounded number of them (docs/adr/0010). `begins` is what `areFew` answers for the
 * filter. The statement is planned anew each time, since the values decide which index is the better one.
 */
export async function searchOrderIds(
  pool: Pool,
  filter: StoredOrderFilter,
  begins: boolean,
  limit: number,
): Promise<FoundOrderIds> {
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const source = sourceOf(filter, begins, bind);
  const sourceValues = values.slice();
  const wanted = wantedOf(filter, begins, bind);
  const rows = filter.paymentOptions.length > 0 ? walkedRowsWithAttempts : walkedRows;

  const found = await runStatement<{ id: StoredId<'ord'> }>(pool, {
    text: `
select w.id
from (select o.* from ${source} order by o.id desc limit ${rows}) w
where ${['true', ...wanted].join(' and ')}
order by w.id desc
limit ${limit}`,
    values,
  });
  const ids = found.map(({ id }) => id);
  if (ids.length === limit) return { ids, searchedTo: ids.at(-1) };
  const [last] = await runStatement<{ id: StoredId<'ord'> }>(pool, {
    text: `select o.id from ${source} order by o.id desc offset ${rows - 1} limit 1`,
    values: sourceValues,
  });
  return { ids, searchedTo: last?.id };
}

type Bind = (value: unknown) => string;

/** The orders among which to look, which an index gives newest first, or which are few. */
function sourceOf(filter: StoredOrderFilter, begins: boolean, bind: Bind): string {
  const { belowId, fromId, orderNumber, orderNumbers, phone, providerTransactionId: transaction } = filter;
  const owner = `o.merchant_id = ${bind(filter.merchantId)} and o.environment = ${bind(filter.environment)}`;
  const conditions = [
    owner,
    ...(belowId === undefined ? [] : [`o.id < ${bind(belowId)}`]),
    ...(fromId === undefined ? [] : [`o.id >= ${bind(fromId)}`]),
    ...(orderNumber === undefined ? [] : [`o.order_number = ${bind(orderNumber)}`]),
    ...(phone === undefined ? [] : [`o.customer_phone_e164 = ${bind(phone)}`, `o.customer_phone_e164 <> ''`]),
    ...(areLinks(filter) ? [`o.payment_type in ('LINK', 'QR')`] : []),
    ...(transaction === undefined ? [] : [`o.id in (${ordersOfTransaction(filter, transaction, bind)})`]),
  ];
  if (!begins || orderNumbers === undefined) return `core.orders o where ${conditions.join(' and ')}`;
  // Kept apart, so that the planner cannot take the walk for the shorter way.
  const few = `select o.* from core.orders o where ${owner} and ${rangeOf(orderNumbers, bind)} offset 0`;
  return `(${few}) o where ${conditions.join(' and ')}`;
}

/** Whether only payment links match. They have an index of their own, which is named by its very condition. */
const areLinks = ({ paymentTypes }: StoredOrderFilter): boolean =>
  paymentTypes.length > 0 && paymentTypes.every((type) => type === 'LINK' || type === 'QR');

/** The orders of the payments, kept or gone astray, that a wallet reported under this number. */
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

/** What is asked of each order that is looked at. */
function wantedOf(filter: StoredOrderFilter, begins: boolean, bind: Bind): string[] {
  const { currency, minMinorUnits, maxMinorUnits, statuses, paymentTypes, paymentOptions } = filter;
  const optionOf =
    '(select a.payment_option from core.payment_attempts a where a.merchant_id = w.merchant_id and a.id = w.latest_attempt_id)';
  return [
    ...(begins || filter.orderNumbers === undefined ? [] : [rangeOf(filter.orderNumbers, bind, 'w')]),
    ...(currency === undefined ? [] : [`w.currency = ${bind(currency)}`]),
    ...(minMinorUnits === undefined ? [] : [`w.amount_minor_units >= ${bind(String(minMinorUnits))}`]),
    ...(maxMinorUnits === undefined ? [] : [`w.amount_minor_units <= ${bind(String(maxMinorUnits))}`]),
    ...(statuses.length === 0 ? [] : [`w.status = any(${bind(statuses)}::core.order_status[])`]),
    ...(paymentTypes.length === 0
      ? []
      : [`w.payment_type = any(${bind(paymentTypes)}::core.payment_type[])`]),
    ...(paymentOptions.length === 0
      ? []
      : [`${optionOf} = any(${bind(paymentOptions)}::core.payment_option[])`]),
  ];
}

type OrderNumbers = NonNullable<StoredOrderFilter['orderNumbers']>;

const rangeOf = ({ from, to }: OrderNumbers, bind: Bind, row = 'o'): string =>
  `${row}.order_number >= ${bind(from)} and ${row}.order_number < ${bind(to)}`;

/** Whether an order_number begins so for so few orders that all of them can be read and sorted. */
export async function areFew(pool: Pool, filter: StoredOrderFilter): Promise<boolean> {
  const { merchantId, environment, orderNumbers } = filter;
  if (orderNumbers === undefined) return false;
  const [row] = await runStatement<{ count: string }>(pool, {
    text: `
select count(*) as count from (
  select from core.orders
  where merchant_id = $1 and environment = $2 and order_number >= $3 and order_number < $4
  limit ${sortedRows + 1}
) few`,
    values: [merchantId, environment, orderNumbers.from, orderNumbers.to],
  });
  return Number(row?.count) <= sortedRows;
}
