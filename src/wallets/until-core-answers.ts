import { setTimeout as sleep } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import type { Logger } from '../platform/logger.ts';

const retryMs = 500;

/** The errors of a core that restarts, is overloaded, or does not reach its database. */
const unavailableCodes: readonly Code[] = [Code.Unavailable, Code.DeadlineExceeded, Code.ResourceExhausted];
export const isUnavailable = (error: unknown): boolean =>
  error instanceof ConnectError && unavailableCodes.includes(error.code);

export interface Repetition {
  /** Ends the repetition. The call that runs then is the last one. */
  readonly giveUp: AbortSignal;
  /** Whether a later call may succeed after this error; by default, whether core is unavailable. */
  readonly isTemporary?: (error: unknown) => boolean;
  /** Called before the first repeat. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Repeats a call of core that may be repeated, every half second. The retries of the transport end within a second, which is less
 * than a restart of core takes. @throws the error of the last call
 */
export async function untilCoreAnswers<T>(
  call: () => Promise<T>,
  { giveUp, isTemporary = isUnavailable, onFailure }: Repetition,
): Promise<T> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await call();
    } catch (error) {
      if (!isTemporary(error)) throw error;
      if (failures === 0 && !giveUp.aborted) onFailure(error);
      await sleep(retryMs, undefined, { signal: giveUp }).catch(() => undefined);
      if (giveUp.aborted) throw error;
    }
  }
}

/**
 * How long a report is repeated while core is unavailable. Without the report, the next lease could not know whether the wallet has the
 * request. Some wallets cannot be asked, and must not get the request again. Core accepts a report until another lease follows.
 */
const reportMs = 40_000;

/** Reports a wallet's answer to core, even after a restart of core. A repeated report changes nothing. */
export const reportToCore = <T>(
  call: () => Promise<T>,
  { stop, logger }: { readonly stop: AbortSignal; readonly logger: Logger },
  facts: Readonly<Record<string, unknown>>,
): Promise<T> =>
  untilCoreAnswers(call, {
    giveUp: AbortSignal.any([stop, AbortSignal.timeout(reportMs)]),
    onFailure: (error) =>
      logger.warn({ ...facts, err: error }, "core did not record a wallet's answer; trying again"),
  });
