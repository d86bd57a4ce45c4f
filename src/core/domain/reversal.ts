import { type Result, err, ok } from './result.ts';
import { unreachable } from './unreachable.ts';

/*
 * The return of a payer's money through the wallet that took it. Its origin is a stray payment or a refund (refund.ts):
 *
 *                    leaseReversal
 *               ┌──────────────────────┐
 *               │                      ▼          done
 *   begin ──▶ due, free             due, leased ───────▶ REVERSED
 *               ▲    ▲ pending         │  ▲ │
 *               │    └─────────────────┤  └─┘ leaseReversal, once the lease has expired
 *         retry │                      │
 *               │                      ▼ refused
 *               └─────────────── REVERSAL_REFUSED ◀── markNotReturnable
 *
 * "due" is the status REVERSAL_DUE. REVERSED is final: the payer has the money. Only a person moves a reversal out of
 * REVERSAL_REFUSED, by a retry or, with a second person, by settling it. Two persons can also settle one that is due and that the
 * wallet has not decided for more than an hour. Reports under a lease that is no longer the latest are rejected in every state.
 *
 * The wallet identifies a request by its name and executes each name at most once. So a name is replaced only when no request
 * with it can still move money. The reason and the amount of the reversal are not part of this machine.
 */

interface Request {
  /** The name by which the wallet identifies the request. */
  readonly name: string;
  /** The wallet's own reference of the request with this name; null until the wallet sends one. */
  readonly providerReference: string | null;
  /** How often a worker has leased the request with this name, since its first request or the latest retry. */
  readonly tries: number;
  /** Whether a request with this name may have reached the wallet and may still move money, or has moved it. */
  readonly maybeSent: boolean;
  /**
   * When it may have been sent first, or when a person retried it later. Null while no request may have reached the wallet. It is also null
   * in rows of versions that did not store it. For them, the next lease counts as the first request.
   */
  readonly askedSince: Date | null;
  /** The wallet's latest text; may be empty. */
  readonly detail: string;
  /** Why the wallet refused, as a lower_snake word; empty while it has not, and when the reason is unknown. */
  readonly refusalReason: string;
  /** The latest lease. It is kept after its report, so that the report can be repeated. */
  readonly leaseId: string | null;
  /** When the wallet's answer or a person last changed the reversal. A lease does not count. */
  readonly updatedAt: Date;
}

/** The money must be returned. Only the wallet knows whether it has been. */
export interface DueReversal extends Request {
  readonly status: 'REVERSAL_DUE';
  /** When a worker may lease the reversal. While it is leased, the expiry of the lease. */
  readonly dueAt: Date;
  readonly isLeased: boolean;
  /** The time at which a hint that arrived under the present lease makes it due after the report; null without a hint. */
  readonly hastenedTo: Date | null;
}

/** The wallet confirmed that it returned the money to the payer. */
export interface DoneReversal extends Request {
  readonly status: 'REVERSED';
}

/** The wallet refused, and a person must decide. */
export interface RefusedReversal extends Request {
  readonly status: 'REVERSAL_REFUSED';
}

export type Reversal = DueReversal | DoneReversal | RefusedReversal;

