import type { StoredId } from '../../../contract/public-id.ts';
import type { StrayPaymentRow } from '../../database/entities.ts';
import type { Reversal } from '../../domain/reversal.ts';

type ReversalColumns = Pick<
  StrayPaymentRow,
  | 'status'
  | 'detail'
  | 'refusalReason'
  | 'tries'
  | 'reversalId'
  | 'maybeSent'
  | 'providerReference'
  | 'dueAt'
  | 'leasedUntil'
  | 'leaseId'
  | 'updatedAt'
>;

/** The reversal in a stray payment's row. Its name is the stored id. Throws TypeError for a row with an impossible state. */
export function reversalOf(row: ReversalColumns): Reversal {
  const { status, reversalId: name, tries, maybeSent, detail, refusalReason, updatedAt, dueAt } = row;
  const providerReference = row.providerReference ?? null;
  const leaseId = row.leaseId ?? null;
  const request = { name, providerReference, tries, maybeSent, detail, refusalReason, leaseId, updatedAt };
  if (status !== 'REVERSAL_DUE') return { ...request, status };
  if (dueAt == null) throw new TypeError(`the reversal ${name} is due but its row has no time`);
  return { ...request, status, dueAt, isLeased: row.leasedUntil != null };
}

/** The columns of a reversal. */
export function reversalColumns(reversal: Reversal): ReversalColumns {
  const {
    status,
    name: reversalId,
    providerReference,
    tries,
    maybeSent,
    detail,
    refusalReason,
    leaseId,
    updatedAt,
  } = reversal;
  const dueAt = reversal.status === 'REVERSAL_DUE' ? reversal.dueAt : null;
  const leasedUntil = reversal.status === 'REVERSAL_DUE' && reversal.isLeased ? reversal.dueAt : null;
  // The domain has no ids. To its rules, this is the name of the request at the wallet.
  const id = reversalId as StoredId<'stp'>;
  const request = {
    status,
    reversalId: id,
    providerReference,
    tries,
    maybeSent,
    detail,
    refusalReason,
    leaseId,
    updatedAt,
  };
  return { ...request, dueAt, leasedUntil };
}
