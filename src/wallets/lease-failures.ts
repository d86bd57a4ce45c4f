import { ConnectError } from '@connectrpc/connect';
import type { Code } from '@connectrpc/connect';
import type { Logger } from '../platform/logger.ts';
import { isUnavailable } from './until-core-answers.ts';

/** Logs that work cannot be leased from core. */
export interface LeaseFailures {
  /** Called after each failed call of a worker. `work` is the name of its work. */
  readonly failed: (work: string, error: unknown) => void;
  /** Called after each successful call of a worker. */
  readonly ended: (work: string) => void;
}

type Reason = Code | 'unavailable';

/**
 * A process has several workers for each wallet, and each of them calls core several times a second. So an outage of core is logged once: when
 * the first worker notices it, and when core answers all of them again. It is the same with any other error. The workers that get it share its lines.
 */
export function createLeaseFailures(logger: Logger): LeaseFailures {
  /** The workers whose latest call failed, with the reason. */
  const failing = new Map<string, Reason>();
  const isShared = (reason: Reason): boolean => [...failing.values()].includes(reason);
  return {
    failed(work, error) {
      const reason = reasonOf(error);
      const level = isShared(reason) ? 'debug' : 'warn';
      failing.set(work, reason);
      logger[level]({ err: error, work }, 'work could not be leased from core; trying again');
    },
    ended(work) {
      const reason = failing.get(work);
      if (reason === undefined) return;
      failing.delete(work);
      if (!isShared(reason)) logger.info({ work }, 'core answers again; work continues');
    },
  };
}

/** The codes of an outage change within it. */
const reasonOf = (error: unknown): Reason =>
  isUnavailable(error) ? 'unavailable' : ConnectError.from(error).code;
