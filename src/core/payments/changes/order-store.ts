import { LockMode } from '@mikro-orm/postgresql';
import type { Pool, PoolClient } from 'pg';
import type { Database } from '../../database/database.ts';
import { OrderRow } from '../../database/entities.ts';
import { readClock } from '../../database/read-clock.ts';
import { isDataRefused } from '../../../platform/database/explain-error.ts';
import { createBatcher } from '../../../platform/batcher.ts';
import { inTransaction } from '../../../platform/database/in-transaction.ts';
import { storedId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import type { Changed, Environment, Order, OrderInFull, PaymentAttempt } from '../../domain/order.ts';
import type { Result } from '../../domain/result.ts';
import type { AskedPhone, PhoneAnswer, PhoneLimit } from '../phones/phone-limit.ts';
import type { OrderChanges } from './change-order.ts';
import { findOrders } from '../search/find-orders.sql.ts';
import type { FoundOrder, OrderKey } from '../search/find-orders.sql.ts';
import { insertOrders } from './insert-orders.sql.ts';
import type { NewOrderRows } from './insert-orders.sql.ts';
import { attemptValuesOf, orderOf, orderValuesOf } from '../../database/order-rows.ts';

/** How an order is named by whoever asks for it; ids as they are shown. */
export type OrderName = {
  readonly merchantId: PublicId<'mer'>;
  readonly environment: Environment;
} & NameInEnvironment;

export type NameInEnvironment =
  | { readonly by: 'order_number'; readonly value: string }
  | { readonly by: 'id'; readonly value: PublicId<'ord'> };

/** Who makes a call, for the history and for dropping work that nobody waits for. */
export interface CallScope {
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/** Orders in PostgreSQL. A change of an order, its events and its attempts are committed together or not at all. */
export interface OrderStore {
  /** Commits a new order; 'taken' when the merchant has used its order_number before. Errors: OVERLOADED. */
  readonly insert: (changed: Changed, scope: CallScope) => Promise<'inserted' | 'taken'>;
  /** The same for an order with an attempt; gives the answer of the phone limit when the phone is not free. */
  readonly insertWithAttempt: (
    changed: Changed,
    attempt: PaymentAttempt,
    scope: CallScope,
  ) => Promise<InsertedPaying>;
  readonly find: (name: OrderName, scope: CallScope) => Promise<Order | undefined>;
  /** Lets `decide` change the order, as it stands while nobody else can change it, and commits the outcome. */
  readonly change: <Refusal>(
    order: Pick<Order, 'merchantId' | 'environment' | 'id'>,
    decide: (order: OrderInFull) => Result<Changed, Refusal>,
    scope: Pick<CallScope, 'requestId'>,
  ) => Promise<Result<Changed, Refusal>>;
  /**
   * Takes up to `limit` orders whose time to be looked at has come by the database's clock, in a transaction of its own
   * that keeps other sweepers off them, and commits what `decide` makes of each. An order that `decide` leaves alone is
   * looked at again after `retryAfterMs`. Gives the number of orders taken.
   */
  readonly sweep: (
    limit: number,
    retryAfterMs: number,
    decide: (order: OrderInFull, now: Date) => Changed | undefined,
  ) => Promise<number>;
}

export interface OrderStoreOptions {
  readonly database: Database;
  readonly changes: OrderChanges;
  readonly phoneLimit: PhoneLimit;
  /** Called after every commit that added events. */
  readonly onEvents: () => void;
  /** Called after every commit that made an attempt due. */
  readonly onAttempts: () => void;
}

/** A new order whose attempt asks a phone. */
interface PayingOrderRows extends NewOrderRows {
  readonly asked: AskedPhone;
}

type InsertedPaying = 'inserted' | 'taken' | Exclude<PhoneAnswer, { readonly type: 'allowed' }>;

export function createOrderStore(options: OrderStoreOptions): OrderStore {
  const { database, changes, phoneLimit, onEvents, onAttempts } = options;
  // What waits, with what is being written, stays below the calls that one connection to the gRPC server may have open:
  // beyond those, calls would queue unseen in the client until their deadline, and nobody would be refused in time.
  const limits = { maxItems: 500, maxInFlight: 3, maxWaiting: 2_000 };
  const insert = createBatcher<NewOrderRows, 'inserted' | 'taken'>({
    run: async (items) => {
      const outcomes = await insertEach(database.pool, items);
      if (outcomes.includes('inserted')) onEvents();
      return outcomes;
    },
    isOneItemsFault: isDataRefused,
    ...limits,
  });

  const insertPaying = createBatcher<PayingOrderRows, InsertedPaying>({
    run: async (items) => {
      const outcomes = phoneLimit.isSet
        ? await insertIfFree(database.pool, phoneLimit, items)
        : await insertEach(database.pool, items);
      if (outcomes.includes('inserted')) {
        onEvents();
        onAttempts();
      }
      return outcomes;
    },
    isOneItemsFault: isDataRefused,
    ...limits,
    // A lock each: PostgreSQL has room for some thousand, of all cores together.
    maxItems: 100,
  });

  const rowsOf = ({ order, events }: Changed, requestId: string): NewOrderRows => ({
    order: orderValuesOf(order),
    attempt: order.latestAttempt === null ? null : attemptValuesOf(order, order.latestAttempt),
    promptPlace: null,
    events: events.map((event) => changes.eventValues(event, requestId)),
  });

  const find = createBatcher<OrderKey, FoundOrder | 'none'>({
    run: async (keys) => (await findOrders(database.pool, keys)).map((found) => found ?? 'none'),
    isOneItemsFault: isDataRefused,
    ...limits,
  });

  return {
    insert: (changed, { requestId, signal }) => insert(rowsOf(changed, requestId), signal),

    insertWithAttempt: (changed, { phone }, { requestId, signal }) =>
      insertPaying(
        { ...rowsOf(changed, requestId), asked: { ...changed.order, phone, network: null } },
        signal,
      ),

    async find(name, { signal }) {
      const key = {
        merchantId: storedId('mer', name.merchantId),
        environment: name.environment,
        by: name.by,
        value: name.by === 'id' ? storedId('ord', name.value) : name.value,
      };
      const found = await find(key, signal);
      return found === 'none' ? undefined : orderOf(found.order, found.latestAttempt);
    },

    async change({ merchantId, environment, id }, decide, { requestId }) {
      const key = { merchantId: storedId('mer', merchantId), environment, id: storedId('ord', id) };
      const outcome = await database.fork().transactional(async (em) => {
        const locked = await changes.lock(em, key);
        if (locked === undefined) throw new Error(`there is no order ${id}`);
        const decided = decide(locked.order);
        if (decided.ok) await changes.apply(em, locked, decided.value, requestId);
        return decided;
      });
      if (outcome.ok && outcome.value.events.length > 0) onEvents();
      if (outcome.ok && outcome.value.order.latestAttempt?.status === 'REQUESTED') onAttempts();
      return outcome;
    },

    async sweep(limit, retryAfterMs, decide) {
      const taken = await database.fork().transactional(async (em) => {
        const now = await readClock(em);
        const rows = await em.find(
          OrderRow,
          { sweepAt: { $lte: now } },
          { orderBy: { sweepAt: 'asc' }, limit, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
        );
        for (const row of rows) {
          const locked = await changes.load(em, row);
          const changed = decide(locked.order, now);
          if (changed === undefined) {
            row.sweepAt = new Date(now.getTime() + retryAfterMs);
            continue;
          }
          await changes.apply(em, locked, changed, '');
        }
        return rows.length;
      });
      if (taken > 0) onEvents();
      return taken;
    },
  };
}

async function insertEach(
  client: Pool | PoolClient,
  items: readonly NewOrderRows[],
): Promise<('inserted' | 'taken')[]> {
  const inserted = await insertOrders(client, items);
  return items.map(({ order }) => (inserted.has(order.id) ? 'inserted' : 'taken'));
}

/** Inserts the orders whose phones may be asked, and keeps anybody else from asking them meanwhile. */
function insertIfFree(
  pool: Pool,
  phoneLimit: PhoneLimit,
  items: readonly PayingOrderRows[],
): Promise<InsertedPaying[]> {
  const claim = phoneLimit.claim(items.map(({ asked }) => asked));
  return inTransaction(pool, claim.statements, async (client, claimed) => {
    const answers = claim.answers(claimed);
    const allowed = items.flatMap((item, index) => {
      const answer = answers[index];
      return answer?.type === 'allowed' ? [{ ...item, promptPlace: answer.place }] : [];
    });
    const inserted = allowed.length === 0 ? [] : await insertEach(client, allowed);
    let next = 0;
    return answers.map((answer) => (answer.type === 'allowed' ? (inserted[next++] ?? 'taken') : answer));
  });
}
