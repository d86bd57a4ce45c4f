import { siteOf } from '../../platform/http/client-address.ts';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { CallerSignal } from '../../platform/batcher.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { rpcError } from '../../contract/error-reason.ts';
import { RecoveryCodeRow } from '../database/account-entities.ts';
import type { UserRow } from '../database/account-entities.ts';
import type { AccountParts } from './account-parts.ts';
import { endUserSessions } from './end-user-sessions.ts';
import { lockUser, requireUser } from './find-user.ts';
import { recordSignIn, recordingRefusal } from './record-sign-in.ts';
import { actingAsUser, recordUserAudit } from './record-user-audit.ts';
import { removeTotp } from './reset-password.ts';
import { makeTotpSecret, stepOfTotp, totpUri } from './totp-codes.ts';
import type { PublicId } from '../../contract/public-id.ts';

export interface TotpBegun {
  readonly secret: string;
  readonly uri: string;
}

/**
 * Creates a secret, which takes effect after the first correct code. Errors: NOT_FOUND USER_NOT_FOUND;
 * FAILED_PRECONDITION TOTP_ENABLED.
 */
export async function beginTotp(
  { database, now, randomBytes, totpSeal }: AccountParts,
  userId: PublicId<'usr'>,
): Promise<TotpBegun> {
  return database.fork().transactional(async (em) => {
    const user = await lockUser(em, userId);
    if (user.totpEnabledAt != null) throw totpEnabled();
    const secret = makeTotpSecret(randomBytes);
    em.assign(user, { totpSecret: totpSeal.seal(secret, user.id), updatedAt: now() });
    return { secret, uri: totpUri(secret, user.email) };
  });
}

export interface Confirmation extends Pick<SubmittedCode, 'userId' | 'code' | 'browserSecret'> {
  /** The session to keep; none when empty. */
  readonly keepHash: Uint8Array;
}

/**
 * Enables the second factor. Ends the user's other sessions, because a session of an attacker could turn it off again. Returns the
 * recovery codes, which are displayed once. Errors: NOT_FOUND USER_NOT_FOUND; UNAUTHENTICATED WRONG_CODE;
 * FAILED_PRECONDITION TOTP_NOT_BEGUN, TOTP_ENABLED; RESOURCE_EXHAUSTED TOO_MANY_TRIES.
 */
export async function confirmTotp(
  parts: AccountParts,
  { userId, code, browserSecret, keepHash }: Confirmation,
  by: Actor,
): Promise<readonly string[]> {
  const { database, newId, now, recoveryCodes, tries } = parts;
  const { id } = await requireUser(database.fork(), userId);
  const codeTry = { userId: id, browserSecret };
  await tries.countCode(codeTry);
  const codes = await database.fork().transactional(async (em) => {
    const user = await lockUser(em, userId);
    if (user.totpEnabledAt != null) throw totpEnabled();
    if (user.totpSecret == null)
      throw rpcError('TOTP_NOT_BEGUN', 'there is no secret yet; call BeginTotp first');
    const at = now();
    if (!takeCode(parts, user, code, at)) throw wrongCode();
    em.assign(user, { totpEnabledAt: at, updatedAt: at });
    const made = recoveryCodes.make();
    for (const each of made) {
      const hash = recoveryCodes.hashOf(each);
      if (hash !== undefined) em.create(RecoveryCodeRow, { userId: user.id, hash });
    }
    await endUserSessions(em, user.id, keepHash, at);
    await recordUserAudit(em, newId, at, by, user, { action: 'user.enable_totp' });
    return made;
  });
  await tries.recordRightCode(codeTry);
  return codes;
}

export interface CodeTaken {
  readonly wasRecoveryCode: boolean;
  readonly recoveryCodesLeft: number;
}

export interface SubmittedCode {
  readonly userId: PublicId<'usr'>;
  readonly code: string;
  /** An IP address, or empty. */
  readonly remoteAddress: string;
  /** A secret of the user's browser; may be empty. */
  readonly browserSecret: string;
  /** The user is signed in and confirms their identity. */
  readonly isConfirmation: boolean;
}

/**
 * Accepts a code once. If this completes a sign-in, the sign-in is recorded. Concurrent calls wait for each other at
 * the user's row. Errors: NOT_FOUND USER_NOT_FOUND; UNAUTHENTICATED WRONG_CODE; FAILED_PRECONDITION TOTP_NOT_ENABLED;
 * RESOURCE_EXHAUSTED TOO_MANY_TRIES, OVERLOADED.
 */