interface RequestedWait {
  /** The wait that the wallet requested before the next request, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** The wallet's answer to a request. */
export type ReversalOutcome =
  /** The wallet has not decided. An empty reference changes nothing. */
  | ({
      readonly type: 'pending';
      readonly providerReference: string;
      readonly detail: string;
    } & RequestedWait)
  /** No byte of the request was sent. Only the first request can report this. */
  | ({
      readonly type: 'not_sent';
      readonly detail: string;
      /** Whether a merchant's own account has the money; false by default. */
      readonly isOwnAccount?: boolean;
    } & RequestedWait)
  | { readonly type: 'done' }
  /** Definite when no request with this name can still be executed. */
  | {
      readonly type: 'refused';
      readonly reason: string;
      readonly detail: string;
      readonly definite: boolean;
    };

/** The longest wait that a wallet can request. */
const maxRequestedWaitMs = 5 * 60_000;

/**
 * While nothing reaches the wallet with the operator's account, the first request is tried once a minute, as an open circuit does. No circuit
 * counts the faults of a merchant's own account, and each try may be a sign-in with wrong credentials. So its wait grows to an hour.
 */
const maxUnsentWaitMs = 60_000;

/** Seconds until the next query of an undecided reversal, by try. The last one repeats. */
const waitsSeconds = [2, 5, 10, 30, 60, 300, 900, 3600] as const;

/**
 * For how long the wallet must have left a request undecided before operators may settle it. The number of tries is no measure, because a
 * callback causes a try, and a try may send nothing.
 */
export const undecidedAfterMs = 3_600_000;

/** A new reversal: due at once, and not sent yet. */
export const beginReversal = (name: string, now: Date): DueReversal => ({
  status: 'REVERSAL_DUE',
  name,
  providerReference: null,
  tries: 0,
  maybeSent: false,
  askedSince: null,
  detail: '',
  refusalReason: '',
  leaseId: null,
  updatedAt: now,
  dueAt: now,
  isLeased: false,
  hastenedTo: null,
});

/** The refusal reason of money that no wallet is asked to return, because its amount or currency cannot be right. */
const notReturnable = 'amount_not_returnable';

/** Refuses a reversal before the wallet is asked, because it cannot return the money. It is never requested. Two operators settle it. */
export const markNotReturnable = (reversal: Reversal, now: Date): RefusedReversal => ({
  ...requestOf(reversal),
  status: 'REVERSAL_REFUSED',
  refusalReason: notReturnable,
  detail: '',
  updatedAt: now,
});

export interface LeasedReversal {
  readonly reversal: DueReversal;
  /** Whether the wallet may know the request, so that a query must come before a repeated request. */
  readonly sentBefore: boolean;
}

/** Leases the reversal to a worker until `leaseMs` from now. Rejection: `not_due` when it is final, early or leased. */
export function leaseReversal(
  reversal: Reversal,
  leaseId: string,
  leaseMs: number,
  now: Date,
): Result<LeasedReversal, 'not_due'> {
  if (reversal.status !== 'REVERSAL_DUE' || reversal.dueAt > now) return err('not_due');
  const leased: DueReversal = {
    ...reversal,
    leaseId,
    isLeased: true,
    hastenedTo: null,
    dueAt: new Date(now.getTime() + leaseMs),
    tries: reversal.tries + 1,
    maybeSent: true,
    askedSince: reversal.askedSince ?? now,
  };
  return ok({ reversal: leased, sentBefore: reversal.maybeSent });
}

export interface RecordedReversal {
  readonly reversal: Reversal;
  /** The lease has already reported. Nothing changes, because the reversal may have continued since. */
  readonly isRepeat: boolean;
}

/**
 * Records the wallet's answer from the holder of the latest lease, even if the lease has expired. Rejection: `lease_lost`
 * when another lease followed, or there was none.
 */
export function recordReversalOutcome(
  reversal: Reversal,
  leaseId: string,
  outcome: ReversalOutcome,
  now: Date,
): Result<RecordedReversal, 'lease_lost'> {
  if (reversal.leaseId !== leaseId) return err('lease_lost');
  if (reversal.status !== 'REVERSAL_DUE' || !reversal.isLeased) return ok({ reversal, isRepeat: true });
  return ok({ reversal: afterOutcome(reversal, outcome, now), isRepeat: false });
}

function afterOutcome(reversal: DueReversal, outcome: ReversalOutcome, now: Date): Reversal {
  const request = requestOf(reversal);
  switch (outcome.type) {
    case 'pending':
      return {
        ...reversal,
        providerReference:
          outcome.providerReference === '' ? reversal.providerReference : outcome.providerReference,
        detail: outcome.detail,
        dueAt: nextTime(reversal, outcome, now),
        isLeased: false,
        hastenedTo: null,
        updatedAt: now,
      };
    case 'not_sent':
      return {
        ...reversal,
        maybeSent: false,
        askedSince: null,
        detail: outcome.detail,
        dueAt: nextTime(reversal, outcome, now, outcome.isOwnAccount === true ? undefined : maxUnsentWaitMs),
        isLeased: false,
        hastenedTo: null,
        updatedAt: now,
      };
    case 'done':
      return { ...request, status: 'REVERSED', detail: '', updatedAt: now };
    case 'refused':
      return {
        ...request,
        status: 'REVERSAL_REFUSED',
        detail: outcome.detail,
        refusalReason: outcome.reason,
        maybeSent: !outcome.definite,
        askedSince: outcome.definite ? null : reversal.askedSince,
        updatedAt: now,
      };
    default:
      return unreachable(outcome);
  }
}

/** The time of the next request: after our own wait, or the one that the wallet requested if it is longer. A hint makes it earlier. */
function nextTime(
  { tries, hastenedTo }: DueReversal,
  { retryAfterMs = 0 }: RequestedWait,
  now: Date,
  maxOwnWaitMs = Number.POSITIVE_INFINITY,
): Date {
  const ownWait = Math.min(waitMs(tries), maxOwnWaitMs);
  const wait = Math.max(ownWait, Math.min(retryAfterMs, maxRequestedWaitMs));
  return earlier(new Date(now.getTime() + wait), hastenedTo);
}

/**
 * Makes a reversal due at this time after a hint, if it is not due earlier. A worker that holds it reports first, because its queries
 * may have come before the hint. An ended reversal stays as it is.
 */
export function makeReversalDue(reversal: Reversal, at: Date): Reversal {
  if (reversal.status !== 'REVERSAL_DUE') return reversal;
  if (reversal.isLeased) return { ...reversal, hastenedTo: earlier(at, reversal.hastenedTo) };
  return reversal.dueAt <= at ? reversal : { ...reversal, dueAt: at };
}

const earlier = (time: Date, other: Date | null): Date => (other === null || time < other ? time : other);

/**
 * Makes a refused reversal due again. A wallet always refuses a name that it has definitely refused, so the request then gets
 * `newName`. After any other refusal it keeps its name, because the money could otherwise be returned under both names. The wallet
 * may then execute the request now, so `askedSince` starts again.
 * Rejections: `under_way` while the wallet has not decided, `reversed` when the payer has the money, `not_returnable` after
 * `markNotReturnable`.
 */
export function retryReversal(
  reversal: Reversal,
  newName: string,
  now: Date,
): Result<DueReversal, 'under_way' | 'reversed' | 'not_returnable'> {
  switch (reversal.status) {
    case 'REVERSAL_DUE':
      return err('under_way');
    case 'REVERSED':
      return err('reversed');
    case 'REVERSAL_REFUSED': {
      if (reversal.refusalReason === notReturnable) return err('not_returnable');
      const renamed = reversal.maybeSent ? { askedSince: now } : { name: newName, providerReference: null };
      const due = { status: 'REVERSAL_DUE', dueAt: now, isLeased: false, hastenedTo: null } as const;
      return ok({
        ...requestOf(reversal),
        refusalReason: '',
        tries: 0,
        updatedAt: now,
        ...renamed,
        ...due,
      });
    }
    default:
      return unreachable(reversal);
  }
}

/**
 * Ends a reversal, because operators know from the provider that the payer has the money. The wallet has refused it, or has not decided it
 * for more than an hour. Rejections: `leased` while a worker may be sending it again, because the worker's report would change nothing
 * any more; `decided` in any other state.
 */
export function settleReversal(reversal: Reversal, now: Date): Result<DoneReversal, 'decided' | 'leased'> {
  if (reversal.status !== 'REVERSAL_REFUSED' && !isUndecided(reversal, now)) return err('decided');
  if (reversal.status === 'REVERSAL_DUE' && reversal.isLeased && reversal.dueAt > now) return err('leased');
  return ok({ ...requestOf(reversal), status: 'REVERSED', detail: '', refusalReason: '', updatedAt: now });
}

const isUndecided = ({ status, maybeSent, askedSince }: Reversal, now: Date): boolean =>
  status === 'REVERSAL_DUE' &&
  maybeSent &&
  askedSince !== null &&
  now.getTime() - askedSince.getTime() > undecidedAfterMs;

/** The fields that every state has. */
const requestOf = ({
  name,
  providerReference,
  tries,
  maybeSent,
  askedSince,
  detail,
  refusalReason,
  leaseId,
  updatedAt,
}: Request): Request => ({
  name,
  providerReference,
  tries,
  maybeSent,
  askedSince,
  detail,
  refusalReason,
  leaseId,
  updatedAt,
});

const waitMs = (tries: number): number =>
  (waitsSeconds[Math.min(tries, waitsSeconds.length) - 1] ?? waitsSeconds[0]) * 1000;
