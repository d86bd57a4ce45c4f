import type { RpcService } from '../platform/rpc/rpc-service.ts';
import type { Logger } from '../platform/logger.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import { createFindTraces, findNoTraces } from '../core/payments/attempts/find-traces.ts';
import { createLeaseAttempts } from '../core/payments/attempts/lease-attempts.ts';
import type { MakeAttemptDue } from '../core/payments/attempts/make-attempt-due.ts';
import { paymentAttemptService } from '../core/payments/attempts/payment-attempt-service.ts';
import { createPaymentReader } from '../core/payments/attempts/payment-reader.ts';
import { createRecordOutcome } from '../core/payments/attempts/record-outcome.ts';
import type { CheckoutTokens } from '../core/payments/checkout/checkout-token.ts';
import { createAnswerOnce } from '../core/payments/idempotency/keyed-calls.ts';
import type { OrderChanges } from '../core/payments/changes/change-orders.ts';
import type { ClaimPayments } from '../core/payments/changes/claim-payments.ts';
import type { PaymentGate } from '../core/database/payment-gate.ts';
import { searchBounds } from '../core/database/walk-back.ts';
import { createCancelOrder } from '../core/payments/orders/cancel-order.ts';
import { createCheckRequest } from '../core/payments/orders/check-request.ts';
import { orderService } from '../core/payments/orders/order-service.ts';
import type { OrderServiceParts } from '../core/payments/orders/order-service.ts';
import { createRegisterOrder } from '../core/payments/orders/register-order.ts';
import { createStartDirectPayment } from '../core/payments/orders/start-direct-payment.ts';
import type { StartDirectPaymentParts } from '../core/payments/orders/start-direct-payment.ts';
import { createWaitForOrder } from '../core/payments/orders/wait-for-order.ts';
import { createConfirmPayerPayment } from '../core/payments/payer-payments/confirm-payer-payment.ts';
import { createPayerPaymentQueue } from '../core/payments/payer-payments/lease-payer-payments.ts';
import type { PayerPaymentQueueParts } from '../core/payments/payer-payments/lease-payer-payments.ts';
import { createPayerPaymentReader } from '../core/payments/payer-payments/list-payer-payments.ts';
import { payerPaymentService } from '../core/payments/payer-payments/payer-payment-service.ts';
import { createReportPayerPayment } from '../core/payments/payer-payments/report-payer-payment.ts';
import type { ValidatePayerPayment } from '../core/payments/payer-payments/validate-payer-payment.ts';
import { createStartRefund } from '../core/payments/refunds/start-refund.ts';
import { createDecideApproval } from '../core/payments/refunds/decide-approval.ts';
import { createFindRefundingRole } from '../core/payments/refunds/find-refunding-role.ts';
import { createRefundReader } from '../core/payments/refunds/find-refunds.ts';
import { refundService } from '../core/payments/refunds/refund-service.ts';
import type { RefundServiceParts } from '../core/payments/refunds/refund-service.ts';
import type { RefundWork } from '../core/payments/refunds/refund-work.ts';
import { createWatchRefunds } from '../core/payments/refunds/watch-refunds.ts';
import { createFindOrdersAnywhere } from '../core/payments/search/find-orders-anywhere.ts';
import { createSearchOrders } from '../core/payments/search/search-orders.ts';
import { settlementService } from '../core/payments/settlements/settlement-service.ts';
import { createSettlements } from '../core/payments/settlements/settlements.ts';
import { createListStrayPayments } from '../core/payments/stray-payments/list-stray-payments.ts';
import { createReversals } from '../core/payments/stray-payments/reversals.ts';
import { strayPaymentService } from '../core/payments/stray-payments/stray-payment-service.ts';

export interface CorePaymentsParts
  extends
    StartDirectPaymentParts,
    PayerPaymentQueueParts,
    Pick<OrderServiceParts, 'changedOrders' | 'currencies' | 'draining' | 'feed' | 'searchFairly'>,
    Pick<RefundServiceParts, 'mayKeyRefund'> {
  readonly changes: OrderChanges;
  readonly claims: ClaimPayments;
  readonly gate: Pick<PaymentGate, 'isOpenFor' | 'missing'>;
  readonly tokens: CheckoutTokens;
  readonly makeAttemptDue: MakeAttemptDue;
  readonly refundWork: RefundWork;
  readonly validatePayerPayment: ValidatePayerPayment;
  readonly machineNow: () => Date;
  /** Undefined when tracing is off. */
  readonly tracing: Tracing | undefined;
  readonly logger: Logger;
}

/** The services of orders and of everything that happens to their money. */
export function corePayments(parts: CorePaymentsParts): RpcService[] {
  const { database, findMerchant, findOrder, changedOrders, feed, draining, tokens, wallets, now } = parts;
  const { makeAttemptDue, refundWork, tracing, logger } = parts;
  const answerOnce = createAnswerOnce({ pool: database.pool, fairly: parts.fairly });
  const findRole = createFindRefundingRole(database);
  return [
    orderService({
      ...parts,
      searchOrders: createSearchOrders(database, { ...searchBounds, monotonicMs: () => performance.now() }),
      findOrdersAnywhere: createFindOrdersAnywhere(database),
      cancelOrder: createCancelOrder(parts),
      checkRequest: createCheckRequest(findMerchant, wallets),
      registerOrder: createRegisterOrder(parts),
      startDirectPayment: createStartDirectPayment(parts),
      answerOnce,
      waitForOrder: createWaitForOrder({ findOrder, changedOrders, draining }),
      isServing: database.poolWatch.isServing,
      checkoutUrlOf: tokens.urlOf,
      openCheckoutUrlOf: tokens.openUrlOf,
    }),
    paymentAttemptService({
      checkoutUrlOf: tokens.urlOf,
      leaseAttempts: createLeaseAttempts(parts),
      findTraces: tracing === undefined ? findNoTraces : createFindTraces(database.pool, logger),
      recordOutcome: createRecordOutcome(parts),
      makeAttemptDue,
      gate: parts.gate,
      reader: createPaymentReader(database),
    }),
    strayPaymentService({
      listStrayPayments: createListStrayPayments(database),
      searchFairly: parts.searchFairly,
      reversals: createReversals(parts),
    }),
    refundService({
      startRefund: createStartRefund({ ...parts, findRole }),
      fairly: parts.fairly,
      searchFairly: parts.searchFairly,
      gate: parts.gate,
      findRole,
      watchRefunds: createWatchRefunds(feed, draining),
      answerOnce,
      decideApproval: createDecideApproval(parts),
      reader: createRefundReader(database, wallets),
      work: refundWork,
      findMerchant,
      mayKeyRefund: parts.mayKeyRefund,
    }),
    settlementService({ database, settlements: createSettlements(parts), now }),
    payerPaymentService({
      validate: parts.validatePayerPayment,
      report: createReportPayerPayment(parts),
      queue: createPayerPaymentQueue(parts),
      confirm: createConfirmPayerPayment(parts),
      reader: createPayerPaymentReader(database),
    }),
  ];
}
