import type { Pool } from 'pg';
import type { StoredStream } from '../../platform/nats/stored-events.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { areKnown, chunkSize, eventsOf } from './read-stream.ts';
import type { StreamEvent } from './read-stream.ts';

/** The number of messages among which the newest event of this database is searched. Other databases may use the same broker. */
const newestSearchSize = 5_000;

/** The part of a stream that was read. */
interface Seen {
  readonly lineage: string;
  /** A stream that was made again has the same numbers, and other messages. */
  readonly streamCreated: string;
  readonly last: number;
  /** The newest event of the database up to there. */
  readonly newest: StreamEvent | undefined;
}

/**
 * Whether the database has the newest event of the stream. True also if a recovery has read that event but could not rebuild its order.
 * True also if the newest messages contain no event of this database.
 * @throws when the broker does not answer
 */
export type HasNewestEvent = (stream: StoredStream, lineage: string) => Promise<boolean>;

/**
 * The check of one core. It reads each message once, and compares the newest event with the database each time, because a copy may have
 * replaced the database. `isNew`: this core has created the database's lineage, so no message from before its first check has it.
 */
export function createNewestEventCheck(pool: Pool, isNew: boolean): HasNewestEvent {
  let seen: Seen | undefined;
  let hasReadAll = isNew;
  return async ({ created, range, read }, lineage) => {
    const stream = { lineage, streamCreated: created };
    const { first, last } = range ?? { first: 1, last: 0 };
    const isSame = seen?.lineage === lineage && seen.streamCreated === created && seen.last <= last;
    const before: Seen = isSame && seen !== undefined ? seen : { ...stream, last: 0, newest: undefined };
    const oldest = Math.max(first, last - newestSearchSize + 1, (hasReadAll ? last : before.last) + 1);
    hasReadAll = false;
    const newest = (await findNewest(read, { oldest, last }, lineage)) ?? before.newest;
    seen = { ...stream, last, newest };
    if (newest === undefined) return true;
    return (await areKnown(pool, [newest]))[0] === true || wasRead(pool, newest.storedAt);
  };
}

async function findNewest(
  read: StoredStream['read'],
  { oldest, last }: { readonly oldest: number; readonly last: number },
  lineage: string,
): Promise<StreamEvent | undefined> {
  // Most often the last message is an event of this database.
  let to = last;
  for (let count = 1; to >= oldest; count = chunkSize) {
    const from = Math.max(oldest, to - count + 1);
    const newest = eventsOf(await read(from, to), lineage).at(-1);
    if (newest !== undefined) return newest;
    to = from - 1;
  }
  return undefined;
}

/** Whether a recovery has read the stream up to this time. */
async function wasRead(pool: Pool, storedAt: Date): Promise<boolean> {
  const rows = await runStatement(pool, {
    text: 'select from core.recoveries where stream_until >= $1',
    values: [storedAt],
  });
  return rows.length > 0;
}
