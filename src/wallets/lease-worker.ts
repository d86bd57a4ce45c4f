import {
  BrokenCircuitError,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhenResult,
} from 'cockatiel';
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
  readonly breaker: WalletBreaker;
  readonly signal: WakeSignal;
  readonly logger: Logger;
}

/** Watches how a wallet does. */
export interface WalletBreaker {
  /** How much the wallet may be given: all one has, one request to see whether it is better, or nothing. */
  readonly allows: () => 'all' | 'one' | 'nothing';
  /** Does a piece of work, whatever is allowed by now, and counts whether the wallet was well. */
  readonly watch: (work: () => Promise<boolean>) => Promise<void>;
}

export interface WalletBreakerOptions {
  readonly wallet: string;
  readonly logger: Logger;
  /** How long a wallet in trouble is left alone. */
  readonly restMs: number;
  /** Troubled answers in a row that make a wallet one in trouble. */
  readonly threshold: number;
}

/** One a wallet: a wallet in trouble is left alone for a while, and asked with one request whether it is better. */
export function createWalletBreaker(options: WalletBreakerOptions): WalletBreaker {
  const { wallet, logger, restMs, threshold } = options;
  const policy = circuitBreaker(
    handleWhenResult((isWell) => isWell === false),
    { halfOpenAfter: restMs, breaker: new ConsecutiveBreaker(threshold) },
  );
  // The policy itself ends a rest only when it is used after it, and nothing would be: work is not even leased meanwhile.
  let isRested = true;
  policy.onBreak(() => {
    isRested = false;
    setTimeout(() => (isRested = true), restMs).unref();
    logger.warn({ wallet, rest_ms: restMs }, 'the wallet is in trouble; it is left alone for a while');
  });
  policy.onReset(() => logger.info({ wallet }, 'the wallet is well again'));
  return {
    allows() {
      if (policy.state === CircuitState.Closed) return 'all';
      return isRested ? 'one' : 'nothing';
    },
    async watch(work) {
      try {
        await policy.execute(work);
      } catch (error) {
        if (!(error instanceof BrokenCircuitError)) throw error;
        // Leased just before the rest began: one call more hurts less than nobody having it until the lease ends.
        await work();
      }
    },
  };
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
      .watch(() => work.serve(item))
      // What was leased and not done is due again when the lease ends.
      .catch((error: unknown) =>
        logger.warn({ err: error, work: work.name }, 'failed; it is done again when its lease ends'),
      )
      .finally(() => {
        inFlight.delete(running);
        signal.ring();
      });
    inFlight.add(running);
  };
  const room = (): number => {
    const allowed = { all: maxInFlight, one: 1, nothing: 0 }[breaker.allows()];
    return Math.max(0, allowed - inFlight.size);
  };

  // Waiting begins before core is asked: what becomes due while it answers rings, and must not go unheard.
  let rung: Promise<void> | undefined;
  while (!stop.aborted) {
    rung ??= signal.wait(idleMs, stop).then(() => {
      rung = undefined;
    });
    const limit = Math.min(room(), 50);
    const items = limit > 0 ? await takeWork(work, limit, logger) : [];
    items.forEach(begin);
    if (items.length === 0 || room() <= 0) await rung;
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
