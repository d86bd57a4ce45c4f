import type { AttemptWork } from './attempt-work.ts';
import type { Order, OrderStatus, PaymentOption } from './order.ts';
import type { Refund } from './refund-record.ts';
import type { Reversal } from './reversal.ts';

/*
 * The explanation of an order, as data: the fact that it waits for, the holder, and the next step with its time. Each process that
 * shows it takes the words from src/contract/order-explanation-text.ts, or translates the data.
 */

/** The facts of gatehouse.v1.OrderFact that core knows. The others belong to `webhooks`. */
export type CoreFact =
  | 'NOTHING'
  | 'CUSTOMER_PAYMENT'
  | 'ANOTHER_PAYMENT'
  | 'MERCHANT_SUSPENDED'
  | 'NO_WALLET_OFFERED'
  | 'EXPIRY'
  | 'REQUEST_SENT'
  | 'WALLETS_PROCESS'
  | 'WALLET_RECOVERY'
  | 'WALLET_ANSWER'
  | 'PAYER_CONFIRMATION'
  | 'WALLET_DECISION'
  | 'WALLET_OUTCOME'
  | 'WALLET_REACHED'
  | 'MERCHANT_CREDENTIALS'
  | 'WALLET_ACCOUNT_KEY'
  | 'SETTLEMENT_CONFIRMATION'
  | 'MONEY_RETURNED'
  | 'RETURN_DECISION'
  | 'REFUND_APPROVAL'
  | 'REFUND_DECISION'
  | 'RECOVERY'
  | 'PAYER_PAYMENT';

/** Who holds a fact, as gatehouse.v1.OrderFactHolder defines it. */
export type CoreHolder = 'NOBODY' | 'PAYER' | 'WALLET' | 'CORE' | 'WALLETS_PROCESS' | 'MERCHANT' | 'OPERATOR';

/** The next step, as gatehouse.v1.OrderNextStep defines it. */
export type CoreNextStep =
  | 'NONE'
  | 'ORDER_EXPIRES'
  | 'REQUEST_SENT'
  | 'WALLET_QUERIED'
  | 'WALLET_CHECKED'
  | 'PROCESS_STARTED'
  | 'CREDENTIALS_CORRECTED'
  | 'KEY_RESTORED'
  | 'SETTLEMENT_CONFIRMED'
  | 'RETURN_DECIDED'
  | 'REFUND_APPROVED'
  | 'WALLET_OFFERED'
  | 'RECOVERY_COMPLETED';

export interface OrderExplanation {
  readonly waitingFor: CoreFact;
  readonly heldBy: CoreHolder;
  readonly next: CoreNextStep;
  /** Undefined when it happens at once, when a person decides the time, and when nothing happens. */
  readonly nextAt: Date | undefined;
  /** Undefined when unknown. */
  readonly since: Date | undefined;
  /** The wallet that the fact concerns, by its id; '' without one. */
  readonly wallet: string;
  /** Why the latest payment ended without money, as a lower_snake word; '' when it did not. */
  readonly reason: string;
  /** The public id of the attempt, stray payment or refund; '' when the fact concerns the order itself. */
  readonly subjectId: string;
  readonly orderStatus: OrderStatus;
}

/**
 * The state of a wallet as the `wallets` processes report it. SILENT: no process works with the wallet.
 * CIRCUIT_OPEN: every process that does has opened the wallet's circuit.
 */
export type WalletState = 'WORKING' | 'CIRCUIT_OPEN' | 'SILENT';

/** Money that an order's payer lacks, on its way back. */
export interface ExplainedStray {
  readonly id: string;
  readonly paymentOption: PaymentOption;
  readonly reversal: Reversal;
  readonly foundAt: Date;
  /** Whether one of the order's attempts took it. Only such money keeps others from paying the order. */
  readonly isOfAttempt: boolean;
}

/** The latest payment attempt with its work at the wallet. */
export interface ExplainedAttempt extends AttemptWork {
  /**
   * What is wrong with the merchant's own account with which the attempt began. REFUSED: the provider refused its credentials. UNREADABLE: core
   * cannot decrypt it. Undefined without such an account, and when nothing is known to be wrong.
   */
  readonly accountProblem: 'REFUSED' | 'UNREADABLE' | undefined;
}

/** A settlement that an operator proposed and nobody confirmed yet. */
export interface OpenProposal {
  /** The attempt, stray payment or refund. */
  readonly subjectId: string;
  readonly proposedAt: Date;
  readonly expiresAt: Date;
}

/** A payment that the payer started from the menu of the phone, and that keeps the order from ending unpaid. */
export interface ExplainedPayerPayment {
  readonly wallet: string;
  readonly reportedAt: Date;
  /** When the wallet is queried about it. */
  readonly dueAt: Date;
}

/** The facts that decide what an order waits for. */
export interface ExplainedOrder {
  readonly order: Order;
  /** Null before the first attempt. */
  readonly attempt: ExplainedAttempt | null;
  /** Stray payments of the order that are not returned, oldest first. */
  readonly strays: readonly ExplainedStray[];
  /** The refunds of the order, oldest first. */
  readonly refunds: readonly Refund[];
  readonly proposals: readonly OpenProposal[];
  /** Whether a customer could start a payment now, as far as the merchant and its wallets decide. */
  readonly payable: 'YES' | 'SUSPENDED' | 'NO_WALLET';
  readonly walletState: (wallet: string) => WalletState;
  /** Whether a restore may have lost the payment of a PENDING order. */
  readonly mayBePaid: boolean;
  /** The payer-started payment that holds a PENDING order without a payment in flight; null when there is none. */
  readonly payerPayment: ExplainedPayerPayment | null;
}
