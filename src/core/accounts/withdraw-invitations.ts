import type { EntityManager } from '@mikro-orm/postgresql';
import { publicId, storedId } from '../../contract/public-id.ts';
import type { NewId, PublicId, StoredId } from '../../contract/public-id.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { recordAudit } from '../audit/record-audit.ts';
import { AccountLinkRow } from '../database/account-entities.ts';

// The audit log has the inviter of each link. Both are written at one time.
const sentText = `
select l.hash, l.email, l.merchant_id from core.account_links l
where l.kind = 'INVITATION' and (?::uuid is null or l.merchant_id = ?::uuid) and exists (
  select from core.audit_entries a
  where (a.merchant_id = l.merchant_id or (a.merchant_id is null and l.merchant_id is null))
    and a.action = 'user.invite' and a.target_id = l.email and a.created_at = l.created_at and a.actor = ?
)`;

/**
 * Withdraws the open invitations that a user sent, of one merchant or of all. A user who is removed could otherwise come back by an
 * invitation of another address.
 */
export async function withdrawInvitations(
  em: EntityManager,
  newId: NewId,
  at: Date,
  by: Actor,
  inviter: PublicId<'usr'>,
  merchantId?: PublicId<'mer'>,
): Promise<void> {
  const stored = merchantId === undefined ? null : storedId('mer', merchantId);
  const sent = await em.execute<{ hash: Buffer; email: string; merchant_id: StoredId<'mer'> | null }[]>(
    sentText,
    [stored, stored, `dashboard:${inviter}`],
  );
  for (const { hash, email, merchant_id: of } of sent) {
    if ((await em.nativeDelete(AccountLinkRow, { hash })) === 0) continue;
    recordAudit(em, newId, at, by, {
      action: 'user.take_invitation_back',
      merchantId: of === null ? undefined : publicId('mer', of),
      targetId: email,
      details: { email },
    });
  }
}
