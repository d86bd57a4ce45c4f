/** A position in the list of all events: after the event with this transaction id and position. Both are 64-bit, as decimal text. */
export interface EventCursor {
  readonly xid: string;
  readonly position: string;
}

/** The cursor before the first event. */
export const beginning: EventCursor = { xid: '0', position: '0' };

/** The largest transaction id and position. */
export const maxCursorValue = 2n ** 63n - 1n;

/** The later of two cursors; the second of two equal ones. */
export function laterCursor(a: EventCursor, b: EventCursor): EventCursor {
  const [x, y] = [BigInt(a.xid), BigInt(b.xid)];
  if (x !== y) return x > y ? a : b;
  return BigInt(a.position) > BigInt(b.position) ? a : b;
}

/** The opaque text of a cursor, for messages. */
export const formatCursor = ({ xid, position }: EventCursor): string =>
  Buffer.from(`1.${xid}.${position}`).toString('base64url');

/** Reads the text of a cursor; the empty text is the beginning. Undefined for any other text. */
export function readCursorText(text: string): EventCursor | undefined {
  if (text === '') return beginning;
  const match = /^1\.([0-9]{1,19})\.([0-9]{1,19})$/.exec(Buffer.from(text, 'base64url').toString('latin1'));
  const [, xid = '', position = ''] = match ?? [];
  if (match === null || BigInt(xid) > maxCursorValue || BigInt(position) > maxCursorValue) return undefined;
  return { xid, position };
}
