import { defineRequestLog } from '../platform/http/request-facts.ts';

/** Facts about a request for its log line. The order's id replaces the token, because a holder of the token can pay. */
interface RequestFacts {
  orderId?: string;
  merchantId?: string;
  /** The stage that the page showed. */
  stage?: string;
  /** The phone of the payer, masked. */
  phone?: string;
  /** Why the request failed, as an UPPER_SNAKE word. */
  reason?: string;
  /** The internal cause, never shown to the customer. */
  cause?: unknown;
}

/**
 * Requests without a valid token share lines, and so do those about one order, because anyone who has its link can repeat them without
 * end.
 */
export const { createRequestLog, logFacts } = defineRequestLog<RequestFacts>({
  fields: ({ orderId, merchantId, ...facts }) => ({ order_id: orderId, merchant_id: merchantId, ...facts }),
  sharedAs: ({ orderId, stage, reason }) => `${orderId} ${stage} ${reason}`,
});
