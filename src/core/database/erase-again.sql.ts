import type { EntityManager } from '@mikro-orm/postgresql';
import { storedId } from '../../contract/public-id.ts';
import { erasedText } from '../domain/erased.ts';
import type { Order } from '../domain/order.ts';
import type { WalletReceiptRow } from './payer-payment-entities.ts';

/** Makes another erasure due for an order that was erased before, and that gets new texts or answers of a wallet. */
export async function eraseAgain(
  em: EntityManager,
  { merchantId, environment, id }: Pick<Order, 'merchantId' | 'environment' | 'id'>,
): Promise<void> {
  await em.execute(
    `insert into core.erasures_due (merchant_id, environment, order_id, due_at) values (?, ?::core.environment, ?, now())
     on conflict do nothing`,
    [storedId('mer', merchantId), environment, storedId('ord', id)],
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
     select o.merchant_id, o.environment, o.id, now() from core.payment_attempts a
     join core.orders o on o.merchant_id = a.merchant_id and o.environment = a.environment and o.id = a.order_id
     where a.merchant_id = ? and a.id = ? and o.customer_phone = '${erasedText}'
     on conflict do nothing`,
    [merchantId, paymentAttemptId],
  );
}
