/** The largest message that is received or sent. A full batch of the largest orders is smaller. */
export const maxMessageBytes = 4 * 1024 * 1024;

/** The deadline of a call that has none. */
export const defaultDeadlineMs = 30_000;

/** The longest delay of Node's timers. A longer one fires at once. */
export const longestTimerMs = 2 ** 31 - 1;

/**
 * How long a call may wait for its turn among others, in milliseconds; undefined without a deadline. So at least twice as much time is left
 * when its turn comes, and it is rarely left without an answer.
 */
export function maxTurnWaitMs(context: { readonly timeoutMs: () => number | undefined }): number | undefined {
  const leftMs = context.timeoutMs();
  return leftMs === undefined ? undefined : leftMs / 3;
}
