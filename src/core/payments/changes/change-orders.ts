import type { EntityManager } from '@mikro-orm/postgresql';
import type { NewId, StoredId } from '../../../contract/public-id.ts';
import { dueWork } from '../../../contract/due-work.ts';
import type { DueWork } from '../../../contract/due-work.ts';
import type { Logger } from '../../../platform/logger.ts';
import { inChildSpan } from '../../../platform/tracing/span.ts';
import type { SpanOptions } from '../../../platform/tracing/span.ts';
import type { Database } from '../../database/database.ts';
import type { OrderRow } from '../../database/order-entities.ts';
import { attemptValuesOf } from '../../database/order-rows.ts';
import { readClock } from '../../database/read-clock.ts';
import type { Changed, OrderEventType, OrderInFull } from '../../domain/order.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import type { PhoneLimit } from '../phones/phone-limit.ts';
import { createAddOrders } from './add-orders.ts';
import type { AddOrders, CommitEffects } from './add-orders.ts';
import { createFailingRows } from './failing-rows.ts';
import { createOrderEventValues } from './order-event-values.ts';
import type { Caller, Commit, Decision, Locked, NewAttempt, OrderChange } from './order-change.ts';
import { makeAgainIfTaken } from './make-again.ts';
import { hasteningConfirmed } from './open-payments.sql.ts';
import { readIntactOrders } from './read-order.ts';
import type { LockOrder } from './read-order.ts';
import { writeLatestAttempt } from './write-latest-attempt.ts';
import { createShareChange } from './share-change.ts';
import type { ShareChange } from './share-change.ts';
import { writeOrders } from './write-orders.sql.ts';
import type { OrderToWrite } from './write-orders.sql.ts';

/**
 * The only way to change an order. It locks the order, decides, writes rows and events, commits, and notifies those who
 * wait for events or attempts. An order and its events are committed together.
 */
export interface OrderChanges extends AddOrders {
  /**
   * Changes the order that `lock` returns. Refusals: those of `decide`, and `not_found`. The steps run again if another transaction has
   * committed a row with the same key meanwhile.
   * @throws PHONE_BUSY, PHONE_LIMIT when the phone of a new attempt may not be prompted now.
   */
  readonly change: <Context, Decided extends Decision, Refusal, Answer>(
    lock: LockOrder,
    change: OrderChange<Locked, Context, Decided, Refusal, Answer>,
  ) => Promise<Result<Answer, Refusal | 'not_found'>>;
  /**
   * Changes each order that `take` locks, in one transaction, with one time from the database's clock. An order that cannot be read or
   * changed is logged, and has no answer. For a minute, `take` must leave out its id, so that it does not hold up others that are due.
   */
  readonly changeEach: <Taken extends Locked, Context, Decided extends Decision, Refusal, Answer>(
    take: (em: EntityManager, exceptIds: readonly StoredId<'ord'>[]) => Promise<readonly Taken[]>,
    change: OrderChange<Taken, Context, Decided, Refusal, Answer>,
  ) => Promise<readonly Result<Answer, Refusal>[]>;
  /** Makes a change whose concurrent calls share a transaction. */
  readonly share: ShareChange;
}

export interface OrderChangesParts {
  readonly database: Database;
  readonly phoneLimit: PhoneLimit;
  readonly newId: NewId;
  readonly now: () => Date;
  /** Called after every commit that added events. */
  readonly onEvents: () => void;
  /** Called after every commit that made an attempt or a refund due. */
  readonly onDue: (due: DueWork) => void;
  readonly logger: Pick<Logger, 'error'>;
}

const databaseSpan: SpanOptions = { kind: 'client', attributes: { 'db.system.name': 'postgresql' } };

