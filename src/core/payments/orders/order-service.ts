import { create } from '@bufbuild/protobuf';
import {
  OrderService,
  RegisterOrderRequestSchema,
  RegisterOrderResponseSchema,
  StartDirectPaymentRequestSchema,
  StartDirectPaymentResponseSchema,
} from '../../../gen/gatehouse/v1/order_service_pb.js';
import type {
  RegisterOrderRequest,
  RegisterOrderResponse,
  StartDirectPaymentRequest,
  StartDirectPaymentResponse,
} from '../../../gen/gatehouse/v1/order_service_pb.js';
import { rpcService } from '../../../contract/rpc-service.ts';
import { isRequestId } from '../../../platform/request-id.ts';
import { actorOf } from '../../../platform/rpc/actor.ts';
import { annotate, callerOf } from '../../../platform/rpc/call-context.ts';
import type { CallContext } from '../../../platform/rpc/call-context.ts';
import { maxTurnWaitMs } from '../../../platform/rpc/call-limits.ts';
import { fromStatus, reasonOf } from '../../../platform/rpc/rpc-error.ts';
import type { RpcService } from '../../../platform/rpc/rpc-service.ts';
import { combine } from '../../domain/combine.ts';
import { parseIdempotencyKey } from '../../domain/idempotency-key.ts';
import type { Wallet } from '../../domain/wallet.ts';
import type { ChangedOrders } from '../../events/changed-orders.ts';
import { answerEach } from '../../rpc/answer-each.ts';
import type { ItemResult } from '../../rpc/answer-each.ts';
import { registrars } from '../../rpc/checkout-url-access.ts';
import { parseEnvironment } from '../../rpc/environment.ts';
import { attemptMessage, orderMessage } from '../../rpc/order-messages.ts';
import { parseId, valuesOrThrow } from '../../rpc/request-fields.ts';
import type { CallScope } from '../changes/add-orders.ts';
import type { CheckoutTokens } from '../checkout/checkout-token.ts';
import { fingerprintOf } from '../idempotency/keyed-calls.ts';
import type { AnswerOnce } from '../idempotency/keyed-calls.ts';
import { searchMethods } from '../search/search-methods.ts';
import type { SearchMethodsParts } from '../search/search-methods.ts';
import type { CancelOrder } from './cancel-order.ts';
import type { CheckRequest } from './check-request.ts';
import { itemSpans } from './item-spans.ts';
import { orderEventMethods } from './order-event-methods.ts';
import type { OrderEventMethodsParts } from './order-event-methods.ts';
import { parseDirectPayment, parseRegistration, readForTerms } from './order-requests.ts';
import type { Registration } from './order-requests.ts';
import { getOrderMethod, waitOrderMethod } from './read-order-methods.ts';
import type { GetOrder, GetOrderParts, WaitOrderParts } from './read-order-methods.ts';
import type { RegisterOrder, Registered } from './register-order.ts';
import type { StartDirectPayment, StartedPayment } from './start-direct-payment.ts';
import { streamOrderBatches } from './stream-order-batches.ts';
import type { BatchMethods } from './stream-order-batches.ts';
import { watchEndedOrders } from './watch-ended-orders.ts';

export interface OrderServiceParts
  extends GetOrderParts, WaitOrderParts, SearchMethodsParts, OrderEventMethodsParts {
  readonly cancelOrder: CancelOrder;
  readonly checkRequest: CheckRequest;
  readonly registerOrder: RegisterOrder;
  readonly startDirectPayment: StartDirectPayment;
  readonly answerOnce: AnswerOnce;
  readonly changedOrders: ChangedOrders;
  /** Whether this process has connections to the database. */
  readonly isServing: () => boolean;
  readonly checkoutUrlOf: CheckoutTokens['urlOf'];
  readonly wallets: readonly Wallet[];
}

const writers = ['facade', 'operator', 'writer'] as const;
const readers = [
  'facade',
  'checkout',
  'wallets',
  'webhooks',
  'dashboard',
  'operator',
  'writer',
  'reader',
] as const;
const followers = ['webhooks', 'operator', 'writer', 'reader'] as const;

