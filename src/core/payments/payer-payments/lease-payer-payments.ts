import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { DueWork } from '../../../contract/due-work.ts';
import { storedId } from '../../../contract/public-id.ts';
import type { NewId, PublicId, StoredId } from '../../../contract/public-id.ts';
import type { WalletExchange } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { CallerSignal } from '../../../platform/batcher.ts';
import type { FairCalls } from '../../../platform/fair-calls.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { Database } from '../../database/database.ts';
import { eraseAgainByMoney } from '../../database/erase-again.sql.ts';
import { PayerPaymentRow } from '../../database/payer-payment-entities.ts';
import { readClock } from '../../database/read-clock.ts';
import { readTakesPayments } from '../../database/takes-payments.sql.ts';
import type { Environment } from '../../domain/order.ts';
import type { Wallet } from '../../domain/wallet.ts';
import { withNote } from '../attempts/callback-notes.ts';
import { readRecentExchanges } from '../attempts/count-exchanges.sql.ts';
import { keepCallback } from '../attempts/keep-exchanges.ts';
import { createFailingRows } from '../changes/failing-rows.ts';
import { findReceipt } from '../changes/wallet-receipts.ts';
import { findNamedOrder } from './find-named-order.sql.ts';
import { belongToAttempt, exchangeOwner, lockPayerPayment, makeDue } from './payer-payment-row.ts';
import type { PayerPayment } from './payer-payment-row.ts';

/** The payments that are to be confirmed with their wallet. Each function is one transaction. */
export interface PayerPaymentQueue {
  /**
   * Leases up to `limit` due payments of a wallet to a worker, for `leaseMs`. After a restore there are none until the environment takes
   * payments again. Those of a held merchant are due again later.
   */
  readonly lease: (
    wallet: string,
    environment: Environment,
    limit: number,
    leaseMs: number,
  ) => Promise<readonly { readonly payment: PayerPayment; readonly leaseId: string }[]>;
  /**
   * Stores a callback, and makes an open or abandoned payment due now, or soon after many callbacks (`hastenedTo`). Callbacks take turns. A
   * callback whose caller disconnects before its turn is dropped.
   */
  readonly hasten: (
    payerPaymentId: PublicId<'ppm'>,
    callback: { readonly exchange: WalletExchange | undefined; readonly note: string },
    signal: CallerSignal,
  ) => Promise<PayerPayment | undefined>;
}

export interface PayerPaymentQueueParts {
  readonly database: Database;
  /** Limits the callbacks that wait for one payment while others hold it. */
  readonly fairly: FairCalls;
  readonly wallets: readonly Wallet[];
  readonly newId: NewId;
  readonly newLeaseId: () => string;
  /** Called when a confirmation became due. */
  readonly onDue: (due: DueWork) => void;
  readonly logger: Pick<Logger, 'error'>;
}

/** When a payment of a held merchant is due again. Without a delay, such payments could hold up those of other merchants. */
const heldRetryMs = 15_000;

export function createPayerPaymentQueue(parts: PayerPaymentQueueParts): PayerPaymentQueue {
  const { database, fairly, wallets, newId, newLeaseId, onDue } = parts;
  const failing = createFailingRows('ppm', parts.logger);
  return {
    lease: (wallet, environment, limit, leaseMs) =>
      failing.leaveOut((choose) =>
        database.fork().transactional(async (em) => {
          const takes = await readTakesPayments(em);
          if (!takes.in(environment)) return [];
          const at = await readClock(em);
          const rows = await em.find(
            PayerPaymentRow,
            {
              wallet,
              environment,
              dueAt: { $lte: at },
              id: { $nin: [...failing.ids()] },
              $or: [{ leasedUntil: null }, { leasedUntil: { $lte: at } }],
            },
            { orderBy: { dueAt: 'asc' }, limit, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
          );
          const leased: { payment: PayerPayment; leaseId: string }[] = [];
          for (const row of choose(rows, (each) => each)) {
            // A payment that belongs to an attempt of ours needs no query to the wallet.
            const receipt = await findReceipt(em, row);
            if (receipt !== null) {
              await belongToAttempt(em, row, receipt, at);
              continue;
            }
            const merchantId = takes.holds(environment) ? await merchantOf(em, wallets, row) : null;
            if (merchantId !== null && !takes.of(environment, merchantId)) {
              row.dueAt = new Date(at.getTime() + heldRetryMs);
              continue;
            }
            const leaseId = newLeaseId();
            const leasedUntil = new Date(at.getTime() + leaseMs);
            Object.assign(row, { leaseId, leasedUntil, dueAt: leasedUntil, tries: row.tries + 1 });
            leased.push({ payment: { ...row }, leaseId });
          }
          return leased;
        }),
      ),

    async hasten(payerPaymentId, { exchange, note }, signal) {
      const hasten = () =>
        database.fork().transactional(async (em) => {
          const row = await lockPayerPayment(em, payerPaymentId);
          if (row === null) return undefined;
          const at = await readClock(em);
          row.callbackNotes = withNote(row.callbackNotes, note);
          const owner = exchangeOwner(row);
          const recent = (await readRecentExchanges(em, [owner], at))(owner);
          makeDue(row, recent, at);
          if (exchange !== undefined && row.status === 'OPEN')
            await keepCallback(em, owner, { exchange, recent, newId, at });
          await eraseAgainByMoney(em, { ...row, payerPaymentId: row.id });
          return { ...row };
        });
      const hastened = await fairly({ owner: `payer-started payment ${payerPaymentId}` }, signal, hasten);
      if (hastened !== undefined) {
        const { environment, wallet } = hastened;
        onDue({ work: 'payerPayments', environment, wallet });
      }
      return hastened;
    },
  };
}

/** The merchant of the order that the reference names, otherwise the only merchant of the account. Null without one. */
async function merchantOf(
  em: EntityManager,
  wallets: readonly Wallet[],
  { merchantId, wallet: id, environment, reference }: PayerPaymentRow,
): Promise<StoredId<'mer'> | null> {
  if (merchantId != null) return merchantId;
  const only = wallets.find((wallet) => wallet.id === id)?.payerStarted?.[environment]?.merchantId ?? null;
  const owner = (await findNamedOrder(em, environment, reference, only))?.merchantId ?? only;
  return owner === null ? null : storedId('mer', owner);
}
