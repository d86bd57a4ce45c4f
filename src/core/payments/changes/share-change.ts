import type { EntityManager } from '@mikro-orm/postgresql';
import { createBatcher } from '../../../platform/batcher.ts';
import { isDatabaseUnavailable, isUniqueViolation } from '../../../platform/database/explain-error.ts';
import type { OrderRow } from '../../database/order-entities.ts';
import { batchLimits } from '../../database/batch-limits.ts';
import { err } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { makeAgainIfTaken } from './make-again.ts';
import { recordedTraceparent } from '../../../platform/tracing/span.ts';
import type { Caller, ChangeSteps, Commit, Decision, Locked } from './order-change.ts';
import type { OrderLock } from './read-order.ts';

/** A locked order, with the call that changes it and the values that were read for all calls of the transaction. */
export interface SharedLock<Call, Loaded> extends Locked {
  readonly call: Call;
  readonly traceparent: string;
  readonly loaded: Loaded;
}

/** A call that waits for its transaction, with its own trace. */
interface Traced<Call> {
  readonly call: Call;
  /** Empty when the trace is not recorded. */
  readonly traceparent: string;
}

/** The outcome of a try to make a call; `left_out` if its transaction has left the call out. */
export type TriedCall<Answer, Refusal> = Result<Answer, Refusal | 'not_found'> | typeof leftOut;

/** A change whose concurrent calls share a transaction. Its steps never wait for other locks, because they would hold up the other calls. */
export interface SharedChange<
  Call,
  Name,
  Loaded,
  Context,
  Decided extends Decision,
  Refusal,
  Answer,
> extends ChangeSteps<SharedLock<Call, Loaded>, Context, Decided, Refusal, Answer> {
  readonly orders: OrderLock<Name>;
  readonly nameOf: (call: Call) => Name;
  readonly requestIdOf: (call: Call) => string;
  readonly networkOf?: (call: Call) => string | null;
  /** Runs a call that is made alone, once its owner may hold one more connection while it waits for its order. At once by default. */
  readonly alone?: <Made>(call: Call, make: () => Promise<Made>) => Promise<Made>;
  /** Runs each try to make a call: together with others, and then alone if it was left out. At once by default. */
  readonly inTurn?: <Made extends TriedCall<Answer, Refusal>>(
    call: Call,
    make: () => Promise<Made>,
  ) => Promise<Made>;
  /** Reads what the steps of all calls need, with few statements. `rows`: the locked orders; none if it loads first. */
  readonly load: (
    em: EntityManager,
    calls: readonly Call[],
    rows: readonly OrderRow[],
  ) => Loaded | Promise<Loaded>;
  /**
   * Loads before the orders are locked, so that locks, and events of others (ADR 4), are held for one round trip less. Only for what the
   * locks do not protect.
   */
  readonly loadsFirst?: true;
}

/** The calls of a shared change. Refusals: those of `decide`, and `not_found`. Errors: RESOURCE_EXHAUSTED OVERLOADED. */
export type ShareChange = <Call, Name, Loaded, Context, Decided extends Decision, Refusal, Answer>(
  change: SharedChange<Call, Name, Loaded, Context, Decided, Refusal, Answer>,
) => (call: Call) => Promise<Result<Answer, Refusal | 'not_found'>>;

export interface ShareChangeParts {
  readonly commit: Commit;
  readonly now: () => Date;
}

/** Stands for a call's answer when the call must be made alone. */
const leftOut = 'left_out';

/** Each call takes up to three locks. PostgreSQL has room for a few thousand, over all cores. */
const maxCalls = 50;

/**
 * Calls that arrive together change their orders in one transaction, which never waits for an order. A call is made alone afterwards if:
 * - another transaction holds its order,
 * - its order does not exist, or
 * - another of these calls changes the same order.
 * If the transaction fails, each of its calls is made alone, so that only the call that caused the failure fails. If the database is
 * unavailable, all of them fail. A call that fails because another transaction has committed a row with the same key is made again: it
 * then finds that row.
 */
export function createShareChange({ commit, now }: ShareChangeParts): ShareChange {
  return <Call, Name, Loaded, Context, Decided extends Decision, Refusal, Answer>(
    change: SharedChange<Call, Name, Loaded, Context, Decided, Refusal, Answer>,
  ) => {
    type Shared = SharedLock<Call, Loaded>;
    type Outcome = Result<Answer, Refusal> | typeof leftOut;
    const { orders, nameOf, requestIdOf, networkOf, load, loadsFirst = false } = change;
    const { inTurn = (_call, make) => make(), alone = (_call, make) => make() } = change;
    const callerOf = ({ call, traceparent }: Shared): Caller => ({
      requestId: requestIdOf(call),
      traceparent,
      network: networkOf?.(call) ?? null,
    });

    const loadFor = (
      em: EntityManager,
      calls: readonly Traced<Call>[],
      rows: readonly OrderRow[] = [],
    ): Loaded | Promise<Loaded> =>
      load(
        em,
        calls.map(({ call }) => call),
        rows,
      );

    const makeOnce = async (traced: Traced<Call>): Promise<Result<Answer, Refusal | 'not_found'>> => {
      const lockOrder = async (em: EntityManager): Promise<Shared[]> => {
        const first = loadsFirst ? await loadFor(em, [traced]) : undefined;
        const row = await orders.one(nameOf(traced.call))(em);
        if (row === undefined) return [];
        return [{ row, ...traced, loaded: first ?? (await loadFor(em, [traced], [row])) }];
      };
      const [answer] = await commit(lockOrder, now, callerOf, change);
      return answer ?? err('not_found');
    };

    const makeAlone = (traced: Traced<Call>): ReturnType<typeof makeOnce> =>
      makeAgainIfTaken(() => makeOnce(traced));

    const makeTogether = async (calls: readonly Traced<Call>[]): Promise<Outcome[]> => {
      // The index of the call that changes each order.
      const callOf = new Map<OrderRow['id'], number>();
      const lockFreeOrders = async (em: EntityManager): Promise<Shared[]> => {
        const free: (Traced<Call> & Locked)[] = [];
        const names = calls.map(({ call }) => nameOf(call));
        const first = loadsFirst ? await loadFor(em, calls) : undefined;
        for (const [index, row] of (await orders.free(em, names)).entries()) {
          const call = calls[index];
          if (call === undefined || row === undefined || callOf.has(row.id)) continue;
          callOf.set(row.id, index);
          free.push({ row, ...call });
        }
        if (free.length === 0) return [];
        const rows = free.map(({ row }) => row);
        const loaded = first ?? (await loadFor(em, free, rows));
        return free.map((each) => ({ ...each, loaded }));
      };
      try {
        const answers = await commit(lockFreeOrders, now, callerOf, change);
        const byCall = new Map([...callOf.values()].map((index, nth) => [index, answers[nth]]));
        return calls.map((_, index) => byCall.get(index) ?? leftOut);
      } catch (error) {
        const isWorthRepeating = calls.length > 1 || isUniqueViolation(error);
        if (!isWorthRepeating || isDatabaseUnavailable(error)) throw error;
        return calls.map(() => leftOut);
      }
    };

    const together = createBatcher({
      ...batchLimits,
      name: 'change orders together',
      maxItems: maxCalls,
      maxInFlight: 1,
      run: makeTogether,
    });
    return async (call: Call) => {
      const traced = { call, traceparent: recordedTraceparent() };
      const outcome = await inTurn(call, () => together(traced, { aborted: false }));
      if (outcome !== leftOut) return outcome;
      return alone(call, () => inTurn(call, () => makeAlone(traced)));
    };
  };
}
