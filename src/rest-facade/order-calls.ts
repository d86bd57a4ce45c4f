import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import type { CallOptions, Client } from '@connectrpc/connect';
import type {
  GetOrderRequestSchema,
  GetOrderResponse,
  OrderService,
  RegisterOrderRequestSchema,
  RegisterOrderResponse,
  StartDirectPaymentRequestSchema,
  StartDirectPaymentResponse,
} from '../gen/gatehouse/v1/order_service_pb.js';
import type { Status } from '../gen/google/rpc/status_pb.js';
import { createBatcher, overloaded } from '../platform/batcher.ts';
import { createFairCalls } from '../platform/fair-calls.ts';
import { Environment } from '../gen/gatehouse/v1/order_pb.js';
import { createWaitingSlots } from './waiting-slots.ts';
import { rpcError } from '../contract/error-reason.ts';
import { fromStatus } from '../platform/rpc/rpc-error.ts';
import { recordedTraceparent } from '../platform/tracing/span.ts';
import type { OrderStreams } from './order-streams.ts';

type RegisterOrder = MessageInitShape<typeof RegisterOrderRequestSchema>;
type StartDirectPayment = MessageInitShape<typeof StartDirectPaymentRequestSchema>;
type GetOrder = MessageInitShape<typeof GetOrderRequestSchema>;

/** The merchants' calls to core. Each call answers or fails like the unary method of OrderService. */
export interface OrderCalls {
  readonly register: {
    (request: RegisterOrder, requestId: string): Promise<RegisterOrderResponse>;
    /** Whether a new request, with or without an idempotency key, would be refused now, because too many of its kind wait. */
    readonly isFull: (isKeyed: boolean) => boolean;
  };
  readonly startDirectPayment: GatheredCall<StartDirectPayment, StartDirectPaymentResponse>;
  readonly find: GatheredCall<GetOrder, GetOrderResponse>;
  /** As `find`, for requests that have waited. Thousands of these may be answered at once, so they have batches of their own. */
  readonly findAwaited: GatheredCall<GetOrder, GetOrderResponse>;
}

export interface GatheredCall<Request, Response> {
  (request: Request, requestId: string): Promise<Response>;
  /** Whether a new request would be refused now, because too many of its kind wait. */
  readonly isFull: () => boolean;
}

/** Long enough for the restart of a core, and short enough to answer before a request times out. */
const deadlineMs = 8_000;

/**
 * Few batches are in flight, so that the next one grows meanwhile. There are several, and none holds all requests, so that
 * facade, core and database work at the same time. Core batches their items again. A request is refused at once when
 * `maxWaiting` others wait.
 */
const limits = { maxItems: 32, maxInFlight: 8, maxWaiting: 1_000 };

/**
 * The number of waiting requests is limited where they begin to wait. They are read in few, large batches, which leaves core's
 * time to the other calls.
 */
const awaitedLimits = { maxItems: 100, maxInFlight: 2, maxWaiting: Infinity };

/**
 * Direct payments and keyed registrations can wait in core for their merchant's share of the connections. A batch is answered when its last
 * item is. So these batches have items of one merchant and environment only. Merchants take turns to send them. They also share the slots of waiting
 * requests: one merchant alone gets half of them, so that others always find one. Core answers more batches of a stream at a time than these.
 */
const merchantBatchLimits = { maxRunning: 48, maxWaiting: 2 * limits.maxInFlight };
const merchantBatchSlots = 2 * limits.maxWaiting;

