import { pushable } from 'it-pushable';
import { rpcError } from '../../../contract/error-reason.ts';
import { publicId } from '../../../contract/public-id.ts';
import type { OrderEventType } from '../../domain/order.ts';
import type { ChangedOrders } from '../../events/changed-orders.ts';
import { untilAborted } from '../../../platform/until-aborted.ts';

/** How often a message is sent without ids. The contract promises one at least every 15 seconds. */
const keepAliveMs = 10_000;

const endings: ReadonlySet<OrderEventType> = new Set<OrderEventType>(['COMPLETED', 'FAILED', 'EXPIRED']);

/** A reader this far behind opens a new stream, so that memory is bounded. */
const maxUnread = 1_000;

interface Message {
  readonly orderIds: readonly string[];
}

/** OrderService.WatchEndedOrders, until the caller leaves or the server drains. @throws SERVER_DRAINING, OVERLOADED */
export async function* watchEndedOrders(
  changedOrders: ChangedOrders,
  { left, draining }: { readonly left: AbortSignal; readonly draining: AbortSignal },
): AsyncGenerator<{ orderIds: string[] }> {
  const messages = pushable<Message>({ objectMode: true });
  const send = (message: Message): void => {
    if (messages.readableLength < maxUnread) messages.push(message);
    else
      messages.end(
        rpcError(
          'OVERLOADED',
          'the client reads this stream too slowly, so it was closed; open a new stream',
        ),
      );
  };
  const leave = await changedOrders.listen({
    onChanges: (changes) => {
      const ended = changes.filter(({ type }) => endings.has(type));
      if (ended.length > 0) send({ orderIds: ended.map(({ id }) => publicId('ord', id)) });
    },
    onLost: (error) => void messages.end(error instanceof Error ? error : new Error(String(error))),
  });
  const keepAlive = setInterval(() => send({ orderIds: [] }), keepAliveMs);
  try {
    yield { orderIds: [] };
    for await (const { orderIds } of untilAborted(messages, AbortSignal.any([left, draining])))
      yield { orderIds: [...orderIds] };
  } finally {
    clearInterval(keepAlive);
    leave();
  }
  if (draining.aborted)
    throw rpcError('SERVER_DRAINING', 'this server is stopping; open a stream to another');
}