/** gatehouse.v1.OrderService. Each method parses a request, calls one function and translates its result into the contract. */
export function orderService(parts: OrderServiceParts): RpcService {
  const { draining } = parts;
  const register = registrationMethod(parts);
  const startPayment = directPaymentMethod(parts);
  const getOrder = getOrderMethod(parts);
  const batches = batchMethods({ register, startPayment, getOrder, isServing: parts.isServing });
  return rpcService(
    OrderService,
    {
      async registerOrder(request, context) {
        const response = await register(request, scopeOf(context));
        annotate(context, {
          merchant_id: request.merchantId,
          order_id: response.order?.orderId,
          repeated: response.repeated,
        });
        return response;
      },
      batchRegisterOrders: batches.registerOrders,
      async startDirectPayment(request, context) {
        const response = await startPayment(request, scopeOf(context));
        annotate(context, {
          merchant_id: request.merchantId,
          order_id: response.order?.orderId,
          payment_attempt_id: response.paymentAttempt?.paymentAttemptId,
          repeated: response.repeated,
        });
        return response;
      },
      batchStartDirectPayments: batches.startDirectPayments,
      async getOrder(request, context) {
        annotate(context, { merchant_id: request.merchantId });
        return getOrder(request, scopeOf(context), callerOf(context).role);
      },
      batchGetOrders: batches.getOrders,
      streamOrderBatches: streamOrderBatches(batches, draining),
      waitOrder: waitOrderMethod(parts),
      watchEndedOrders: (_request, context) =>
        watchEndedOrders(parts.changedOrders, { left: context.signal, draining }),
      async cancelOrder(request, context) {
        const name = valuesOrThrow(
          combine({
            merchantId: parseId('mer', request.merchantId, 'merchant_id'),
            environment: parseEnvironment(request.environment),
            id: parseId('ord', request.orderId, 'order_id'),
          }),
        );
        annotate(context, { merchant_id: name.merchantId, order_id: name.id });
        return { order: orderMessage(await parts.cancelOrder(name, actorOf(context))) };
      },
      ...searchMethods(parts),
      ...orderEventMethods(parts),
    },
    {
      registerOrder: registrars,
      batchRegisterOrders: writers,
      startDirectPayment: writers,
      batchStartDirectPayments: writers,
      getOrder: readers,
      batchGetOrders: readers,
      streamOrderBatches: writers,
      waitOrder: readers,
      watchEndedOrders: ['facade'],
      cancelOrder: ['dashboard', 'operator', 'writer'],
      listOrders: ['dashboard', 'operator', 'reader', 'writer'],
      findOrders: ['dashboard', 'operator'],
      listOrderEvents: [...followers, 'dashboard'],
      watchOrderEvents: followers,
    },
  );
}

type Register = (
  request: RegisterOrderRequest,
  scope: CallScope,
  orderIdOnly?: boolean,
) => Promise<RegisterOrderResponse>;

function registrationMethod(parts: OrderServiceParts): Register {
  return async (request, batchScope, orderIdOnly = false) => {
    const registration = parseRegistration(request, parts.currencies);
    if (!registration.ok || request.validateOnly) {
      await parts.checkRequest(registration, readForTerms(request, parts.currencies));
      return create(RegisterOrderResponseSchema);
    }
    const scope = scopeFor(request, batchScope);
    const key = valuesOrThrow(parseIdempotencyKey(request.idempotencyKey));
    if (key !== undefined)
      return registerOnce(parts, { request, registration: registration.value, key, scope, orderIdOnly });
    const { order, repeated } = await parts.registerOrder(registration.value, scope);
    return create(RegisterOrderResponseSchema, {
      order: orderIdOnly ? { orderId: order.id } : orderMessage(order),
      repeated,
      checkoutUrl: parts.checkoutUrlOf(order),
    });
  };
}

interface KeyedRegistration {
  readonly request: RegisterOrderRequest;
  readonly registration: Registration;
  readonly key: string;
  readonly scope: CallScope;
  readonly orderIdOnly: boolean;
}

/** A registration with an idempotency key. The stored answer has no checkout URL, because the URL is a secret. */
async function registerOnce(
  parts: OrderServiceParts,
  { request, registration, key, scope, orderIdOnly }: KeyedRegistration,
): Promise<RegisterOrderResponse> {
  const { merchantId, environment } = registration;
  const { order, repeated } = await parts.answerOnce({
    name: { merchantId, environment, operation: 'REGISTER_ORDER', key },
    fingerprint: fingerprintOf(RegisterOrderRequestSchema, request),
    response: RegisterOrderResponseSchema,
    responseOf: (registered: Registered) =>
      create(RegisterOrderResponseSchema, {
        order: orderMessage(registered.order),
        repeated: registered.repeated,
      }),
    signal: scope.signal,
    maxWaitMs: scope.maxWaitMs,
    run: (keyed) => parts.registerOrder(registration, scope, keyed),
  });
  const id = valuesOrThrow(parseId('ord', order?.orderId ?? '', 'order_id'));
  return create(RegisterOrderResponseSchema, {
    order: orderIdOnly ? { orderId: id } : order,
    repeated,
    checkoutUrl: parts.checkoutUrlOf({ id, merchantId, environment }),
  });
}

