import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { formatCursor } from '../../contract/event-cursor.ts';
import type { EventCursor } from '../../contract/event-cursor.ts';
import { orderExplanationText } from '../../contract/order-explanation-text.ts';
import {
  OrderExplanationSchema,
  OrderFact,
  OrderFactHolder,
  OrderNextStep,
} from '../../gen/gatehouse/v1/order_explanation_pb.js';
import type { OrderExplanation as ExplanationMessage } from '../../gen/gatehouse/v1/order_explanation_pb.js';
import { OrderStatus as StatusMessage } from '../../gen/gatehouse/v1/order_pb.js';
import type { CoreFact, CoreHolder, CoreNextStep, OrderExplanation } from '../domain/order-explanation.ts';
import type { OrderStatus } from '../domain/order.ts';

const facts = {
  NOTHING: OrderFact.NOTHING,
  CUSTOMER_PAYMENT: OrderFact.CUSTOMER_PAYMENT,
  ANOTHER_PAYMENT: OrderFact.ANOTHER_PAYMENT,
  MERCHANT_SUSPENDED: OrderFact.MERCHANT_SUSPENDED,
  NO_WALLET_OFFERED: OrderFact.NO_WALLET_OFFERED,
  EXPIRY: OrderFact.EXPIRY,
  REQUEST_SENT: OrderFact.REQUEST_SENT,
  WALLETS_PROCESS: OrderFact.WALLETS_PROCESS,
  WALLET_RECOVERY: OrderFact.WALLET_RECOVERY,
  WALLET_ANSWER: OrderFact.WALLET_ANSWER,
  PAYER_CONFIRMATION: OrderFact.PAYER_CONFIRMATION,
  WALLET_DECISION: OrderFact.WALLET_DECISION,
  WALLET_OUTCOME: OrderFact.WALLET_OUTCOME,
  WALLET_REACHED: OrderFact.WALLET_REACHED,
  MERCHANT_CREDENTIALS: OrderFact.MERCHANT_CREDENTIALS,
  WALLET_ACCOUNT_KEY: OrderFact.WALLET_ACCOUNT_KEY,
  SETTLEMENT_CONFIRMATION: OrderFact.SETTLEMENT_CONFIRMATION,
  MONEY_RETURNED: OrderFact.MONEY_RETURNED,
  RETURN_DECISION: OrderFact.RETURN_DECISION,
  REFUND_APPROVAL: OrderFact.REFUND_APPROVAL,
  REFUND_DECISION: OrderFact.REFUND_DECISION,
  RECOVERY: OrderFact.RECOVERY,
  PAYER_PAYMENT: OrderFact.PAYER_PAYMENT,
} as const satisfies Record<CoreFact, OrderFact>;

const holders = {
  NOBODY: OrderFactHolder.NOBODY,
  PAYER: OrderFactHolder.PAYER,
  WALLET: OrderFactHolder.WALLET,
  CORE: OrderFactHolder.CORE,
  WALLETS_PROCESS: OrderFactHolder.WALLETS_PROCESS,
  MERCHANT: OrderFactHolder.MERCHANT,
  OPERATOR: OrderFactHolder.OPERATOR,
} as const satisfies Record<CoreHolder, OrderFactHolder>;

const nextSteps = {
  NONE: OrderNextStep.NONE,
  ORDER_EXPIRES: OrderNextStep.ORDER_EXPIRES,
  REQUEST_SENT: OrderNextStep.REQUEST_SENT,
  WALLET_QUERIED: OrderNextStep.WALLET_QUERIED,
  WALLET_CHECKED: OrderNextStep.WALLET_CHECKED,
  PROCESS_STARTED: OrderNextStep.PROCESS_STARTED,
  CREDENTIALS_CORRECTED: OrderNextStep.CREDENTIALS_CORRECTED,
  KEY_RESTORED: OrderNextStep.KEY_RESTORED,
  SETTLEMENT_CONFIRMED: OrderNextStep.SETTLEMENT_CONFIRMED,
  RETURN_DECIDED: OrderNextStep.RETURN_DECIDED,
  REFUND_APPROVED: OrderNextStep.REFUND_APPROVED,
  WALLET_OFFERED: OrderNextStep.WALLET_OFFERED,
  RECOVERY_COMPLETED: OrderNextStep.RECOVERY_COMPLETED,
} as const satisfies Record<CoreNextStep, OrderNextStep>;

const statuses = {
  PENDING: StatusMessage.PENDING,
  COMPLETED: StatusMessage.COMPLETED,
  FAILED: StatusMessage.FAILED,
  EXPIRED: StatusMessage.EXPIRED,
} as const satisfies Record<OrderStatus, StatusMessage>;

/** An explanation as a message, with its text. `nameOf` gives the English name of a wallet. */
export function explanationMessage(
  explained: OrderExplanation,
  nameOf: (wallet: string) => string,
  lastEvent: EventCursor,
): ExplanationMessage {
  const { nextAt, since, wallet, reason, subjectId } = explained;
  const values = {
    waitingFor: facts[explained.waitingFor],
    next: nextSteps[explained.next],
    ...(nextAt && { nextTime: timestampFromDate(nextAt) }),
    walletName: wallet === '' ? '' : nameOf(wallet),
    orderStatus: statuses[explained.orderStatus],
    reason,
    subjectId,
  };
  return create(OrderExplanationSchema, {
    ...values,
    heldBy: holders[explained.heldBy],
    ...(since && { sinceTime: timestampFromDate(since) }),
    wallet,
    englishText: orderExplanationText(values),
    eventCursor: explained.waitingFor === 'NOTHING' ? formatCursor(lastEvent) : '',
  });
}
