import type { ConnectError } from '@connectrpc/connect';
import DataLoader from 'dataloader';
import { createShareOfTime } from './share-of-time.ts';
import { rpcError } from './rpc/rpc-error.ts';
import { activeSpan, inSharedSpan } from './tracing/span.ts';
import type { Span } from './tracing/span.ts';

export interface BatcherOptions<Item, Outcome> {
  /** The name of a batch in traces, such as "insert orders"; "batch" by default. */
  readonly name?: string;
  /** Processes all items at once, for example in one statement and one commit. Outcomes are in the order of the items. */
  readonly run: (items: readonly Item[]) => Promise<readonly Outcome[]>;
  /** Whether one item may have caused an error of `run`, so that the other items can be retried without it. */
  readonly isOneItemsFault?: (error: unknown) => boolean;
  readonly maxItems: number;
  /** How many batches run at a time. Items that arrive meanwhile wait for the next batch. */
  readonly maxInFlight: number;
  /** New items are refused when this many wait, so that memory is bounded and callers learn of it early. */
  readonly maxWaiting: number;
  /** The error of an item whose signal was aborted before its batch started. CALL_CANCELLED by default. */
  readonly dropped?: () => ConnectError;
}

/** The part of the event loop's time in which callers are refused. */
const refusalsShare = 0.2;

/** The state of an item's caller, for example an AbortSignal: aborted when the caller has disconnected. */
export type CallerSignal = Pick<AbortSignal, 'aborted'>;

export interface Batcher<Item, Outcome> {
  (item: Item, signal: CallerSignal): Promise<Outcome>;
  /** Whether a new item would be refused now. */
  readonly isFull: () => boolean;
}

interface Entry<Item> {
  readonly item: Item;
  readonly signal: CallerSignal;
  /** The span of the caller. */
  readonly span: Span | undefined;
}

/**
 * Combines concurrent calls into few batches, without timers. Calls that arrive in one turn of the event loop, or while the
 * previous batches run, form one batch. A call whose caller disconnects before its batch starts is dropped.
 * Errors: RESOURCE_EXHAUSTED OVERLOADED; the error of `dropped`; the error of `run` for the item.
 */
export function createBatcher<Item, Outcome>(options: BatcherOptions<Item, Outcome>): Batcher<Item, Outcome> {
  const { name = 'batch', run, isOneItemsFault = () => false, maxItems, maxInFlight, maxWaiting } = options;
  const { dropped = cancelled } = options;
  const refuse = createShareOfTime(refusalsShare);
  const ready: (() => void)[] = [];
  let inFlight = 0;
  let waiting = 0;

  const dispatch = (): void => {
    while (inFlight < maxInFlight) {
      const next = ready.shift();
      if (next === undefined) return;
      inFlight += 1;
      next();
    }
  };
  const loader = new DataLoader<Entry<Item>, Outcome>(
    async (entries) => {
      waiting -= entries.length;
      try {
        const spans = entries.map(({ span }) => span);
        return await inSharedSpan(name, spans, () => settleBatch(entries, run, isOneItemsFault, dropped));
      } finally {
        inFlight -= 1;
        dispatch();
      }
    },
    {
      cache: false,
      maxBatchSize: maxItems,
      batchScheduleFn: (start) => {
        ready.push(start);
        setImmediate(dispatch);
      },
    },
  );
  const isFull = (): boolean => waiting >= maxWaiting;
  const add = (item: Item, signal: CallerSignal): Promise<Outcome> => {
    // Refusals are spread over time, so that clients that repeat at once do not take all of the event loop.
    if (isFull()) return new Promise((_, reject) => refuse(() => reject(overloaded())));
    waiting += 1;
    return loader.load({ item, signal, span: activeSpan() });
  };
  return Object.assign(add, { isFull });
}

/** The refusal of a call whose caller has disconnected, before anything was done for it. */
export const cancelled = (): ConnectError =>
  rpcError('CALL_CANCELLED', 'the caller disconnected before anything was written');

/** The refusal of a request that nothing was done for. The caller may repeat it after a second. */
export const overloaded = (): ConnectError =>
  rpcError('OVERLOADED', 'too many requests are waiting; try again in a moment', { retryAfterMs: 1000 });

async function settleBatch<Item, Outcome>(
  entries: readonly Entry<Item>[],
  run: (items: readonly Item[]) => Promise<readonly Outcome[]>,
  isOneItemsFault: (error: unknown) => boolean,
  dropped: () => ConnectError,
): Promise<(Outcome | Error)[]> {
  const live = entries.filter(({ signal }) => !signal.aborted);
  const outcomes =
    live.length === 0
      ? []
      : await runApart(
          live.map(({ item }) => item),
          run,
          isOneItemsFault,
        );
  const byEntry = new Map(live.map((entry, index) => [entry, outcomes[index] as Outcome | Error]));
  return entries.map((entry) => (byEntry.has(entry) ? (byEntry.get(entry) as Outcome | Error) : dropped()));
}

/**
 * One refused item must not fail the others. So the halves of a refused batch are run again, and halved again until the item
 * is alone. Each halving costs two runs.
 */
async function runApart<Item, Outcome>(
  items: readonly Item[],
  run: (items: readonly Item[]) => Promise<readonly Outcome[]>,
  isOneItemsFault: (error: unknown) => boolean,
): Promise<readonly (Outcome | Error)[]> {
  try {
    return await run(items);
  } catch (error) {
    if (items.length === 1 || !isOneItemsFault(error)) return items.map(() => asError(error));
    const middle = Math.ceil(items.length / 2);
    const first = await runApart(items.slice(0, middle), run, isOneItemsFault);
    return [...first, ...(await runApart(items.slice(middle), run, isOneItemsFault))];
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
