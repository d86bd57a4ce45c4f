import { publicId } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import { isDatabaseUnavailable, isStatementRefused } from '../../../platform/database/explain-error.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { Environment } from '../../domain/order.ts';

/** The kinds of rows, by the prefix of their ids: the name of the id in the log, and the line. */
const kinds = {
  ord: {
    idField: 'order_id',
    line: 'an order cannot be read or changed; its payment and its expiry wait, and are tried again in a minute',
  },
  rfd: {
    idField: 'refund_id',
    line: 'a refund cannot be read or changed; it waits, and is tried again in a minute',
  },
  stp: {
    idField: 'stray_payment_id',
    line: 'a stray payment cannot be read or changed; its return waits, and is tried again in a minute',
  },
  ppm: {
    idField: 'payer_payment_id',
    line: 'a payer-started payment cannot be read or changed; it waits, and is tried again in a minute',
  },
} as const;

type Kind = keyof typeof kinds;

interface Row<K extends Kind> {
  readonly id: StoredId<K>;
  /** Payer-started payments may have none yet. */
  readonly merchantId?: StoredId<'mer'> | null | undefined;
  readonly environment: Environment;
}

/** Returns the locked rows that the transaction may change. */
export type ChooseRows<K extends Kind> = <Taken>(
  locked: readonly Taken[],
  rowOf: (taken: Taken) => Row<K>,
) => readonly Taken[];

/**
 * Rows that cannot be read or changed, because of damage, a defect, or a newer version that wrote them. Work on several rows leaves them
 * out, so that it continues for the others.
 */
export interface FailingRows<K extends Kind> {
  readonly ids: () => readonly StoredId<K>[];
  /** Logs the row, and leaves it out for a minute. */
  readonly add: (row: Row<K>, error: unknown) => void;
  /**
   * Runs a transaction that locks several rows, without those of `ids`, and changes the chosen ones. If it fails, it is run for each half of
   * these rows, down to the row that causes the failure, which is added. A failure that concerns all rows is thrown: the database is
   * unavailable, or refuses the statement whatever its data are.
   */
  readonly leaveOut: <Answer>(
    run: (choose: ChooseRows<K>) => Promise<readonly Answer[]>,
  ) => Promise<readonly Answer[]>;
}

const leftOutMs = 60_000;

export function createFailingRows<K extends Kind>(kind: K, logger: Pick<Logger, 'error'>): FailingRows<K> {
  const { idField, line } = kinds[kind];
  const until = new Map<StoredId<K>, number>();

  const add: FailingRows<K>['add'] = ({ id, merchantId, environment }, error) => {
    until.set(id, performance.now() + leftOutMs);
    const merchant = merchantId == null ? {} : { merchant_id: publicId('mer', merchantId) };
    logger.error({ err: error, [idField]: publicId(kind, id), ...merchant, environment }, line);
  };

  /** `only`: the ids of the rows that may be changed; by default all. */
  const leaveOut = async <Answer>(
    run: (choose: ChooseRows<K>) => Promise<readonly Answer[]>,
    only?: ReadonlySet<StoredId<K>>,
  ): Promise<readonly Answer[]> => {
    let rows: readonly Row<K>[] = [];
    const choose: ChooseRows<K> = (locked, rowOf) => {
      const chosen = only === undefined ? locked : locked.filter((each) => only.has(rowOf(each).id));
      rows = chosen.map(rowOf);
      return chosen;
    };
    try {
      return await run(choose);
    } catch (error) {
      const [first] = rows;
      if (first === undefined || isDatabaseUnavailable(error) || isStatementRefused(error)) throw error;
      if (rows.length === 1) {
        add(first, error);
        return [];
      }
      const ids = rows.map(({ id }) => id);
      const half = Math.ceil(ids.length / 2);
      return [
        ...(await leaveOut(run, new Set(ids.slice(0, half)))),
        ...(await leaveOut(run, new Set(ids.slice(half)))),
      ];
    }
  };

  return {
    ids() {
      for (const [id, endMs] of until) if (endMs <= performance.now()) until.delete(id);
      return [...until.keys()];
    },
    add,
    leaveOut: (run) => leaveOut(run),
  };
}
