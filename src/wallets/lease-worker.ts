import { ConnectError } from '@connectrpc/connect';
import type { Code } from '@connectrpc/connect';
import type { Logger } from '../platform/logger.ts';
import type { WakeSignal } from '../platform/wake-signal.ts';
import type { WalletBreaker } from './wallet-breaker.ts';

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

  const takeWork = createWorkTaker(work, logger);

  // Waiting begins before core is asked: what becomes due while it answers rings, and must not go unheard.
  let rung: Promise<void> | undefined;
  while (!stop.aborted) {
    rung ??= signal.wait(idleMs, stop).then(() => {
      rung = undefined;
    });
    const limit = Math.min(room(), 50);
    const items = limit > 0 ? await takeWork(limit) : [];
    items.forEach(begin);
    if (items.length === 0 || room() <= 0) await rung;
  }
  await Promise.all(inFlight);
}

/** Takes work; none while core gives none. Core is asked several times a second, and what it says in return is told once. */
function createWorkTaker<Item>(work: LeasedWork<Item>, logger: Logger) {
  let told: Code | undefined;
  return async (limit: number): Promise<readonly Item[]> => {
    try {
      const items = await work.lease(limit);
      if (told !== undefined) logger.info({ work: work.name }, 'core gives work again');
      told = undefined;
      return items;
    } catch (error) {
      const { code } = ConnectError.from(error);
      const level = code === told ? 'debug' : 'warn';
      logger[level]({ err: error, work: work.name }, 'core gave no work; it is asked again');
      told = code;
      return [];
    }
  };
}
