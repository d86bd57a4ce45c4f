import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import { ConnectError } from '@connectrpc/connect';
import type { HandlerContext } from '@connectrpc/connect';
import parallel from 'it-parallel';
import { OrderService } from '../../../gen/gatehouse/v1/order_service_pb.js';
import type {
  BatchGetOrdersRequest,
  BatchGetOrdersResponseSchema,
  BatchRegisterOrdersRequest,
  BatchRegisterOrdersResponseSchema,
  BatchStartDirectPaymentsRequest,
  BatchStartDirectPaymentsResponseSchema,
  StreamOrderBatchesRequest,
  StreamOrderBatchesResponseSchema,
} from '../../../gen/gatehouse/v1/order_service_pb.js';
import { answerWithinKey, markUneventful } from '../../../platform/rpc/call-context.ts';
import type { CallContext } from '../../../platform/rpc/call-context.ts';
import { defaultDeadlineMs } from '../../../platform/rpc/call-limits.ts';
import { rpcError } from '../../../contract/error-reason.ts';
import { invalidFields, toStatus } from '../../../platform/rpc/rpc-error.ts';
import { untilAborted } from '../../../platform/until-aborted.ts';

type Answer<Request, Response> = (request: Request, context: CallContext) => Promise<Response>;

/** The methods that a stream can call. */
export interface BatchMethods {
  readonly registerOrders: Answer<
    BatchRegisterOrdersRequest,
    MessageInitShape<typeof BatchRegisterOrdersResponseSchema>
  >;
  readonly startDirectPayments: Answer<
    BatchStartDirectPaymentsRequest,
    MessageInitShape<typeof BatchStartDirectPaymentsResponseSchema>
  >;
  readonly getOrders: Answer<BatchGetOrdersRequest, MessageInitShape<typeof BatchGetOrdersResponseSchema>>;
}

type StreamResponse = MessageInitShape<typeof StreamOrderBatchesResponseSchema>;
type Outcome = NonNullable<StreamResponse['outcome']>;

const maxUnderWay = 64;
/** The maximum delay of a timer. */
const maxTimeoutMs = 2 ** 31 - 1;

/** OrderService.StreamOrderBatches. Each batch gets the answer of its own method, as soon as it is ready. */
export function streamOrderBatches(methods: BatchMethods, draining: AbortSignal) {
  const outcomeOf = async (request: StreamOrderBatchesRequest, stream: HandlerContext): Promise<Outcome> => {
    const { batch } = request;
    const answerWithin = stream.values.get(answerWithinKey);
    const { requestId, traceparent } = request;
    const call = { requestId, traceparent, timeoutMs: timeoutMsOf(request) };
    const { method } = OrderService;
    switch (batch.case) {
      case 'registerOrders':
        return {
          case: batch.case,
          value: await answerWithin({ ...call, method: method.batchRegisterOrders }, (context) =>
            methods.registerOrders(batch.value, context),
          ),
        };
      case 'startDirectPayments':
        return {
          case: batch.case,
          value: await answerWithin({ ...call, method: method.batchStartDirectPayments }, (context) =>
            methods.startDirectPayments(batch.value, context),
          ),
        };
      case 'getOrders':
        return {
          case: batch.case,
          value: await answerWithin({ ...call, method: method.batchGetOrders }, (context) =>
            methods.getOrders(batch.value, context),
          ),
        };
      case undefined:
        throw invalidFields([
          { field: 'batch', issue: 'must be register_orders, start_direct_payments or get_orders' },
        ]);
    }
  };
  const answer = async (
    request: StreamOrderBatchesRequest,
    stream: HandlerContext,
  ): Promise<StreamResponse> => {
    const { batchId } = request;
    try {
      return { batchId, outcome: await outcomeOf(request, stream) };
    } catch (error) {
      return { batchId, outcome: { case: 'error', value: toStatus(ConnectError.from(error)) } };
    }
  };

  return async function* answerAll(
    requests: AsyncIterable<StreamOrderBatchesRequest>,
    stream: HandlerContext,
  ): AsyncGenerator<StreamResponse> {
    // The first response confirms that the stream is open. Only then does the facade send batches on it (docs/adr/0014).
    yield {};
    async function* calls() {
      for await (const request of untilAborted(requests, draining)) yield () => answer(request, stream);
    }
    yield* parallel(calls(), { concurrency: maxUnderWay });
    if (draining.aborted)
      throw rpcError('SERVER_DRAINING', 'this server is stopping; open a stream to another');
    // Each batch has its own log line.
    markUneventful(stream);
  };
}

function timeoutMsOf({ timeout }: StreamOrderBatchesRequest): number {
  const wanted = timeout === undefined ? 0 : durationMs(timeout);
  return wanted > 0 ? Math.min(wanted, maxTimeoutMs) : defaultDeadlineMs;
}
