import { publicId, storedId } from '../../contract/public-id.ts';
import type { PublicId } from '../../contract/public-id.ts';
import type { Database } from '../database/database.ts';
import type { PaymentAttemptRow } from '../database/order-entities.ts';
import { explainOrder } from '../domain/explain-order.ts';
import type {
  ExplainedAttempt,
  ExplainedOrder,
  OrderExplanation,
  WalletState,
} from '../domain/order-explanation.ts';
import { admitMerchant } from '../domain/merchant-life-cycle.ts';
import { allowedOptions } from '../domain/merchant-terms.ts';
import type { Environment, Order } from '../domain/order.ts';
import { isInFlight } from '../domain/order.ts';
import { optionsThatTake } from '../domain/wallet.ts';
import type { Wallet } from '../domain/wallet.ts';
import type { FindMerchant } from '../merchants/find-merchant.ts';
import { settledId } from '../rpc/settlement-message.ts';
import { workOf } from '../payments/attempts/attempt-work-row.ts';
import { findOpenPayments } from '../payments/changes/open-payments.sql.ts';
import { reversalOf } from '../payments/changes/reversal-row.ts';
import type { ExplanationRows } from './explanation-rows.ts';

/** The states of the wallets of an environment, as the `wallets` processes report them now. */
export type ReadWalletStates = (environment: Environment) => Promise<(wallet: string) => WalletState>;

export interface ExplainStoredOrderParts {
  readonly database: Database;
  readonly findMerchant: FindMerchant;
  readonly readWalletStates: ReadWalletStates;
  readonly wallets: readonly Wallet[];
  /** What is wrong with a merchant's own wallet account. */
  readonly accountProblem: (account: {
    readonly merchantId: PublicId<'mer'>;
    readonly accountId: PublicId<'wac'>;
  }) => Promise<ExplainedAttempt['accountProblem']>;
  /** Whether a restore may have lost the payment of an order. */
  readonly mayBePaid: (order: Pick<Order, 'merchantId' | 'environment' | 'id'>) => Promise<boolean>;
  readonly now: () => Date;
}

/** Explains an order from its rows, and from the state of its merchant and wallets. */
export type ExplainStoredOrder = (rows: ExplanationRows) => Promise<OrderExplanation>;

export function createExplainStoredOrder(parts: ExplainStoredOrderParts): ExplainStoredOrder {
  const { database, findMerchant, readWalletStates, wallets, accountProblem, mayBePaid, now } = parts;

  const payableOf = async ({
    merchantId,
    environment,
    amount,
  }: Order): Promise<ExplainedOrder['payable']> => {
    const terms = await findMerchant(merchantId);
    if (terms === undefined || !admitMerchant(terms, environment).ok) return 'SUSPENDED';
    const offered = optionsThatTake(wallets, allowedOptions(terms, environment, wallets), amount);
    return offered.length === 0 ? 'NO_WALLET' : 'YES';
  };
  const payerPaymentOf = async (order: Order): Promise<ExplainedOrder['payerPayment']> => {
    const { environment, orderNumber } = order;
    const row = { environment, orderNumber, id: storedId('ord', order.id) };
    const find = await findOpenPayments(database.fork(), wallets, [row]);
    const payment = find(order);
    return payment === undefined
      ? null
      : {
          wallet: payment.wallet,
          reportedAt: new Date(payment.created_ms),
          dueAt: new Date(payment.due_ms),
        };
  };
  const accountProblemOf = async ({ merchantId, walletAccountId: id }: PaymentAttemptRow) =>
    id == null
      ? undefined
      : accountProblem({ merchantId: publicId('mer', merchantId), accountId: publicId('wac', id) });

  return async ({ order, latestAttempt, openStray, openRefund, settlements }) => {
    const isUnpaid =
      order.status === 'PENDING' && (order.latestAttempt === null || !isInFlight(order.latestAttempt));
    const [payable, walletState, problem, paid, payerPayment] = await Promise.all([
      order.status === 'PENDING' ? payableOf(order) : ('YES' as const),
      readWalletStates(order.environment),
      latestAttempt === null ? undefined : accountProblemOf(latestAttempt),
      isUnpaid && mayBePaid(order),
      isUnpaid ? payerPaymentOf(order) : null,
    ]);
    const explained: ExplainedOrder = {
      order,
      attempt: latestAttempt && { ...workOf(latestAttempt), accountProblem: problem },
      strays: (openStray === null ? [] : [openStray]).map((row) => ({
        id: publicId('stp', row.id),
        paymentOption: row.paymentOption,
        reversal: reversalOf(row),
        foundAt: row.createdAt,
        isOfAttempt: row.paymentAttemptId != null,
      })),
      refunds: openRefund === null ? [] : [openRefund],
      proposals: settlements
        .filter(({ status }) => status === 'PROPOSED')
        .map((row) => ({ subjectId: settledId(row), proposedAt: row.createdAt, expiresAt: row.expiresAt })),
      payable,
      walletState,
      mayBePaid: paid,
      payerPayment,
    };
    return explainOrder(explained, now());
  };
}
