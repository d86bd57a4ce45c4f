import { createFairCalls, takeTurn } from '../../platform/fair-calls.ts';
import type { CallOwner } from '../../platform/fair-calls.ts';
import { invalidFields } from '../../platform/rpc/rpc-error.ts';
import type { Database } from '../database/database.ts';
import { firstWithin } from '../rpc/first-within.ts';
import { laterCursor } from '../../contract/event-cursor.ts';
import type { EventCursor } from '../../contract/event-cursor.ts';
import { pause } from '../../platform/pause.ts';
import type { WakeSignal } from '../../platform/wake-signal.ts';
import { heldBackMs, latestCursor, readEvents } from './read-events.sql.ts';
import type { EventFilter, StoredEvent } from './read-events.sql.ts';

export type { EventFilter } from './read-events.sql.ts';

export interface EventPage {
  readonly events: readonly StoredEvent[];
  /** The cursor after everything that this page covers. */
  readonly next: EventCursor;
  readonly hasMore: boolean;
  /** Whether a running transaction holds back events that are committed. */
  readonly holdsBack: boolean;
}

/**
 * The list of all committed events, for readers that catch up or follow.
 * Errors: INVALID_ARGUMENT INVALID_FIELDS for a cursor that this database server cannot have issued.
 */
export interface EventFeed {
  /** Up to `limit` events, and fewer if they have more than 3 MiB. */
  readonly list: (after: EventCursor, limit: number, filter: EventFilter) => Promise<EventPage>;
  readonly latest: () => Promise<EventCursor>;
  /**
   * Pages after the cursor, then new events when they are committed. Empty pages show that the stream works. Ends when `stop` aborts. The
   * followers of an owner take turns.
   */
  readonly follow: (
    after: EventCursor,
    filter: EventFilter,
    stop: AbortSignal,
    caller: CallOwner,
  ) => AsyncIterable<EventPage>;
}

/** A restored database has the same events at other positions, so an old cursor points to the wrong event. */
const foreignCursor =
  'belongs to another database server, or to a later state of this one; start again without a cursor';
const pageSize = 200;
/** Three quarters of the limit on messages. The events of a page may have long URLs and texts of wallets. */
const maxPageBytes = 3 * 1024 * 1024;
/** How often a message is sent without events. The contract promises one at least every 15 seconds. */
const keepAliveMs = 10_000;
/** How soon events without a signal are found. */
const idleMs = 500;
/** The shortest pause after a reading. The pause is twice the time that the reading took, if that is longer. */
const pauseMs = 10;
/**
 * The number of readings that run at a time. Core encodes each event of a page, which holds up the payments of all merchants for some tens of
 * milliseconds. An owner that is alone gets half of the number.
 */
const maxReadings = 2;
/** A client that does not read its page keeps the turn this long, and no pause between turns is longer. */
const longestTurnMs = 100;

export function createEventFeed(database: Database, signal: WakeSignal): EventFeed {
  const list = async (after: EventCursor, limit: number, filter: EventFilter): Promise<EventPage> => {
    const { events, horizon, isAhead, holdsBack } = await readEvents(database.pool, after, limit + 1, filter);
    // No event would ever follow this cursor, and the reader would not notice.
    if (isAhead) throw invalidFields([{ field: 'after_cursor', issue: foreignCursor }]);
    const page = firstWithin(events.slice(0, limit), maxPageBytes);
    const last = page.at(-1);
    if (last !== undefined && events.length > page.length)
      return { events: page, next: last.cursor, hasMore: true, holdsBack };
    // The cursor also passes the events that the filter left out. Otherwise every read would scan them again.
    return {
      events: page,
      next: laterCursor(laterCursor(after, horizon), last?.cursor ?? after),
      hasMore: false,
      holdsBack,
    };
  };

  const inTurn = createFairCalls({ maxRunning: maxReadings, maxWaiting: Infinity });
  /**
   * Waits for a turn of the caller's owner, and returns the function that ends it after a pause as long as the turn was. Undefined when `stop`
   * aborts.
   */
  const beginTurn = async (caller: CallOwner, stop: AbortSignal): Promise<(() => void) | undefined> => {
    const release = await takeTurn(inTurn, caller, stop).catch((error: unknown) => {
      if (stop.aborted) return undefined;
      throw error;
    });
    if (release === undefined) return undefined;
    const beganMs = performance.now();
    return () => void setTimeout(release, Math.min(longestTurnMs, performance.now() - beganMs));
  };

  async function* follow(
    after: EventCursor,
    filter: EventFilter,
    stop: AbortSignal,
    caller: CallOwner,
  ): AsyncIterable<EventPage> {
    let cursor = after;
    let sentAt = -Infinity;
    while (!stop.aborted) {
      const rings = signal.rings();
      const endTurn = await beginTurn(caller, stop);
      if (endTurn === undefined) return;
      const beganMs = performance.now();
      let page: EventPage;
      let tookMs: number;
      let late: NodeJS.Timeout | undefined;
      try {
        page = await list(cursor, pageSize, filter);
        tookMs = performance.now() - beganMs;
        cursor = page.next;
        if (page.events.length > 0 || performance.now() - sentAt >= keepAliveMs) {
          sentAt = performance.now();
          late = setTimeout(endTurn, longestTurnMs);
          yield page;
        }
      } finally {
        clearTimeout(late);
        endTurn();
      }
      if (page.hasMore) continue;
      // Each commit rings, even one of another merchant. So many followers would use the database all the time.
      await pause(Math.max(pauseMs, 2 * tookMs), stop);
      await signal.wait(page.holdsBack ? heldBackMs : idleMs, stop, rings);
    }
  }

  return { list, latest: () => latestCursor(database.pool), follow };
}
