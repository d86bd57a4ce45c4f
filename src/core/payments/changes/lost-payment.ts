import { ConnectError } from '@connectrpc/connect';
import type { EntityManager } from '@mikro-orm/postgresql';
import { publicId, storedId } from '../../../contract/public-id.ts';
import { reasonOf } from '../../../platform/rpc/rpc-error.ts';
import type { Database } from '../../database/database.ts';
import { OrderRow } from '../../database/order-entities.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { readTakesPayments } from '../../database/takes-payments.sql.ts';
import type { TakesPayments } from '../../database/takes-payments.sql.ts';
import type { Order, OrderInFull } from '../../domain/order.ts';
import { mayPay } from './adopt-payment.ts';
import type { ClaimPayments } from './claim-payments.ts';
import { readOrder } from './read-order.ts';

/* An order that a restore has set back may have been paid in the lost time. Until that is known, it does not end unpaid. */

export interface LostPaymentParts {
  readonly gate: Pick<PaymentGate, 'isOpenFor'>;
  readonly claims: Pick<ClaimPayments, 'claimFor' | 'find'>;
}

/**
 * Unclaimed money keeps its order from ending unpaid for this long after it was found, or after the order was sent again, whichever is later.
 * The money may belong to an account that is never added again. `gatehouse doctor` names it even then.
 */
const heldMs = 30 * 24 * 60 * 60_000;

/** `possible` while it is not known what a restore has lost; `unclaimed` when a wallet has money of the order that no record has. */
export type LostPayment = 'none' | 'possible' | 'unclaimed';

/** Reads whether a restore has lost the payment of an order that the transaction has locked. */
export async function readLostPayment(
  em: EntityManager,
  { gate, claims }: LostPaymentParts,
  { merchantId: storedMerchantId, environment, orderNumber }: OrderRow,
  takes: TakesPayments,
): Promise<(order: OrderInFull, now: Date) => LostPayment> {
  const merchantId = publicId('mer', storedMerchantId);
  if (!takes.of(environment, storedMerchantId) || !gate.isOpenFor(environment, merchantId))
    return () => 'possible';
  const found = await claims.find({ merchantId, environment, orderNumber }, em);
  return (order, now) =>
    found.some(
      (money) =>
        now.getTime() - Math.max(money.foundAt.getTime(), order.createdAt.getTime()) < heldMs &&
        mayPay(order, money),
    )
      ? 'unclaimed'
      : 'none';
}

/** Whether a restore may have lost the payment of a PENDING order without an attempt in flight, as it is now. */
export function createMayBePaid({
  database,
  now,
  ...parts
}: LostPaymentParts & { readonly database: Database; readonly now: () => Date }) {
  return async ({
    merchantId,
    environment,
    id,
  }: Pick<Order, 'merchantId' | 'environment' | 'id'>): Promise<boolean> => {
    const em = database.fork();
    const key = { merchantId: storedId('mer', merchantId), environment, id: storedId('ord', id) };
    const row = await em.findOneOrFail(OrderRow, key);
    const lostPaymentOf = await readLostPayment(em, parts, row, await readTakesPayments(em));
    return lostPaymentOf(await readOrder(em, row), now()) !== 'none';
  };
}

/**
 * Gives an order its lost payment before the order ends unpaid. A claim that is refused now leaves the money unclaimed, so the order may
 * still be paid.
 */
export async function claimBeforeEnd(
  { gate, claims }: LostPaymentParts,
  order: Pick<Order, 'merchantId' | 'environment' | 'id'>,
  requestId: string,
): Promise<void> {
  // While the gate is closed, the wallets' statements are not read yet, and the order does not end anyway.
  if (!gate.isOpenFor(order.environment, order.merchantId)) return;
  try {
    await claims.claimFor(order, requestId);
  } catch (error) {
    if (!(error instanceof ConnectError) || reasonOf(error) !== 'RECOVERING') throw error;
  }
}
