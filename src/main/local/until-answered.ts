import { Code, ConnectError } from '@connectrpc/connect';
import { pause } from '../../platform/pause.ts';

/** The process that is called was ready, but is too busy to answer, or is restarting. */
const isWithoutAnswer = (error: unknown): error is ConnectError =>
  error instanceof ConnectError && (error.code === Code.Unavailable || error.code === Code.DeadlineExceeded);

export interface UntilAnsweredOptions {
  /** Called with a line about each attempt without an answer. */
  readonly warn: (line: string) => void;
  /** Ends the attempts. */
  readonly signal: AbortSignal;
  readonly pauseMs?: number;
}

/**
 * Repeats a step of the start while a process does not answer, as on a busy machine. The step must be repeatable after it was
 * executed in part.
 * @throws the signal's reason, or any other error of the step
 */
export async function untilAnswered<T>(
  step: () => Promise<T>,
  { warn, signal, pauseMs = 1_000 }: UntilAnsweredOptions,
): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await step();
    } catch (error) {
      if (!isWithoutAnswer(error)) throw error;
      // The text of a deadline lists how grpc-js spent the time.
      const reason = error.code === Code.DeadlineExceeded ? 'no answer in time' : error.rawMessage;
      warn(`A process does not answer yet (${reason}). The start tries again`);
    }
    await pause(pauseMs, signal);
  }
}
