import { fromBinary } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { rpcError } from '../../../contract/error-reason.ts';
import { OrderEventSchema } from '../../../gen/gatehouse/v1/order_pb.js';
import type {
  WatchRefundsRequest,
  WatchRefundsResponseSchema,
} from '../../../gen/gatehouse/v1/refund_service_pb.js';
import { combine } from '../../domain/combine.ts';
import { formatCursor } from '../../../contract/event-cursor.ts';
import { parseCursor } from '../../events/event-cursor.ts';
import type { EventFeed, EventPage } from '../../events/follow-events.ts';
import { valuesOrThrow } from '../../rpc/request-fields.ts';
import { followerOf } from '../orders/order-event-methods.ts';
import { parseEventFilter } from '../orders/order-event-requests.ts';

type Message = MessageInitShape<typeof WatchRefundsResponseSchema>;

/**
 * Streams the steps of refunds from the events of orders. Errors: INVALID_ARGUMENT INVALID_FIELDS; UNAVAILABLE SERVER_DRAINING
 * when this server stops.
 */
export type WatchRefunds = (request: WatchRefundsRequest, context: HandlerContext) => AsyncGenerator<Message>;

export const createWatchRefunds = (feed: EventFeed, draining: AbortSignal): WatchRefunds =>
  async function* watch(request, context) {
    const { after, filter } = valuesOrThrow(
      combine({ after: parseCursor(request.afterCursor), filter: parseEventFilter(request) }),
    );
    const start = request.onlyNew && request.afterCursor === '' ? await feed.latest() : after;
    const stop = AbortSignal.any([context.signal, draining]);
    for await (const page of feed.follow(start, filter, stop, followerOf(request, context)))
      yield* messagesOf(page);
    if (draining.aborted)
      throw rpcError('SERVER_DRAINING', 'this server is stopping; resume on another after the last cursor');
  };

/** The steps of a page. A page without any becomes one message with its cursor, so that the reader need not read it again. */
function* messagesOf({ events, next }: EventPage): Generator<Message> {
  const steps = events.filter(({ type }) => type.startsWith('REFUND_'));
  for (const { cursor, payload } of steps) {
    const { refund, eventId, type: step } = fromBinary(OrderEventSchema, payload);
    yield { cursor: formatCursor(cursor), eventId, step, ...(refund === undefined ? {} : { refund }) };
  }
  if (steps.length === 0) yield { cursor: formatCursor(next) };
}
