import type { WalletExchange } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { Database } from '../../database/database.ts';
import { PaymentAttemptRow } from '../../database/entities.ts';
import { attemptOf } from '../../database/order-rows.ts';
import { storedId } from '../../../contract/public-id.ts';
import type { NewId, PublicId } from '../../../contract/public-id.ts';
import { readClock } from '../../database/read-clock.ts';
import type { Order, PaymentAttempt } from '../../domain/order.ts';
import { isInFlight } from '../../domain/order.ts';
import type { OrderChanges } from '../changes/change-order.ts';
import { lockOrderOf } from '../changes/lock-order-of-attempt.ts';
import { keepExchanges } from './keep-exchanges.ts';

export interface HastenRequest {
  readonly merchantId: PublicId<'mer'>;
  readonly attemptId: PublicId<'pat'>;
  readonly exchange: WalletExchange | undefined;
}

export type HastenAttempt = (
  request: HastenRequest,
) => Promise<{ readonly order: Order; readonly attempt: PaymentAttempt } | undefined>;

export interface HastenAttemptParts {
  readonly database: Database;
  readonly changes: OrderChanges;
  readonly newId: NewId;
  readonly now: () => Date;
  /** Called after every commit that made an attempt due. */
  readonly onAttempts: () => void;
}

/**
 * Has the wallet asked soon, because somebody said there is news; what they said is not believed. An attempt that ended
 * without money is looked at again too: a wallet may have changed its mind, and then the money is stray.
 */
export function createHastenAttempt({
  database,
  changes,
  newId,
  now,
  onAttempts,
}: HastenAttemptParts): HastenAttempt {
  return async ({ merchantId, attemptId, exchange }) => {
    const key = { merchantId: storedId('mer', merchantId), id: storedId('pat', attemptId) };
    const hastened = await database.fork().transactional(async (em) => {
      const locked = await lockOrderOf(em, changes, key);
      if (locked === undefined) return undefined;
      const row = await em.findOneOrFail(PaymentAttemptRow, key);
      if (exchange !== undefined)
        await keepExchanges(em, row, { exchanges: [exchange], areDecisive: false, newId, at: now() });
      // Whoever has it at the moment records what it sees; then it is due at once. What ended unsent stays unsent.
      if (row.status !== 'SUCCEEDED' && (isInFlight(row) || row.maybeSent)) row.dueAt = await readClock(em);
      return { order: locked.order, attempt: attemptOf(row) };
    });
    if (hastened !== undefined) onAttempts();
    return hastened;
  };
}
