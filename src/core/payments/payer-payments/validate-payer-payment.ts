import { publicId, storedId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import type { Database } from '../../database/database.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { readTakesPayments } from '../../database/takes-payments.sql.ts';
import { allowedOptions, amountIssues } from '../../domain/merchant-terms.ts';
import { Money } from '../../domain/money.ts';
import type { Environment, OrderInFull } from '../../domain/order.ts';
import { validatePayerPayment, validateRequestedPayment } from '../../domain/payer-payment.ts';
import type { PayerPaymentDecision } from '../../domain/payer-payment.ts';
import type { Wallet } from '../../domain/wallet.ts';
import { refuseMerchant } from '../../merchants/find-merchant.ts';
import type { FindMerchant, MerchantTerms } from '../../merchants/find-merchant.ts';
import type { ClaimPayments } from '../changes/claim-payments.ts';
import { orderOfAttempt, orderOfId, readOrder } from '../changes/read-order.ts';
import { findNamedAttempt } from './find-named-attempt.sql.ts';
import { findNamedOrder } from './find-named-order.sql.ts';
import { createIsNamedAlone } from './named-alone.ts';

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

/** Decides about a payment under the lock of its order. */
export type ValidatePayerPayment = (asked: AskedPayerPayment) => Promise<PayerPaymentDecision>;

/** Whether a payment of an order from the menu of the phone would be taken now. Only for display: nothing is locked. */
export type WouldTakePayerPayment = (
  order: OrderInFull,
  wallet: Wallet,
  merchant: MerchantTerms,
) => Promise<boolean>;

/** The order that a reference names: by its number, with whether its merchant takes payments, or by an attempt. */
interface FoundOrder {
  readonly order: OrderInFull;
  readonly takes: boolean;
  readonly attemptId?: PublicId<'pat'>;
}

export interface PayerPaymentValidationParts {
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
export function createPayerPaymentValidation(parts: PayerPaymentValidationParts): {
  readonly validate: ValidatePayerPayment;
  readonly wouldTake: WouldTakePayerPayment;
} {
  const { database, claims, gate, findMerchant, wallets, now } = parts;
  const isNamedAlone = createIsNamedAlone(database);

  const mayTake = async (order: OrderInFull): Promise<boolean> =>
    gate.isOpenFor(order.environment, order.merchantId) && !(await claims.isPaid(order));
  const isOffered = (order: OrderInFull, wallet: Wallet, merchant: MerchantTerms | undefined): boolean =>
    merchant !== undefined &&
    refuseMerchant(merchant, order.environment) === undefined &&
    amountIssues(merchant, order.amount).length === 0 &&
    allowedOptions(merchant, order.environment, wallets).some((option) => wallet.options.includes(option));

  return {
    async validate(asked) {
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
        const row = named && (await orderOfId(named)(em));
        if (row === undefined) return undefined;
        const takes = (await readTakesPayments(em)).of(environment, row.merchantId);
        return { order: await readOrder(em, row), takes };
      });
      if (found === undefined) return 'UNKNOWN_REFERENCE';
      const { order, takes, attemptId } = found;
      if (attemptId !== undefined) return validateRequestedPayment(order, attemptId, asked);
      if (!takes || !(await mayTake(order))) return 'NOT_PAYABLE';
      const merchant = await findMerchant(order.merchantId);
      return validatePayerPayment(order, { amount, currency }, isOffered(order, wallet, merchant), now());
    },

    async wouldTake(order, wallet, merchant) {
      const { environment, amount } = order;
      const terms = wallet.payerStarted?.[environment];
      if (terms === undefined || !isOffered(order, wallet, merchant)) return false;
      const money = {
        amount: Money.formatMinorUnits(amount.minorUnits, amount.currency),
        currency: amount.currency.code,
      };
      if (validatePayerPayment(order, money, true, now()) !== 'ACCEPT' || !(await mayTake(order)))
        return false;
      if (!(await isNamedAlone(order, terms.merchantId))) return false;
      const open = await readTakesPayments(database.fork());
      return open.of(environment, storedId('mer', order.merchantId));
    },
  };
}
