/** The cursor of an event in core's list, and the cursor of the event before it. */
export interface ChainLink {
  /** Empty when the publisher did not send it. */
  readonly cursor: string;
  readonly previous: string;
}

/** The part of a batch that continues a reader's list. */
export interface Chain<Link extends ChainLink> {
  /** The events that come next in the list without a gap, in its order. */
  readonly next: readonly Link[];
  /** Whether every event of the batch is in `next` or was read before. */
  readonly isWhole: boolean;
}

/**
 * Finds the events of a batch that follow the last read event, in any order and with repetitions. If the chain is
 * incomplete, an event is missing or too old to be remembered. Then the reader must read the list.
 */
export function followChain<Link extends ChainLink>(
  after: string,
  batch: readonly Link[],
  isKnown: (cursor: string) => boolean,
): Chain<Link> {
  // Empty cursors are ignored, because they prove nothing.
  const byPrevious = new Map(
    batch
      .filter(({ cursor, previous }) => cursor !== '' && previous !== '')
      .map((link) => [link.previous, link]),
  );
  const next: Link[] = [];
  const reached = new Set<string>();
  for (let link = byPrevious.get(after); link !== undefined; link = byPrevious.get(link.cursor)) {
    // Prevents an endless loop if the publisher sends a cycle.
    if (reached.has(link.cursor)) break;
    next.push(link);
    reached.add(link.cursor);
  }
  return { next, isWhole: batch.every(({ cursor }) => reached.has(cursor) || isKnown(cursor)) };
}
