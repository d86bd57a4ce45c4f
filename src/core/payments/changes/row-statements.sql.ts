import type { EntityManager } from '@mikro-orm/postgresql';
import { column, plainColumn, textColumn } from '../../../platform/database/bulk-statement.ts';
import { changedRows, createdRows, textsColumn } from '../../../platform/database/row-writers.ts';
import type { RowWriter } from '../../../platform/database/row-writers.ts';
import type { Statement } from '../../../platform/database/run-statement.ts';
import { unwrittenRows } from '../../../platform/database/unwritten-rows.ts';
import { AuditEntryRow } from '../../database/audit-entities.ts';
import { PaymentAttemptRow, RefundRow, WalletExchangeRow } from '../../database/order-entities.ts';
import { WalletReceiptRow } from '../../database/payer-payment-entities.ts';

/** The work on attempts changes these properties. The others hold the facts of their start. */
const changedAttempts = changedRows(PaymentAttemptRow, 'core.payment_attempts', {
  status: plainColumn('core.payment_attempt_status', (row) => row.status),
  declineReason: plainColumn('text', (row) => row.declineReason),
  updatedAt: plainColumn('timestamptz', (row) => row.updatedAt),
  settlementId: plainColumn('uuid', (row) => row.settlementId),
  walletAccountId: plainColumn('uuid', (row) => row.walletAccountId),
  dueAt: plainColumn('timestamptz', (row) => row.dueAt),
  leasedUntil: plainColumn('timestamptz', (row) => row.leasedUntil),
  leaseId: plainColumn('uuid', (row) => row.leaseId),
  leases: plainColumn('integer', (row) => row.leases),
  maybeSent: column('boolean', (row) => row.maybeSent),
  promptUntil: plainColumn('timestamptz', (row) => row.promptUntil),
  providerReference: textColumn('text', (row) => row.providerReference ?? null),
  providerTransactionId: textColumn('text', (row) => row.providerTransactionId ?? null),
  detail: textColumn('text', (row) => row.detail),
  nextAction: textColumn('jsonb', ({ nextAction: action }) =>
    action == null ? null : JSON.stringify(action),
  ),
  callbackNotes: textsColumn((row) => row.callbackNotes),
});

const newExchanges = createdRows(WalletExchangeRow, 'core.wallet_exchanges', {
  merchantId: plainColumn('uuid', (row) => row.merchantId),
  paymentAttemptId: plainColumn('uuid', (row) => row.paymentAttemptId),
  id: plainColumn('uuid', (row) => row.id),
  payload: column('bytea', (row) => row.payload),
});

const newReceipts = createdRows(WalletReceiptRow, 'core.wallet_receipts', {
  environment: plainColumn('core.environment', (row) => row.environment),
  wallet: textColumn('text', (row) => row.wallet),
  providerTransactionId: textColumn('text', (row) => row.providerTransactionId),
  merchantId: plainColumn('uuid', (row) => row.merchantId),
  paymentAttemptId: plainColumn('uuid', (row) => row.paymentAttemptId),
});

const refundWork = {
  decidedBy: textColumn<RefundRow>('text', (row) => row.decidedBy),
  settlementId: plainColumn<RefundRow>('uuid', (row) => row.settlementId),
  status: plainColumn<RefundRow>('core.refund_status', (row) => row.status),
  detail: textColumn<RefundRow>('text', (row) => row.detail),
  refusalReason: textColumn<RefundRow>('text', (row) => row.refusalReason),
  tries: plainColumn<RefundRow>('integer', (row) => row.tries),
  maybeSent: column<RefundRow>('boolean', (row) => row.maybeSent),
  askedSince: plainColumn<RefundRow>('timestamptz', (row) => row.askedSince),
  providerReference: textColumn<RefundRow>('text', (row) => row.providerReference ?? null),
  dueAt: plainColumn<RefundRow>('timestamptz', (row) => row.dueAt),
  leasedUntil: plainColumn<RefundRow>('timestamptz', (row) => row.leasedUntil),
  leaseId: plainColumn<RefundRow>('uuid', (row) => row.leaseId),
  hastenedTo: plainColumn<RefundRow>('timestamptz', (row) => row.hastenedTo),
  updatedAt: plainColumn<RefundRow>('timestamptz', (row) => row.updatedAt),
};

const changedRefunds = changedRows(RefundRow, 'core.refunds', {
  ...refundWork,
  callbackNotes: textsColumn((row) => row.callbackNotes),
});

const newRefunds = createdRows(RefundRow, 'core.refunds', {
  merchantId: plainColumn('uuid', (row) => row.merchantId),
  id: plainColumn('uuid', (row) => row.id),
  environment: plainColumn('core.environment', (row) => row.environment),
  refundNumber: textColumn('text', (row) => row.refundNumber),
  orderId: plainColumn('uuid', (row) => row.orderId),
  orderNumber: textColumn('text', (row) => row.orderNumber),
  paymentAttemptId: plainColumn('uuid', (row) => row.paymentAttemptId),
  paymentOption: plainColumn('text', (row) => row.paymentOption),
  providerTransactionId: textColumn('text', (row) => row.providerTransactionId),
  amountMinorUnits: plainColumn('bigint', (row) => row.amountMinorUnits),
  amountGiven: column('boolean', (row) => row.amountGiven),
  currency: plainColumn('text', (row) => row.currency),
  reason: textColumn('text', (row) => row.reason),
  requestedBy: textColumn('text', (row) => row.requestedBy),
  createdAt: plainColumn('timestamptz', (row) => row.createdAt),
  ...refundWork,
});

const newAuditEntries = createdRows(AuditEntryRow, 'core.audit_entries', {
  id: plainColumn('uuid', (row) => row.id),
  createdAt: plainColumn('timestamptz', (row) => row.createdAt),
  actor: textColumn('text', (row) => row.actor),
  action: textColumn('text', (row) => row.action),
  merchantId: plainColumn('uuid', (row) => row.merchantId),
  targetId: textColumn('text', (row) => row.targetId),
  requestId: textColumn('text', (row) => row.requestId),
  details: textColumn('jsonb', (row) => JSON.stringify(row.details)),
});

const writers: readonly RowWriter[] = [
  changedAttempts,
  newExchanges,
  newReceipts,
  changedRefunds,
  newRefunds,
  newAuditEntries,
];

/**
 * The statements that write the rows of a transaction in place of the ORM. Undefined if the ORM must write another row as well. It then writes
 * all, because it knows which rows must come first.
 */
export function rowStatements(em: EntityManager): Statement[] | undefined {
  const unwritten = unwrittenRows(em);
  const written = writers.map((write) => write(unwritten)).filter(({ count }) => count > 0);
  if (written.reduce((sum, { count }) => sum + count, 0) < unwritten.count) return undefined;
  return written.map(({ statement }) => statement());
}
