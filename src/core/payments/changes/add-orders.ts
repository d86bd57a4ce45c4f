import type { Pool, QueryResultRow } from 'pg';
import { dueWork } from '../../../contract/due-work.ts';
import type { DueWork } from '../../../contract/due-work.ts';
import { createBatcher } from '../../../platform/batcher.ts';
import { isDataRefused } from '../../../platform/database/explain-error.ts';
import { inTransaction } from '../../../platform/database/in-transaction.ts';
import { runStatement } from '../../../platform/database/run-statement.ts';
import type { Statement } from '../../../platform/database/run-statement.ts';
import { batchLimits } from '../../database/batch-limits.ts';
import { attemptValuesOf, orderValuesOf } from '../../database/order-rows.ts';
import type { Changed, PaymentAttempt } from '../../domain/order.ts';
import { removingExpired } from '../idempotency/keyed-answers.sql.ts';
import type { StoredKey } from '../idempotency/keyed-answers.sql.ts';
import type { KeyedInsert } from '../idempotency/keyed-calls.ts';
import type { AskedPhone, PhoneLimit, PhoneRefusal } from '../phones/phone-limit.ts';
import { insertingOrders } from './insert-orders.sql.ts';
import type { NewOrderRows } from './insert-orders.sql.ts';
import type { OrderEventValuesOf } from './order-event-values.ts';

/** The origin of a call, for the history and for dropping abandoned work. */
export interface CallScope {
  readonly requestId: string;
  readonly signal: AbortSignal;
  /** How long the call may wait for its turn among those of its merchant. No limit by default. */
  readonly maxWaitMs?: number | undefined;
}

/** The parts of a commit for which other components wait. */
export interface CommitEffects {
  /** Whether it added events. */
  readonly hasEvents: boolean;
  /** The work of the wallets that it made due. */
  readonly due: readonly DueWork[];
}

/**
 * Inserts new orders, with the answers of calls that have idempotency keys. Concurrent calls share a statement and a commit.
 * @throws the error of `keyed` when its key was answered before
 */
export interface AddOrders {
  /** Commits a new order; 'taken' when the merchant has already used its order_number, or the database was restored. Errors: OVERLOADED. */
  readonly add: (changed: Changed, scope: CallScope, keyed?: KeyedInsert) => Promise<'added' | 'taken'>;
  /** The same for an order with an attempt. Returns the answer of the phone limit when the phone is not free. */
  readonly addPaying: (
    changed: Changed,
    attempt: PaymentAttempt,
    scope: CallScope,
    keyed?: KeyedInsert,
  ) => Promise<AddedPaying>;
}

export type AddedPaying = 'added' | 'taken' | PhoneRefusal;

export interface AddOrdersParts {
  readonly pool: Pool;
  readonly phoneLimit: PhoneLimit;
  readonly eventValuesOf: OrderEventValuesOf;
  readonly announce: (effects: CommitEffects) => void;
}

/** A new order whose attempt prompts a phone. */
interface PayingOrderRows extends NewOrderRows {
  readonly asked: AskedPhone;
}

/** The key of the call has an answer. */
interface Answered extends StoredKey {
  readonly type: 'answered';
}
type Inserted = 'added' | 'taken' | Answered;

/** Inserts in one transaction, which begins with the `opening` statements. */
type Insert<Rows, Outcome> = (items: readonly Rows[], opening?: readonly Statement[]) => Promise<Outcome[]>;

