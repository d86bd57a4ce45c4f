import { fromBinary } from '@bufbuild/protobuf';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { OrderEventSchema } from '../../../gen/gatehouse/v1/order_pb.js';
import type { OrderService, WatchOrderEventsRequest } from '../../../gen/gatehouse/v1/order_service_pb.js';
import { rpcError } from '../../../contract/error-reason.ts';
import { formatCursor } from '../../../contract/event-cursor.ts';
import { createFairCalls } from '../../../platform/fair-calls.ts';
import type { CallOwner } from '../../../platform/fair-calls.ts';
import { callerOf, markUneventful } from '../../../platform/rpc/call-context.ts';
import { combine } from '../../domain/combine.ts';
import { parseCursor } from '../../events/event-cursor.ts';
import type { EventFeed, EventPage } from '../../events/follow-events.ts';
import { parsePageSize } from '../../rpc/page-token.ts';
import { valuesOrThrow } from '../../rpc/request-fields.ts';
import { parseEventFilter } from './order-event-requests.ts';

export interface OrderEventMethodsParts {
  readonly feed: EventFeed;
  /** Aborts when the process begins to stop. Streams then end. */
  readonly draining: AbortSignal;
}

const defaultPageSize = 100;
const maxPageSize = 500;
/**
 * The number of lists that run at a time. Core decodes each event of a page, which holds up the payments of all merchants for some tens of
 * milliseconds. A role that is alone gets half of the number, so that another role can begin.
 */
const maxLists = 2;
/** The calls of a role about a merchant, or about all, that wait for their turn. */
const maxWaitingLists = 100;

/** The methods of OrderService that read events: ListOrderEvents one page, WatchOrderEvents a stream. */
export function orderEventMethods({
  feed,
  draining,
}: OrderEventMethodsParts): Pick<ServiceImpl<typeof OrderService>, 'listOrderEvents' | 'watchOrderEvents'> {
  const listFairly = createFairCalls({ maxRunning: maxLists, maxWaiting: maxWaitingLists });
  return {
    async listOrderEvents(request, context) {
      const { after, limit, filter } = valuesOrThrow(
        combine({
          after: parseCursor(request.afterCursor),
          limit: parsePageSize(request.pageSize, defaultPageSize, maxPageSize),
          filter: parseEventFilter(request),
        }),
      );
      return listFairly(followerOf(request, context), context.signal, async () => {
        const page = await feed.list(after, limit, filter);
        if (page.events.length === 0) markUneventful(context);
        return {
          entries: page.events.map(entryOf),
          nextCursor: formatCursor(page.next),
          hasMore: page.hasMore,
        };
      });
    },
    async *watchOrderEvents(request, context) {
      const { after, filter } = valuesOrThrow(
        combine({ after: parseCursor(request.afterCursor), filter: parseEventFilter(request) }),
      );
      const start = request.onlyNew && request.afterCursor === '' ? await feed.latest() : after;
      const stop = AbortSignal.any([context.signal, draining]);
      for await (const page of feed.follow(start, filter, stop, followerOf(request, context))) {
        if (page.events.length === 0) yield { cursor: formatCursor(page.next) };
        for (const event of page.events) yield entryOf(event);
      }
      if (draining.aborted)
        throw rpcError('SERVER_DRAINING', 'this server is stopping; resume on another after the last cursor');
    },
  };
}

/** The merchants take turns within those of the caller's role. */
export const followerOf = (
  { merchantId }: Pick<WatchOrderEventsRequest, 'merchantId'>,
  context: HandlerContext,
): CallOwner => ({ owner: callerOf(context).role, part: merchantId });

const entryOf = ({ cursor, payload }: EventPage['events'][number]) => ({
  cursor: formatCursor(cursor),
  event: fromBinary(OrderEventSchema, payload),
});
