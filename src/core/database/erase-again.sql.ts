import type { EntityManager } from '@mikro-orm/postgresql';
import { storedId } from '../../contract/public-id.ts';
import { erasedText } from '../domain/erased.ts';
import type { Order } from '../domain/order.ts';
import type { StrayPaymentRow } from './order-entities.ts';
import type { WalletReceiptRow } from './payer-payment-entities.ts';

/** A running erasure may have read the order already. It does not remove an entry with a later time. */
const orDueAgain = `on conflict (merchant_id, order_id) do update set due_at = excluded.due_at, obstacle = ''`;

/** Makes another erasure due for an order that was erased before, and that gets new texts or answers of a wallet. */
export async function eraseAgain(
  em: EntityManager,
  { merchantId, environment, id }: Pick<Order, 'merchantId' | 'environment' | 'id'>,
): Promise<void> {
  await em.execute(
    `insert into core.erasures_due (merchant_id, environment, order_id, due_at) values (?, ?::core.environment, ?, clock_timestamp())
     ${orDueAgain}`,
    [storedId('mer', merchantId), environment, storedId('ord', id)],
  );
}

/** The same for the order of a stray payment, if it has one that was erased before. */
export async function eraseAgainByStray(
  em: EntityManager,
  { merchantId, environment, orderId }: Pick<StrayPaymentRow, 'merchantId' | 'environment' | 'orderId'>,
): Promise<void> {
  if (orderId == null) return;
  await em.execute(
    `insert into core.erasures_due (merchant_id, environment, order_id, due_at)
     select merchant_id, environment, id, clock_timestamp() from core.orders
     where merchant_id = ? and environment = ?::core.environment and id = ? and customer_phone = '${erasedText}'
     ${orDueAgain}`,
    [merchantId, environment, orderId],
  );
}

/** The same for the order of the attempt that took a wallet's transaction, if the order was erased before. */
export async function eraseAgainByReceipt(
  em: EntityManager,
  { merchantId, paymentAttemptId }: Pick<WalletReceiptRow, 'merchantId' | 'paymentAttemptId'>,
): Promise<void> {
  if (merchantId == null || paymentAttemptId == null) return;
  await em.execute(
    `insert into core.erasures_due (merchant_id, environment, order_id, due_at)
     select o.merchant_id, o.environment, o.id, clock_timestamp() from core.payment_attempts a
     join core.orders o on o.merchant_id = a.merchant_id and o.environment = a.environment and o.id = a.order_id
     where a.merchant_id = ? and a.id = ? and o.customer_phone = '${erasedText}'
     ${orDueAgain}`,
    [merchantId, paymentAttemptId],
  );
}
