import { LockMode } from '@mikro-orm/core';
import { storedId } from '../../contract/public-id.ts';
import { rpcError } from '../../contract/error-reason.ts';
import { findActorEmails } from '../audit/find-actor-emails.ts';
import { AccountHelpRow, UserRow } from '../database/account-entities.ts';
import type { HelpKind } from '../database/account-entities.ts';
import { addNotice, takeDueNotices } from './account-notices.ts';
import type { AccountNotice } from './account-notices.ts';
import type { AccountParts } from './account-parts.ts';
import { isRemembered, remember } from './count-try.sql.ts';
import type { EmailAddress } from './email-address.ts';
import { endUserSessions } from './end-user-sessions.ts';
import { lockUserByEmail, userNotFound } from './find-user.ts';
import type { CreatedLink } from './invite-user.ts';
import { recordUserAudit } from './record-user-audit.ts';
import { isStillOperator, requireAge, requireOperator } from './require-operator.ts';
import type { ActingOperator } from './require-operator.ts';
import { addResetLink, removeTotp } from './reset-password.ts';

const hour = 3_600_000;
const helpLifeMs = 24 * hour;
const approvedLinkLifeMs = hour;
/**
 * How long a dashboard counts as able to send mail. It reports this every few seconds, so a restart must not look like
 * a gateway without mail.
 */
const mailKnownSeconds = 24 * 3_600;
const mailKey = 'a dashboard sends mail';
const maxMails = 50;
const maxListed = 500;

