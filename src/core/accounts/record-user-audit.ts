import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../../platform/rpc/actor.ts';
import { publicId } from '../../contract/public-id.ts';
import type { NewId, StoredId } from '../../contract/public-id.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { AuditedChange } from '../audit/record-audit.ts';
import { MembershipRow } from '../database/account-entities.ts';
import type { UserRow } from '../database/account-entities.ts';

/**
 * Records a change of a user's account with every merchant of the user, for its owners. Without a merchant, it is
 * recorded once.
 */
export async function recordUserAudit(
  em: EntityManager,
  newId: NewId,
  at: Date,
  by: Actor,
  user: Pick<UserRow, 'id' | 'email'>,
  { action, details = {} }: Pick<AuditedChange, 'action'> & Partial<Pick<AuditedChange, 'details'>>,
): Promise<void> {
  const memberships = await em.find(MembershipRow, { userId: user.id });
  const merchants =
    memberships.length === 0 ? [undefined] : memberships.map(({ merchantId }) => publicId('mer', merchantId));
  const targetId = publicId('usr', user.id);
  for (const merchantId of merchants) {
    recordAudit(em, newId, at, by, {
      action,
      merchantId,
      targetId,
      details: { email: user.email, ...details },
    });
  }
}

/** The program that acts for a person who has not authenticated. Another user may be signed in in the same browser. */
export const actingWithoutUser = ({ actor, requestId }: Actor): Actor => ({
  actor: actor.split(':', 1).join(),
  requestId,
});

/** A person who uses a link or a password is the actor, even if another user is signed in to the same browser. */
export const actingAsUser = (by: Actor, userId: StoredId<'usr'>): Actor => ({
  actor: `${actingWithoutUser(by).actor}:${publicId('usr', userId)}`,
  requestId: by.requestId,
});
