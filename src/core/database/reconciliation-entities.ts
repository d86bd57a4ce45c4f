import { defineEntity, p } from '@mikro-orm/core';
import type { InferEntity } from '@mikro-orm/core';
import { environment, idOf, schema, time } from './columns.ts';

export type ReconciliationStatus = 'WAITING' | 'RUNNING' | 'COMPLETED' | 'FAILED';

export const ReconciliationRow = defineEntity({
  name: 'ReconciliationRow',
  tableName: 'reconciliations',
  schema,
  properties: {
    id: idOf<'rec'>().primary(),
    wallet: p.string().columnType('text').$type<string>(),
    environment: environment(),
    /** The day in UTC, such as 2026-01-31. */
    day: p.date(),
    status: p.string().columnType('core.reconciliation_status').$type<ReconciliationStatus>(),
    scheduled: p.boolean(),
    startedBy: p.text(),
    dueAt: time().nullable(),
    leaseId: p.uuid().nullable(),
    leaseMs: p.integer().default(0),
    periodFrom: time().nullable(),
    periodTo: time().nullable(),
    tries: p.integer(),
    entries: p.integer(),
    otherEntries: p.integer(),
    differences: p.integer(),
    detail: p.text(),
    createdAt: time(),
    updatedAt: time(),
  },
});
export type ReconciliationRow = InferEntity<typeof ReconciliationRow>;

export type StatementEntryType = 'PAYMENT' | 'REVERSAL' | 'OTHER' | 'UNREADABLE';
export type StatementEntryStatus = 'COMPLETED' | 'PENDING' | 'FAILED' | 'REVERSED' | 'OTHER';

export const StatementEntryRow = defineEntity({
  name: 'StatementEntryRow',
  tableName: 'statement_entries',
  schema,
  properties: {
    reconciliationId: idOf<'rec'>().primary(),
    position: p.integer().primary(),
    type: p.string().columnType('core.statement_entry_type').$type<StatementEntryType>(),
    status: p.string().columnType('core.statement_entry_status').$type<StatementEntryStatus>().nullable(),
    providerTransactionId: p.text(),
    amount: p.text(),
    currency: p.text(),
    requestId: p.text(),
    originalTransactionId: p.text(),
    occurredAt: time().nullable(),
    problem: p.text(),
  },
});
export type StatementEntryRow = InferEntity<typeof StatementEntryRow>;

export type DifferenceKind =
  | 'MISSING_IN_STATEMENT'
  | 'MISSING_HERE'
  | 'AMOUNT_DIFFERS'
  | 'STATUS_DIFFERS'
  | 'UNREADABLE'
  | 'OTHER_ACCOUNT';

export const ReconciliationDifferenceRow = defineEntity({
  name: 'ReconciliationDifferenceRow',
  tableName: 'reconciliation_differences',
  schema,
  properties: {
    reconciliationId: idOf<'rec'>().primary(),
    number: p.integer().primary(),
    kind: p.string().columnType('core.difference_kind').$type<DifferenceKind>(),
    providerTransactionId: p.text(),
    walletAmount: p.text(),
    walletCurrency: p.text(),
    walletStatus: p.text(),
    ourAmount: p.text(),
    ourCurrency: p.text(),
    ourStatus: p.text(),
    merchantId: idOf<'mer'>().nullable(),
    paymentAttemptId: idOf<'pat'>().nullable(),
    strayPaymentId: idOf<'stp'>().nullable(),
    refundId: idOf<'rfd'>().nullable(),
    occurredAt: time().nullable(),
    advice: p.text(),
  },
});
export type ReconciliationDifferenceRow = InferEntity<typeof ReconciliationDifferenceRow>;
