import { publicId } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { Environment } from '../../domain/order.ts';

/** The kinds of rows, by the prefix of their ids: the name of the id in the log, and the line. */
const kinds = {
  ord: {
    idField: 'order_id',
    line: 'an order cannot be read; its payment and its expiry wait, and are tried again in a minute',
  },
  rfd: { idField: 'refund_id', line: 'a refund cannot be read; it waits, and is tried again in a minute' },
} as const;

type Kind = keyof typeof kinds;

/**
 * Rows that cannot be read, because of damage, a defect, or a newer version that wrote them. Work on several rows leaves them out, so that it
 * continues for the others.
 */
export interface UnreadableRows<K extends Kind> {
  readonly ids: () => readonly StoredId<K>[];
  /** Logs the row, and leaves it out for a minute. */
  readonly add: (
    row: {
      readonly id: StoredId<K>;
      readonly merchantId: StoredId<'mer'>;
      readonly environment: Environment;
    },
    error: unknown,
  ) => void;
}

const leftOutMs = 60_000;

export function createUnreadableRows<K extends Kind>(
  kind: K,
  logger: Pick<Logger, 'error'>,
): UnreadableRows<K> {
  const { idField, line } = kinds[kind];
  const until = new Map<StoredId<K>, number>();
  return {
    ids() {
      for (const [id, endMs] of until) if (endMs <= performance.now()) until.delete(id);
      return [...until.keys()];
    },
    add({ id, merchantId, environment }, error) {
      until.set(id, performance.now() + leftOutMs);
      logger.error(
        { err: error, [idField]: publicId(kind, id), merchant_id: publicId('mer', merchantId), environment },
        line,
      );
    },
  };
}