export interface OrderCallsOptions {
  readonly orders: Client<typeof OrderService>;
  readonly streams: Pick<OrderStreams, 'send'>;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

/**
 * Combines the requests that arrive in one turn of the event loop, or while other batches are in flight, into one batch. Direct payments,
 * and registrations with an idempotency key, have batches of one merchant. A batch is sent on an open stream. Without one, or when the
 * stream ends without an answer, it is sent as a call to any available core. A disconnected client does not cancel it: a running write
 * finishes, so that the merchant's retry finds the result.
 *
 * Errors in addition to core's: RESOURCE_EXHAUSTED OVERLOADED, for a request that core certainly did not get.
 */
export function createOrderCalls({ orders, streams, nowMs }: OrderCallsOptions): OrderCalls {
  const findMethods: Methods<GetOrder, GetOrderResponse> = {
    nowMs,
    sendOnStream: async (requests, options) => {
      const outcome = await streams.send({ case: 'getOrders', value: { requests } }, options);
      return outcome?.case === 'getOrders' ? outcome.value.results : undefined;
    },
    callSingle: (request, options) => orders.getOrder(request, options),
    callBatch: async (requests, options) => (await orders.batchGetOrders({ requests }, options)).results,
  };
  const registerMethods: Methods<RegisterOrder, RegisterOrderResponse> = {
    nowMs,
    sendOnStream: async (requests, options) => {
      const { traceparents } = options;
      const outcome = await streams.send(
        { case: 'registerOrders', value: { requests, traceparents, orderIdsOnly: true } },
        options,
      );
      return outcome?.case === 'registerOrders' ? outcome.value.results : undefined;
    },
    callSingle: (request, options) => orders.registerOrder(request, options),
    callBatch: async (requests, options, traceparents) =>
      (await orders.batchRegisterOrders({ requests, traceparents, orderIdsOnly: true }, options)).results,
  };
  const register = batchCalls(registerMethods);
  const batchByMerchant = createBatchByMerchant();
  const registerKeyed = batchByMerchant(registerMethods);
  return {
    register: Object.assign(
      (request: RegisterOrder, requestId: string) =>
        (request.idempotencyKey ? registerKeyed : register)(request, requestId),
      { isFull: (isKeyed: boolean) => (isKeyed ? registerKeyed : register).isFull() },
    ),
    startDirectPayment: batchByMerchant<StartDirectPayment, StartDirectPaymentResponse>({
      nowMs,
      sendOnStream: async (requests, options) => {
        const { traceparents } = options;
        const value = { requests, traceparents };
        const outcome = await streams.send({ case: 'startDirectPayments', value }, options);
        return outcome?.case === 'startDirectPayments' ? outcome.value.results : undefined;
      },
      callSingle: (request, options) => orders.startDirectPayment(request, options),
      callBatch: async (requests, options, traceparents) =>
        (await orders.batchStartDirectPayments({ requests, traceparents }, options)).results,
    }),
    find: batchCalls(findMethods),
    findAwaited: batchCalls(findMethods, awaitedLimits),
  };
}

interface Result<Response> {
  readonly result:
    | { readonly case: 'response'; readonly value: Response }
    | { readonly case: 'error'; readonly value: Status }
    | { readonly case: undefined; readonly value?: undefined };
}

interface Methods<Request, Response> {
  readonly nowMs: () => number;
  /** Undefined when the batch must be sent as a call. */
  readonly sendOnStream: (
    requests: Request[],
    options: {
      readonly timeoutMs: number;
      readonly requestId: string;
      readonly traceparents: string[];
    },
  ) => Promise<readonly Result<Response>[] | undefined>;
  readonly callSingle: (request: Request, options: CallOptions) => Promise<Response>;
  readonly callBatch: (
    requests: Request[],
    options: CallOptions,
    traceparents: string[],
  ) => Promise<readonly Result<Response>[]>;
}

interface Waiting<Request> {
  readonly request: Request;
  readonly requestId: string;
  /** Empty unless the trace is recorded. */
  readonly traceparent: string;
  /** On the monotonic clock. */
  readonly deadline: number;
}

function batchCalls<Request extends object, Response>(
  { nowMs, sendOnStream, callSingle, callBatch }: Methods<Request, Response>,
  batchLimits = limits,
  inTurn: <T>(send: () => Promise<T>) => Promise<T> = (send) => send(),
): GatheredCall<Request, Response> {
  const timeLeft = (items: readonly Waiting<Request>[]): number =>
    Math.max(1, Math.floor(Math.min(...items.map(({ deadline }) => deadline)) - nowMs()));
  const answerAll = async (
    items: readonly Waiting<Request>[],
  ): Promise<readonly (Response | ConnectError)[]> => {
    const [first, ...others] = items;
    if (first === undefined) return [];
    const { requestId } = first;
    const requests = items.map((item) => ({ ...item.request, requestId: item.requestId }));
    const traceparents = traceparentsOf(items);
    const sent = { timeoutMs: timeLeft(items), requestId, traceparents };
    const answered = await sendOnStream(requests, sent).catch(undefinedIfUnavailable);
    if (answered !== undefined) return items.map((_, index) => outcomeOf(answered[index]));
    const options: CallOptions = { timeoutMs: timeLeft(items), headers: { 'x-request-id': requestId } };
    if (others.length === 0) return [await callSingle(first.request, options)];
    const results = await callBatch(requests, options, traceparents);
    return items.map((_, index) => outcomeOf(results[index]));
  };
  // Core never saw a request that waited here until its deadline, so the merchant may repeat it.
  const answerInTime = async (
    items: readonly Waiting<Request>[],
  ): Promise<readonly (Response | ConnectError)[]> => {
    const inTime = items.filter(({ deadline }) => nowMs() < deadline);
    const answers = await answerAll(inTime);
    const byItem = new Map(inTime.map((item, index) => [item, answers[index]]));
    return items.map((item) => byItem.get(item) ?? overloaded());
  };
  const call = createBatcher({
    ...batchLimits,
    name: 'send orders to core',
    run: (items: readonly Waiting<Request>[]) => inTurn(() => answerInTime(items)),
    dropped: overloaded,
  });
  const ask = async (request: Request, requestId: string): Promise<Response> => {
    const deadline = new Deadline(nowMs() + deadlineMs, nowMs);
    const outcome = await call(
      { request, requestId, traceparent: recordedTraceparent(), deadline: deadline.atMs },
      deadline,
    );
    if (outcome instanceof ConnectError) throw outcome;
    return outcome;
  };
  return Object.assign(ask, { isFull: call.isFull });
}

/** Returns functions as `batchCalls`, with batches of one merchant and environment each. These take turns, over all functions. */
function createBatchByMerchant() {
  const fairly = createFairCalls(merchantBatchLimits);
  return <Request extends { merchantId?: string; environment?: Environment }, Response>(
    methods: Methods<Request, Response>,
  ): GatheredCall<Request, Response> => {
    const slots = createWaitingSlots(merchantBatchSlots);
    const owners = new Map<string, { readonly ask: GatheredCall<Request, Response>; calls: number }>();
    const ask = async (request: Request, requestId: string): Promise<Response> => {
      const { merchantId = '', environment = Environment.UNSPECIFIED } = request;
      const free = slots.take({ merchantId, environment });
      if (free === undefined) throw overloaded();
      const owner = `${environment} ${merchantId}`;
      const own = owners.get(owner) ?? {
        ask: batchCalls(methods, { ...limits, maxWaiting: merchantBatchSlots }, (send) =>
          fairly({ owner }, neverAborted, send),
        ),
        calls: 0,
      };
      owners.set(owner, own);
      own.calls += 1;
      try {
        return await own.ask(request, requestId);
      } finally {
        free();
        own.calls -= 1;
        if (own.calls === 0) owners.delete(owner);
      }
    };
    return Object.assign(ask, { isFull: () => slots.taken() >= merchantBatchSlots });
  };
}

const neverAborted = { aborted: false };

/** Like an AbortSignal that aborts at a time, without a timer. */
class Deadline {
  readonly atMs: number;
  readonly #nowMs: () => number;

  constructor(atMs: number, nowMs: () => number) {
    this.atMs = atMs;
    this.#nowMs = nowMs;
  }

  get aborted(): boolean {
    return this.#nowMs() >= this.atMs;
  }
}

/** The traceparents of all items, or none when no trace is recorded. */
const traceparentsOf = (items: readonly { readonly traceparent: string }[]): string[] =>
  items.some(({ traceparent }) => traceparent !== '') ? items.map(({ traceparent }) => traceparent) : [];

/** Returns undefined for errors of an unavailable core, after which another core is tried. Throws all other errors. */
function undefinedIfUnavailable(error: unknown): undefined {
  if (error instanceof ConnectError && error.code === Code.Unavailable) return undefined;
  throw error;
}

function outcomeOf<Response>(answer: Result<Response> | undefined): Response | ConnectError {
  switch (answer?.result.case) {
    case 'response':
      return answer.result.value;
    case 'error':
      return fromStatus(answer.result.value);
    case undefined:
      return rpcError('INTERNAL', 'core answered fewer items than it received');
  }
}
