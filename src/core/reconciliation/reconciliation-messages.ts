import { isWalletId } from '../../contract/payment-option.ts';
import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import {
  DifferenceKind as DifferenceKindMessage,
  DifferenceSchema,
  ReconciliationSchema,
  ReconciliationStatus as ReconciliationStatusMessage,
  StatementEntryStatus as EntryStatusMessage,
  StatementEntryType as EntryTypeMessage,
} from '../../gen/gatehouse/v1/reconciliation_service_pb.js';
import type {
  Difference as DifferenceMessage,
  Reconciliation as ReconciliationMessage,
  StatementEntry as StatementEntryMessage,
} from '../../gen/gatehouse/v1/reconciliation_service_pb.js';
import type { Environment as EnvironmentMessage } from '../../gen/gatehouse/v1/order_pb.js';
import type {
  DifferenceKind,
  ReconciliationStatus,
  StatementEntryStatus,
  StatementEntryType,
} from '../database/reconciliation-entities.ts';
import { publicId } from '../../contract/public-id.ts';
import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import type { Environment } from '../domain/order.ts';
import type { Wallet } from '../domain/wallet.ts';
import { wordOf } from '../rpc/enum-words.ts';
import { parseTime } from '../rpc/time-fields.ts';
import { environmentNumbers, parseEnvironment } from '../rpc/environment.ts';
import type { Entry } from './compare-entry.ts';
import { readStatementName } from './statement-key.ts';
import type { Difference } from './find-differences.ts';
import type { Reconciliation } from './reconciliation-store.ts';

const statuses = {
  WAITING: ReconciliationStatusMessage.WAITING,
  RUNNING: ReconciliationStatusMessage.RUNNING,
  COMPLETED: ReconciliationStatusMessage.COMPLETED,
  FAILED: ReconciliationStatusMessage.FAILED,
} as const satisfies Record<ReconciliationStatus, ReconciliationStatusMessage>;

const kinds = {
  MISSING_IN_STATEMENT: DifferenceKindMessage.MISSING_IN_STATEMENT,
  MISSING_HERE: DifferenceKindMessage.MISSING_HERE,
  AMOUNT_DIFFERS: DifferenceKindMessage.AMOUNT_DIFFERS,
  STATUS_DIFFERS: DifferenceKindMessage.STATUS_DIFFERS,
  UNREADABLE: DifferenceKindMessage.UNREADABLE,
  OTHER_ACCOUNT: DifferenceKindMessage.OTHER_ACCOUNT,
} as const satisfies Record<DifferenceKind, DifferenceKindMessage>;

const entryTypes = {
  PAYMENT: EntryTypeMessage.PAYMENT,
  REVERSAL: EntryTypeMessage.REVERSAL,
  OTHER: EntryTypeMessage.OTHER,
  UNREADABLE: EntryTypeMessage.UNREADABLE,
} as const satisfies Record<StatementEntryType, EntryTypeMessage>;

const entryStatuses = {
  COMPLETED: EntryStatusMessage.COMPLETED,
  PENDING: EntryStatusMessage.PENDING,
  FAILED: EntryStatusMessage.FAILED,
  REVERSED: EntryStatusMessage.REVERSED,
  OTHER: EntryStatusMessage.OTHER,
} as const satisfies Record<StatementEntryStatus, EntryStatusMessage>;

/** Parses a required wallet's id. Issue: absent, or not in the form of one. */
export function parseWallet(wallet: string): Result<string, Issue> {
  const issue = 'must be the id of a configured wallet, such as walleta';
  return isWalletId(wallet) ? ok(wallet) : err({ field: 'wallet', issue });
}

/**
 * Parses the wallet and the environment of a new reconciliation. Issue: a wallet whose statement is not configured to be
 * compared in that environment.
 */
export function parseReconciledWallet(
  request: { readonly wallet: string; readonly environment: EnvironmentMessage },
  wallets: readonly Wallet[],
): {
  readonly wallet: Result<string, Issue>;
  readonly environment: Result<Environment, Issue>;
} {
  const environment = parseEnvironment(request.environment);
  const known = wallets
    .filter(
      ({ reconcile, environments }) =>
        reconcile && (!environment.ok || environments.includes(environment.value)),
    )
    .map(({ id }) => id);
  if (known.includes(request.wallet)) return { wallet: ok(request.wallet), environment };
  const issue =
    known.length === 0
      ? 'cannot be reconciled: no wallet configured for this environment has a statement'
      : `must be one of ${known.join(', ')}, whose statements are reconciled in this environment`;
  return { wallet: err({ field: 'wallet', issue }), environment };
}

