import { beginning, maxCursorValue, readCursorText } from '../../contract/event-cursor.ts';
import type { EventCursor } from '../../contract/event-cursor.ts';
import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';

/** The cursor after every event of transactions before `xid`. */
export function behindTransactionsBefore(xid: string): EventCursor {
  return xid === '0' ? beginning : { xid: String(BigInt(xid) - 1n), position: String(maxCursorValue) };
}

/** Reads the cursor of a request. The empty text is the beginning. */
export function parseCursor(text: string): Result<EventCursor, Issue> {
  const cursor = readCursorText(text);
  return cursor === undefined
    ? err({ field: 'after_cursor', issue: 'must be a cursor that this gateway returned, or empty' })
    : ok(cursor);
}