type StartPayment = (
  request: StartDirectPaymentRequest,
  scope: CallScope,
) => Promise<StartDirectPaymentResponse>;

function directPaymentMethod(parts: OrderServiceParts): StartPayment {
  return async (request, batchScope) => {
    const payment = parseDirectPayment(request, parts.currencies, parts.wallets);
    if (!payment.ok || request.validateOnly) {
      await parts.checkRequest(payment, readForTerms(request, parts.currencies));
      return create(StartDirectPaymentResponseSchema);
    }
    const { merchantId, environment } = payment.value;
    const scope = scopeFor(request, batchScope);
    const key = valuesOrThrow(parseIdempotencyKey(request.idempotencyKey));
    if (key === undefined) return startedMessage(await parts.startDirectPayment(payment.value, scope));
    return parts.answerOnce({
      name: { merchantId, environment, operation: 'START_DIRECT_PAYMENT', key },
      fingerprint: fingerprintOf(StartDirectPaymentRequestSchema, request),
      response: StartDirectPaymentResponseSchema,
      responseOf: startedMessage,
      signal: scope.signal,
      maxWaitMs: scope.maxWaitMs,
      run: (keyed) => parts.startDirectPayment(payment.value, scope, keyed),
    });
  };
}

/** The batch methods. Each item of a batch is answered as by the single method. */
function batchMethods(single: {
  readonly register: Register;
  readonly startPayment: StartPayment;
  readonly getOrder: GetOrder;
  readonly isServing: () => boolean;
}): BatchMethods {
  const { isServing } = single;
  return {
    registerOrders: (batch, context) =>
      answerBatch(context, batch, isServing, (request, scope) =>
        single.register(request, scope, batch.orderIdsOnly),
      ),
    startDirectPayments: (batch, context) => answerBatch(context, batch, isServing, single.startPayment),
    getOrders: (batch, context) => {
      const { role } = callerOf(context);
      return answerBatch(context, batch, isServing, (request, scope) =>
        single.getOrder(request, scope, role),
      );
    },
  };
}

type BatchItem = { readonly merchantId: string };
type ItemResponse = { readonly order?: { readonly orderId: string } | undefined };

/** @throws DATABASE_UNAVAILABLE if no item could be answered and this process has no connections. Then callers try another core. */
async function answerBatch<Request extends BatchItem, Response extends ItemResponse>(
  context: CallContext,
  {
    requests,
    traceparents = [],
  }: { readonly requests: readonly Request[]; readonly traceparents?: readonly string[] },
  isServing: () => boolean,
  answer: (request: Request, scope: CallScope) => Promise<Response>,
): Promise<{ results: { result: ItemResult<Response> }[] }> {
  const scope = scopeOf(context);
  const inOwnTrace = itemSpans(context, requests, traceparents);
  const results = await answerEach(context, requests, (request) =>
    inOwnTrace(request, () => answer(request, scope)),
  );
  annotateBatch(context, requests, results);
  if (!isServing()) throwIfNoneAnswered(results);
  return { results };
}

function throwIfNoneAnswered(results: readonly { readonly result: ItemResult<unknown> }[]): void {
  const failures = results.flatMap(({ result }) =>
    result.case === 'error' ? [fromStatus(result.value)] : [],
  );
  const [first] = failures;
  const isUnavailable = failures.every((failure) => reasonOf(failure) === 'DATABASE_UNAVAILABLE');
  if (first !== undefined && failures.length === results.length && isUnavailable) throw first;
}

const startedMessage = ({ order, attempt, repeated }: StartedPayment) =>
  create(StartDirectPaymentResponseSchema, {
    order: orderMessage(order),
    paymentAttempt: attemptMessage(order, attempt),
    repeated,
  });

function scopeOf(context: CallContext): CallScope {
  const { signal } = context;
  return { requestId: callerOf(context).requestId, signal, maxWaitMs: maxTurnWaitMs(context) };
}

/** Each item of a batch may carry its own request id. */
function scopeFor({ requestId }: { readonly requestId: string }, scope: CallScope): CallScope {
  return isRequestId(requestId) ? { ...scope, requestId } : scope;
}

/** Logs the size of a batch. A batch of one also logs its merchant and its order. */
function annotateBatch(
  context: CallContext,
  requests: readonly BatchItem[],
  results: readonly { readonly result: ItemResult<ItemResponse> }[],
): void {
  annotate(context, {
    items: results.length,
    failed_items: results.filter(({ result }) => result.case === 'error').length,
  });
  const [only, ...others] = results;
  if (only === undefined || others.length > 0) return;
  annotate(context, {
    merchant_id: requests[0]?.merchantId,
    ...(only.result.case === 'response' ? { order_id: only.result.value.order?.orderId } : {}),
  });
}
