import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { OrderEventSchema } from '../../../gen/gatehouse/v1/order_pb.js';
import { encodeMessage } from '../../../platform/rpc/message-bytes.ts';
import { OrderEventRow, OrderRow, PaymentAttemptRow, StrayPaymentRow } from '../../database/entities.ts';
import {
  attemptOf,
  attemptValuesOf,
  newAttemptSchedule,
  orderOf,
  orderValuesOf,
} from '../../database/order-rows.ts';
import { publicId, storedId } from '../../../contract/public-id.ts';
import type { NewId, StoredId } from '../../../contract/public-id.ts';
import type {
  Changed,
  Environment,
  Order,
  OrderEvent,
  OrderInFull,
  PaymentAttempt,
} from '../../domain/order.ts';
import { isInFlight } from '../../domain/order.ts';
import type { PhoneLimit } from '../phones/phone-limit.ts';
import { eventMessage } from '../../rpc/order-messages.ts';

/** Stored ids. */
export interface OrderRowKey {
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  readonly id: StoredId<'ord'>;
}

/** An order that nobody else can change before the transaction ends, and neither any of its attempts. */
export interface LockedOrder {
  readonly row: OrderRow;
  readonly order: OrderInFull;
}

export interface NewEventValues {
  readonly sequence: number;
  readonly id: StoredId<'evt'>;
  readonly type: OrderEvent['type'];
  readonly occurredAt: Date;
  readonly payload: Buffer;
}

/** What every change of an existing order goes through, inside the caller's transaction. */
export interface OrderChanges {
  /** Whoever changes an order or one of its attempts locks the order first: so nobody ever waits in a circle. */
  readonly lock: (em: EntityManager, key: OrderRowKey) => Promise<LockedOrder | undefined>;
  /** The order as it stands, for a look. */
  readonly read: (em: EntityManager, key: OrderRowKey) => Promise<LockedOrder | undefined>;
  /** The order of a row that the caller has locked already. */
  readonly load: (em: EntityManager, row: OrderRow) => Promise<LockedOrder>;
  /**
   * Writes the changed order, its latest attempt and its events with the transaction's other changes.
   * @throws PHONE_BUSY, PHONE_LIMIT when a new attempt's phone may not be asked now.
   */
  readonly apply: (
    em: EntityManager,
    locked: LockedOrder,
    changed: Changed,
    requestId: string,
    /** The customer's network when a customer asks for a new attempt; null for everybody else. */
    network?: string | null,
  ) => Promise<void>;
  readonly eventValues: (event: OrderEvent, requestId: string) => NewEventValues;
}

type Past = Pick<OrderInFull, 'earlierAttempts' | 'strayMoney'>;

/**
 * What an order's attempts left behind. Under the order's lock it stays true: stray money is recorded under that lock, and
 * nothing else makes money stray again once it is back with the payer.
 */
async function readPast(
  em: EntityManager,
  { merchantId, environment, id: orderId }: OrderRow,
  { attemptCount, latestAttempt }: Order,
): Promise<Past> {
  // An order's only attempt, while it runs, has left nothing yet: most orders cost no further look.
  if (latestAttempt === null || (attemptCount === 1 && isInFlight(latestAttempt)))
    return { earlierAttempts: [], strayMoney: [] };
  const attempts =
    attemptCount === 1
      ? []
      : await em.find(PaymentAttemptRow, { merchantId, orderId, environment }, { orderBy: { id: 'asc' } });
  const strays = await em.find(
    StrayPaymentRow,
    { merchantId, orderId, environment },
    { orderBy: { id: 'asc' } },
  );
  return {
    earlierAttempts: attempts.map(attemptOf).filter(({ id }) => id !== latestAttempt.id),
    strayMoney: strays.map(({ paymentAttemptId, amount, currency, status, createdAt }) => ({
      attemptId: publicId('pat', paymentAttemptId),
      amount,
      currency,
      status,
      foundAt: createdAt,
    })),
  };
}

const final = new Set<PaymentAttempt['status']>(['SUCCEEDED', 'DECLINED', 'TIMED_OUT']);

export function createOrderChanges(newId: NewId, phoneLimit: PhoneLimit): OrderChanges {
  const eventValues = (event: OrderEvent, requestId: string): NewEventValues => {
    const id = newId('evt', event.occurredAt);
    return {
      sequence: event.sequence,
      id: storedId('evt', id),
      type: event.type,
      occurredAt: event.occurredAt,
      payload: encodeMessage(OrderEventSchema, eventMessage(event, id, requestId)),
    };
  };

  const load = async (em: EntityManager, row: OrderRow): Promise<LockedOrder> => {
    const { merchantId, latestAttemptId: id } = row;
    const attempt = id == null ? null : await em.findOneOrFail(PaymentAttemptRow, { merchantId, id });
    const order = orderOf(row, attempt);
    return { row, order: { ...order, ...(await readPast(em, row, order)) } };
  };

  const writeAttempt = async (
    em: EntityManager,
    before: Order,
    { order }: Changed,
    network: string | null,
  ): Promise<void> => {
    const attempt = order.latestAttempt;
    if (attempt === null || attempt === before.latestAttempt) return;
    const values = attemptValuesOf(order, attempt);
    const existing = await em.findOne(PaymentAttemptRow, { merchantId: values.merchantId, id: values.id });
    if (existing === null) {
      const { phone } = attempt;
      const { environment, merchantId } = order;
      const promptPlace = await phoneLimit.demand(em, { phone, environment, merchantId, network });
      em.create(PaymentAttemptRow, {
        ...values,
        ...newAttemptSchedule(attempt.createdAt),
        network,
        promptPlace,
      });
    } else {
      em.assign(existing, final.has(attempt.status) ? { ...values, dueAt: null, leasedUntil: null } : values);
    }
  };

  return {
    eventValues,
    load,
    async read(em, key) {
      const row = await em.findOne(OrderRow, key);
      return row === null ? undefined : load(em, row);
    },
    async lock(em, key) {
      const row = await em.findOne(OrderRow, key, { lockMode: LockMode.PESSIMISTIC_WRITE });
      return row === null ? undefined : load(em, row);
    },
    async apply(em, { row, order: before }, changed, requestId, network = null) {
      await writeAttempt(em, before, changed, network);
      em.assign(row, orderValuesOf(changed.order));
      const { merchantId, environment, id: orderId } = row;
      for (const event of changed.events) {
        em.create(OrderEventRow, { merchantId, environment, orderId, ...eventValues(event, requestId) });
      }
    },
  };
}
