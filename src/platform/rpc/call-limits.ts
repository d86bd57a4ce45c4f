/** The largest message that is received or sent. A full batch of the largest orders is smaller. */
export const maxMessageBytes = 4 * 1024 * 1024;

/** The deadline of a call that has none. */
export const defaultDeadlineMs = 30_000;

/** The longest delay of Node's timers. A longer one fires at once. */
export const longestTimerMs = 2 ** 31 - 1;
