import { LockMode } from '@mikro-orm/postgresql';
import type { Actor } from '../../platform/rpc/actor.ts';
import { rpcError } from '../../contract/error-reason.ts';
import { publicId } from '../../contract/public-id.ts';
import { AccountHelpRow, UserRow } from '../database/account-entities.ts';
import type { Language } from '../../platform/language/language.ts';
import { withdrawResets } from './account-links.ts';
import type { AccountParts } from './account-parts.ts';
import { endUserSessions } from './end-user-sessions.ts';
import { lockUser, lockUserByEmail, userNotFound } from './find-user.ts';
import { recordUserAudit } from './record-user-audit.ts';
import { readUser } from './user-reader.ts';
import type { User } from './user-reader.ts';
import { withdrawInvitations } from './withdraw-invitations.ts';
import type { PublicId } from '../../contract/public-id.ts';

type Parts = Pick<AccountParts, 'database' | 'newId' | 'now'>;

/** Changes a user's own profile. Errors: NOT_FOUND USER_NOT_FOUND. */
export async function updateProfile(
  { database, newId, now }: Parts,
  userId: PublicId<'usr'>,
  profile: { readonly name: string; readonly language: Language },
  by: Actor,
): Promise<User> {
  return database.fork().transactional(async (em) => {
    const user = await lockUser(em, userId);
    if (user.name !== profile.name || user.language !== profile.language) {
      const at = now();
      em.assign(user, { ...profile, updatedAt: at });
      await recordUserAudit(em, newId, at, by, user, {
        action: 'user.update_profile',
        details: { ...profile },
      });
      await em.flush();
    }
    return readUser(em, user);
  });
}

/**
 * Disables a user, or enables the user again. Disabling ends the user's sessions, password reset links, requests for help by and for the
 * user, and open invitations to others. An operator who is enabled again counts as a new one.
 * Errors: NOT_FOUND USER_NOT_FOUND; FAILED_PRECONDITION LAST_OPERATOR.
 */
export async function setUserDisabled(
  { database, newId, now }: Parts,
  emailKey: string,
  isDisabled: boolean,
  by: Actor,
): Promise<User> {
  return database.fork().transactional(async (em) => {
    // Locks all operators in one order. Two operators who disable each other concurrently wait here.
    const operators = await em.find(
      UserRow,
      { isOperator: true, disabledAt: null },
      { orderBy: { id: 'asc' }, lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    const user = await lockUserByEmail(em, emailKey);
    if (user === undefined) throw userNotFound(emailKey);
    if ((user.disabledAt != null) === isDisabled) return readUser(em, user);
    if (isDisabled && user.isOperator && operators.every(({ id }) => id === user.id))
      throw rpcError('LAST_OPERATOR', 'this is the last operator who can sign in; invite another one first');
    const at = now();
    em.assign(user, { disabledAt: isDisabled ? at : null, updatedAt: at });
    // An operator could otherwise enable a second account and approve with it at once.
    if (!isDisabled && user.isOperator) user.operatorSince = at;
    if (isDisabled) {
      await endUserSessions(em, user.id, undefined, at);
      await withdrawResets(em, user);
      await em.nativeDelete(AccountHelpRow, { $or: [{ userId: user.id }, { askedByUserId: user.id }] });
      await withdrawInvitations(em, newId, at, by, publicId('usr', user.id));
    }
    await recordUserAudit(em, newId, at, by, user, { action: isDisabled ? 'user.disable' : 'user.enable' });
    await em.flush();
    return readUser(em, user);
  });
}
