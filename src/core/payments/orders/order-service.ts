import { create, fromBinary } from '@bufbuild/protobuf';
import { OrderEventSchema } from '../../../gen/gatehouse/v1/order_pb.js';
import {
  GetOrderResponseSchema,
  OrderService,
  RegisterOrderRequestSchema,
  RegisterOrderResponseSchema,
  StartDirectPaymentRequestSchema,
  StartDirectPaymentResponseSchema,
} from '../../../gen/gatehouse/v1/order_service_pb.js';
import type {
  GetOrderRequest,
  GetOrderResponse,
  RegisterOrderRequest,
  RegisterOrderResponse,
  StartDirectPaymentRequest,
  StartDirectPaymentResponse,
} from '../../../gen/gatehouse/v1/order_service_pb.js';
import { annotate, callerOf, markUneventful } from '../../../platform/rpc/call-context.ts';
import { isRequestId } from '../../../platform/request-id.ts';
import type { CallContext, Caller } from '../../../platform/rpc/call-context.ts';
import { rpcError } from '../../../contract/error-reason.ts';
import { rpcService } from '../../../contract/rpc-service.ts';
import { defaultDeadlineMs } from '../../../platform/rpc/grpc-server.ts';
import type { RpcService } from '../../../platform/rpc/rpc-service.ts';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { pageTokenAfter } from '../../../platform/rpc/page-token.ts';
import { createdAtOf } from '../../../contract/public-id.ts';
import { parsePageSize } from '../../rpc/page-token.ts';
import { combine } from '../../domain/combine.ts';
import { formatCursor } from '../../../contract/event-cursor.ts';
import { parseCursor } from '../../events/event-cursor.ts';
import type { ChangedOrders } from '../../events/changed-orders.ts';
import type { EventFeed } from '../../events/follow-events.ts';
import { parseId, valuesOrThrow } from '../../rpc/request-fields.ts';
import { registrars, requireRegistrar } from '../../rpc/checkout-url-access.ts';
import { parseEnvironment } from '../../rpc/environment.ts';
import { actorOf } from '../../../platform/rpc/actor.ts';
import type { CancelOrder } from './cancel-order.ts';
import type { CheckRequest } from './check-request.ts';
import type { CheckoutTokens } from '../checkout/checkout-token.ts';
import { answerEach } from '../../rpc/answer-each.ts';
import type { ItemResult } from '../../rpc/answer-each.ts';
import { attemptMessage, orderMessage } from '../../rpc/order-messages.ts';
import type { FindOrdersAnywhere } from '../search/find-orders-anywhere.ts';
import { parseFindOrders } from '../search/find-orders-request.ts';
import { parseOrderFilter } from '../search/list-orders-request.ts';
import { parseEventFilter } from './order-event-requests.ts';
import { recovering } from '../../database/payment-gate.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { parseIdempotencyKey } from '../../domain/idempotency-key.ts';
import type { Wallet } from '../../domain/wallet.ts';
import {
  parseDirectPayment,
  parseOrderName,
  parseOrderWait,
  parseRegistration,
  readForTerms,
} from './order-requests.ts';
import type { Registration } from './order-requests.ts';
import type { CallScope } from '../changes/add-orders.ts';
import type { ClaimPayments } from '../changes/claim-payments.ts';
import { fingerprintOf } from '../idempotency/keyed-calls.ts';
import type { AnswerOnce } from '../idempotency/keyed-calls.ts';
import type { FindOrder, OrderName } from '../search/find-order.ts';
import type { FoundOrders } from '../search/read-found-orders.ts';
import type { SearchOrders } from '../search/search-orders.ts';
import type { RegisterOrder, Registered } from './register-order.ts';
import type { StartDirectPayment, StartedPayment } from './start-direct-payment.ts';
import { itemSpans } from './item-spans.ts';
import { streamOrderBatches } from './stream-order-batches.ts';
import type { BatchMethods } from './stream-order-batches.ts';
import type { WaitForOrder } from './wait-for-order.ts';
import { watchEndedOrders } from './watch-ended-orders.ts';

