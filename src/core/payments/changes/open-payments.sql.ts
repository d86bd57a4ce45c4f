import type { EntityManager } from '@mikro-orm/postgresql';
import { publicId } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import type { Statement } from '../../../platform/database/run-statement.ts';
import { runReading } from '../../../platform/database/transaction-statement.ts';
import type { OrderRow } from '../../database/order-entities.ts';
import type { Environment, Order, OrderInFull } from '../../domain/order.ts';
import { mayPayOrder, paysAmount } from '../../domain/payer-payment.ts';
import type { Wallet } from '../../domain/wallet.ts';

/** Few payments are open, and their index has no others. */
const openPayments = `
select environment, wallet, reference, order_id, amount, currency, (extract(epoch from created_at) * 1000)::float8 as created_ms,
  (extract(epoch from due_at) * 1000)::float8 as due_ms
from core.payer_payments
where due_at is not null and (confirmed_at is not null or created_at > now() - make_interval(mins => $1))
  and (order_id = any($2::uuid[])
    or (environment::text, lower(reference)) in (select number->>0, lower(number->>1) from json_array_elements($3::json) number))`;

interface OpenPayment {
  readonly environment: Environment;
  readonly wallet: string;
  readonly reference: string;
  /** The order of the attempt that the reference names. */
  readonly order_id: StoredId<'ord'> | null;
  readonly amount: string;
  readonly currency: string;
  /** When it was reported, and when its wallet is queried about it, in milliseconds since 1970. */
  readonly created_ms: number;
  readonly due_ms: number;
}

/**
 * For how long a report keeps its order from ending unpaid. The time is limited, because anybody who knows the URL of callbacks can report a
 * payment. It is not limited once the wallet has confirmed the payment.
 */
const holdMinutes = 15;

/**
 * For how long a report keeps its order from a second payment, which the payer could confirm too. Shorter, because anybody who knows that
 * URL can keep customers from paying.
 */
export const noSecondPaymentMinutes = 2;

/** Whether payers can start payments there from the menu of the phone. */
const takesPayerPayments = (
  wallets: readonly Wallet[],
  { environment }: { readonly environment: Environment },
): boolean => wallets.some(({ payerStarted }) => payerStarted?.[environment] !== undefined);

/** The order, with the fact of `readOpenPayments`. */
export const withPayer = (order: OrderInFull, isPayerPaying: (order: Order) => boolean): OrderInFull =>
  isPayerPaying(order) ? { ...order, payerPays: true } : order;

/**
 * Whether a payer has started a payment of an order, which is not decided yet. It has the amount of the order, and names its number or one
 * of its attempts. By default it counts if its wallet has confirmed it. It also counts if it was reported so recently that the order must
 * not end unpaid yet. Reads all given orders with one statement, and with none if no wallet takes such payments.
 */
export async function readOpenPayments(
  ...asked: Parameters<typeof findOpenPayments>
): Promise<(order: Order) => boolean> {
  const find = await findOpenPayments(...asked);
  return (order) => find(order) !== undefined;
}

/** The same, with the payment of an order. */
export async function findOpenPayments(
  em: EntityManager,
  wallets: readonly Wallet[],
  rows: readonly Pick<OrderRow, 'environment' | 'id' | 'orderNumber'>[],
  withinMinutes = holdMinutes,
): Promise<(order: Order) => OpenPayment | undefined> {
  const numbers = rows.filter((row) => takesPayerPayments(wallets, row));
  if (numbers.length === 0) return () => undefined;
  const open = await runReading<OpenPayment>(em, {
    name: 'find-open-payments',
    text: openPayments,
    values: [
      withinMinutes,
      numbers.map(({ id }) => id),
      JSON.stringify(numbers.map(({ environment, orderNumber }) => [environment, orderNumber])),
    ],
  });
  return (order) =>
    open.find((payment) => {
      if (payment.order_id !== null)
        return publicId('ord', payment.order_id) === order.id && paysAmount(order, payment);
      const terms = wallets.find(({ id }) => id === payment.wallet)?.payerStarted?.[payment.environment];
      const isOfMerchant = (terms?.merchantId ?? order.merchantId) === order.merchantId;
      return payment.environment === order.environment && isOfMerchant && mayPayOrder(order, payment);
    });
}

/**
 * Makes the confirmed payments of these orders due, because the attempts that they waited for have ended. A payment that another
 * transaction holds is left out: it is being leased, or a hint makes it due.
 */
export const hasteningConfirmed = (orderIds: readonly OrderRow['id'][]): Statement => ({
  name: 'hasten-confirmed',
  text: `update core.payer_payments set due_at = least(due_at, now()) where id in (
  select id from core.payer_payments
  where due_at is not null and confirmed_at is not null and order_id = any($1::uuid[]) for update skip locked
)`,
  values: [orderIds],
});