export function createAddOrders({ pool, phoneLimit, eventValuesOf, announce }: AddOrdersParts): AddOrders {
  /** One batch: its rows, its commit and the notification of waiting components. */
  const adding =
    <Rows extends NewOrderRows, Outcome>(insert: Insert<Rows, Outcome>) =>
    async (items: readonly Rows[]): Promise<Outcome[]> => {
      const outcomes = await insertKeyed(insert, items);
      announce({
        hasEvents: items.some(({ events }, index) => outcomes[index] === 'added' && events.length > 0),
        due: items.flatMap(({ order, attempt }, index) =>
          outcomes[index] === 'added' && attempt !== null
            ? [dueWork('payments', order.environment, attempt.paymentOption)]
            : [],
        ),
      });
      return outcomes;
    };
  const insertEach: Insert<NewOrderRows, Inserted> = async (items, opening = []) => {
    const inserting = insertingOrders(items);
    return insertedOf(
      items,
      opening.length === 0
        ? await runStatement(pool, inserting)
        : await inTransaction(pool, opening, async (_client, _opened, commitWith) => {
            const [rows = []] = await commitWith([inserting]);
            return rows;
          }),
    );
  };
  const add = createBatcher({ ...batchLimits, name: 'insert orders', run: adding(insertEach) });
  const addPaying = createBatcher({
    ...batchLimits,
    name: 'insert paying orders',
    run: adding<PayingOrderRows, Inserted | PhoneRefusal>(
      phoneLimit.isSet ? (items, opening = []) => insertIfFree(pool, phoneLimit, items, opening) : insertEach,
    ),
    // Each item takes one lock. PostgreSQL has room for a few thousand, over all cores.
    maxItems: 100,
  });

  const rowsOf = (
    { order, events }: Changed,
    requestId: string,
    keyed: KeyedInsert | undefined,
  ): NewOrderRows => ({
    order: orderValuesOf(order),
    attempt: order.latestAttempt === null ? null : attemptValuesOf(order, order.latestAttempt),
    promptKind: null,
    events: events.map((event) => eventValuesOf(event, requestId)),
    keyed: keyed?.answer ?? null,
  });

  return {
    async add(changed, { requestId, signal }, keyed) {
      const outcome = await add(rowsOf(changed, requestId, keyed), signal);
      return reportOutcome(outcome, keyed) === 'added' ? 'added' : 'taken';
    },
    async addPaying(changed, { phone }, { requestId, signal }, keyed) {
      const asked = { ...changed.order, phone, network: null };
      const outcome = await addPaying({ ...rowsOf(changed, requestId, keyed), asked }, signal);
      return reportOutcome(outcome, keyed);
    },
  };
}

/** Reports the outcome to the call with an idempotency key. @throws its error when the key was answered before */
function reportOutcome(outcome: Inserted | PhoneRefusal, keyed: KeyedInsert | undefined): AddedPaying {
  if (outcome === 'added') keyed?.stored();
  if (typeof outcome === 'string' || outcome.type !== 'answered') return outcome;
  if (keyed === undefined) throw new Error('an order without an idempotency key has the answer of one');
  throw keyed.answered(outcome);
}

/**
 * PostgreSQL refuses all items if the key of one is used after the statement has begun, or has an expired answer. The second try first
 * removes expired answers, and finds the answer of the other call.
 */
async function insertKeyed<Rows extends NewOrderRows, Outcome>(
  insert: Insert<Rows, Outcome>,
  items: readonly Rows[],
): Promise<Outcome[]> {
  try {
    return await insert(items);
  } catch (error) {
    const answers = items.flatMap(({ keyed }) => keyed ?? []);
    if (answers.length === 0 || !isDataRefused(error)) throw error;
    return insert(items, [removingExpired(answers)]);
  }
}

/** The outcome of each order, from the rows of `insertingOrders`. */
function insertedOf(items: readonly NewOrderRows[], rows: readonly QueryResultRow[]): Inserted[] {
  const found = new Map(rows.map((row) => [row['id'] as string, row as Partial<StoredKey>]));
  return items.map(({ order }) => {
    const row = found.get(order.id);
    if (row === undefined) return 'taken';
    const { fingerprint, answer } = row;
    return fingerprint && answer ? { type: 'answered', fingerprint, answer } : 'added';
  });
}

/** Inserts the orders whose phones may be prompted. Blocks other transactions from prompting them meanwhile. */
function insertIfFree(
  pool: Pool,
  phoneLimit: PhoneLimit,
  items: readonly PayingOrderRows[],
  opening: readonly Statement[],
): Promise<(Inserted | PhoneRefusal)[]> {
  const reservation = phoneLimit.reserve(items.map(({ asked }) => asked));
  return inTransaction(pool, [...opening, ...reservation.statements], async (_client, opened, commitWith) => {
    const answers = reservation.answers(opened.slice(opening.length));
    const allowed = items.flatMap((item, index) => {
      const answer = answers[index];
      return answer?.type === 'allowed' ? [{ ...item, promptKind: answer.kind }] : [];
    });
    const [rows = []] = allowed.length === 0 ? [] : await commitWith([insertingOrders(allowed)]);
    const inserted = insertedOf(allowed, rows);
    let next = 0;
    return answers.map((answer) => (answer.type === 'allowed' ? (inserted[next++] ?? 'taken') : answer));
  });
}
