import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredId } from '../../../contract/public-id.ts';
import { PaymentAttemptRow } from '../../database/order-entities.ts';
import type { ReversalOutcome } from '../../domain/reversal.ts';

/** The outcome of a reversal. If nothing was sent, it also tells whether the payment was made to a merchant's own account. */
export async function withOwnAccount(
  em: EntityManager,
  attempt: { readonly merchantId: StoredId<'mer'>; readonly id: StoredId<'pat'> | null | undefined },
  outcome: ReversalOutcome,
): Promise<ReversalOutcome> {
  const { merchantId, id } = attempt;
  if (outcome.type !== 'not_sent' || id == null) return outcome;
  const { walletAccountId } = await em.findOneOrFail(PaymentAttemptRow, { merchantId, id });
  return { ...outcome, isOwnAccount: walletAccountId != null };
}