export interface StoredHelpRequest {
  readonly email: string;
  readonly kind: HelpKind;
  readonly askedBy: string;
  readonly askedByEmail: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export interface AccountMail {
  readonly email: string;
  readonly language: string;
  readonly content: { readonly link: CreatedLink } | { readonly notice: AccountNotice };
}

const askActions = { NEW_PASSWORD: 'user.ask_reset', REMOVE_SECOND_FACTOR: 'user.ask_remove_totp' } as const;
const askEvents = {
  NEW_PASSWORD: 'NEW_PASSWORD_ASKED',
  REMOVE_SECOND_FACTOR: 'SECOND_FACTOR_REMOVAL_ASKED',
} as const;

/**
 * Requests help for a user. An existing request stays until it expires; a second operator approves it and cannot
 * replace it. Returns its expiry, and whether a dashboard mails the link. Errors: NOT_FOUND USER_NOT_FOUND;
 * FAILED_PRECONDITION TOTP_NOT_ENABLED, SECOND_OPERATOR_NEEDED; PERMISSION_DENIED NOT_AN_OPERATOR.
 */
export async function requestHelp(
  { database, newId, now }: AccountParts,
  email: EmailAddress,
  kind: HelpKind,
  acting: ActingOperator,
): Promise<{ readonly expiresAt: Date; readonly isMailed: boolean }> {
  const isMailed = kind === 'NEW_PASSWORD' && (await isRemembered(database.pool, mailKey));
  return database.fork().transactional(async (em) => {
    const at = now();
    await requireOperator(em, acting);
    const user = await lockUserByEmail(em, email.key);
    if (user === undefined || user.disabledAt != null) throw userNotFound(email.text);
    refuseOwnAccount(user, acting);
    if (kind === 'REMOVE_SECOND_FACTOR' && user.totpEnabledAt == null)
      throw rpcError('TOTP_NOT_ENABLED', 'this user has no one-time codes');
    const known = await em.findOne(AccountHelpRow, { userId: user.id, kind });
    if (known !== null && known.expiresAt > at) return { expiresAt: known.expiresAt, isMailed };
    if (known !== null) await em.nativeDelete(AccountHelpRow, { userId: user.id, kind });
    const expiresAt = new Date(at.getTime() + helpLifeMs);
    await em.insert(AccountHelpRow, {
      userId: user.id,
      kind,
      askedBy: acting.by.actor,
      askedByUserId: acting.userId === undefined ? null : storedId('usr', acting.userId),
      createdAt: at,
      expiresAt,
    });
    const details = { expires_at: expiresAt.toISOString() };
    await recordUserAudit(em, newId, at, acting.by, user, { action: askActions[kind], details });
    addNotice(em, newId, at, user.id, askEvents[kind]);
    return { expiresAt, isMailed };
  });
}

/**
 * Approves a request of another operator. Returns the password reset link; undefined after the removal of a second
 * factor. Errors: NOT_FOUND ACCOUNT_HELP_NOT_FOUND; FAILED_PRECONDITION SECOND_OPERATOR_NEEDED, OPERATOR_TOO_NEW,
 * MAILED_TO_USER; PERMISSION_DENIED NOT_AN_OPERATOR.
 */
export async function approveHelp(
  { database, newId, now, randomBytes }: AccountParts,
  email: EmailAddress,
  kind: HelpKind,
  acting: ActingOperator,
): Promise<CreatedLink | undefined> {
  const isMailed = kind === 'NEW_PASSWORD' && (await isRemembered(database.pool, mailKey));
  return database.fork().transactional(async (em) => {
    const at = now();
    const approver = await requireOperator(em, acting);
    // The user's row is locked first, as for a request. Of two concurrent approvals, the second waits here and then
    // finds no request.
    const user = await lockUserByEmail(em, email.key);
    const asked = user === undefined ? null : await em.findOne(AccountHelpRow, { userId: user.id, kind });
    if (user === undefined || user.disabledAt != null || asked === null || asked.expiresAt <= at)
      throw helpNotFound(email);
    refuseOwnAccount(user, acting);
    const requester =
      asked.askedByUserId == null ? undefined : await em.findOne(UserRow, asked.askedByUserId);
    if (requester != null && !isStillOperator(requester))
      throw rpcError(
        'ACCOUNT_HELP_NOT_FOUND',
        'the operator who made this request was disabled; withdraw it, and make a new request',
      );
    if (requester?.id === approver?.id)
      throw rpcError(
        'SECOND_OPERATOR_NEEDED',
        approver === undefined
          ? 'the request was made with an operator service token; an operator must approve it in the dashboard'
          : 'you made this request yourself; another operator must approve it',
      );
    for (const operator of [requester, approver]) if (operator != null) requireAge(operator, at);
    if (isMailed)
      throw rpcError('MAILED_TO_USER', 'the dashboard sends mail, so only the user gets the link, by mail');
    // `takeMails` takes a request without a lock of its user. Its link is then the only one.
    if ((await em.nativeDelete(AccountHelpRow, { userId: user.id, kind })) === 0) throw helpNotFound(email);
    const details = { asked_by: asked.askedBy };
    if (kind === 'REMOVE_SECOND_FACTOR') {
      await removeTotp(em, user);
      em.assign(user, { updatedAt: at });
      await endUserSessions(em, user.id, undefined, at);
      await recordUserAudit(em, newId, at, acting.by, user, { action: 'user.remove_totp', details });
      addNotice(em, newId, at, user.id, 'SECOND_FACTOR_REMOVED');
      return undefined;
    }
    const link = addResetLink(em, user, { at, validForMs: approvedLinkLifeMs, randomBytes });
    await recordUserAudit(em, newId, at, acting.by, user, { action: 'user.approve_reset', details });
    addNotice(em, newId, at, user.id, 'NEW_PASSWORD_APPROVED');
    return link;
  });
}

/** Withdraws a request of any operator. Returns whether there was one. Errors: PERMISSION_DENIED NOT_AN_OPERATOR. */
export async function rejectHelp(
  { database, newId, now }: AccountParts,
  email: EmailAddress,
  kind: HelpKind,
  acting: ActingOperator,
): Promise<boolean> {
  return database.fork().transactional(async (em) => {
    await requireOperator(em, acting);
    const user = await lockUserByEmail(em, email.key);
    if (user === undefined) return false;
    if ((await em.nativeDelete(AccountHelpRow, { userId: user.id, kind })) === 0) return false;
    await recordUserAudit(em, newId, now(), acting.by, user, {
      action: 'user.reject_help',
      details: { help: kind },
    });
    return true;
  });
}

/** The requests that wait for a second operator, oldest first. */
export async function listHelp({ database, now }: AccountParts): Promise<readonly StoredHelpRequest[]> {
  const em = database.fork();
  const rows = await em.find(
    AccountHelpRow,
    { expiresAt: { $gt: now() } },
    { orderBy: { createdAt: 'asc' }, limit: maxListed },
  );
  const users = await em.find(UserRow, { id: { $in: rows.map(({ userId }) => userId) } });
  const emails = new Map(users.map(({ id, email }) => [id, email]));
  const requesters = await findActorEmails(
    em,
    rows.map(({ askedBy }) => askedBy),
  );
  return rows.map(({ userId, kind, askedBy, createdAt, expiresAt }) => ({
    email: emails.get(userId) ?? '',
    kind,
    askedBy,
    askedByEmail: requesters.get(askedBy) ?? '',
    createdAt,
    expiresAt,
  }));
}

/**
 * Takes the due mails: a link for each password reset, and notices. Each is returned once, so a mail that its
 * dashboard could not send is lost. The user still sees the notice after the next sign-in, and can request a link
 * again. The call locks only rows that no other transaction has locked, and no user. So it waits for no other change, and cannot be part of a
 * deadlock.
 */
export async function takeMails({
  database,
  newId,
  now,
  randomBytes,
}: AccountParts): Promise<readonly AccountMail[]> {
  await remember(database.pool, mailKey, mailKnownSeconds);
  return database.fork().transactional(async (em) => {
    const at = now();
    const asked = await em.find(
      AccountHelpRow,
      { kind: 'NEW_PASSWORD', expiresAt: { $gt: at } },
      { orderBy: { createdAt: 'asc' }, limit: maxMails, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
    );
    const notices = await takeDueNotices(em, at, maxMails - asked.length);
    const ids = [...asked, ...notices].map(({ userId }) => userId);
    const users = new Map((await em.find(UserRow, { id: { $in: ids } })).map((user) => [user.id, user]));
    const mails: AccountMail[] = [];
    for (const { userId, kind, askedBy } of asked) {
      await em.nativeDelete(AccountHelpRow, { userId, kind });
      const user = users.get(userId);
      // A disabled user has no requests: `setUserDisabled` deletes them.
      if (user === undefined) continue;
      const link = addResetLink(em, user, { at, validForMs: approvedLinkLifeMs, randomBytes });
      const by = { actor: askedBy, requestId: '' };
      const details = { expires_at: link.expiresAt.toISOString() };
      await recordUserAudit(em, newId, at, by, user, { action: 'user.start_reset', details });
      mails.push({ email: user.email, language: user.language, content: { link } });
    }
    for (const notice of notices) {
      const user = users.get(notice.userId);
      if (user !== undefined) mails.push({ email: user.email, language: user.language, content: { notice } });
    }
    return mails;
  });
}

const helpNotFound = ({ text }: EmailAddress) =>
  rpcError(
    'ACCOUNT_HELP_NOT_FOUND',
    `no such request is open for ${text}; it was never made, was approved, withdrawn or mailed to the user, or has expired`,
  );

function refuseOwnAccount(user: UserRow, { userId }: ActingOperator): void {
  if (userId === undefined || storedId('usr', userId) !== user.id) return;
  throw rpcError('SECOND_OPERATOR_NEEDED', 'operators cannot reset their own account; ask another operator');
}
