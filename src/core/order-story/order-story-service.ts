import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { OrderStoryService } from '../../gen/gatehouse/v1/order_story_service_pb.js';
import type { PublicId } from '../../contract/public-id.ts';
import { rpcService } from '../../contract/rpc-service.ts';
import { annotate, callerOf } from '../../platform/rpc/call-context.ts';
import { maxTurnWaitMs } from '../../platform/rpc/call-limits.ts';
import type { FairCalls } from '../../platform/fair-calls.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import { combine } from '../domain/combine.ts';
import type { Environment, Order } from '../domain/order.ts';
import { apiRequestMessage } from '../rpc/api-request-message.ts';
import { requireRegistrar } from '../rpc/checkout-url-access.ts';
import { parseEnvironment } from '../rpc/environment.ts';
import { attemptMessage, orderMessage } from '../rpc/order-messages.ts';
import { parseOrderKey } from '../rpc/order-key.ts';
import type { NameInEnvironment } from '../rpc/order-key.ts';
import { parseId, valuesOrThrow } from '../rpc/request-fields.ts';
import { refundMessage } from '../rpc/refund-message.ts';
import { settlementMessage } from '../rpc/settlement-message.ts';
import { strayPaymentMessage } from '../rpc/stray-payment-message.ts';
import type { ExplainStoredOrder } from './explain-stored-order.ts';
import { explanationMessage } from './explanation-message.ts';
import type { ExplanationRows, ReadExplanationRows } from './explanation-rows.ts';
import type { AttemptStory, OrderStoryKey, ReadOrderStory } from './read-order-story.ts';

export interface OrderStoryServiceParts {
  readonly readStory: ReadOrderStory;
  readonly readExplanationRows: ReadExplanationRows;
  readonly explain: ExplainStoredOrder;
  /** The English name of a wallet. */
  readonly nameOf: (wallet: string) => string;
  /** The checkout URL of an order that can be paid there; empty for any other order. */
  readonly openCheckoutUrlOf: (order: Order) => string;
  /** Limits the explanations that are read at a time, by merchant and environment. */
  readonly fairly: FairCalls;
  /** Limits the stories that are read at a time, by merchant and environment. */
  readonly searchFairly: FairCalls;
  /** The error if no order has the name: RECOVERING while a restored gateway may have lost it; otherwise ORDER_NOT_FOUND. */
  readonly missingOrder: (
    name: { readonly merchantId: PublicId<'mer'>; readonly environment: Environment } & NameInEnvironment,
  ) => Promise<Error>;
  readonly now: () => Date;
}

/** gatehouse.v1.OrderStoryService. */
export function orderStoryService(parts: OrderStoryServiceParts): RpcService {
  const { openCheckoutUrlOf, fairly, now } = parts;
  const explain = async (rows: ExplanationRows) =>
    explanationMessage(await parts.explain(rows), parts.nameOf, rows.lastEvent);
  /** A story needs about twenty reads, and an order can have any number of refunds and stray payments. */
  const readInTurn = (key: OrderStoryKey, signal: AbortSignal) =>
    parts.searchFairly({ owner: `${key.environment} ${key.merchantId}` }, signal, async () => {
      const story = await parts.readStory(key);
      if (story === undefined) throw await parts.missingOrder({ ...key, by: 'id', value: key.orderId });
      return { story, explanation: await explain(story) };
    });
  return rpcService(
    OrderStoryService,
    {
      async getOrderStory(request, context) {
        const key = valuesOrThrow(
          combine({
            merchantId: parseId('mer', request.merchantId, 'merchant_id'),
            environment: parseEnvironment(request.environment),
            orderId: parseId('ord', request.orderId, 'order_id'),
          }),
        );
        annotate(context, { merchant_id: key.merchantId, order_id: key.orderId });
        if (request.withCheckoutUrl) requireRegistrar(callerOf(context).role);
        const { story, explanation } = await readInTurn(key, context.signal);
        const { order } = story;
        const at = now();
        return {
          order: orderMessage(order),
          checkoutUrl: request.withCheckoutUrl ? openCheckoutUrlOf(order) : '',
          events: [...story.events],
          paymentAttempts: story.attempts.map((attempt) => attemptStoryMessage(order, attempt)),
          strayPayments: story.strayPayments.map(strayPaymentMessage),
          refunds: story.refunds.map(refundMessage),
          settlements: story.settlements.map((settlement) => settlementMessage(settlement, at)),
          ...undecidedOf(order),
          apiRequests: story.apiRequests.map(apiRequestMessage),
          incomplete: story.isIncomplete,
          explanation,
        };
      },
      async explainOrder(request, context) {
        const { merchantId, environment, key } = valuesOrThrow(
          combine({
            merchantId: parseId('mer', request.merchantId, 'merchant_id'),
            environment: parseEnvironment(request.environment),
            key: parseOrderKey(request.key),
          }),
        );
        annotate(context, { merchant_id: merchantId });
        // An explanation needs about ten reads, and merchants may request it as often as a call that needs one read.
        const caller = { owner: `${environment} ${merchantId}`, maxWaitMs: maxTurnWaitMs(context) };
        return fairly(caller, context.signal, async () => {
          const name = { merchantId, environment, ...key };
          const rows = await parts.readExplanationRows(name);
          if (rows === undefined) throw await parts.missingOrder(name);
          const { id: orderId, orderNumber } = rows.order;
          annotate(context, { order_id: orderId });
          return { orderId, orderNumber, explanation: await explain(rows) };
        });
      },
    },
    {
      getOrderStory: ['dashboard', 'operator', 'reader'],
      explainOrder: ['facade', 'dashboard', 'operator', 'writer', 'reader'],
    },
  );
}

/** The attempt that keeps a PENDING order open, because only its wallet knows the outcome. */
function undecidedOf({ status, latestAttempt }: Order) {
  if (status !== 'PENDING' || latestAttempt === null) return {};
  if (latestAttempt.status !== 'SENT' && latestAttempt.status !== 'UNKNOWN') return {};
  return {
    undecidedPaymentAttemptId: latestAttempt.id,
    undecidedSince: timestampFromDate(latestAttempt.createdAt),
  };
}

const attemptStoryMessage = (order: Order, { attempt, dueAt, exchanges, ...story }: AttemptStory) => ({
  paymentAttempt: attemptMessage(order, attempt),
  providerReference: story.providerReference,
  providerTransactionId: story.providerTransactionId,
  ...(dueAt === null ? {} : { dueTime: timestampFromDate(dueAt) }),
  exchanges: [...exchanges],
  unsent: story.isUnsent,
  detail: story.detail,
});
