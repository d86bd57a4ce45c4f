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
import { createBatcher } from '../platform/batcher.ts';
import { rpcError } from '../contract/error-reason.ts';
import { fromStatus } from '../platform/rpc/rpc-error.ts';
import type { OrderStreams } from './order-streams.ts';

type RegisterOrder = MessageInitShape<typeof RegisterOrderRequestSchema>;
type StartDirectPayment = MessageInitShape<typeof StartDirectPaymentRequestSchema>;
type GetOrder = MessageInitShape<typeof GetOrderRequestSchema>;

/** What merchants ask of core. Each call answers, or fails, as the unary method of OrderService would. */
export interface OrderCalls {
  readonly register: GatheredCall<RegisterOrder, RegisterOrderResponse>;
  readonly startDirectPayment: GatheredCall<StartDirectPayment, StartDirectPaymentResponse>;
  readonly find: GatheredCall<GetOrder, GetOrderResponse>;
}

export interface GatheredCall<Request, Response> {
  (request: Request, requestId: string): Promise<Response>;
  /** Whether a request that came now would be refused, because too many of its kind wait. */
  readonly isFull: () => boolean;
}

/** Long enough for a core that is being restarted, and short enough to answer before a request times out. */
const deadlineMs = 8_000;

/**
 * Few batches on their way, so that what comes meanwhile makes the next one larger; several, and none so large that it holds
 * everything that is under way, so that facade, core and database work at the same time. Core gathers them anew. Beyond `maxWaiting` a request is refused at once.
 */
const limits = { maxItems: 32, maxInFlight: 8, maxWaiting: 1_000 };

export interface OrderCallsOptions {
  readonly orders: Client<typeof OrderService>;
  readonly streams: Pick<OrderStreams, 'send'>;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

/**
 * Makes one batch of the requests that arrive in one turn of the event loop, or while others are on their way. It travels on
 * a stream that is open; when there is none, or the stream ends without an answer, as a call, which goes to whichever core
 * answers. None is cancelled when its client goes away: a write that is under way is finished, so that the merchant's retry
 * finds it done. Errors besides core's: RESOURCE_EXHAUSTED OVERLOADED.
 */
export function createOrderCalls({ orders, streams, nowMs }: OrderCallsOptions): OrderCalls {
  return {
    register: gather<RegisterOrder, RegisterOrderResponse>({
      nowMs,
      overStream: async (requests, options) => {
        const outcome = await streams.send({ case: 'registerOrders', value: { requests } }, options);
        return outcome?.case === 'registerOrders' ? outcome.value.results : undefined;
      },
      one: (request, options) => orders.registerOrder(request, options),
      many: async (requests, options) => (await orders.batchRegisterOrders({ requests }, options)).results,
    }),
    startDirectPayment: gather<StartDirectPayment, StartDirectPaymentResponse>({
      nowMs,
      overStream: async (requests, options) => {
        const outcome = await streams.send({ case: 'startDirectPayments', value: { requests } }, options);
        return outcome?.case === 'startDirectPayments' ? outcome.value.results : undefined;
      },
      one: (request, options) => orders.startDirectPayment(request, options),
      many: async (requests, options) =>
        (await orders.batchStartDirectPayments({ requests }, options)).results,
    }),
    find: gather<GetOrder, GetOrderResponse>({
      nowMs,
      overStream: async (requests, options) => {
        const outcome = await streams.send({ case: 'getOrders', value: { requests } }, options);
        return outcome?.case === 'getOrders' ? outcome.value.results : undefined;
      },
      one: (request, options) => orders.getOrder(request, options),
      many: async (requests, options) => (await orders.batchGetOrders({ requests }, options)).results,
    }),
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
  /** Undefined when the batch has to take the other way. */
  readonly overStream: (
    requests: Request[],
    options: { readonly timeoutMs: number; readonly requestId: string },
  ) => Promise<readonly Result<Response>[] | undefined>;
  readonly one: (request: Request, options: CallOptions) => Promise<Response>;
  readonly many: (requests: Request[], options: CallOptions) => Promise<readonly Result<Response>[]>;
}

interface Waiting<Request> {
  readonly request: Request;
  readonly requestId: string;
  /** On the monotonic clock. */
  readonly deadline: number;
}

function gather<Request extends object, Response>({
  nowMs,
  overStream,
  one,
  many,
}: Methods<Request, Response>): GatheredCall<Request, Response> {
  const timeLeft = (items: readonly Waiting<Request>[]): number =>
    Math.max(1, Math.floor(Math.min(...items.map(({ deadline }) => deadline)) - nowMs()));
  const answerAll = async (
    items: readonly Waiting<Request>[],
  ): Promise<readonly (Response | ConnectError)[]> => {
    const [first, ...others] = items;
    if (first === undefined) return [];
    const { requestId } = first;
    const requests = items.map((item) => ({ ...item.request, requestId: item.requestId }));
    const answered = await overStream(requests, { timeoutMs: timeLeft(items), requestId }).catch(retryable);
    if (answered !== undefined) return items.map((_, index) => outcomeOf(answered[index]));
    const options: CallOptions = { timeoutMs: timeLeft(items), headers: { 'x-request-id': requestId } };
    if (others.length === 0) return [await one(first.request, options)];
    const results = await many(requests, options);
    return items.map((_, index) => outcomeOf(results[index]));
  };
  const call = createBatcher({ ...limits, run: answerAll });
  const ask = async (request: Request, requestId: string): Promise<Response> => {
    const deadline = nowMs() + deadlineMs;
    const isLate = {
      get aborted(): boolean {
        return nowMs() >= deadline;
      },
    };
    const outcome = await call({ request, requestId, deadline }, isLate);
    if (outcome instanceof ConnectError) throw outcome;
    return outcome;
  };
  return Object.assign(ask, { isFull: call.isFull });
}

/** A call to a core that cannot answer now is made again elsewhere; a batch on a stream likewise, as a call. */
function retryable(error: unknown): undefined {
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
      return rpcError('INTERNAL', 'core answered fewer items than it was sent');
  }
}
