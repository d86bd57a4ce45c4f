import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../../platform/rpc/actor.ts';
import type { CallerSignal } from '../../platform/batcher.ts';
import { AccountLinkRow, MembershipRow, RecoveryCodeRow, UserRow } from '../database/account-entities.ts';
import { valuesOrThrow } from '../rpc/request-fields.ts';
import { storedId } from '../../contract/public-id.ts';
import { addNotice } from './account-notices.ts';
import { linkNotUsable, makeLinkToken, requireLink, withdrawResets } from './account-links.ts';
import type { AccountParts } from './account-parts.ts';
import { countTry } from './count-try.sql.ts';
import type { EmailAddress } from './email-address.ts';
import { endUserSessions } from './end-user-sessions.ts';
import { lockUserByEmail } from './find-user.ts';
import type { CreatedLink } from './invite-user.ts';
import { actingWithoutUser, actingAsUser, recordUserAudit } from './record-user-audit.ts';
import { readUser } from './user-reader.ts';
import type { User } from './user-reader.ts';

export interface ResetLinkRequest {
  readonly email: EmailAddress;
  readonly validForMs: number;
  readonly remoteAddress: string;
  /** A secret of the user's browser; may be empty. */
  readonly browserSecret: string;
}

/**
 * Creates a password reset link for the address that the account has. Token and address are empty without an account or for a
 * disabled one. All cases run the same statements, so the duration does not reveal which addresses have an account. The audit log is
 * permanent, and anyone who knows an address can request links. So only the first link in an hour is recorded.
 * Errors: RESOURCE_EXHAUSTED TOO_MANY_TRIES, OVERLOADED.
 */
export async function startPasswordReset(
  parts: AccountParts,
  request: ResetLinkRequest,
  caller: Actor,
  signal: CallerSignal,
): Promise<CreatedLink & { readonly email: string }> {
  const { remoteAddress, browserSecret } = request;
  const signInTry = { emailKey: request.email.key, remoteAddress, browserSecret };
  const visitor = await parts.tries.visitorOf(signInTry);
  return parts.inTurn(visitor, signal, async () => {
    await parts.tries.countReset(signInTry);
    return createResetLink(parts, request, caller);
  });
}

async function createResetLink(
  { database, newId, now, randomBytes }: AccountParts,
  { email, validForMs }: ResetLinkRequest,
  caller: Actor,
): Promise<CreatedLink & { readonly email: string }> {
  const by = actingWithoutUser(caller);
  const recorded = { counter: `reset recorded/${by.actor}/${email.key}`, max: 1, windowSeconds: 3_600 };
  const isFirst = (await countTry(database.pool, recorded)) === undefined;
  return database.fork().transactional(async (em) => {
    const at = now();
    const user = await em.findOne(UserRow, { emailKey: email.key });
    const mayReset = user !== null && user.disabledAt == null;
    // Without an account, a link is created as well, and removed again without being sent.
    const holder = user ?? { id: storedId('usr', newId('usr', at)), email: email.text, emailKey: email.key };
    const { token, expiresAt } = addResetLink(em, holder, { at, validForMs, randomBytes });
    if (mayReset) {
      const details = { expires_at: expiresAt.toISOString() };
      if (isFirst) await recordUserAudit(em, newId, at, by, holder, { action: 'user.start_reset', details });
      else await em.find(MembershipRow, { userId: holder.id });
      return { token, expiresAt, email: holder.email };
    }
    await em.find(MembershipRow, { userId: holder.id });
    await em.flush();
    await em.nativeDelete(AccountLinkRow, { kind: 'RESET', emailKey: email.key });
    return { token: '', expiresAt, email: '' };
  });
}

/** Adds a password reset link to the unit of work. */
export function addResetLink(
  em: EntityManager,
  { email, emailKey }: Pick<UserRow, 'email' | 'emailKey'>,
  {
    at,
    validForMs,
    randomBytes,
  }: { readonly at: Date; readonly validForMs: number; readonly randomBytes: AccountParts['randomBytes'] },
): CreatedLink {
  const expiresAt = new Date(at.getTime() + validForMs);
  const { token, hash } = makeLinkToken(randomBytes);
  em.create(AccountLinkRow, {
    hash,
    kind: 'RESET',
    email,
    emailKey,
    createdAt: at,
    expiresAt,
  });
  return { token, expiresAt };
}

/**
 * Returns the time at which a password reset link expires. Like `resetPassword`, it refuses the link of a disabled user. @throws NOT_FOUND LINK_NOT_USABLE
 */
export async function readPasswordReset({ database, now }: AccountParts, token: string): Promise<Date> {
  const em = database.fork();
  const { emailKey, expiresAt } = await requireLink(em, 'RESET', token, now());
  const user = await em.findOne(UserRow, { emailKey });
  if (user === null || user.disabledAt != null) throw linkNotUsable();
  return expiresAt;
}

/**
 * Sets a new password with a link. Ends the user's sessions, other reset links, a request for one, and counts of wrong passwords. The
 * second factor stays, because the link proves only access to the user's mail. Errors: INVALID_ARGUMENT INVALID_FIELDS;
 * NOT_FOUND LINK_NOT_USABLE; RESOURCE_EXHAUSTED OVERLOADED.
 */
export async function resetPassword(
  parts: AccountParts,
  token: string,
  newPassword: string,
  by: Actor,
  signal: CallerSignal,
): Promise<User> {
  const { database, inTurn, newId, now, passwords, parsePassword } = parts;
  const before = database.fork();
  const asked = await requireLink(before, 'RESET', token, now());
  const owner = await before.findOne(UserRow, { emailKey: asked.emailKey });
  const about = owner === null ? [asked.email] : [owner.email, owner.name];
  const password = valuesOrThrow(parsePassword(newPassword, 'password', about));
  const holder = { kind: 'known', emailKey: asked.emailKey, place: 'link', site: '' } as const;
  const passwordHash = await inTurn(holder, signal, () => passwords.hash(password));
  const reset = await database.fork().transactional(async (em) => {
    const at = now();
    // Locked before the link. A second link of the same user waits here, and is removed then.
    const user = await lockUserByEmail(em, asked.emailKey);
    await requireLink(em, 'RESET', token, at, { locked: true });
    if (user === undefined || user.disabledAt != null) throw linkNotUsable();
    em.assign(user, { passwordHash, updatedAt: at });
    await withdrawResets(em, user);
    await endUserSessions(em, user.id, undefined, at);
    await recordUserAudit(em, newId, at, actingAsUser(by, user.id), user, {
      action: 'user.reset_password',
    });
    addNotice(em, newId, at, user.id, 'PASSWORD_RESET');
    await em.flush();
    return readUser(em, user);
  });
  await parts.tries.recordNewPassword(asked.emailKey);
  return reset;
}

/** Removes the second factor and its data. */
export async function removeTotp(em: EntityManager, user: UserRow): Promise<void> {
  em.assign(user, { totpSecret: null, totpEnabledAt: null, totpLastStep: null });
  await em.nativeDelete(RecoveryCodeRow, { userId: user.id });
}
