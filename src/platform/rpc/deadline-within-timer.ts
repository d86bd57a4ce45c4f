import type { UniversalHandler } from '@connectrpc/connect/protocol';

/** A timer of Node takes at most this many milliseconds. With more it fires at once, and Node writes a warning to standard error. */
const maxTimerMs = 2 ** 31 - 1;

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000 };

interface DeadlineHeader {
  readonly name: string;
  readonly toMs: (value: string) => number;
  /** The longest deadline for a timer. */
  readonly longest: string;
}

const deadlineHeaders: readonly DeadlineHeader[] = [
  { name: 'connect-timeout-ms', toMs: Number, longest: String(maxTimerMs) },
  {
    name: 'grpc-timeout',
    toMs: (value) => parseInt(value, 10) * (unitMs[value.at(-1) ?? ''] ?? 0),
    longest: '596H',
  },
];

/**
 * Shortens a deadline that is too long for a timer. connect-node refuses it, but sets its timer first. Without this, each call of an unknown caller
 * could write lines to the log.
 */
export function deadlineWithinTimer(handle: UniversalHandler): UniversalHandler {
  const answer = (request: Parameters<UniversalHandler>[0]): ReturnType<UniversalHandler> => {
    for (const { name, toMs, longest } of deadlineHeaders) {
      const value = request.header.get(name);
      if (value !== null && toMs(value) > maxTimerMs) request.header.set(name, longest);
    }
    return handle(request);
  };
  return Object.assign(answer, handle);
}
