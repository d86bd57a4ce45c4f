import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { createBatcher } from '../../../platform/batcher.ts';
import { inTransaction } from '../../../platform/database/in-transaction.ts';
import { runStatement } from '../../../platform/database/run-statement.ts';
import type { Statement } from '../../../platform/database/run-statement.ts';
import { batchLimits } from '../../database/batch-limits.ts';
import { attemptValuesOf, orderValuesOf } from '../../database/order-rows.ts';
import type { Changed, PaymentAttempt } from '../../domain/order.ts';
import { executeOn } from '../idempotency/keyed-calls.ts';
import type { KeyedCommit } from '../idempotency/keyed-calls.ts';
import type { AskedPhone, PhoneAnswer, PhoneLimit } from '../phones/phone-limit.ts';
import { insertingOrders } from './insert-orders.sql.ts';
import type { NewOrderRows } from './insert-orders.sql.ts';
import type { OrderEventValuesOf } from './order-event-values.ts';

/** The origin of a call, for the history and for dropping abandoned work. */
export interface CallScope {
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/** The parts of a commit for which other components wait. */
export interface News {
  /** Whether it added events. */
  readonly hasEvents: boolean;
  /** Whether it made an attempt due. */
  readonly hasDueAttempts: boolean;
}

/**
 * Inserts new orders. Concurrent calls share a statement and a commit. A call with an idempotency key has its own transaction,
 * which also stores its answer.
 */
export interface AddOrders {
  /** Commits a new order; 'taken' when the merchant has already used its order_number, or the database was restored. Errors: OVERLOADED. */
  readonly add: (changed: Changed, scope: CallScope, keyed?: KeyedCommit) => Promise<'added' | 'taken'>;
  /** The same for an order with an attempt. Returns the answer of the phone limit when the phone is not free. */
  readonly addPaying: (
    changed: Changed,
    attempt: PaymentAttempt,
    scope: CallScope,
    keyed?: KeyedCommit,
  ) => Promise<AddedPaying>;
}

export type AddedPaying = 'added' | 'taken' | Exclude<PhoneAnswer, { readonly type: 'allowed' }>;

export interface AddOrdersParts {
  readonly pool: Pool;
  readonly phoneLimit: PhoneLimit;
  readonly eventValuesOf: OrderEventValuesOf;
  readonly announce: (news: News) => void;
}

/** A new order whose attempt prompts a phone. */
interface PayingOrderRows extends NewOrderRows {
  readonly asked: AskedPhone;
}

export function createAddOrders({ pool, phoneLimit, eventValuesOf, announce }: AddOrdersParts): AddOrders {
  /** One batch: its rows, its commit and its news. */
  const adding =
    <Rows extends NewOrderRows, Outcome>(insert: (items: readonly Rows[]) => Promise<Outcome[]>) =>
    async (items: readonly Rows[]): Promise<Outcome[]> => {
      const outcomes = await insert(items);
      announce({
        hasEvents: items.some(({ events }, index) => outcomes[index] === 'added' && events.length > 0),
        hasDueAttempts: items.some(({ attempt }, index) => outcomes[index] === 'added' && attempt !== null),
      });
      return outcomes;
    };
  const add = createBatcher({
    ...batchLimits,
    name: 'insert orders',
    run: adding((items: readonly NewOrderRows[]) => insertEach(pool, items)),
  });
  const addPaying = createBatcher<PayingOrderRows, AddedPaying>({
    ...batchLimits,
    name: 'insert paying orders',
    run: adding((items: readonly PayingOrderRows[]) =>
      phoneLimit.isSet ? insertIfFree(pool, phoneLimit, items) : insertEach(pool, items),
    ),
    // Each item takes one lock. PostgreSQL has room for a few thousand, over all cores.
    maxItems: 100,
  });

  const rowsOf = ({ order, events }: Changed, requestId: string): NewOrderRows => ({
    order: orderValuesOf(order),
    attempt: order.latestAttempt === null ? null : attemptValuesOf(order, order.latestAttempt),
    promptKind: null,
    events: events.map((event) => eventValuesOf(event, requestId)),
  });

  return {
    async add(changed, { requestId, signal }, keyed) {
      const rows = rowsOf(changed, requestId);
      if (keyed === undefined) return add(rows, signal);
      const insert = adding((items: readonly NewOrderRows[]) =>
        inTransaction(pool, [], (client) => withKey(keyed, client, () => insertEach(client, items))),
      );
      return (await insert([rows]))[0] ?? 'taken';
    },
    async addPaying(changed, { phone }, { requestId, signal }, keyed) {
      const rows = { ...rowsOf(changed, requestId), asked: { ...changed.order, phone, network: null } };
      if (keyed === undefined) return addPaying(rows, signal);
      const insert = adding<PayingOrderRows, AddedPaying>((items) =>
        phoneLimit.isSet
          ? insertIfFree(pool, phoneLimit, items, keyed)
          : inTransaction(pool, [], (client) => withKey(keyed, client, () => insertEach(client, items))),
      );
      return (await insert([rows]))[0] ?? 'taken';
    },
  };
}

/** Stores the answer of the key with its one order, if the order is added. */
async function withKey<Outcome>(
  keyed: KeyedCommit,
  client: PoolClient,
  insert: () => Promise<Outcome[]>,
): Promise<Outcome[]> {
  await keyed.claim(executeOn(client));
  const outcomes = await insert();
  if (outcomes[0] === 'added') await keyed.store(executeOn(client));
  return outcomes;
}

async function insertEach(
  client: Pool | PoolClient,
  items: readonly NewOrderRows[],
): Promise<('added' | 'taken')[]> {
  return addedOf(items, await runStatement(client, insertingOrders(items)));
}

/** What the rows of `insertingOrders` say about each order. */
function addedOf(items: readonly NewOrderRows[], rows: readonly QueryResultRow[]): ('added' | 'taken')[] {
  const inserted = new Set(rows.map(({ id }: QueryResultRow) => id as string));
  return items.map(({ order }) => (inserted.has(order.id) ? 'added' : 'taken'));
}

/** Inserts the orders whose phones may be prompted. Blocks other transactions from prompting them meanwhile. */
function insertIfFree(
  pool: Pool,
  phoneLimit: PhoneLimit,
  items: readonly PayingOrderRows[],
  keyed?: KeyedCommit,
): Promise<AddedPaying[]> {
  const claim = phoneLimit.claim(items.map(({ asked }) => asked));
  const insert = async (
    claimed: readonly QueryResultRow[][],
    run: (statement: Statement) => Promise<readonly QueryResultRow[]>,
  ): Promise<AddedPaying[]> => {
    const answers = claim.answers(claimed);
    const allowed = items.flatMap((item, index) => {
      const answer = answers[index];
      return answer?.type === 'allowed' ? [{ ...item, promptKind: answer.kind }] : [];
    });
    const inserted = allowed.length === 0 ? [] : addedOf(allowed, await run(insertingOrders(allowed)));
    let next = 0;
    return answers.map((answer) => (answer.type === 'allowed' ? (inserted[next++] ?? 'taken') : answer));
  };
  return inTransaction(pool, claim.statements, (client, claimed, commitWith) =>
    keyed === undefined
      ? insert(claimed, async (statement) => (await commitWith([statement]))[0] ?? [])
      : withKey(keyed, client, () => insert(claimed, (statement) => runStatement(client, statement))),
  );
}
