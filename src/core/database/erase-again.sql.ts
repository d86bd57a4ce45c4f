import type { EntityManager } from '@mikro-orm/postgresql';
import { storedId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import { erasedText } from '../domain/erased.ts';
import type { Environment, Order } from '../domain/order.ts';
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

/** The stored names of money that came without a request of ours, or that its order could not take. */
interface FoundMoney {
  readonly merchantId?: StoredId<'mer'> | null | undefined;
  readonly environment: Environment;
  readonly orderId?: StoredId<'ord'> | null | undefined;
  readonly payerPaymentId?: StoredId<'ppm'> | null | undefined;
}

/**
 * The same for the order of such money, and for the payment that its payer started, if they were erased before. A payment can name an order
 * without belonging to it. The erasure of the order does not include it then.
 */
export async function eraseAgainByMoney(
  em: EntityManager,
  { merchantId, environment, orderId, payerPaymentId }: FoundMoney,
): Promise<void> {
  if (payerPaymentId != null) await eraseAgainByPayer(em, payerPaymentId);
  if (orderId == null || merchantId == null) return;
  await em.execute(
    `insert into core.erasures_due (merchant_id, environment, order_id, due_at)
     select merchant_id, environment, id, clock_timestamp() from core.orders
     where merchant_id = ? and environment = ?::core.environment and id = ? and customer_phone = '${erasedText}'
     ${orDueAgain}`,
    [merchantId, environment, orderId],
  );
}

/** The same for a payment that was erased by itself. */
async function eraseAgainByPayer(em: EntityManager, id: StoredId<'ppm'>): Promise<void> {
  await em.execute(
    `insert into core.payer_erasures_due (payer_payment_id, due_at)
     select id, clock_timestamp() from core.payer_payments where id = ? and erased_at is not null
     on conflict (payer_payment_id) do update set due_at = excluded.due_at`,
    [id],
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
