import type { Changed, OrderEventType, OrderInFull } from './order.ts';
import type { SettlementId } from './order-identity.ts';
import type { Refund, RefundFacts, RefundProgress, RefundSum } from './refund-record.ts';
import { type Result, err, ok } from './result.ts';
import type { Reversal, ReversalOutcome } from './reversal.ts';
import { beginReversal, leaseReversal, makeReversalDue, recordReversalOutcome } from './reversal.ts';
import type { LeasedReversal } from './reversal.ts';
import { unreachable } from './unreachable.ts';

/*
 * A refund: money of a COMPLETED order on its way back to the payer.
 *
 *               above the limit                   approveRefund
 *   createRefund ───────────────▶ AWAITING_APPROVAL ────────────┐
 *        │                               │ declineRefund        │
 *        │ within the limit              ▼                      ▼
 *        │                        APPROVAL_DECLINED      the reversal machine (reversal.ts),
 *        └─────────────────────────────────────────────▶ with the refund's id as the name at the wallet
 *
 * A refund and the reversal of a stray payment are the same state machine. They differ after a refusal by the wallet. A refused
 * reversal of a stray payment waits for a person, who may request it again. A definitely refused refund is FAILED permanently, and another
 * refund may return its money. So a refund keeps one name at its wallet for ever. After a refusal that is not definite, the outcome is
 * unknown, because the money may have been returned.
 */

/** The state of a refund for its readers. COMPLETED and FAILED are final. */
export type RefundStatus = 'AWAITING_APPROVAL' | 'REQUESTED' | 'SENT' | 'UNKNOWN' | 'COMPLETED' | 'FAILED';

export function refundStatus({ progress }: Pick<Refund, 'progress'>): RefundStatus {
  switch (progress.status) {
    case 'AWAITING_APPROVAL':
      return 'AWAITING_APPROVAL';
    case 'APPROVAL_DECLINED':
    case 'REVERSAL_REFUSED':
      return 'FAILED';
    case 'REVERSAL_DUE':
      if (!progress.maybeSent) return 'REQUESTED';
      return progress.detail === '' ? 'SENT' : 'UNKNOWN';
    case 'REVERSED':
      return 'COMPLETED';
    default:
      return unreachable(progress);
  }
}

/** Why a refund is FAILED, as a lower_snake word; '' for any other. */
export function failureReason({ progress, settlementId }: Refund): string {
  if (progress.status === 'APPROVAL_DECLINED') return 'approval_declined';
  if (progress.status !== 'REVERSAL_REFUSED') return '';
  if (settlementId !== null) return 'settled_by_operator';
  return progress.refusalReason === '' ? 'provider_error' : progress.refusalReason;
}

/** Whether the money of the refund was returned or may still be. After a FAILED refund, other refunds may return the money. */
export const holdsMoney = ({ progress: { status } }: RefundSum): boolean =>
  status !== 'APPROVAL_DECLINED' && status !== 'REVERSAL_REFUSED';

/** The sum of the refunds that are not FAILED, in minor units. */
export const heldMinorUnits = (refunds: readonly RefundSum[]): bigint =>
  refunds.filter(holdsMoney).reduce((sum, { minorUnits }) => sum + minorUnits, 0n);

/** A changed refund, with the event of its order; `changed` is undefined if the change causes no event. */
export interface RefundStep {
  readonly refund: Refund;
  readonly changed: Changed | undefined;
}

/** Adds a created refund to its order's history. */
export function createRefund(
  order: OrderInFull,
  facts: RefundFacts,
  needsApproval: boolean,
): { readonly refund: Refund; readonly changed: Changed } {
  const { createdAt: now } = facts;
  const progress: RefundProgress = needsApproval
    ? { status: 'AWAITING_APPROVAL', updatedAt: now }
    : beginReversal(facts.id, now);
  const refund: Refund = { ...facts, progress, decidedBy: '', settlementId: null };
  return { refund, changed: addRefundEvent(order, 'REFUND_REQUESTED', refund, now) };
}

export type ApprovalRefusal = 'same_person' | 'not_awaiting';

/** The person behind an actor. The holders of one service token cannot be distinguished, whatever name a call gives. */
function personOf(actor: string): string {
  const [role = ''] = actor.split(':');
  return role === 'dashboard' ? actor : role;
}

/** Approves a refund, so that the wallet gets the request. A repeat by the same person changes nothing. */
export function approveRefund(
  order: OrderInFull,
  refund: Refund,
  by: string,
  now: Date,
): Result<RefundStep, ApprovalRefusal> {
  const { progress } = refund;
  if (progress.status !== 'AWAITING_APPROVAL') {
    const isRepeat = progress.status !== 'APPROVAL_DECLINED' && refund.decidedBy === by;
    return isRepeat ? ok({ refund, changed: undefined }) : err('not_awaiting');
  }
  if (personOf(by) === personOf(refund.requestedBy)) return err('same_person');
  const approved = { ...refund, decidedBy: by, progress: beginReversal(refund.id, now) };
  return ok({ refund: approved, changed: addRefundEvent(order, 'REFUND_APPROVED', approved, now) });
}

/** Ends a refund before the wallet gets the request. The person who created it may do so too. */
export function declineRefund(
  order: OrderInFull,
  refund: Refund,
  by: string,
  now: Date,
): Result<RefundStep, 'not_awaiting'> {
  const { progress } = refund;
  if (progress.status === 'APPROVAL_DECLINED' && refund.decidedBy === by)
    return ok({ refund, changed: undefined });
  if (progress.status !== 'AWAITING_APPROVAL') return err('not_awaiting');
  const declined: Refund = {
    ...refund,
    decidedBy: by,
    progress: { status: 'APPROVAL_DECLINED', updatedAt: now },
  };
  return ok({ refund: declined, changed: addRefundEvent(order, 'REFUND_FAILED', declined, now) });
}

