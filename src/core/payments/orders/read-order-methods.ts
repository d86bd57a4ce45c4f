import { create } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import { GetOrderResponseSchema } from '../../../gen/gatehouse/v1/order_service_pb.js';
import type {
  GetOrderRequest,
  GetOrderResponse,
  OrderService,
} from '../../../gen/gatehouse/v1/order_service_pb.js';
import { rpcError } from '../../../contract/error-reason.ts';
import { annotate } from '../../../platform/rpc/call-context.ts';
import type { Caller } from '../../../platform/rpc/call-context.ts';
import { defaultDeadlineMs } from '../../../platform/rpc/grpc-server.ts';
import { recovering } from '../../database/payment-gate.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { requireRegistrar } from '../../rpc/checkout-url-access.ts';
import { orderMessage } from '../../rpc/order-messages.ts';
import { valuesOrThrow } from '../../rpc/request-fields.ts';
import type { ClaimPayments } from '../changes/claim-payments.ts';
import type { CheckoutTokens } from '../checkout/checkout-token.ts';
import type { FindOrder, OrderName } from '../search/find-order.ts';
import { parseOrderName, parseOrderWait } from './order-requests.ts';
import type { WaitForOrder } from './wait-for-order.ts';

export interface MissingOrderParts {
  readonly gate: Pick<PaymentGate, 'isOpenFor'>;
  readonly claims: Pick<ClaimPayments, 'isPaid'>;
}

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
    const awaited = await parts.waitForOrder(bounded, context);
    if (awaited === undefined) throw await missingOrder(parts, wait.name);
    return { order: orderMessage(awaited.order), timedOut: awaited.timedOut };
  };
}

/** RECOVERING while a restored gateway may have lost the order; otherwise ORDER_NOT_FOUND. */
async function missingOrder({ gate, claims }: MissingOrderParts, name: OrderName): Promise<Error> {
  const { merchantId, environment, by, value: orderNumber } = name;
  if (!gate.isOpenFor(environment, merchantId)) return recovering();
  const isPaid = by === 'order_number' && (await claims.isPaid({ merchantId, environment, orderNumber }));
  return isPaid
    ? recovering()
    : rpcError('ORDER_NOT_FOUND', 'the merchant has no such order in this environment');
}
