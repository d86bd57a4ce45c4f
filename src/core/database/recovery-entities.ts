import { defineEntity, p } from '@mikro-orm/core';
import type { InferEntity } from '@mikro-orm/core';
import type { StoredId } from '../../contract/public-id.ts';
import type { Environment } from '../domain/order.ts';
import type { RecoveryCause, StatementState, StreamState, WalletCheck } from '../domain/recovery.ts';
import { environment, schema, time } from './columns.ts';

/** The work of core after it has detected that its database was restored. At most one has no end. */
export const RecoveryRow = defineEntity({
  name: 'RecoveryRow',
  tableName: 'recoveries',
  schema,
  properties: {
    id: p.uuid().primary(),
    cause: p.text().$type<RecoveryCause>(),
    lostFrom: time(),
    lostUntil: time(),
    stream: p.text().$type<StreamState>(),
    /** The time of the newest event in the stream; null without a stream. */
    streamUntil: time().nullable(),
    rebuiltOrders: p.integer().default(0),
    rebuiltEvents: p.integer().default(0),
    conflictingOrders: p.integer().default(0),
    conflictsAcceptedBy: p.text().default(''),
    /** The operator who has repeated the requests for erasure of the lost time. Payments do not wait for it. */
    erasuresAcceptedBy: p.text().default(''),
    /** The operator who says that all accounts of the lost time were added again. */
    accountsAcceptedBy: p.text().default(''),
    /** The operator who says that all merchants of the lost time were created again. */
    merchantsAcceptedBy: p.text().default(''),
    closed: p.array().columnType('text[]').$type<Environment[]>(),
    finishedAt: time().nullable(),
  },
});
export type RecoveryRow = InferEntity<typeof RecoveryRow>;

/**
 * `own_accounts`: a merchant's own account may have payments that no statement shows. `too_long`: statements do not reach back that
 * far.
 */
export type RecoveredWalletProblem = '' | 'no_statement' | 'own_accounts' | 'too_long';

export const RecoveryWalletRow = defineEntity({
  name: 'RecoveryWalletRow',
  tableName: 'recovery_wallets',
  schema,
  properties: {
    recoveryId: p.uuid().primary(),
    environment: environment().primary(),
    wallet: p.text().primary(),
    state: p.text().$type<WalletCheck['state']>(),
    hasStatement: p.boolean(),
    /** Why an operator must compare the wallet; '' when statements are enough. */
    obstacle: p.text().$type<RecoveredWalletProblem>().default(''),
    unclaimedPayments: p.integer().default(0),
    decidedBy: p.text().default(''),
  },
});
export type RecoveryWalletRow = InferEntity<typeof RecoveryWalletRow>;

/** A statement that a recovery reads: that of one payee account at a wallet. */
export const RecoveryStatementRow = defineEntity({
  name: 'RecoveryStatementRow',
  tableName: 'recovery_statements',
  schema,
  properties: {
    recoveryId: p.uuid().primary(),
    environment: environment().primary(),
    wallet: p.text().primary(),
    /** Empty for the operator's account. */
    payee: p.text().primary(),
    state: p.text().$type<StatementState>(),
    /** Why the latest reading failed. */
    detail: p.text().default(''),
  },
});
export type RecoveryStatementRow = InferEntity<typeof RecoveryStatementRow>;

/** An account of a merchant that was in use in the lost time, and that the database did not have. */
const RecoveryAccountRow = defineEntity({
  name: 'RecoveryAccountRow',
  tableName: 'recovery_accounts',
  schema,
  properties: {
    recoveryId: p.uuid().primary(),
    merchantId: p.uuid().$type<StoredId<'mer'>>().primary(),
    walletAccountId: p.uuid().$type<StoredId<'wac'>>().primary(),
    environment: environment(),
    wallet: p.text(),
    /** Empty for the operator's; null when only its payments are known. */
    payee: p.text().nullable(),
    promotedAt: time().nullable(),
  },
});
export type RecoveryAccountRow = InferEntity<typeof RecoveryAccountRow>;

/** Money at a wallet under a reference of ours that no record has. */
export const UnclaimedPaymentRow = defineEntity({
  name: 'UnclaimedPaymentRow',
  tableName: 'unclaimed_payments',
  schema,
  properties: {
    environment: environment().primary(),
    wallet: p.text().primary(),
    providerTransactionId: p.text().primary(),
    /** The payee account that got the money; empty for the operator's. */
    payee: p.text().default(''),
    requestId: p.text(),
    referenceEnd: p.text(),
    amount: p.text(),
    currency: p.text(),
    occurredAt: time().nullable(),
    foundAt: time(),
    claimedAt: time().nullable(),
  },
});
export type UnclaimedPaymentRow = InferEntity<typeof UnclaimedPaymentRow>;

/** The state of an order with lost events. Only REBUILT orders are as the events left them. */
export type RecoveredOrderState = 'REBUILT' | 'CHANGED_OTHERWISE' | 'NUMBER_TAKEN' | 'UNREADABLE';

export const RecoveredOrderRow = defineEntity({
  name: 'RecoveredOrderRow',
  tableName: 'recovered_orders',
  schema,
  properties: {
    merchantId: p.uuid().primary(),
    orderId: p.uuid().primary(),
    environment: environment(),
    orderNumber: p.text(),
    state: p.text().$type<RecoveredOrderState>(),
    recordedAt: time(),
  },
});
export type RecoveredOrderRow = InferEntity<typeof RecoveredOrderRow>;

export const recoveryEntities = [
  RecoveredOrderRow,
  RecoveryAccountRow,
  RecoveryRow,
  RecoveryStatementRow,
  RecoveryWalletRow,
  UnclaimedPaymentRow,
];
