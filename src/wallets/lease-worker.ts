import type { Logger } from '../platform/logger.ts';
import type { WakeSignal } from '../platform/wake-signal.ts';
import { untilEnd } from '../platform/tracing/span.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import type { LeaseFailures } from './lease-failures.ts';
import type { WalletBreaker } from './wallet-breaker.ts';

/** An answer of core. */
export interface Leased<Item> {
  readonly items: readonly Item[];
  /** How long core has nothing more, as `nothing_due_for` says; undefined if core did not say. */
  readonly nothingDueForMs?: number | undefined;
}

/** Work that is leased from core, several items at once. Each item is executed separately. */
export interface LeasedWork<Item> {
  /** The name in the log. */
  readonly name: string;
  readonly lease: (limit: number) => Promise<Leased<Item>>;
  /** The ids of an item, for the log line about its failure. */
  readonly idsOf: (item: Item) => Readonly<Record<string, string | undefined>>;
  /** The W3C traceparent of an item's trace, if its rows have one. */
  readonly traceparentOf?: (item: Item) => string;
  /**
   * Executes one item and records its outcome. Its lease was requested at `askedAtMs` (performance.now()). Returns whether the wallet is
   * healthy; undefined if that is not known.
   */
  readonly serve: (item: Item, askedAtMs: number) => Promise<boolean | undefined>;
}

export interface LeaseWorkerOptions {
  readonly maxInFlight: number;
  /** The poll interval without work and without a signal, unless core says how long there is none. */
  readonly idleMs: number;
  /** Whether new work sends a signal now. */
  readonly isSignalled: () => boolean;
  readonly breaker: WalletBreaker;
  readonly signal: WakeSignal;
  /** The log of failed leases, which all workers of the process share. */
  readonly failures: LeaseFailures;
  /** Undefined when tracing is off. */
  readonly tracing?: Tracing | undefined;
  readonly logger: Logger;
}

/**
 * Leases due work and executes a bounded number of items at a time, until `stop` aborts. Then it finishes the items it
 * has begun.
 */
export async function runLeaseWorker<Item>(
  work: LeasedWork<Item>,
  options: LeaseWorkerOptions,
  stop: AbortSignal,
): Promise<void> {
  const { maxInFlight, idleMs, isSignalled, breaker, signal, failures, tracing, logger } = options;
  const serve = (item: Item, askedAtMs: number): Promise<boolean | undefined> => {
    const span = tracing?.follow(work.name, work.traceparentOf?.(item), { kind: 'consumer' });
    const served = (): Promise<boolean | undefined> => work.serve(item, askedAtMs);
    return span === undefined ? served() : untilEnd(span, served);
  };
  const inFlight = new Set<Promise<void>>();
  const begin = (item: Item, askedAtMs: number): void => {
    const running = breaker
      .watch(() => serve(item, askedAtMs))
      // An item that was leased but not done is due again when its lease expires.
      .catch((error: unknown) =>
        logger.warn(
          { err: error, work: work.name, ...work.idsOf(item) },
          'work failed; it is repeated when its lease expires',
        ),
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

  /** No work while core fails. */
  const takeWork = async (limit: number): Promise<Leased<Item>> => {
    try {
      const leased = await work.lease(limit);
      failures.ended(work.name);
      return leased;
    } catch (error) {
      failures.failed(work.name, error);
      return nothing;
    }
  };

  while (!stop.aborted) {
    // Work that becomes due during the query to core sends a signal, which must not be missed.
    const ringsBefore = signal.rings();
    const limit = Math.min(room(), 50);
    const askedAtMs = performance.now();
    const { items, nothingDueForMs = idleMs } = limit > 0 ? await takeWork(limit) : nothing;
    for (const item of items) begin(item, askedAtMs);
    if (items.length > 0 && room() > 0) continue;
    await signal.wait(isSignalled() ? nothingDueForMs : idleMs, stop, ringsBefore);
  }
  await Promise.all(inFlight);
}

const nothing: Leased<never> = { items: [] };
