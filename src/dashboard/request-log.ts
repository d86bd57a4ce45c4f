import { defineRequestLog } from '../platform/http/request-facts.ts';

/** Fields that a route adds. Never user input: only ids, and fixed words. */
interface RequestFacts {
  userId?: string;
  merchantId?: string;
  /** Why the request failed, in UPPER_SNAKE_CASE. */
  reason?: string;
  /** The internal error; never shown. */
  cause?: unknown;
}

/** Requests without a session share lines. */
export const { createRequestLog, logFacts } = defineRequestLog<RequestFacts>({
  fields: ({ userId, merchantId, ...facts }) => ({ user_id: userId, merchant_id: merchantId, ...facts }),
  sharedAs: ({ userId, reason }) => (userId === undefined ? `${reason}` : undefined),
});
