import type { StoredId } from '../../contract/public-id.ts';
import type { Logger } from '../../platform/logger.ts';
import type { WakeSignal } from '../../platform/wake-signal.ts';
import { pause } from '../../platform/pause.ts';
import type { Database } from '../database/database.ts';
import { laterCursor } from '../../contract/event-cursor.ts';
import { readChangedOrders } from './read-changed-orders.sql.ts';
import type { ChangedOrder, ChangesRead } from './read-changed-orders.sql.ts';
import { latestCursor } from './read-events.sql.ts';

export type { ChangedOrder } from './read-changed-orders.sql.ts';

export interface ChangeListener {
  /** Called with changes soon after their commit, sometimes twice with the same change. */
  readonly onChanges: (changes: readonly ChangedOrder[]) => void;
  /** Called once when the database cannot be read. The listener gets nothing more. */
  readonly onLost: (error: unknown) => void;
}

/** Tells which orders have just changed. All listeners of this process share one reader of the database. */
export interface ChangedOrders {
  /**
   * The listener gets every change that is committed after the promise resolves, of one order or of all. Gives the function
   * that removes it. @throws the error of a database that cannot be read
   */
  readonly listen: (listener: ChangeListener, order?: StoredId<'ord'>) => Promise<() => void>;
}

const pageSize = 500;
/** How soon a change without a signal is found, such as one by another core while the broker is unavailable. */
const idleMs = 500;
/** How soon the database is read again while a running transaction may still add changes. */
const unsettledMs = 20;
/** The shortest pause after a reading. The pause is twice the time that the reading took, if that is longer. */
const pauseMs = 2;

export interface ChangedOrdersParts {
  readonly database: Pick<Database, 'pool'>;
  /** Rings after commits that added events. */
  readonly signal: WakeSignal;
  /** Aborts when the process begins to stop. */
  readonly stop: AbortSignal;
  readonly logger: Logger;
}

export function createChangedOrders({ database, signal, stop, logger }: ChangedOrdersParts): ChangedOrders {
  const { pool } = database;
  const ofAll = new Set<ChangeListener>();
  const ofOrder = new Map<StoredId<'ord'>, Set<ChangeListener>>();
  /** Resolves when the reader has its start; undefined without a listener. */
  let begun: Promise<void> | undefined;

  const add = (listener: ChangeListener, order: StoredId<'ord'> | undefined): void => {
    const others = order === undefined ? ofAll : ofOrder.get(order);
    if (others !== undefined) others.add(listener);
    else if (order !== undefined) ofOrder.set(order, new Set([listener]));
  };
  const remove = (listener: ChangeListener, order: StoredId<'ord'> | undefined): void => {
    if (order === undefined) return void ofAll.delete(listener);
    const others = ofOrder.get(order);
    others?.delete(listener);
    if (others?.size === 0) ofOrder.delete(order);
  };
  const notify = (changes: readonly ChangedOrder[]): void => {
    if (changes.length === 0) return;
    for (const { onChanges } of ofAll) onChanges(changes);
    for (const change of changes)
      for (const { onChanges } of ofOrder.get(change.id) ?? []) onChanges([change]);
  };
  const lose = (error: unknown): void => {
    const lost = [...ofAll, ...[...ofOrder.values()].flatMap((each) => [...each])];
    ofAll.clear();
    ofOrder.clear();
    for (const { onLost } of lost) onLost(error);
  };

  const readOn = async (start: ChangesRead): Promise<void> => {
    let read = start;
    try {
      while (ofAll.size + ofOrder.size > 0 && !stop.aborted) {
        const rings = signal.rings();
        const beganMs = performance.now();
        const { changes, read: next, hasMore } = await readChangedOrders(pool, read, pageSize);
        read = next;
        notify(changes);
        if (hasMore) continue;
        await pause(Math.max(pauseMs, 2 * (performance.now() - beganMs)), stop);
        const isSettled = laterCursor(read.settled, read.seen) === read.settled;
        await signal.wait(isSettled ? idleMs : unsettledMs, stop, rings);
      }
    } catch (error) {
      logger.warn(
        { err: error },
        'changed orders cannot be read; callers that wait for them must call again',
      );
      lose(error);
    }
    // In the same turn as the last check of the listeners, so that the next listener starts a new reader.
    begun = undefined;
  };
  const begin = async (): Promise<void> => {
    const start = await latestCursor(pool);
    void readOn({ settled: start, seen: start });
  };

  return {
    async listen(listener, order) {
      add(listener, order);
      begun ??= begin();
      const joined = begun;
      try {
        await joined;
      } catch (error) {
        remove(listener, order);
        if (begun === joined) begun = undefined;
        throw error;
      }
      return () => remove(listener, order);
    },
  };
}
