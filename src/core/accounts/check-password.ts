import { siteOf } from '../../platform/http/client-address.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { cancelled } from '../../platform/batcher.ts';
import type { CallerSignal } from '../../platform/batcher.ts';
import { rpcError } from '../../contract/error-reason.ts';
import { UserRow } from '../database/account-entities.ts';
import { valuesOrThrow } from '../rpc/request-fields.ts';
import { withdrawResets } from './account-links.ts';
import type { AccountParts } from './account-parts.ts';
import { endUserSessions } from './end-user-sessions.ts';
import { lockUser, requireUser } from './find-user.ts';
import { recordSignIn, recordingRefusal } from './record-sign-in.ts';
import { recordUserAudit } from './record-user-audit.ts';
import { readUser } from './user-reader.ts';
import type { User } from './user-reader.ts';
import type { PublicId } from '../../contract/public-id.ts';

export interface Credentials {
  readonly email: string;
  readonly password: string;
  readonly remoteAddress: string;
  /** A secret of the user's browser; may be empty. */
  readonly browserSecret: string;
  /** The user is signed in and confirms their identity. */
  readonly isConfirmation: boolean;
}

/**
 * The user with these credentials. An unknown address and a disabled account get the answer of a wrong password, after
 * the same time. Without a second factor, this is the sign-in, which is recorded. Errors: UNAUTHENTICATED
 * WRONG_CREDENTIALS; RESOURCE_EXHAUSTED TOO_MANY_TRIES, OVERLOADED; CALL_CANCELLED if its caller is gone, when it is not recorded.
 */
export async function checkPassword(
  parts: AccountParts,
  { email, password, remoteAddress, browserSecret, isConfirmation }: Credentials,
  by: Actor,
  signal: CallerSignal,
): Promise<User> {
  const { database, inTurn, now, passwords, tries } = parts;
  const emailKey = email.toLowerCase();
  const signInTry = { emailKey, remoteAddress, browserSecret };
  await tries.requireNetworkTries(signInTry);
  const em = database.fork();
  const found =
    emailKey.isWellFormed() && !emailKey.includes('\0') ? await em.findOne(UserRow, { emailKey }) : null;
  const visitor = await tries.visitorOf(signInTry);
  const check = (): Promise<UserRow> =>
    inTurn(visitor, signal, async () => {
      await tries.countPassword(signInTry);
      const isRight = await passwords.matches(password, found?.passwordHash);
      if (found === null || !isRight || found.disabledAt != null) throw wrongCredentials();
      if (found.totpEnabledAt == null && !isConfirmation) await tries.countSignIn(emailKey);
      return found;
    });
  // A mistyped confirmation is not a refused sign-in. The audit log has one refusal per user, reason and hour, and the confirmation
  // would use it up.
  const row = await (isConfirmation
    ? check()
    : recordingRefusal(parts, by, { ...signInTry, user: found }, check));
  await tries.recordRightPassword(signInTry);
  if (row.totpEnabledAt == null && !isConfirmation) {
    // Nobody would get the session of the sign-in.
    if (signal.aborted) throw cancelled();
    const at = now();
    row.lastSignInAt = at;
    await recordSignIn(em, parts, at, by, row, { proof: 'PASSWORD', remoteAddress });
    await em.flush();
  }
  return readUser(em, row);
}

export interface PasswordChange {
  readonly userId: PublicId<'usr'>;
  readonly currentPassword: string;
  readonly newPassword: string;
  /** The session to keep; none when empty. */
  readonly keepHash: Uint8Array;
  readonly remoteAddress: string;
  /** A secret of the user's browser; may be empty. */
  readonly browserSecret: string;
}

/**
 * Changes a password after a check of the current one, and ends the other sessions, all reset links and a request for one.
 * Errors: INVALID_ARGUMENT INVALID_FIELDS; NOT_FOUND USER_NOT_FOUND; UNAUTHENTICATED WRONG_CREDENTIALS; RESOURCE_EXHAUSTED
 * TOO_MANY_TRIES, OVERLOADED; ABORTED CHANGED_MEANWHILE.
 */
export async function changePassword(
  { database, inTurn, newId, now, passwords, parsePassword, tries }: AccountParts,
  { userId, currentPassword, newPassword, keepHash, remoteAddress, browserSecret }: PasswordChange,
  by: Actor,
  signal: CallerSignal,
): Promise<void> {
  const before = await requireUser(database.fork(), userId);
  const about = [before.email, before.name];
  const password = valuesOrThrow(parsePassword(newPassword, 'new_password', about));
  const signInTry = { emailKey: before.emailKey, remoteAddress, browserSecret };
  const site = siteOf(remoteAddress);
  const user = { kind: 'known', emailKey: before.emailKey, place: 'session', site } as const;
  const passwordHash = await inTurn(user, signal, async () => {
    await tries.countPassword(signInTry);
    const isRight = await passwords.matches(currentPassword, before.passwordHash);
    if (!isRight || before.disabledAt != null) throw wrongCredentials();
    await tries.recordRightPassword(signInTry);
    await tries.countPasswordChange(userId);
    return passwords.hash(password);
  });
  await database.fork().transactional(async (em) => {
    const at = now();
    const user = await lockUser(em, userId);
    // The password was reset meanwhile, perhaps because the old one is known to others.
    if (user.passwordHash !== before.passwordHash)
      throw rpcError(
        'CHANGED_MEANWHILE',
        'the password was changed in the meantime; repeat the change with the new one',
      );
    em.assign(user, { passwordHash, updatedAt: at });
    await withdrawResets(em, user);
    await endUserSessions(em, user.id, keepHash, at);
    await recordUserAudit(em, newId, at, by, user, { action: 'user.change_password' });
  });
}

/** The same answer with or without an account. */
const wrongCredentials = () => rpcError('WRONG_CREDENTIALS', 'wrong email or password');