/** As `parseWallet`, for requests without a wallet that mean all wallets. */
export function parseOptionalWallet(wallet: string): Result<string | undefined, Issue> {
  return wallet === '' ? ok(undefined) : parseWallet(wallet);
}

const maxEntries = 1_000;
const maxText = 800;

/** Parses a page of a statement. Long texts are cut, because they come from the wallet and must not fail the page. */
export function parseEntries(messages: readonly StatementEntryMessage[]): Result<Entry[], Issue> {
  if (messages.length > maxEntries)
    return err({ field: 'entries', issue: `must be at most ${maxEntries} at once` });
  const entries = messages.map(parseEntry);
  const known = entries.filter((entry) => entry !== undefined);
  const isEachOnce = new Set(known.map(({ position }) => position)).size === messages.length;
  if (known.length < messages.length || !isEachOnce) {
    return err({
      field: 'entries',
      issue:
        'must each have a type, a position of its own from 0 and, unless UNREADABLE, a provider_transaction_id and a status',
    });
  }
  return ok(known);
}

function parseEntry(message: StatementEntryMessage): Entry | undefined {
  const type = wordOf(entryTypes, message.type);
  const status = wordOf(entryStatuses, message.status) ?? null;
  const isNamed = type === 'UNREADABLE' || (message.providerTransactionId !== '' && status !== null);
  if (type === undefined || message.position < 0 || !isNamed) return undefined;
  return {
    position: message.position,
    type,
    status,
    providerTransactionId: storableText(message.providerTransactionId),
    amount: storableText(message.amount),
    currency: storableText(message.currency),
    requestId: storableText(message.requestId),
    originalTransactionId: storableText(message.originalTransactionId),
    occurredAt: storableTime(message.occurTime),
    problem: storableText(message.problem),
  };
}

/** A wallet may send any time. One row with a time that PostgreSQL cannot store must not prevent the comparison of all others. */
const storableTime = (sent: Timestamp | undefined): Date | null => {
  const time = parseTime(sent, 'entries');
  return time.ok ? (time.value ?? null) : null;
};

/** Removes NUL, the only character that PostgreSQL cannot store. */
const storableText = (text: string): string => text.replaceAll('\0', '').slice(0, maxText);

/** `emails`: the e-mail addresses of possible starters, by actor. */
export function reconciliationMessage(
  reconciliation: Reconciliation,
  emails?: ReadonlyMap<string, string>,
): ReconciliationMessage {
  const { dueAt } = reconciliation;
  return create(ReconciliationSchema, {
    reconciliationId: publicId('rec', reconciliation.id),
    ...readStatementName(reconciliation.wallet),
    environment: environmentNumbers[reconciliation.environment],
    date: reconciliation.day,
    status: statuses[reconciliation.status],
    scheduled: reconciliation.scheduled,
    startedBy: reconciliation.startedBy,
    startedByEmail: emails?.get(reconciliation.startedBy) ?? '',
    tries: reconciliation.tries,
    entries: reconciliation.entries,
    otherEntries: reconciliation.otherEntries,
    differences: reconciliation.differences,
    detail: reconciliation.detail,
    createTime: timestampFromDate(reconciliation.createdAt),
    updateTime: timestampFromDate(reconciliation.updatedAt),
    ...(dueAt == null ? {} : { dueTime: timestampFromDate(dueAt) }),
  });
}

/** A difference, with the payee account of its reconciliation. */
export function differenceMessage(difference: Difference, { wallet }: Reconciliation): DifferenceMessage {
  const { merchantId, paymentAttemptId, strayPaymentId, refundId, occurredAt } = difference;
  return create(DifferenceSchema, {
    number: difference.number,
    kind: kinds[difference.kind],
    providerTransactionId: difference.providerTransactionId,
    walletAmount: difference.walletAmount,
    walletCurrency: difference.walletCurrency,
    walletStatus: difference.walletStatus,
    ourAmount: difference.ourAmount,
    ourCurrency: difference.ourCurrency,
    ourStatus: difference.ourStatus,
    merchantId: merchantId == null ? '' : publicId('mer', merchantId),
    paymentAttemptId: paymentAttemptId == null ? '' : publicId('pat', paymentAttemptId),
    strayPaymentId: strayPaymentId == null ? '' : publicId('stp', strayPaymentId),
    refundId: refundId == null ? '' : publicId('rfd', refundId),
    ...(occurredAt == null ? {} : { occurTime: timestampFromDate(occurredAt) }),
    advice: difference.advice,
    payee: readStatementName(wallet).payee,
  });
}
