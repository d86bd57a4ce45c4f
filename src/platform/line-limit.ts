import { Code, ConnectError } from '@connectrpc/connect';

const everyMs = 60_000;

interface Held<Facts> {
  /** How many lines were written since the minute began. */
  lines: number;
  /** The events of this minute that got no line. */
  unwritten: { count: number; latest: Facts } | undefined;
}

/**
 * Limits log lines about a task that fails and is tried again. Each reason is logged at once, and then once a minute while it lasts.
 * Nothing is logged later than it happens, so that no line reports a failure after the task works again. `nameOf` names what failed, if the
 * task is about several things. Each of them has lines of its own.
 */
export function limitFailures<About extends readonly unknown[] = []>(
  log: (error: unknown, ...about: About) => void,
  nameOf: (...about: About) => string = () => '',
): (error: unknown, ...about: About) => void {
  const logged = new Set<string>();
  return (error, ...about) => {
    const reason = `${nameOf(...about)} ${reasonOf(error)}`;
    if (logged.has(reason)) return;
    logged.add(reason);
    setTimeout(() => logged.delete(reason), everyMs).unref();
    log(error, ...about);
  };
}

/** The reason without numbers, such as a duration or a count, which differ each time. */
function reasonOf(error: unknown): string {
  // Its text lists how grpc-js spent the time.
  if (error instanceof ConnectError && error.code === Code.DeadlineExceeded) return 'deadline exceeded';
  return (error instanceof Error ? error.message : String(error)).replaceAll(/\d+/g, '0');
}

/** Something that happened, by kind. Each kind of the last minute is kept in memory, and has lines of its own. */
export type LogLimited<Facts> = (kind: string, facts: Facts) => void;

/**
 * Limits log lines about events that outsiders can cause as often as they like. The first of a kind are logged at once, up to `linesPerMinute`.
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
