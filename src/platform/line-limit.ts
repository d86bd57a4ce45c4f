const everyMs = 60_000;

interface Held<Facts> {
  /** How many lines were written since the minute began. */
  lines: number;
  /** What happened without a line. */
  unwritten: { count: number; latest: Facts } | undefined;
}

/** Something that happened, by kind. Each kind of the last minute is kept in memory, and has lines of its own. */
export type LogLimited<Facts> = (kind: string, facts: Facts) => void;

/**
 * Limits log lines about what outsiders can cause as often as they like. The first of a kind are logged at once, up to `linesPerMinute`.
 * Later ones are counted, and logged together at most once a minute, with the latest facts and their number.
 */
export function limitLines<Facts>(
  log: (facts: Facts, count: number) => void,
  linesPerMinute = 1,
): LogLimited<Facts> {
  const kinds = new Map<string, Held<Facts>>();
  const logHeld = (kind: string, held: Held<Facts>): void => {
    if (held.unwritten === undefined) {
      kinds.delete(kind);
      return;
    }
    log(held.unwritten.latest, held.unwritten.count);
    held.unwritten = undefined;
    held.lines = 1;
    wait(kind, held);
  };
  const wait = (kind: string, held: Held<Facts>): void => {
    setTimeout(logHeld, everyMs, kind, held).unref();
  };
  return (kind, facts) => {
    const held = kinds.get(kind);
    if (held !== undefined && held.lines >= linesPerMinute) {
      held.unwritten = { count: (held.unwritten?.count ?? 0) + 1, latest: facts };
      return;
    }
    log(facts, 1);
    if (held !== undefined) {
      held.lines += 1;
      return;
    }
    const begun = { lines: 1, unwritten: undefined };
    kinds.set(kind, begun);
    wait(kind, begun);
  };
}
