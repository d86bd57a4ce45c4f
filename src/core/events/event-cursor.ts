import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';

/** A position in the list of all events: after the event with this transaction id and position. Both are 64-bit, as decimal text. */
export interface EventCursor {
  readonly xid: string;
  readonly position: string;
}

/** Before the first event. */
export const beginning: EventCursor = { xid: '0', position: '0' };

const maxValue = 2n ** 63n - 1n;

/** After every event of older transactions. */
export function behindTransactionsBefore(xid: string): EventCursor {
  return xid === '0' ? beginning : { xid: String(BigInt(xid) - 1n), position: String(maxValue) };
}

/** The later of two cursors. */
export function laterCursor(a: EventCursor, b: EventCursor): EventCursor {
  const [x, y] = [BigInt(a.xid), BigInt(b.xid)];
  if (x !== y) return x > y ? a : b;
  return BigInt(a.position) > BigInt(b.position) ? a : b;
}

export const formatCursor = ({ xid, position }: EventCursor): string =>
  Buffer.from(`1.${xid}.${position}`).toString('base64url');

/** Reads an issued cursor. The empty text is the beginning. */
export function parseCursor(text: string): Result<EventCursor, Issue> {
  if (text === '') return ok(beginning);
  const match = /^1\.([0-9]{1,19})\.([0-9]{1,19})$/.exec(Buffer.from(text, 'base64url').toString('latin1'));
  const [, xid = '', position = ''] = match ?? [];
  if (match === null || BigInt(xid) > maxValue || BigInt(position) > maxValue) {
    return err({ field: 'after_cursor', issue: 'must be a cursor that this gateway gave out, or empty' });
  }
  return ok({ xid, position });
}
