import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../../platform/rpc/actor.ts';
import { rpcError } from '../../contract/error-reason.ts';
import { publicId, storedId } from '../../contract/public-id.ts';
import type { PublicId, StoredId } from '../../contract/public-id.ts';
import { recordAudit } from '../audit/record-audit.ts';
import { AccountLinkRow, MembershipRow, UserRow } from '../database/account-entities.ts';
import type { MemberRole } from '../database/account-entities.ts';
import type { AccountParts } from './account-parts.ts';
import { requireUser, userNotFound } from './find-user.ts';
import { notifyOwners } from './invite-user.ts';
import { readUser } from './user-reader.ts';
import type { User } from './user-reader.ts';
import { withdrawInvitations } from './withdraw-invitations.ts';

export interface RoleChange {
  readonly merchantId: PublicId<'mer'>;
  readonly userId: PublicId<'usr'>;
  readonly role: MemberRole;
  /** The role that the caller saw. */
  readonly expectedRole: MemberRole;
  /** As for an invitation. */
  readonly isByOperator: boolean;
}

type Parts = Pick<AccountParts, 'database' | 'newId' | 'now'>;

/**
 * Changes a user's role at a merchant. If the user is no longer an owner, the open invitations that the user sent are withdrawn. The owners
 * are notified if an operator makes a user an owner.
 * Errors: NOT_FOUND USER_NOT_FOUND; FAILED_PRECONDITION LAST_OWNER; ABORTED CHANGED_MEANWHILE.
 */
export async function changeMembership(
  { database, newId, now }: Parts,
  { merchantId, userId, role, expectedRole, isByOperator }: RoleChange,
  by: Actor,
): Promise<User> {
  return database.fork().transactional(async (em) => {
    const user = await requireUser(em, userId);
    const owners = await lockOwners(em, merchantId);
    const membership = await lockMembership(em, merchantId, user.id);
    if (membership === null) throw userNotFound(userId);
    if (membership.role !== expectedRole)
      throw rpcError(
        'CHANGED_MEANWHILE',
        'another user changed the role in the meantime; read it again, then repeat the change',
        {
          metadata: { role: membership.role },
        },
      );
    if (membership.role !== role) {
      if (membership.role === 'OWNER') refuseLastOwner(owners, user.id);
      const at = now();
      const details = { email: user.email, from: membership.role, to: role };
      // Before the change, so that the new owner is not among the notified owners.
      if (isByOperator && role === 'OWNER') await notifyOwners(em, newId, at, merchantId);
      em.assign(membership, { role, updatedAt: at });
      if (membership.role !== 'OWNER') await withdrawInvitations(em, newId, at, by, userId, merchantId);
      recordAudit(em, newId, at, by, { action: 'user.change_role', merchantId, targetId: userId, details });
      await em.flush();
    }
    return readUser(em, user, merchantId);
  });
}

export interface Removal {
  /** Undefined for an invitation of an operator. */
  readonly merchantId: PublicId<'mer'> | undefined;
  readonly emailKey: string;
  /** Whether a user who accepted the invitation meanwhile stays. */
  readonly isInvitationOnly: boolean;
}

/**
 * Removes the user with this address from a merchant. Withdraws the invitations to this address, and those that the user sent. Without a
 * merchant, it withdraws an operator's invitation. Returns whether there was anything to remove.
 * Errors: FAILED_PRECONDITION LAST_OWNER.
 */
export async function removeMembership(
  { database, newId, now }: Parts,
  { merchantId, emailKey, isInvitationOnly }: Removal,
  by: Actor,
): Promise<boolean> {
  return database.fork().transactional(async (em) => {
    const at = now();
    // Locked before the invitation, as by an owner who invites.
    const owners = merchantId === undefined ? new Set<string>() : await lockOwners(em, merchantId);
    const stored = merchantId === undefined ? null : storedId('mer', merchantId);
    const invitation = { kind: 'INVITATION', emailKey, merchantId: stored } as const;
    const wasInvited = (await em.nativeDelete(AccountLinkRow, invitation)) > 0;
    if (wasInvited) {
      const details = { email: emailKey };
      recordAudit(em, newId, at, by, {
        action: 'user.take_invitation_back',
        merchantId,
        targetId: emailKey,
        details,
      });
    }
    if (isInvitationOnly || merchantId === undefined) return wasInvited;
    const user = await em.findOne(UserRow, { emailKey });
    if (user === null) return wasInvited;
    const membership = await lockMembership(em, merchantId, user.id);
    if (membership === null) return wasInvited;
    if (membership.role === 'OWNER') refuseLastOwner(owners, user.id);
    em.remove(membership);
    await withdrawInvitations(em, newId, at, by, publicId('usr', user.id), merchantId);
    recordAudit(em, newId, at, by, {
      action: 'user.remove',
      merchantId,
      targetId: publicId('usr', user.id),
      details: { email: user.email, role: membership.role },
    });
    return true;
  });
}

/**
 * Locks the owners who can sign in, always in the same order. Of two owners who leave concurrently, the second waits
 * and sees that it is the last.
 */
async function lockOwners(em: EntityManager, merchantId: PublicId<'mer'>): Promise<ReadonlySet<string>> {
  const rows = await em.find(
    MembershipRow,
    { merchantId: storedId('mer', merchantId), role: 'OWNER' },
    { orderBy: { userId: 'asc' }, lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  const ids = rows.map(({ userId }) => userId);
  const enabled = await em.find(UserRow, { id: { $in: ids }, disabledAt: null });
  return new Set(enabled.map(({ id }) => id));
}

const lockMembership = (
  em: EntityManager,
  merchantId: PublicId<'mer'>,
  userId: StoredId<'usr'>,
): Promise<MembershipRow | null> =>
  em.findOne(
    MembershipRow,
    { merchantId: storedId('mer', merchantId), userId },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );

function refuseLastOwner(owners: ReadonlySet<string>, userId: StoredId<'usr'>): void {
  if ([...owners].some((owner) => owner !== userId)) return;
  throw rpcError('LAST_OWNER', 'this is the last owner of the merchant; make another user an owner first');
}
