import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhenResult } from 'cockatiel';
import type { CircuitBreakerPolicy } from 'cockatiel';
import type { Logger } from '../runtime/logger.ts';
import type { WakeSignal } from '../runtime/wake-signal.ts';

/** Work that is leased from core, a piece at a time. */
export interface LeasedWork<Item> {
  /** Named in the log. */
  readonly name: string;
  readonly lease: (limit: number) => Promise<readonly Item[]>;
  /** Does one piece and records its outcome. Gives whether the wallet is well. */
  readonly serve: (item: Item) => Promise<boolean>;
}

export interface LeaseWorkerOptions {
  readonly maxInFlight: number;
  /** How long to wait when there was nothing to do and no signal came. */
  readonly idleMs: number;
  readonly breaker: CircuitBreakerPolicy;
  readonly signal: WakeSignal;
  readonly logger: Logger;
}

/** One a wallet: a wallet in trouble is left alone for a while, and asked with one request whether it is better. */
export function createWalletBreaker(logger: Logger, wallet: string): CircuitBreakerPolicy {
  const breaker = circuitBreaker(
    handleWhenResult((isWell) => isWell === false),
    { halfOpenAfter: 10_000, breaker: new ConsecutiveBreaker(8) },
  );
  breaker.onBreak(() => logger.warn({ wallet }, 'the wallet is in trouble; it is left alone for 10 s'));
  breaker.onReset(() => logger.info({ wallet }, 'the wallet is well again'));
  return breaker;
}

/** Takes due work and does it, a bounded number of pieces at a time, until `stop` aborts; then ends what it has begun. */
export async function runLeaseWorker<Item>(
  work: LeasedWork<Item>,
  options: LeaseWorkerOptions,
  stop: AbortSignal,
): Promise<void> {
  const { maxInFlight, idleMs, breaker, signal, logger } = options;
  const inFlight = new Set<Promise<void>>();
  const begin = (item: Item): void => {
    const running = breaker
      .execute(() => work.serve(item))
      .then(
        () => undefined,
        // What was leased and not done is due again when the lease ends.
        (error: unknown) =>
          logger.warn({ err: error, work: work.name }, 'failed; it is done again when its lease ends'),
      )
      .finally(() => {
        inFlight.delete(running);
        signal.ring();
      });
    inFlight.add(running);
  };
  const room = (): number => {
    if (breaker.state === CircuitState.Open || breaker.state === CircuitState.Isolated) return 0;
    return (breaker.state === CircuitState.HalfOpen ? 1 : maxInFlight) - inFlight.size;
  };

  while (!stop.aborted) {
    const limit = Math.min(room(), 50);
    const items = limit > 0 ? await takeWork(work, limit, logger) : [];
    items.forEach(begin);
    if (items.length === 0 || room() <= 0) await signal.wait(idleMs, stop);
  }
  await Promise.all(inFlight);
}

async function takeWork<Item>(
  work: LeasedWork<Item>,
  limit: number,
  logger: Logger,
): Promise<readonly Item[]> {
  try {
    return await work.lease(limit);
  } catch (error) {
    logger.warn({ err: error, work: work.name }, 'core gave no work; it is asked again');
    return [];
  }
}