/** Whether the refund has been passed on to the wallet, so that `progress` is a reversal. */
export const isWithWallet = (progress: RefundProgress): progress is Reversal =>
  progress.status !== 'AWAITING_APPROVAL' && progress.status !== 'APPROVAL_DECLINED';

/** Leases the refund to a worker: see `leaseReversal`. */
export function leaseRefund(
  refund: Refund,
  leaseId: string,
  leaseMs: number,
  now: Date,
): Result<{ readonly refund: Refund; readonly sentBefore: boolean }, 'not_due'> {
  const { progress } = refund;
  if (!isWithWallet(progress)) return err('not_due');
  const leased: Result<LeasedReversal, 'not_due'> = leaseReversal(progress, leaseId, leaseMs, now);
  if (!leased.ok) return leased;
  const { reversal, sentBefore } = leased.value;
  return ok({ refund: { ...refund, progress: reversal }, sentBefore });
}

/** Records the wallet's answer: see `recordReversalOutcome`. */
export function recordRefundOutcome(
  order: OrderInFull,
  refund: Refund,
  leaseId: string,
  outcome: ReversalOutcome,
  now: Date,
): Result<RefundStep & { readonly isRepeat: boolean }, 'lease_lost'> {
  const { progress } = refund;
  if (!isWithWallet(progress)) return err('lease_lost');
  const recordedOutcome = recordReversalOutcome(progress, leaseId, undecidedUnlessDefinite(outcome), now);
  if (!recordedOutcome.ok) return recordedOutcome;
  const { reversal, isRepeat } = recordedOutcome.value;
  return ok({ ...stepOf(order, refund, { ...refund, progress: reversal }, now), isRepeat });
}

/** After a refusal that is not definite, the refund stays undecided, because an earlier request may have returned the money. */
const undecidedUnlessDefinite = (outcome: ReversalOutcome): ReversalOutcome =>
  outcome.type === 'refused' && !outcome.definite
    ? { type: 'pending', providerReference: '', detail: outcome.detail || outcome.reason || 'refused' }
    : outcome;

/** As `makeReversalDue`. A refund that awaits approval stays as it is. */
export const hastenRefund = (refund: Refund, at: Date): Refund =>
  isWithWallet(refund.progress) ? { ...refund, progress: makeReversalDue(refund.progress, at) } : refund;

/** The changed refund. If the change ended it, this includes the event, and the order with its new sum of refunds. */
function stepOf(order: OrderInFull, before: Refund, refund: Refund, now: Date): RefundStep {
  const status = refundStatus(refund);
  if (status === refundStatus(before) || (status !== 'COMPLETED' && status !== 'FAILED'))
    return { refund, changed: undefined };
  const type = status === 'COMPLETED' ? 'REFUND_COMPLETED' : 'REFUND_FAILED';
  return { refund, changed: addRefundEvent(order, type, refund, now) };
}

/**
 * Ends an undecided refund with the outcome that operators learned from the provider. Rejections: `decided` if the refund has ended or was
 * never sent, and `leased` while a worker may be sending it. The worker's report could not change a settled refund.
 */
export function settleRefund(
  order: OrderInFull,
  refund: Refund,
  settlement: {
    readonly id: SettlementId;
    readonly outcome: 'RETURNED' | 'NOT_RETURNED';
    readonly providerReference: string;
  },
  now: Date,
): Result<{ readonly refund: Refund; readonly changed: Changed }, 'decided' | 'leased'> {
  const { progress } = refund;
  if (progress.status !== 'REVERSAL_DUE' || !progress.maybeSent) return err('decided');
  if (progress.isLeased && progress.dueAt > now) return err('leased');
  const { name, tries, leaseId, askedSince } = progress;
  const request = { name, tries, leaseId, askedSince, maybeSent: true, refusalReason: '', updatedAt: now };
  const settled: Refund = {
    ...refund,
    settlementId: settlement.id,
    progress: {
      ...request,
      status: settlement.outcome === 'RETURNED' ? 'REVERSED' : 'REVERSAL_REFUSED',
      providerReference: progress.providerReference ?? settlement.providerReference,
      detail: '',
    },
  };
  const type = settlement.outcome === 'RETURNED' ? 'REFUND_COMPLETED' : 'REFUND_FAILED';
  return ok({ refund: settled, changed: addRefundEvent(order, type, settled, now, settlement.id) });
}

type RefundEventType = Extract<OrderEventType, `REFUND_${string}`>;

/** Adds an event of the refund to its order. The order keeps its status. A COMPLETED refund adds to the order's refunded sum. */
function addRefundEvent(
  before: OrderInFull,
  type: RefundEventType,
  refund: Refund,
  now: Date,
  settlementId?: SettlementId,
): Changed {
  const sequence = before.lastEventSequence + 1;
  const order: OrderInFull = {
    ...before,
    refundedMinorUnits: before.refundedMinorUnits + (type === 'REFUND_COMPLETED' ? refund.minorUnits : 0n),
    lastEventSequence: sequence,
  };
  const event = {
    type,
    sequence,
    occurredAt: now,
    previousStatus: before.status,
    order,
    attempt: null,
    refund,
    ...(settlementId === undefined ? {} : { settlementId }),
  };
  return { order, events: [event] };
}
