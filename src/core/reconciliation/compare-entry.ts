import type {
  DifferenceKind,
  StatementEntryStatus,
  StatementEntryType,
} from '../database/reconciliation-entities.ts';
import { isPublicId, publicId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import { storedEndOf } from '../database/attempt-id-end.sql.ts';
import type { PaymentAttemptStatus, StrayPaymentStatus } from '../domain/order.ts';
import type { Reversal } from '../domain/reversal.ts';
import { isOn, mustContain } from './reconciliation-day.ts';
import type { Day } from './reconciliation-day.ts';
import { sameDecimal } from '../../contract/decimal-text.ts';

/** An entry of a wallet's statement. Absent texts are ''. */
export interface Entry {
  readonly position: number;
  readonly type: StatementEntryType;
  readonly status: StatementEntryStatus | null;
  readonly providerTransactionId: string;
  readonly amount: string;
  readonly currency: string;
  readonly requestId: string;
  readonly originalTransactionId: string;
  readonly occurredAt: Date | null;
  readonly problem: string;
}

interface KnownFacts {
  /** Stored ids. */
  readonly merchantId: StoredId<'mer'>;
  /** Null for stray money that a payer sent without a request of ours. */
  readonly paymentAttemptId: StoredId<'pat'> | null;
  readonly providerTransactionId: string;
  readonly amount: string;
  readonly currency: string;
  /** The time of its last change. */
  readonly updatedAt: Date;
  /** Whether the payment was made with another payee account than that of the statement. */
  readonly isElsewhere: boolean;
}

/** Recorded money, or a payment attempt that may still become a payment. */
export type KnownMoney =
  | (KnownFacts & { readonly recordType: 'attempt'; readonly status: PaymentAttemptStatus })
  | (KnownFacts & {
      readonly recordType: 'stray';
      readonly status: StrayPaymentStatus;
      readonly strayPaymentId: StoredId<'stp'>;
      /** The stored name of the reversal at the wallet. */
      readonly reversalId: string;
      /** Whether operators settled it, so that the money may have gone back outside of the wallet. */
      readonly isSettled: boolean;
    })
  | KnownRefund;

/** A refund that was sent to the wallet. Its transaction id is that of the payment. */
export type KnownRefund = KnownFacts & {
  readonly recordType: 'refund';
  readonly status: Reversal['status'];
  readonly refundId: StoredId<'rfd'>;
};

/** The records that may match an entry. */
export interface Records {
  /** Found by the wallet's transaction id. */
  readonly byTransaction: KnownMoney | undefined;
  /** Found by our own id, which the wallet repeats. */
  readonly byRequest: KnownMoney | undefined;
  /** The payment that a reversal returns. */
  readonly original: KnownMoney | undefined;
  /** Whether the same statement contains a reversal of this payment. */
  readonly hasReversal: boolean;
  /** Whether an earlier entry is the same payment, or another return of the same payment. */
  readonly isRepeated: boolean;
  /** The refund that this entry carries out. No other entry carries out the same refund. */
  readonly refund: KnownRefund | undefined;
}

export interface ComparedPeriod {
  readonly day: Day;
  /** The period that was read. */
  readonly readFrom: Date;
  readonly readUntil: Date;
  /** Whether the statement shows money that went back to payers. If not, no reversals are compared. */
  readonly listsReversals: boolean;
}

export interface FoundDifference {
  readonly kind: DifferenceKind;
  readonly entry: Entry | undefined;
  readonly known: KnownMoney | undefined;
  readonly advice: string;
}

/**
 * The wallet took money for an attempt that did not succeed here, or carried out a refund that is undecided here. Only the wallet
 * can explain it.
 */
export const needsWalletAnswer = ({ kind, known }: FoundDifference): boolean =>
  kind === 'STATUS_DIFFERS' &&
  ((known?.recordType === 'attempt' && known.status !== 'SUCCEEDED') ||
    (known?.recordType === 'refund' && known.status === 'REVERSAL_DUE'));

/**
 * The difference of one entry; undefined when it matches the records or belongs to another day. Only money counts. A
 * payment that failed on both sides is no difference.
 */
export function compareEntry(
  entry: Entry,
  records: Records,
  period: ComparedPeriod,
): FoundDifference | undefined {
  switch (entry.type) {
    case 'PAYMENT':
      return comparePayment(entry, records, period);
    case 'REVERSAL':
      return compareReversal(entry, records, period);
    case 'UNREADABLE':
      return {
        kind: 'UNREADABLE',
        entry,
        known: undefined,
        advice: `entry ${entry.position + 1} of the statement cannot be read (${entry.problem}); find it in the portal of the wallet`,
      };
    case 'OTHER':
      return undefined;
  }
}

/** Recorded money that the whole statement does not contain. */
export const missingInStatement = (known: KnownMoney): FoundDifference => ({
  kind: 'MISSING_IN_STATEMENT',
  entry: undefined,
  known,
  advice:
    known.recordType === 'refund'
      ? `the wallet confirmed this refund; ask the wallet about the refund of transaction ${known.providerTransactionId}. ${showCommand(known)}`
      : known.recordType === 'attempt'
        ? `the wallet or two operators confirmed this payment; ask the wallet about transaction ${known.providerTransactionId}. ${showCommand(known)}`
        : `the wallet confirmed this stray payment; ask the wallet about transaction ${known.providerTransactionId} before you settle it by hand`,
});

function comparePayment(entry: Entry, records: Records, period: ComparedPeriod): FoundDifference | undefined {
  const { byTransaction, byRequest, isRepeated } = records;
  const isOnDay = isOn(period.day, entry.occurredAt);
  const record = byTransaction ?? byRequest;
  if (record?.isElsewhere === true) return compareElsewhere(entry, record, period);
  if (byTransaction !== undefined && byTransaction.recordType !== 'refund') {
    if (isRepeated)
      return isOnDay
        ? { kind: 'MISSING_HERE', entry, known: byTransaction, advice: repeatedAdvice(byTransaction) }
        : undefined;
    const isSettled = byTransaction.recordType === 'stray' && byTransaction.isSettled;
    if (!isOnDay && (isSettled || !isOn(period.day, byTransaction.updatedAt))) return undefined;
    return compareAmount(entry, byTransaction) ?? compareStatus(entry, byTransaction, records, period);
  }
  if (!isOnDay || (entry.status !== 'COMPLETED' && entry.status !== 'REVERSED')) return undefined;
  if (byRequest?.recordType === 'attempt') {
    if (byRequest.status === 'SUCCEEDED') {
      const advice = `a second charge for an attempt that transaction ${byRequest.providerTransactionId} has paid; ask the wallet to return the money. ${showCommand(byRequest)}`;
      return { kind: 'MISSING_HERE', entry, known: byRequest, advice };
    }
    if (entry.status === 'REVERSED') return undefined;
    const advice = `the wallet debited this payment, but Gatehouse has a different outcome; Gatehouse queries the wallet again now, and the answer decides. ${showCommand(byRequest)}`;
    return { kind: 'STATUS_DIFFERS', entry, known: byRequest, advice };
  }
  return { kind: 'MISSING_HERE', entry, known: undefined, advice: unknownPaymentAdvice(entry) };
}

const repeatedAdvice = (known: KnownMoney): string =>
  `the statement has this payment more than once; ask the wallet how often it charged the payer, and to return the rest. ${showCommand(known)}`;

function unknownPaymentAdvice(entry: Entry): string {
  if (entry.status === 'REVERSED')
    return 'a payment that Gatehouse did not request, and that was returned; ask the wallet about it';
  return hasOurReference(entry)
    ? 'no order here has this payment. If the database was restored, its order was lost, and gets the payment when the shop sends the ' +
        'order again. So ask the shops to do that first. If no order takes it, ask the wallet who paid it, and to return it'
    : 'a payment that Gatehouse did not request; ask the wallet who paid it, and to return it';
}

/** Whether the wallet repeats the id of an attempt, or the end of one. */
export const hasOurReference = ({ requestId }: Entry): boolean =>
  isPublicId('pat', requestId) || storedEndOf(requestId) !== undefined;

function compareReversal(
  entry: Entry,
  { original, byRequest, refund, isRepeated }: Records,
  period: ComparedPeriod,
): FoundDifference | undefined {
  const { day } = period;
  if (entry.status !== 'COMPLETED' || !isOn(day, entry.occurredAt)) return undefined;
  const record = refund ?? original ?? byRequest;
  if (record?.isElsewhere === true) return compareElsewhere(entry, record, period);
  if (refund !== undefined) return compareRefund(entry, refund);
  const known = original ?? byRequest;
  if (known === undefined) {
    const advice = 'the wallet returned money that Gatehouse did not ask to return; ask the wallet why';
    return { kind: 'MISSING_HERE', entry, known, advice };
  }
  if (known.recordType === 'refund') return compareRefund(entry, known);
  if (known.recordType === 'attempt') {
    // The wallet returned a payment that did not succeed here: nothing is lost.
    if (known.status !== 'SUCCEEDED') return undefined;
    const advice = `the wallet returned this payment, and no refund here asked for that; inform the merchant, and ask the wallet why. ${showCommand(known)}`;
    return { kind: 'STATUS_DIFFERS', entry, known, advice };
  }
  if (isRepeated) {
    const advice = `the statement has the return of this stray payment more than once; ask the wallet how often it paid the payer. ${showCommand(known)}`;
    return { kind: 'MISSING_HERE', entry, known, advice };
  }
  const differs = compareAmount(entry, known);
  if (differs !== undefined || known.status !== 'REVERSAL_REFUSED') return differs;
  const advice =
    'the wallet first refused to return this stray payment, and returned it later; nothing is left to settle';
  return { kind: 'STATUS_DIFFERS', entry, known, advice };
}

/** This statement contains money that Gatehouse requested with another payee account. The statement of the other account lacks it. */
function compareElsewhere(
  entry: Entry,
  known: KnownMoney,
  { day }: ComparedPeriod,
): FoundDifference | undefined {
  const moved = entry.status === 'COMPLETED' || entry.status === 'REVERSED';
  if (!moved || !isOn(day, entry.occurredAt)) return undefined;
  const advice = `Gatehouse has this money at another account of the wallet; ask the wallet which account it belongs to. ${showCommand(known)}`;
  return { kind: 'OTHER_ACCOUNT', entry, known, advice };
}

function compareRefund(entry: Entry, known: KnownRefund): FoundDifference | undefined {
  const differs = (advice: string): FoundDifference => ({ kind: 'STATUS_DIFFERS', entry, known, advice });
  if (entry.currency !== known.currency || !sameDecimal(entry.amount, known.amount))
    return {
      kind: 'AMOUNT_DIFFERS',
      entry,
      known,
      advice: `the refund here is ${known.amount} ${known.currency}; ask the wallet which amount is right. ${showCommand(known)}`,
    };
  switch (known.status) {
    case 'REVERSED':
      return undefined;
    case 'REVERSAL_DUE':
      return differs(
        `the wallet carried out a refund that is undecided here; Gatehouse queries the wallet again now, and the answer decides. ${showCommand(known)}`,
      );
    case 'REVERSAL_REFUSED':
      return differs(
        `this refund is FAILED here, and the wallet has carried it out; inform the merchant before it refunds again. ${showCommand(known)}`,
      );
  }
}

function compareAmount(entry: Entry, known: Exclude<KnownMoney, KnownRefund>): FoundDifference | undefined {
  if (entry.currency === known.currency && sameDecimal(entry.amount, known.amount)) return undefined;
  const advice =
    known.recordType === 'attempt'
      ? `this payment is ${known.amount} ${known.currency} here; ask the wallet which amount is right before you pay the money out. ${showCommand(known)}`
      : `the stray payment here is ${known.amount} ${known.currency}; ask the wallet which amount is right`;
  return { kind: 'AMOUNT_DIFFERS', entry, known, advice };
}

function compareStatus(
  entry: Entry,
  known: Exclude<KnownMoney, KnownRefund>,
  { hasReversal, refund }: Records,
  { readUntil, listsReversals }: ComparedPeriod,
): FoundDifference | undefined {
  const differs = (advice: string): FoundDifference => ({ kind: 'STATUS_DIFFERS', entry, known, advice });
  const moved = entry.status === 'COMPLETED' || entry.status === 'REVERSED';
  if (known.recordType === 'stray') {
    if (!moved)
      return differs(
        'the wallet confirmed this stray payment, but its statement says that it did not succeed; ask the wallet about it',
      );
    if (known.status === 'REVERSAL_REFUSED' && entry.status === 'REVERSED' && !hasReversal)
      return differs(
        'the wallet first refused to return this stray payment, and returned it later; nothing is left to settle',
      );
    const wentBack = entry.status === 'REVERSED' || hasReversal;
    if (listsReversals && known.status === 'REVERSED' && !wentBack && mustContain(readUntil, known.updatedAt))
      return differs(
        'the wallet or two operators confirmed the return of this money, and the statement does not have it; ask the wallet about it',
      );
    return undefined;
  }
  if (known.status !== 'SUCCEEDED')
    return moved
      ? differs(
          `the wallet debited this payment, but Gatehouse has a different outcome; Gatehouse queries the wallet again now, and the answer decides. ${showCommand(known)}`,
        )
      : undefined;
  if (!moved)
    return differs(
      `the wallet or two operators confirmed this payment, but the statement says that it did not succeed; ask the wallet about it. ${showCommand(known)}`,
    );
  // A reversal with its own entry is reported there.
  if (entry.status === 'REVERSED' && !hasReversal && refund === undefined)
    return differs(
      `the wallet returned this payment, and no refund here asked for that; inform the merchant, and ask the wallet why. ${showCommand(known)}`,
    );
  return undefined;
}

const showCommand = ({ merchantId, paymentAttemptId }: KnownMoney): string =>
  paymentAttemptId === null
    ? ''
    : `See: gatehouse payment show ${publicId('mer', merchantId)} ${publicId('pat', paymentAttemptId)}`;