export function createOrderChanges(parts: OrderChangesParts): OrderChanges {
  const { database, phoneLimit, now, onEvents, onDue } = parts;
  const eventValuesOf = createOrderEventValues(parts.newId);
  const failing = createFailingRows('ord', parts.logger);
  const announce = ({ hasEvents, due }: CommitEffects): void => {
    if (hasEvents) onEvents();
    due.forEach(onDue);
  };

  const inTransaction = <Made>(run: (em: EntityManager) => Promise<Made>): Promise<Made> =>
    inChildSpan('change orders', databaseSpan, () => database.fork().transactional(run));

  /** Writes the attempt of a changed order. Returns the rest, which is written for all orders of the transaction at once. */
  const writeAttempt = async (
    em: EntityManager,
    row: OrderRow,
    before: OrderInFull,
    { changed, isAdopted, promptKind, browserHash }: Decision,
    { requestId, network = null, traceparent }: Caller,
  ): Promise<OrderToWrite> => {
    const { order, events } = changed ?? { order: before, events: [] };
    const started = newAttemptOf(before, order);
    let attempt: NewAttempt | undefined;
    if (started !== undefined) {
      const { environment, merchantId } = order;
      const asked = { phone: started.phone, environment, merchantId, network };
      const kind = isAdopted ? 'COMMON' : (promptKind ?? (await phoneLimit.demand(em, asked)));
      attempt = { ...attemptValuesOf(order, started), network, promptKind: kind };
    }
    const prompted = isAdopted ? undefined : attempt;
    await writeLatestAttempt(em, before, order, { prompted, adopted: isAdopted && attempt });
    return {
      row,
      order,
      prompted,
      browserHash,
      events: events.map((event) => eventValuesOf(event, requestId, traceparent)),
    };
  };

  const commit: Commit = async (take, timeOf, callerOf, steps, leaveOut = rethrow) => {
    const made: (Decision & { readonly before: OrderInFull })[] = [];
    const answers = await inTransaction(async (em) => {
      const all = await take(em);
      if (all.length === 0) return [];
      const at = await timeOf(em);
      const results = [];
      const toWrite: OrderToWrite[] = [];
      const rows = all.map(({ row }) => row);
      for (const { index, order } of await readIntactOrders(em, rows, leaveOut)) {
        const taken = all[index];
        if (taken === undefined) throw new Error('an order was read that was not taken');
        const context = await steps.read(em, taken);
        const decided = steps.decide(order, context, at, taken);
        if (decided.ok) {
          const { changed, browserHash } = decided.value;
          if (changed !== undefined || browserHash !== undefined)
            toWrite.push(await writeAttempt(em, taken.row, order, decided.value, callerOf(taken)));
          made.push({ ...decided.value, before: order });
          results.push(ok(await steps.write(em, decided.value, { taken, context, order, now: at })));
        } else results.push(decided);
      }
      const withEndedAttempt = toWrite.filter(({ events }) =>
        events.some(({ type }) => endsAttempt.has(type)),
      );
      const hastening =
        withEndedAttempt.length === 0 ? [] : [hasteningConfirmed(withEndedAttempt.map(({ row }) => row.id))];
      // Last, because it commits.
      await writeOrders(em, toWrite, hastening);
      return results;
    });
    announce({
      hasEvents: made.some(({ changed }) => changed !== undefined && changed.events.length > 0),
      due: made.flatMap(dueAfter),
    });
    return answers;
  };

  return {
    ...createAddOrders({ pool: database.pool, phoneLimit, eventValuesOf, announce }),
    async change(lock, change) {
      const lockOrder = async (em: EntityManager): Promise<readonly Locked[]> => {
        const row = await lock(em);
        return row === undefined ? [] : [{ row }];
      };
      const [answer] = await makeAgainIfTaken(() => commit(lockOrder, now, () => change, change));
      return answer ?? err('not_found');
    },
    changeEach: (take, change) =>
      failing.leaveOut((choose) =>
        commit(
          async (em) => choose(await take(em, failing.ids()), ({ row }) => row),
          readClock,
          () => change,
          change,
          failing.add,
        ),
      ),
    share: createShareChange({ commit, now }),
  };
}

/** The events by which an attempt of an order ends. */
const endsAttempt = new Set<OrderEventType>(['PAYMENT_DECLINED', 'COMPLETED', 'FAILED']);

const rethrow = (_row: OrderRow, error: unknown): never => {
  throw error;
};

/** The attempt that a change starts, to prompt a payer; undefined when it starts none. */
function newAttemptOf({ latestAttempt: before }: OrderInFull, { latestAttempt }: OrderInFull) {
  const isNew = latestAttempt !== null && latestAttempt.id !== before?.id && latestAttempt.origin !== 'PAYER';
  return isNew ? latestAttempt : undefined;
}

/** The work that a decision made due. */
function dueAfter({ before, changed, makesDue }: Decision & { readonly before: OrderInFull }): DueWork[] {
  const { environment } = before;
  const started = changed && newAttemptOf(before, changed.order);
  return [
    ...(makesDue === undefined ? [] : [makesDue]),
    ...(started === undefined ? [] : [dueWork('payments', environment, started.paymentOption)]),
  ];
}

/** The decision for a command's result on an order, or its rejection. */
export const decisionOf = <Refusal>(
  result: Result<Changed, Refusal>,
): Result<{ readonly changed: Changed }, Refusal> => (result.ok ? ok({ changed: result.value }) : result);
