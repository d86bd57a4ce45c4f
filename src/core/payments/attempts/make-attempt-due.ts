import type { WalletExchange } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { CallerSignal } from '../../../platform/batcher.ts';
import type { FairCalls } from '../../../platform/fair-calls.ts';
import { dueWork } from '../../../contract/due-work.ts';
import { storedId } from '../../../contract/public-id.ts';
import type { NewId, PublicId } from '../../../contract/public-id.ts';
import { eraseAgain } from '../../database/erase-again.sql.ts';
import { PaymentAttemptRow } from '../../database/order-entities.ts';
import { readClock } from '../../database/read-clock.ts';
import { canMakeDue } from '../../domain/attempt-work.ts';
import { isErased } from '../../domain/erased.ts';
import { dueNoLater, hastenedTo } from '../../domain/hastened.ts';
import type { Order, PaymentAttempt } from '../../domain/order.ts';
import { ok } from '../../domain/result.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { byAttempt } from '../changes/read-order.ts';
import { workOf } from './attempt-work-row.ts';
import { withNote } from './callback-notes.ts';
import { countExchanges, readRecentExchanges } from './count-exchanges.sql.ts';
import type { AttemptKey } from './count-exchanges.sql.ts';
import { keepCallback } from './keep-exchanges.ts';

export interface MakeAttemptDueRequest {
  readonly merchantId: PublicId<'mer'>;
  readonly attemptId: PublicId<'pat'>;
  readonly exchange: WalletExchange | undefined;
  /** The note of the callback for a later query; '' without one. */
  readonly callbackNote: string;
  /** A call that waits alone for its order is dropped once its caller has left. */
  readonly signal: CallerSignal;
}

export type MakeAttemptDue = (
  request: MakeAttemptDueRequest,
) => Promise<{ readonly order: Order; readonly attempt: PaymentAttempt } | undefined>;

export interface MakeAttemptDueParts {
  readonly changes: Pick<OrderChanges, 'share'>;
  /** Limits the callbacks that wait for orders that others hold, by merchant. */
  readonly fairly: FairCalls;
  readonly newId: NewId;
}

/**
 * Makes an attempt due after a hint: now, or soon when there are many hints (`hastenedTo`). The hint
 * itself is not trusted. A worker that holds the attempt records its own result first, and then the attempt is due at once.
 * Undefined when the attempt does not exist.
 */
export function createMakeAttemptDue({ changes, fairly, newId }: MakeAttemptDueParts): MakeAttemptDue {
  const keyOf = ({ merchantId, attemptId }: MakeAttemptDueRequest): AttemptKey => ({
    merchantId: storedId('mer', merchantId),
    id: storedId('pat', attemptId),
  });
  const makeDue = changes.share({
    orders: byAttempt,
    nameOf: keyOf,
    requestIdOf: () => '',
    // A wallet may repeat a callback hundreds of times at once.
    alone: ({ merchantId, attemptId: part, signal }, make) =>
      fairly({ owner: `callbacks ${merchantId}`, part }, signal, make),
    load: async (em, calls) => {
      const keys = calls.map(keyOf);
      const clock = await readClock(em);
      const countOf = await countExchanges(em, keys);
      return { clock, countOf, recentOf: await readRecentExchanges(em, keys, clock) };
    },
    read: (em, { call }) => em.findOneOrFail(PaymentAttemptRow, keyOf(call)),
    decide: (_order, row) =>
      ok({
        changed: undefined,
        makesDue: canMakeDue(workOf(row))
          ? dueWork('payments', row.environment, row.paymentOption)
          : undefined,
      }),
    async write(em, { makesDue }, { taken: { call, loaded }, context: row, order }) {
      const { exchange, callbackNote } = call;
      // The same clock decides which exchanges are recent.
      const at = loaded.clock;
      const recent = loaded.recentOf(row);
      if (exchange !== undefined)
        await keepCallback(em, row, { exchange, recent, newId, at, stored: loaded.countOf(row) });
      row.callbackNotes = withNote(row.callbackNotes, callbackNote);
      const isStored = exchange !== undefined || callbackNote !== '';
      if (isStored && isErased(order)) await eraseAgain(em, order);
      if (makesDue !== undefined) row.dueAt = dueNoLater(row.dueAt, hastenedTo(recent.count, at));
      return { order, attempt: workOf(row).attempt };
    },
  });
  return async (request) => {
    const done = await makeDue(request);
    return done.ok ? done.value : undefined;
  };
}
