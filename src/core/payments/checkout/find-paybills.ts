import { storedId } from '../../../contract/public-id.ts';
import type { Database } from '../../database/database.ts';
import { Money } from '../../domain/money.ts';
import { isInFlight } from '../../domain/order.ts';
import type { OrderInFull, PaymentOption } from '../../domain/order.ts';
import type { Wallet } from '../../domain/wallet.ts';
import type { ValidatePayerPayment } from '../payer-payments/validate-payer-payment.ts';

/** A paybill at which the payer can pay an order from the menu of the phone, with the order number as the account number. */
export interface Paybill {
  /** The wallet's id. */
  readonly wallet: string;
  readonly number: string;
}

/** The paybills at which an order can be paid now. */
export type FindPaybills = (
  order: OrderInFull,
  paymentOptions: readonly PaymentOption[],
) => Promise<readonly Paybill[]>;

export interface FindPaybillsParts {
  readonly database: Database;
  readonly wallets: readonly Wallet[];
  readonly validate: ValidatePayerPayment;
}

/** The longest account number that menus take. */
const longestAccountNumber = 20;

/**
 * Finds the paybills of the wallets that the customer may choose. A paybill counts only if validation
 * would accept this payment now, so no customer is sent to a payment that is rejected. The paybill is the operator's account, so
 * it is not shown for a merchant with an own account at the wallet.
 */
export function createFindPaybills({ database, wallets, validate }: FindPaybillsParts): FindPaybills {
  return async (order, paymentOptions) => {
    const { environment, orderNumber: reference, merchantId } = order;
    if (order.status !== 'PENDING' || reference.length > longestAccountNumber) return [];
    // Validation would refuse it.
    if (order.latestAttempt !== null && isInFlight(order.latestAttempt)) return [];
    const amount = Money.formatMinorUnits(order.amount.minorUnits, order.amount.currency);
    const { code: currency } = order.amount.currency;
    const found = wallets.map(async ({ id: wallet, options, payerStarted }): Promise<Paybill[]> => {
      const number = payerStarted?.[environment]?.paybill;
      if (number === undefined || !options.some((option) => paymentOptions.includes(option))) return [];
      const ownAccounts = await database.fork().execute(
        `select from core.wallet_accounts
           where merchant_id = ? and environment = ?::core.environment and wallet = ? and state = 'CURRENT'`,
        [storedId('mer', merchantId), environment, wallet],
      );
      if (ownAccounts.length > 0) return [];
      const decision = await validate(
        { wallet, environment, reference, amount, currency, attemptIdEnd: '' },
        'lockless',
      );
      return decision === 'ACCEPT' ? [{ wallet, number }] : [];
    });
    return (await Promise.all(found)).flat();
  };
}
