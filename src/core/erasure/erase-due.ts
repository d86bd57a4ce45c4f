import { publicId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import { withAdvisoryLock } from '../../platform/database/advisory-lock.ts';
import type { Logger } from '../../platform/logger.ts';
import type { PaymentGate } from '../database/payment-gate.ts';
import type { Environment } from '../domain/order.ts';
import { postponeDue, readDue, removeDue } from './due-erasures.sql.ts';
import {
  eraseDuePayerPayments,
  postponePayerPayment,
  readDuePayerPayments,
} from './erase-payer-payments.sql.ts';
import { findEndedPeriods } from './ended-periods.ts';
import type { PeriodParts } from './ended-periods.ts';
import { eraseOrders } from './erase-orders.ts';
import type { EraseParts, Erasure, OrdersToErase } from './erase-orders.ts';

export interface EraseDueParts extends EraseParts, PeriodParts {
  readonly database: EraseParts['database'] & PeriodParts['database'];
  /** A monotonic clock, such as performance.now. */
  readonly monotonicMs: () => number;
  readonly gate: Pick<PaymentGate, 'isOpen'>;
  readonly logger: Logger;
}

/** One core erases at a time. */
const eraseLock = { key: 7_142_009, silenceMs: 60_000, keepAliveMs: 10_000 };
const batchSize = 50;
const periodsEveryMs = 10 * 60_000;

/** Erases the orders together. If that fails, erases them one by one, so that one order cannot hold up the others. Never rejects. */
async function eraseOneByOneIfNeeded(
  parts: EraseDueParts,
  orders: OrdersToErase,
  stop: Pick<AbortSignal, 'aborted'>,
): Promise<Erasure> {
  try {
    return await eraseOrders(parts, orders, stop);
  } catch (error) {
    const { merchantId, orderIds, requestedIds } = orders;
    const [only] = orderIds;
    if (orderIds.length > 1) {
      const results: Erasure[] = [];
      for (const orderId of orderIds)
        results.push(
          await eraseOneByOneIfNeeded(parts, { merchantId, orderIds: [orderId], requestedIds }, stop),
        );
      return {
        erased: results.flatMap(({ erased }) => erased),
        obstacles: new Map(results.flatMap(({ obstacles }) => [...obstacles])),
      };
    }
    parts.logger.warn(
      { err: error, merchant_id: publicId('mer', merchantId), ...orderField(only) },
      'the personal data of an order could not be erased; core tries again in ten minutes',
    );
    return { erased: [], obstacles: new Map(only === undefined ? [] : [[only, 'FAILED'] as const]) };
  }
}

const orderField = (orderId: StoredId<'ord'> | undefined): { readonly order_id?: string } =>
  orderId === undefined ? {} : { order_id: publicId('ord', orderId) };

/**
 * Returns the task that erases due orders and payments, and from time to time finds those whose period has ended. Orders and payments of an
 * environment wait while a restored database is compared with its wallets, because the wallets' answers may still change orders.
 */
export function createEraseDue(parts: EraseDueParts): (stop: AbortSignal) => Promise<void> {
  const { database, gate, logger, monotonicMs } = parts;
  const searchedAtMs = new Map<Environment, number>();
  const erasePayments = async (environments: readonly Environment[]): Promise<number> => {
    const due = await readDuePayerPayments(database.pool, environments, batchSize);
    try {
      if (due.length > 0) await eraseDuePayerPayments(database.pool, due);
    } catch (error) {
      logger.warn({ err: error }, 'payments could not be erased together; core erases them one by one');
      for (const payment of due)
        await eraseDuePayerPayments(database.pool, [payment]).catch(async (failed: unknown) => {
          logger.warn(
            { err: failed, payer_payment_id: publicId('ppm', payment.id) },
            'the personal data of a payment could not be erased; core tries again in ten minutes',
          );
          await postponePayerPayment(database.pool, payment.id);
        });
    }
    return due.length;
  };
  const eraseBatch = async (
    environments: readonly Environment[],
    stop: Pick<AbortSignal, 'aborted'>,
  ): Promise<number> => {
    const due = await readDue(database.pool, environments, batchSize);
    const [first] = due;
    if (first === undefined) return 0;
    const { merchantId } = first;
    const orderIds = due.map(({ orderId }) => orderId);
    const requestedIds = new Set(due.flatMap(({ orderId, isRequested }) => (isRequested ? [orderId] : [])));
    const { erased, obstacles } = await eraseOneByOneIfNeeded(
      parts,
      { merchantId, orderIds, requestedIds },
      stop,
    );
    const erasedIds = new Set(erased);
    const done = due.filter(({ orderId }) => erasedIds.has(orderId));
    await removeDue(
      database.pool,
      merchantId,
      done.filter(({ needsRepeat }) => !needsRepeat),
    );
    const unfinished = done.filter(({ needsRepeat }) => needsRepeat);
    const late = unfinished.map(({ orderId }) => [orderId, 'LATE_COPIES'] as const);
    await postponeDue(database.pool, merchantId, new Map([...obstacles, ...late]));
    const changed = [...obstacles].filter(([, obstacle]) => obstacle === 'EVENT_CHANGED').length;
    if (erased.length > 0) logger.info({ orders: erased.length }, 'personal data was erased');
    if (changed > 0)
      logger.error(
        { orders: changed },
        'personal data was not erased, because events differ from their seals; run gatehouse audit verify',
      );
    return due.length;
  };
  const openEnvironments = () => (['SANDBOX', 'PRODUCTION'] as const).filter(gate.isOpen);
  const findEnded = async (
    open: readonly Environment[],
    stop: Pick<AbortSignal, 'aborted'>,
  ): Promise<void> => {
    const due = open.filter(
      (each) => monotonicMs() - (searchedAtMs.get(each) ?? -Infinity) >= periodsEveryMs,
    );
    if (due.length === 0) return;
    await findEndedPeriods(parts, due, stop);
    for (const each of due) searchedAtMs.set(each, monotonicMs());
  };
  return async (stop) => {
    if (openEnvironments().length === 0) return;
    await withAdvisoryLock(database.pool, eraseLock, async (_client, lost) => {
      const ended = {
        get aborted() {
          return stop.aborted || lost.aborted;
        },
      };
      // The orders of ended periods may take a day, so payments take turns with them, and an environment may open or close meanwhile.
      while (!ended.aborted) {
        const open = openEnvironments();
        await findEnded(open, ended);
        if ((await erasePayments(open)) + (await eraseBatch(open, ended)) === 0) return;
      }
    });
  };
}
