/** An event's place in core's list, and that of the event before it. */
export interface ChainLink {
  /** Empty when it was not said. */
  readonly cursor: string;
  readonly previous: string;
}

/** What a batch of events is to a reader of the list. */
export interface Chain<Link extends ChainLink> {
  /** The events that come next in the list without a gap, in its order. */
  readonly next: readonly Link[];
  /** Whether every event of the batch is among those, or known to have been read before. */
  readonly isWhole: boolean;
}

/**
 * Finds in a batch, however its events are ordered and repeated, what goes on behind the last event that was read. When
 * the chain is not whole something is missing, or an event is older than memory: the list itself must be read then.
 */
export function followChain<Link extends ChainLink>(
  after: string,
  batch: readonly Link[],
  isKnown: (cursor: string) => boolean,
): Chain<Link> {
  // Empty texts are no places: a publisher that does not say them proves nothing.
  const byPrevious = new Map(
    batch
      .filter(({ cursor, previous }) => cursor !== '' && previous !== '')
      .map((link) => [link.previous, link]),
  );
  const next: Link[] = [];
  const reached = new Set<string>();
  for (let link = byPrevious.get(after); link !== undefined; link = byPrevious.get(link.cursor)) {
    // A circle would be the publisher's mistake; it must not be ours for ever.
    if (reached.has(link.cursor)) break;
    next.push(link);
    reached.add(link.cursor);
  }
  return { next, isWhole: batch.every(({ cursor }) => reached.has(cursor) || isKnown(cursor)) };
}
