import type { StoredId } from '../../../contract/public-id.ts';
import type { StrayPaymentRow } from '../../database/order-entities.ts';
import type { Reversal } from '../../domain/reversal.ts';

/** The columns of a reversal, which stray payments and refunds have alike. */
export type RequestColumns = Pick<
  StrayPaymentRow,
  | 'detail'
  | 'refusalReason'
  | 'tries'
  | 'maybeSent'
  | 'askedSince'
  | 'providerReference'
  | 'dueAt'
  | 'leasedUntil'
  | 'leaseId'
  | 'hastenedTo'
  | 'updatedAt'
> & { readonly status: Reversal['status'] };

type ReversalColumns = RequestColumns & Pick<StrayPaymentRow, 'reversalId'>;

/** The reversal in a row, with its name at the wallet. Throws TypeError for a row with an impossible state. */
export function requestOf(name: string, row: RequestColumns): Reversal {
  const { status, tries, maybeSent, detail, refusalReason, updatedAt, dueAt } = row;
  const providerReference = row.providerReference ?? null;
  const leaseId = row.leaseId ?? null;
  const askedSince = row.askedSince ?? null;
  const sent = { tries, maybeSent, askedSince };
  const request = { name, providerReference, ...sent, detail, refusalReason, leaseId, updatedAt };
  if (status !== 'REVERSAL_DUE') return { ...request, status };
  if (dueAt == null) throw new TypeError(`the reversal ${name} is due but its row has no time`);
  return { ...request, status, dueAt, isLeased: row.leasedUntil != null, hastenedTo: row.hastenedTo ?? null };
}

/** The columns of a reversal, without its name. */
export function requestColumns(reversal: Reversal): RequestColumns {
  const { status, providerReference, tries, maybeSent, askedSince } = reversal;
  const { detail, refusalReason, leaseId, updatedAt } = reversal;
  const dueAt = reversal.status === 'REVERSAL_DUE' ? reversal.dueAt : null;
  const leasedUntil = reversal.status === 'REVERSAL_DUE' && reversal.isLeased ? reversal.dueAt : null;
  const sent = { tries, maybeSent, askedSince };
  const request = { providerReference, ...sent, detail, refusalReason, leaseId, updatedAt };
  const hastenedTo = reversal.status === 'REVERSAL_DUE' ? reversal.hastenedTo : null;
  return { status, ...request, dueAt, leasedUntil, hastenedTo };
}

/** The reversal in a stray payment's row. Its name is the stored id. Throws TypeError for a row with an impossible state. */
export const reversalOf = (row: ReversalColumns): Reversal => requestOf(row.reversalId, row);

/** The columns of a stray payment's reversal. The domain has no ids. To its rules, `reversalId` is the name at the wallet. */
export const reversalColumns = (reversal: Reversal): ReversalColumns => ({
  ...requestColumns(reversal),
  reversalId: reversal.name as StoredId<'stp'>,
});
