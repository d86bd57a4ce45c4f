import type { EntityManager } from '@mikro-orm/postgresql';
import { publicId, storedId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import type { Database } from '../../database/database.ts';
import { OrderRow } from '../../database/order-entities.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { readTakesPayments } from '../../database/takes-payments.sql.ts';
import { allowedOptions, amountIssues } from '../../domain/merchant-terms.ts';
import type { Environment, OrderInFull } from '../../domain/order.ts';
import { validatePayerPayment, validateRequestedPayment } from '../../domain/payer-payment.ts';
import type { PayerPaymentDecision } from '../../domain/payer-payment.ts';
import type { Wallet } from '../../domain/wallet.ts';
import { refuseMerchant } from '../../merchants/find-merchant.ts';
import type { FindMerchant } from '../../merchants/find-merchant.ts';
import type { ClaimPayments } from '../changes/claim-payments.ts';
import { orderOfAttempt, orderOfId, readOrder } from '../changes/read-order.ts';
import { findNamedAttempt } from './find-named-attempt.sql.ts';
import { findNamedOrder } from './find-named-order.sql.ts';
import type { NamedOrder } from './find-named-order.sql.ts';

/** A payment that a wallet asks about before it moves money. */
export interface AskedPayerPayment {
  readonly wallet: string;
  readonly environment: Environment;
  readonly reference: string;
  readonly amount: string;
  readonly currency: string;
  /** '' when the reference can name no attempt. */
  readonly attemptIdEnd: string;
}

/** `lockless`: only for display. The wallet's own question is decided under the lock of the order. */
export type ValidatePayerPayment = (
  asked: AskedPayerPayment,
  lockless?: 'lockless',
) => Promise<PayerPaymentDecision>;

/** The order that a reference names: by its number, with whether its merchant takes payments, or by an attempt. */
interface FoundOrder {
  readonly order: OrderInFull;
  readonly takes: boolean;
  readonly attemptId?: PublicId<'pat'>;
}

export interface ValidatePayerPaymentParts {
  readonly database: Database;
  readonly claims: Pick<ClaimPayments, 'isPaid'>;
  readonly gate: Pick<PaymentGate, 'isOpenFor'>;
  readonly findMerchant: FindMerchant;
  readonly wallets: readonly Wallet[];
  readonly now: () => Date;
}

/**
 * Decides whether a payment is taken. Nothing is stored: the wallet reports the payment after it has moved the money. An order that may have
 * been paid before a restore takes none. A reference that names one of our attempts is that of its prompt.
 */
export function createValidatePayerPayment(parts: ValidatePayerPaymentParts): ValidatePayerPayment {
  const { database, claims, gate, findMerchant, wallets, now } = parts;
  return async (asked, lockless) => {
    const { wallet: id, environment, reference, amount, currency } = asked;
    const wallet = wallets.find((each) => each.id === id);
    const terms = wallet?.payerStarted?.[environment];
    if (wallet === undefined || terms === undefined) return 'NOT_PAYABLE';
    const found = await database.fork().transactional(async (em): Promise<FoundOrder | undefined> => {
      const attempt = await findNamedAttempt(em, asked);
      const ofAttempt =
        attempt && (await orderOfAttempt({ merchantId: attempt.merchant_id, id: attempt.id })(em));
      if (attempt !== undefined && ofAttempt !== undefined) {
        const attemptId = publicId('pat', attempt.id);
        return { order: await readOrder(em, ofAttempt), takes: true, attemptId };
      }
      const named = await findNamedOrder(em, environment, reference, terms.merchantId);
      if (named === undefined) return undefined;
      const row = await (lockless === undefined ? orderOfId(named)(em) : findOrder(em, named));
      if (row == null) return undefined;
      const takes = (await readTakesPayments(em)).of(environment, row.merchantId);
      return { order: await readOrder(em, row), takes };
    });
    if (found === undefined) return 'UNKNOWN_REFERENCE';
    const { order, takes, attemptId } = found;
    if (attemptId !== undefined) return validateRequestedPayment(order, attemptId, asked);
    if (!takes || !gate.isOpenFor(environment, order.merchantId) || (await claims.isPaid(order)))
      return 'NOT_PAYABLE';
    const merchant = await findMerchant(order.merchantId);
    const isOffered =
      merchant !== undefined &&
      refuseMerchant(merchant, environment) === undefined &&
      amountIssues(merchant, order.amount).length === 0 &&
      allowedOptions(merchant, environment, wallets).some((option) => wallet.options.includes(option));
    return validatePayerPayment(order, { amount, currency }, isOffered, now());
  };
}

const findOrder = (em: EntityManager, { merchantId, environment, id }: NamedOrder) =>
  em.findOne(OrderRow, { merchantId: storedId('mer', merchantId), environment, id: storedId('ord', id) });
