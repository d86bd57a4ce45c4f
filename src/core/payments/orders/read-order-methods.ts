import { create } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import { GetOrderResponseSchema } from '../../../gen/gatehouse/v1/order_service_pb.js';
import type {
  GetOrderRequest,
  GetOrderResponse,
  OrderService,
} from '../../../gen/gatehouse/v1/order_service_pb.js';
import { annotate, callerOf } from '../../../platform/rpc/call-context.ts';
import type { Caller } from '../../../platform/rpc/call-context.ts';
import { defaultDeadlineMs } from '../../../platform/rpc/call-limits.ts';
import { requireRegistrar } from '../../rpc/checkout-url-access.ts';
import { orderMessage } from '../../rpc/order-messages.ts';
import { valuesOrThrow } from '../../rpc/request-fields.ts';
import type { CheckoutTokens } from '../checkout/checkout-token.ts';
import type { FindOrder } from '../search/find-order.ts';
import { missingOrder } from './missing-order.ts';
import type { MissingOrderParts } from './missing-order.ts';
import { parseOrderName, parseOrderWait } from './order-requests.ts';
import type { WaitForOrder } from './wait-for-order.ts';

export interface GetOrderParts extends MissingOrderParts {
  readonly findOrder: FindOrder;
  readonly openCheckoutUrlOf: CheckoutTokens['openUrlOf'];
}

export interface WaitOrderParts extends MissingOrderParts {
  readonly waitForOrder: WaitForOrder;
}

/** How long before its deadline a waiting call is answered, so that the answer arrives in time. */
const answerBeforeDeadlineMs = 500;

export type GetOrder = (
  request: GetOrderRequest,
  scope: { readonly signal: AbortSignal },
  role: Caller['role'],
) => Promise<GetOrderResponse>;

export function getOrderMethod(parts: GetOrderParts): GetOrder {
  return async (request, scope, role) => {
    if (request.withCheckoutUrl) requireRegistrar(role);
    const name = valuesOrThrow(parseOrderName(request));
    const order = await parts.findOrder(name, scope);
    if (order === undefined) throw await missingOrder(parts, name);
    const checkoutUrl = request.withCheckoutUrl ? parts.openCheckoutUrlOf(order) : '';
    return create(GetOrderResponseSchema, { order: orderMessage(order), checkoutUrl });
  };
}

export function waitOrderMethod(parts: WaitOrderParts): ServiceImpl<typeof OrderService>['waitOrder'] {
  return async (request, context) => {
    annotate(context, { merchant_id: request.merchantId });
    const { timeoutMs, ...wait } = valuesOrThrow(parseOrderWait(request));
    const leftMs = (context.timeoutMs() ?? defaultDeadlineMs) - answerBeforeDeadlineMs;
    const bounded = { ...wait, timeoutMs: Math.max(0, Math.min(timeoutMs, leftMs)) };
    const awaited = await parts.waitForOrder(bounded, {
      signal: context.signal,
      owner: callerOf(context).role,
    });
    if (awaited === undefined) throw await missingOrder(parts, wait.name);
    return { order: orderMessage(awaited.order), timedOut: awaited.timedOut };
  };
}
