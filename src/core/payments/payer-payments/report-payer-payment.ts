import { LockMode } from '@mikro-orm/postgresql';
import type { DueWork } from '../../../contract/due-work.ts';
import { publicId, storedId } from '../../../contract/public-id.ts';
import type { NewId } from '../../../contract/public-id.ts';
import type { CallerSignal } from '../../../platform/batcher.ts';
import type { FairCalls } from '../../../platform/fair-calls.ts';
import type { WalletExchange } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { Database } from '../../database/database.ts';
import { eraseAgainByMoney } from '../../database/erase-again.sql.ts';
import { PayerPaymentRow } from '../../database/payer-payment-entities.ts';
import { readClock } from '../../database/read-clock.ts';
import type { Environment, PaymentOption } from '../../domain/order.ts';
import { readRecentExchanges } from '../attempts/count-exchanges.sql.ts';
import { keepCallback } from '../attempts/keep-exchanges.ts';
import type { MakeAttemptDue } from '../attempts/make-attempt-due.ts';
import { findNamedAttempt } from './find-named-attempt.sql.ts';
import { exchangeOwner, makeDue } from './payer-payment-row.ts';
import type { PayerPayment } from './payer-payment-row.ts';

/** A wallet's message about a payment. Nothing in it is trusted. */
export interface PayerPaymentReport {
  readonly wallet: string;
  readonly environment: Environment;
  readonly paymentOption: PaymentOption;
  readonly providerTransactionId: string;
  readonly reference: string;
  readonly payee: string;
  readonly amount: string;
  readonly currency: string;
  /** '' when the reference can name no attempt. */
  readonly attemptIdEnd: string;
  readonly callbackNote: string;
  readonly exchange: WalletExchange | undefined;
  /** A report whose caller has left before its turn is dropped. */
  readonly signal: CallerSignal;
}

export type ReportPayerPayment = (report: PayerPaymentReport) => Promise<PayerPayment>;

export interface ReportPayerPaymentParts {
  readonly database: Database;
  /** Limits reports, which may wait for a payment that others hold, by payment. */
  readonly fairly: FairCalls;
  readonly makeAttemptDue: MakeAttemptDue;
  readonly newId: NewId;
  /** Called when a confirmation became due. */
  readonly onDue: (due: DueWork) => void;
}

/** How long an attempt of ours can be given a payment that names it. Then the payment is confirmed on its own. */
const attemptFirstMs = 30_000;

/**
 * Stores a reported payment, and makes its confirmation due. A transaction that is reported again is the same payment: its
 * first report counts, and an open or abandoned one is confirmed now.
 */
export function createReportPayerPayment(parts: ReportPayerPaymentParts): ReportPayerPayment {
  const { database, fairly, makeAttemptDue, newId, onDue } = parts;
  return async (report) => {
    const { wallet, environment, providerTransactionId, exchange, signal } = report;
    const store = () =>
      database.fork().transactional(async (em) => {
        const at = await readClock(em);
        const named = await findNamedAttempt(em, report);
        const facts = [report.paymentOption, providerTransactionId, report.reference, report.payee];
        const links = [named?.merchant_id ?? null, named?.order_id ?? null, named?.id ?? null];
        const dueAt = new Date(at.getTime() + (named === undefined ? 0 : attemptFirstMs));
        const inserted = await em.execute<{ id: string }[]>(insert, [
          storedId('ppm', newId('ppm', at)),
          environment,
          wallet,
          ...facts,
          report.amount,
          report.currency,
          ...links,
          dueAt.toISOString(),
          at.toISOString(),
          at.toISOString(),
        ]);
        const row = await em.findOneOrFail(
          PayerPaymentRow,
          { environment, wallet, providerTransactionId },
          { lockMode: LockMode.PESSIMISTIC_WRITE },
        );
        const owner = exchangeOwner(row);
        const recent = (await readRecentExchanges(em, [owner], at))(owner);
        if (inserted.length === 0) makeDue(row, recent, at);
        if (exchange !== undefined && (row.status === 'OPEN' || inserted.length > 0))
          await keepCallback(em, owner, { exchange, recent, newId, at });
        if (inserted.length === 0) await eraseAgainByMoney(em, { ...row, payerPaymentId: row.id });
        return { payment: { ...row }, attempt: named };
      });
    const owner = `payer-started payment ${environment} ${wallet} ${providerTransactionId}`;
    const { payment, attempt } = await fairly({ owner }, signal, store);
    if (attempt !== undefined)
      await makeAttemptDue({
        merchantId: publicId('mer', attempt.merchant_id),
        attemptId: publicId('pat', attempt.id),
        exchange,
        callbackNote: report.callbackNote,
        signal,
      });
    onDue({ work: 'payerPayments', environment, wallet });
    return payment;
  };
}

const insert = `
insert into core.payer_payments
  (id, environment, wallet, payment_option, provider_transaction_id, reference, payee, amount, currency,
   merchant_id, order_id, payment_attempt_id, due_at, created_at, updated_at, status)
values (?, ?::core.environment, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'OPEN')
on conflict (environment, wallet, provider_transaction_id) do nothing
returning id`;
