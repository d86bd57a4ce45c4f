import { type Result, err, ok } from './result.ts';
import { unreachable } from './unreachable.ts';

/*
 * The return of a payer's money through the wallet that took it:
 *
 *                    leaseReversal
 *               ┌──────────────────────┐
 *               │                      ▼          done
 *   begin ──▶ due, free             due, leased ───────▶ REVERSED
 *               ▲    ▲ pending         │  ▲ │
 *               │    └─────────────────┤  └─┘ leaseReversal, once the lease has expired
 *         retry │                      │
 *               │                      ▼ refused
 *               └─────────────── REVERSAL_REFUSED
 *
 * "due" is the status REVERSAL_DUE. REVERSED is never left: the payer has the money. Only a person leaves
 * REVERSAL_REFUSED. Reports under a lease that is no longer the latest are rejected in every state.
 *
 * The wallet knows a request by its name and carries out each name at most once. So a name is replaced only when nothing
 * that was asked under it can still move money. Why the money goes back, and how much of it, the machine does not know.
 */

interface Request {
  /** What the wallet knows the request by. */
  readonly name: string;
  /** The wallet's own reference of the request under this name, once the wallet has given one. */
  readonly providerReference: string | null;
  /** How often a worker has leased the request under this name. */
  readonly tries: number;
  /** Whether the request may have reached the wallet under this name and may still move money, or has moved it. */
  readonly maybeSent: boolean;
  /** The wallet's latest words; may be empty. */
  readonly detail: string;
  /** Why the wallet refused, as a lower_snake word; empty while it has not, and when the reason is unknown. */
  readonly refusalReason: string;
  /** The latest lease. It stays known after its report, so that the report can be repeated. */
  readonly leaseId: string | null;
  /** When the wallet's answer or a person last changed the reversal. A lease does not count. */
  readonly updatedAt: Date;
}

/** The money is to go back. Only the wallet can say whether it has already. */
export interface DueReversal extends Request {
  readonly status: 'REVERSAL_DUE';
  /** From when on a worker may lease the reversal; the end of the lease while it is leased. */
  readonly dueAt: Date;
  readonly isLeased: boolean;
}

/** The wallet confirmed that the payer has the money back. */
export interface DoneReversal extends Request {
  readonly status: 'REVERSED';
}

/** The wallet refused, and a person has to decide. */
export interface RefusedReversal extends Request {
  readonly status: 'REVERSAL_REFUSED';
}

export type Reversal = DueReversal | DoneReversal | RefusedReversal;

/** The wallet's answer to a request. */
export type ReversalOutcome =
  /** The wallet has not decided. An empty reference says nothing new. */
  | { readonly type: 'pending'; readonly providerReference: string; readonly detail: string }
  | { readonly type: 'done' }
  /** Definite when nothing that was asked under this name can still be carried out. */
  | {
      readonly type: 'refused';
      readonly reason: string;
      readonly detail: string;
      readonly definite: boolean;
    };

/** Seconds until a reversal that the wallet has not decided is asked about again, by try. The last one repeats. */
const waitsSeconds = [2, 5, 10, 30, 60, 300, 900, 3600] as const;

/** The reversal of money that was found now: due at once, and not sent yet. */
export const beginReversal = (name: string, now: Date): DueReversal => ({
  status: 'REVERSAL_DUE',
  name,
  providerReference: null,
  tries: 0,
  maybeSent: false,
  detail: '',
  refusalReason: '',
  leaseId: null,
  updatedAt: now,
  dueAt: now,
  isLeased: false,
});

export interface LeasedReversal {
  readonly reversal: DueReversal;
  /** Whether the wallet may know the request already, so that it has to be asked before it is sent again. */
  readonly sentBefore: boolean;
}

/** Gives a worker the reversal until `leaseMs` from now. Rejection: `not_due` when it is final, early or leased. */
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
    dueAt: new Date(now.getTime() + leaseMs),
    tries: reversal.tries + 1,
    maybeSent: true,
  };
  return ok({ reversal: leased, sentBefore: reversal.maybeSent });
}

export interface RecordedReversal {
  readonly reversal: Reversal;
  /** The lease has reported before, and nothing changes: the reversal may have gone on since. */
  readonly isRepeat: boolean;
}

/**
 * Takes the wallet's answer from the holder of the latest lease, even when the lease has expired. Rejection: `lease_lost`
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
        dueAt: new Date(now.getTime() + waitMs(reversal.tries)),
        isLeased: false,
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
        updatedAt: now,
      };
    default:
      return unreachable(outcome);
  }
}

/**
 * Makes a refused reversal due again. A wallet repeats its refusal of a name for ever, so after a definite refusal the
 * request goes by `newName`. After any other refusal the name stays: the money could go back under both.
 * Rejections: `under_way` while the wallet has not decided, `reversed` when the payer has the money.
 */
export function retryReversal(
  reversal: Reversal,
  newName: string,
  now: Date,
): Result<DueReversal, 'under_way' | 'reversed'> {
  switch (reversal.status) {
    case 'REVERSAL_DUE':
      return err('under_way');
    case 'REVERSED':
      return err('reversed');
    case 'REVERSAL_REFUSED': {
      const renamed = reversal.maybeSent ? {} : { name: newName, providerReference: null, tries: 0 };
      const due = { status: 'REVERSAL_DUE', dueAt: now, isLeased: false, updatedAt: now } as const;
      return ok({ ...requestOf(reversal), refusalReason: '', ...renamed, ...due });
    }
    default:
      return unreachable(reversal);
  }
}

/** The fields that every state has. */
const requestOf = ({
  name,
  providerReference,
  tries,
  maybeSent,
  detail,
  refusalReason,
  leaseId,
  updatedAt,
}: Request): Request => ({
  name,
  providerReference,
  tries,
  maybeSent,
  detail,
  refusalReason,
  leaseId,
  updatedAt,
});

const waitMs = (tries: number): number =>
  (waitsSeconds[Math.min(tries, waitsSeconds.length) - 1] ?? waitsSeconds[0]) * 1000;