export async function verifyTotp(
  parts: AccountParts,
  submitted: SubmittedCode,
  by: Actor,
  signal: CallerSignal,
): Promise<CodeTaken> {
  const { database, inTurn, tries } = parts;
  const user = await requireUser(database.fork(), submitted.userId);
  const suspect = { emailKey: user.emailKey, user, remoteAddress: submitted.remoteAddress };
  const codeTry = { userId: user.id, browserSecret: submitted.browserSecret };
  const place = await tries.placeOfCode(codeTry, submitted.remoteAddress);
  const check = (): Promise<CodeTaken> =>
    inTurn(
      { kind: 'known', emailKey: user.emailKey, place, site: siteOf(submitted.remoteAddress) },
      signal,
      async () => {
        await tries.countCode(codeTry);
        return takeEitherCode(parts, submitted, by);
      },
    );
  // As for a password: a mistyped confirmation is not a refused sign-in.
  const taken = await (submitted.isConfirmation ? check() : recordingRefusal(parts, by, suspect, check));
  await tries.recordRightCode(codeTry);
  return taken;
}

/** A code from the authenticator, or else a recovery code. */
async function takeEitherCode(
  parts: AccountParts,
  { userId, code, remoteAddress, isConfirmation }: SubmittedCode,
  by: Actor,
): Promise<CodeTaken> {
  const { database, newId, now } = parts;
  return database.fork().transactional(async (em) => {
    const user = await lockUser(em, userId);
    if (user.totpEnabledAt == null) throw rpcError('TOTP_NOT_ENABLED', 'this user has no one-time codes');
    const at = now();
    const isDisabled = user.disabledAt != null;
    const wasRecoveryCode = !isDisabled && !takeCode(parts, user, code, at);
    if (isDisabled || (wasRecoveryCode && !(await takeRecoveryCode(em, parts, user, code))))
      throw wrongCode();
    const recoveryCodesLeft = await em.count(RecoveryCodeRow, { userId: user.id });
    if (wasRecoveryCode) {
      const details = { left: recoveryCodesLeft };
      const themselves = actingAsUser(by, user.id);
      await recordUserAudit(em, newId, at, themselves, user, { action: 'user.use_recovery_code', details });
    }
    if (!isConfirmation) {
      user.lastSignInAt = at;
      const proof = wasRecoveryCode ? 'RECOVERY_CODE' : 'ONE_TIME_CODE';
      await recordSignIn(em, parts, at, by, user, { proof, remoteAddress });
    }
    return { wasRecoveryCode, recoveryCodesLeft };
  });
}

/** Disables the second factor, and removes an unconfirmed secret. Errors: NOT_FOUND USER_NOT_FOUND. */
export async function disableTotp(
  { database, newId, now }: AccountParts,
  userId: PublicId<'usr'>,
  by: Actor,
): Promise<void> {
  await database.fork().transactional(async (em) => {
    const user = await lockUser(em, userId);
    const at = now();
    if (user.totpEnabledAt != null)
      await recordUserAudit(em, newId, at, by, user, { action: 'user.disable_totp' });
    await removeTotp(em, user);
    em.assign(user, { updatedAt: at });
  });
}

/** RFC 6238, 5.2: a used code is refused, as is every earlier one. */
function takeCode({ totpSeal }: AccountParts, user: UserRow, code: string, at: Date): boolean {
  if (user.totpSecret == null) return false;
  const step = stepOfTotp(totpSeal.open(user.totpSecret, user.id), code.replace(/\s/g, ''), at);
  if (step === undefined || step <= (user.totpLastStep ?? 0)) return false;
  user.totpLastStep = step;
  return true;
}

async function takeRecoveryCode(
  em: EntityManager,
  { recoveryCodes }: AccountParts,
  { id: userId }: UserRow,
  code: string,
): Promise<boolean> {
  const hash = recoveryCodes.hashOf(code);
  return hash !== undefined && (await em.nativeDelete(RecoveryCodeRow, { userId, hash })) === 1;
}

const totpEnabled = () =>
  rpcError('TOTP_ENABLED', 'one-time codes are already on for this user; turn them off first');
const wrongCode = () => rpcError('WRONG_CODE', 'the code is wrong or was already used');