export interface OrderServiceParts {
  readonly findOrder: FindOrder;
  readonly searchOrders: SearchOrders;
  readonly findOrdersAnywhere: FindOrdersAnywhere;
  readonly cancelOrder: CancelOrder;
  readonly checkRequest: CheckRequest;
  readonly registerOrder: RegisterOrder;
  readonly startDirectPayment: StartDirectPayment;
  readonly answerOnce: AnswerOnce;
  readonly waitForOrder: WaitForOrder;
  readonly changedOrders: ChangedOrders;
  readonly feed: EventFeed;
  readonly gate: Pick<PaymentGate, 'isOpenFor'>;
  readonly claims: Pick<ClaimPayments, 'isPaid'>;
  readonly checkoutUrlOf: CheckoutTokens['urlOf'];
  readonly openCheckoutUrlOf: CheckoutTokens['openUrlOf'];
  /** The ISO 4217 codes that this deployment accepts. */
  readonly currencies: readonly string[];
  readonly wallets: readonly Wallet[];
  /** Aborts when the process begins to stop. Streams then end, and callers reconnect to another process. */
  readonly draining: AbortSignal;
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
/** How long before its deadline a waiting call is answered, so that the answer arrives in time. */
const answerBeforeDeadlineMs = 500;
const defaultEventPageSize = 100;
/** A page of this many orders of maximum size stays below the message limit. */
const maxEventPageSize = 500;

/** gatehouse.v1.OrderService. Each method parses a request, calls one function and translates its result into the contract. */
export function orderService(parts: OrderServiceParts): RpcService {
  const { findOrder, feed, draining } = parts;

  /** A restored gateway may have lost the order, so it does not say yet that there is none. */
  const notThere = async (name: OrderName): Promise<Error> => {
    const { merchantId, environment, by, value: orderNumber } = name;
    if (!parts.gate.isOpenFor(environment, merchantId)) return recovering();
    const isPaid =
      by === 'order_number' && (await parts.claims.isPaid({ merchantId, environment, orderNumber }));
    return isPaid ? recovering() : orderNotFound();
  };

  const registerOne = async (
    request: RegisterOrderRequest,
    scope: CallScope,
    orderIdOnly = false,
  ): Promise<RegisterOrderResponse> => {
    const registration = parseRegistration(request, parts.currencies);
    if (!registration.ok || request.validateOnly) {
      await parts.checkRequest(registration, readForTerms(request, parts.currencies));
      return create(RegisterOrderResponseSchema);
    }
    const ownScope = scopeFor(request, scope);
    const key = valuesOrThrow(parseIdempotencyKey(request.idempotencyKey));
    if (key !== undefined) return registerKeyed(request, registration.value, key, ownScope, orderIdOnly);
    const { order, repeated } = await parts.registerOrder(registration.value, ownScope);
    return create(RegisterOrderResponseSchema, {
      order: orderIdOnly ? { orderId: order.id } : orderMessage(order),
      repeated,
      checkoutUrl: parts.checkoutUrlOf(order),
    });
  };
  /** The stored answer has no checkout URL, because the URL is a secret. */
  const registerKeyed = async (
    request: RegisterOrderRequest,
    registration: Registration,
    key: string,
    scope: CallScope,
    orderIdOnly: boolean,
  ): Promise<RegisterOrderResponse> => {
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
      run: (keyed) => parts.registerOrder(registration, scope, keyed),
    });
    const id = valuesOrThrow(parseId('ord', order?.orderId ?? '', 'order_id'));
    return create(RegisterOrderResponseSchema, {
      order: orderIdOnly ? { orderId: id } : order,
      repeated,
      checkoutUrl: parts.checkoutUrlOf({ id, merchantId, environment }),
    });
  };
  const startOne = async (
    request: StartDirectPaymentRequest,
    scope: CallScope,
  ): Promise<StartDirectPaymentResponse> => {
    const payment = parseDirectPayment(request, parts.currencies, parts.wallets);
    if (!payment.ok || request.validateOnly) {
      await parts.checkRequest(payment, readForTerms(request, parts.currencies));
      return create(StartDirectPaymentResponseSchema);
    }
    const { merchantId, environment } = payment.value;
    const ownScope = scopeFor(request, scope);
    const key = valuesOrThrow(parseIdempotencyKey(request.idempotencyKey));
    if (key === undefined) return startedMessage(await parts.startDirectPayment(payment.value, ownScope));
    return parts.answerOnce({
      name: { merchantId, environment, operation: 'START_DIRECT_PAYMENT', key },
      fingerprint: fingerprintOf(StartDirectPaymentRequestSchema, request),
      response: StartDirectPaymentResponseSchema,
      responseOf: startedMessage,
      run: (keyed) => parts.startDirectPayment(payment.value, ownScope, keyed),
    });
  };
  const getOne = async (
    request: GetOrderRequest,
    scope: CallScope,
    role: Caller['role'],
  ): Promise<GetOrderResponse> => {
    if (request.withCheckoutUrl) requireRegistrar(role);
    const name = valuesOrThrow(parseOrderName(request));
    const order = await findOrder(name, scope);
    if (order === undefined) throw await notThere(name);
    const checkoutUrl = request.withCheckoutUrl ? parts.openCheckoutUrlOf(order) : '';
    return create(GetOrderResponseSchema, { order: orderMessage(order), checkoutUrl });
  };

  const resultsOf = async <Request extends Asked, Response extends Answered>(
    context: CallContext,
    {
      requests,
      traceparents = [],
    }: { readonly requests: readonly Request[]; readonly traceparents?: string[] },
    answer: (request: Request, scope: CallScope) => Promise<Response>,
  ) => {
    const scope = scopeOf(context);
    const inOwnTrace = itemSpans(context, requests, traceparents);
    const results = await answerEach(context, requests, (request) =>
      inOwnTrace(request, () => answer(request, scope)),
    );
    annotateBatch(context, requests, results);
    return { results };
  };
  const batches: BatchMethods = {
    registerOrders: (batch, context) =>
      resultsOf(context, batch, (request, scope) => registerOne(request, scope, batch.orderIdsOnly)),
    startDirectPayments: (batch, context) => resultsOf(context, batch, startOne),
    getOrders: (batch, context) => {
      const { role } = callerOf(context);
      return resultsOf(context, batch, (request, scope) => getOne(request, scope, role));
    },
  };

  return rpcService(
    OrderService,
    {
      async registerOrder(request, context) {
        const response = await registerOne(request, scopeOf(context));
        annotate(context, {
          merchant_id: request.merchantId,
          order_id: response.order?.orderId,
          repeated: response.repeated,
        });
        return response;
      },
      batchRegisterOrders: batches.registerOrders,
      async startDirectPayment(request, context) {
        const response = await startOne(request, scopeOf(context));
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
        return getOne(request, scopeOf(context), callerOf(context).role);
      },
      batchGetOrders: batches.getOrders,
      streamOrderBatches: streamOrderBatches(batches, draining),
      async waitOrder(request, context) {
        annotate(context, { merchant_id: request.merchantId });
        const { timeoutMs, ...wait } = valuesOrThrow(parseOrderWait(request));
        const leftMs = (context.timeoutMs() ?? defaultDeadlineMs) - answerBeforeDeadlineMs;
        const bounded = { ...wait, timeoutMs: Math.max(0, Math.min(timeoutMs, leftMs)) };
        const awaited = await parts.waitForOrder(bounded, scopeOf(context));
        if (awaited === undefined) throw await notThere(wait.name);
        return { order: orderMessage(awaited.order), timedOut: awaited.timedOut };
      },
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
      async listOrders(request) {
        const { filter, key } = valuesOrThrow(parseOrderFilter(request, parts.currencies));
        const { searchedTo, ...found } = await parts.searchOrders(filter);
        const page = foundMessage(found);
        if (searchedTo === undefined) return page;
        return {
          ...page,
          nextPageToken: pageTokenAfter(searchedTo, key),
          searchedBackTo: timestampFromDate(createdAtOf('ord', searchedTo)),
        };
      },
      async findOrders(request) {
        const { search, key } = valuesOrThrow(parseFindOrders(request));
        const { lastId, ...found } = await parts.findOrdersAnywhere(search);
        return {
          ...foundMessage(found),
          nextPageToken: lastId === undefined ? '' : pageTokenAfter(lastId, key),
        };
      },
      async listOrderEvents(request, context) {
        const { after, limit, filter } = valuesOrThrow(
          combine({
            after: parseCursor(request.afterCursor),
            limit: parsePageSize(request.pageSize, defaultEventPageSize, maxEventPageSize),
            filter: parseEventFilter(request),
          }),
        );
        const page = await feed.list(after, limit, filter);
        if (page.events.length === 0) markUneventful(context);
        const entries = page.events.map(({ cursor, payload }) => ({
          cursor: formatCursor(cursor),
          event: fromBinary(OrderEventSchema, payload),
        }));
        return { entries, nextCursor: formatCursor(page.next), hasMore: page.hasMore };
      },
      async *watchOrderEvents(request, context) {
        const { after, filter } = valuesOrThrow(
          combine({ after: parseCursor(request.afterCursor), filter: parseEventFilter(request) }),
        );
        const start = request.onlyNew && request.afterCursor === '' ? await feed.latest() : after;
        const stop = AbortSignal.any([context.signal, draining]);
        for await (const page of feed.follow(start, filter, stop)) {
          if (page.events.length === 0) yield { cursor: formatCursor(page.next) };
          for (const { cursor, payload } of page.events) {
            yield { cursor: formatCursor(cursor), event: fromBinary(OrderEventSchema, payload) };
          }
        }
        if (draining.aborted)
          throw rpcError(
            'SERVER_DRAINING',
            'this server is stopping; resume on another after the last cursor',
          );
      },
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

const startedMessage = ({ order, attempt, repeated }: StartedPayment) =>
  create(StartDirectPaymentResponseSchema, {
    order: orderMessage(order),
    paymentAttempt: attemptMessage(order, attempt),
    repeated,
  });

const orderNotFound = () => rpcError('ORDER_NOT_FOUND', 'the merchant has no such order in this environment');

const foundMessage = ({ orders, providerTransactionIds }: FoundOrders) => ({
  orders: orders.map(orderMessage),
  providerTransactionIds: Object.fromEntries(providerTransactionIds),
});

function scopeOf(context: CallContext): CallScope {
  return { requestId: callerOf(context).requestId, signal: context.signal };
}

/** Each item of a batch may carry its own request id. */
function scopeFor({ requestId }: { readonly requestId: string }, scope: CallScope): CallScope {
  return isRequestId(requestId) ? { ...scope, requestId } : scope;
}

type Asked = { readonly merchantId: string };
type Answered = { readonly order?: { readonly orderId: string } | undefined };

/** Logs the size of a batch. A batch of one also logs the fields of the single method. */
function annotateBatch(
  context: CallContext,
  requests: readonly Asked[],
  results: readonly { readonly result: ItemResult<Answered> }[],
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
