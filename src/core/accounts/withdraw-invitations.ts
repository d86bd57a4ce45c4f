import type { EntityManager } from '@mikro-orm/postgresql';
import { publicId, storedId } from '../../contract/public-id.ts';
import type { NewId, PublicId, StoredId } from '../../contract/public-id.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { recordAudit } from '../audit/record-audit.ts';
import { AccountLinkRow } from '../database/account-entities.ts';

/** The smallest id of an entry that was created so many milliseconds after the link. */
const idOfLink = (laterMs: number): string =>
  `(lpad(to_hex((extract(epoch from l.created_at) * 1000)::bigint + ${laterMs}), 12, '0') || repeat('0', 20))::uuid`;

/**
 * The audit log has the inviter of each link. The entry is written at the same time as the link, and the id of an entry begins with its time.
 * So the statement reads a few entries by their index, however many the log has. It runs while the owners or operators are locked. The limit keeps the planner from
 * joining the whole log.
 */
export const sentText = `
select l.hash, l.email, l.merchant_id from core.account_links l
cross join lateral (
  select from core.audit_entries a
  where a.id >= ${idOfLink(0)} and a.id < ${idOfLink(1)} and a.merchant_id is not distinct from l.merchant_id
    and a.action = 'user.invite' and a.target_id = l.email and a.actor = ?
  limit 1
) sent
where l.kind = 'INVITATION' and (?::uuid is null or l.merchant_id = ?::uuid)`;

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
    [`dashboard:${inviter}`, stored, stored],
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
