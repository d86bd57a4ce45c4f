import { publicId } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { OrderRow } from '../../database/order-entities.ts';

/** Orders that cannot be read, because of damage or a defect. Work on several orders leaves them out, so that it continues for the others. */
export interface UnreadableOrders {
  readonly ids: () => readonly StoredId<'ord'>[];
  /** Logs the order, and leaves it out for a minute. */
  readonly add: (row: OrderRow, error: unknown) => void;
}

const leftOutMs = 60_000;

export function createUnreadableOrders(
  logger: Pick<Logger, 'error'>,
  nowMs: () => number = () => performance.now(),
): UnreadableOrders {
  const until = new Map<StoredId<'ord'>, number>();
  return {
    ids() {
      for (const [id, endMs] of until) if (endMs <= nowMs()) until.delete(id);
      return [...until.keys()];
    },
    add({ id, merchantId, environment }, error) {
      until.set(id, nowMs() + leftOutMs);
      logger.error(
        {
          err: error,
          ...{ order_id: publicId('ord', id), merchant_id: publicId('mer', merchantId), environment },
        },
        'an order cannot be read; its payment and its expiry wait, and are tried again in a minute',
      );
    },
  };
}
