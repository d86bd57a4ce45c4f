import { storedId } from '../../../contract/public-id.ts';
import type { Database } from '../../database/database.ts';
import { isInFlight } from '../../domain/order.ts';
import type { OrderInFull, PaymentOption } from '../../domain/order.ts';
import type { Wallet } from '../../domain/wallet.ts';
import type { MerchantTerms } from '../../merchants/find-merchant.ts';
import type { WouldTakePayerPayment } from '../payer-payments/validate-payer-payment.ts';

/** A paybill at which the payer can pay an order from the menu of the phone, with the order number as the account number. */
export interface Paybill {
  /** The wallet's id. */
  readonly wallet: string;
  readonly number: string;
}

/** The paybills at which an order can be paid now. */
export type FindPaybills = (
  order: OrderInFull,
  merchant: MerchantTerms,
  paymentOptions: readonly PaymentOption[],
) => Promise<readonly Paybill[]>;

export interface FindPaybillsParts {
  readonly database: Database;
  readonly wallets: readonly Wallet[];
  readonly wouldTakePayerPayment: WouldTakePayerPayment;
}

/** The longest account number that menus take. */
const longestAccountNumber = 20;

/**
 * Finds the paybills of the wallets that the customer may choose. A paybill counts only if validation
 * would accept this payment now, so no customer is sent to a payment that is rejected. The paybill is the operator's account, so
 * it is not shown for a merchant with an own account at the wallet.
 */
export function createFindPaybills({
  database,
  wallets,
  wouldTakePayerPayment,
}: FindPaybillsParts): FindPaybills {
  return async (order, merchant, paymentOptions) => {
    const { environment, orderNumber: reference, merchantId } = order;
    if (order.status !== 'PENDING' || reference.length > longestAccountNumber) return [];
    // Validation would refuse it.
    if (order.latestAttempt !== null && isInFlight(order.latestAttempt)) return [];
    const found = wallets.map(async (wallet): Promise<Paybill[]> => {
      const number = wallet.payerStarted?.[environment]?.paybill;
      if (number === undefined || !wallet.options.some((option) => paymentOptions.includes(option)))
        return [];
      const ownAccounts = await database.fork().execute(
        `select from core.wallet_accounts
           where merchant_id = ? and environment = ?::core.environment and wallet = ? and state = 'CURRENT'`,
        [storedId('mer', merchantId), environment, wallet.id],
      );
      if (ownAccounts.length > 0) return [];
      return (await wouldTakePayerPayment(order, wallet, merchant)) ? [{ wallet: wallet.id, number }] : [];
    });
    return (await Promise.all(found)).flat();
  };
}
