import { siteOf } from '../../platform/http/client-address.ts';
import { ConnectError } from '@connectrpc/connect';
import { UniqueConstraintViolationException } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../../platform/rpc/actor.ts';
import { publicId, storedId } from '../../contract/public-id.ts';
import { rpcError } from '../../contract/error-reason.ts';
import { reasonOf } from '../../platform/rpc/rpc-error.ts';
import type { CallerSignal } from '../../platform/batcher.ts';
import type { Language } from '../../platform/language/language.ts';
import { recordAudit } from '../audit/record-audit.ts';
import { MembershipRow, UserRow } from '../database/account-entities.ts';
import type { AccountLinkRow } from '../database/account-entities.ts';
import { valuesOrThrow } from '../rpc/request-fields.ts';
import { combine } from '../domain/combine.ts';
import { parseText } from '../domain/text.ts';
import { linkNotUsable, requireLink } from './account-links.ts';
import type { AccountParts } from './account-parts.ts';
import { lockUserByEmail } from './find-user.ts';
import { invitationRefusal } from './invite-user.ts';
import type { OfferedMembership } from './invite-user.ts';
import { originOf, recordSignIn, recordingRefusal } from './record-sign-in.ts';
import { actingAsUser } from './record-user-audit.ts';
import { readUser } from './user-reader.ts';
import type { User } from './user-reader.ts';

export interface Acceptance {
  readonly token: string;
  readonly name: string;
  readonly password: string;
  readonly language: Language;
  readonly remoteAddress: string;
  /** A secret of the user's browser; may be empty. */
  readonly browserSecret: string;
}

export const nameLength = 128;

/**
 * Accepts an invitation. With the password of an account without a second factor, this is also a sign-in, which is recorded. The first
 * session of a new account has no record of its own, because the record of the acceptance has the address too.
 * The password is hashed before the transaction, which therefore holds no lock meanwhile.
 * Errors: INVALID_ARGUMENT INVALID_FIELDS; NOT_FOUND LINK_NOT_USABLE; UNAUTHENTICATED WRONG_CREDENTIALS;
 * RESOURCE_EXHAUSTED TOO_MANY_TRIES, OVERLOADED.
 */
export async function acceptInvitation(
  parts: AccountParts,
  acceptance: Acceptance,
  by: Actor,
  signal: CallerSignal,
): Promise<User> {
  const em = parts.database.fork();
  const link = await requireLink(em, 'INVITATION', acceptance.token, parts.now());
  const account = await em.findOne(UserRow, { emailKey: link.emailKey });
  const proof = await proveIdentity(parts, link, account, acceptance, by, signal);
  try {
    return await acceptMembership(parts, acceptance, proof, by);
  } catch (error) {
    // A concurrent call accepted another invitation of this address. The address now has an account and a password.
    if (account === null && error instanceof UniqueConstraintViolationException)
      return acceptInvitation(parts, acceptance, by, signal);
    throw error;
  }
}

/** The values of a new account, or the hash of the password that the owner of an account has proved. */
type Proof = Pick<UserRow, 'name' | 'language' | 'passwordHash'> | { readonly provedHash: string };

/**
 * Checks name and password. A failed call does not reveal whether the address has an account. In both cases the try is
 * counted, a password is compared, and the answer names the fields that a new account could not have.
 */
async function proveIdentity(
  parts: AccountParts,
  { email, emailKey }: AccountLinkRow,
  account: UserRow | null,
  acceptance: Acceptance,
  by: Actor,
  signal: CallerSignal,
): Promise<Proof> {
  const { inTurn, passwords, parsePassword, tries } = parts;
  const { remoteAddress, browserSecret } = acceptance;
  const signInTry = { emailKey, remoteAddress, browserSecret };
  const invited = { kind: 'known', emailKey, place: 'link', site: siteOf(remoteAddress) } as const;
  await tries.requireNetworkTries(signInTry);
  const fields = combine({
    name: parseText(acceptance.name, 'name', { max: nameLength, required: true }),
    password: parsePassword(acceptance.password, 'password', [email, acceptance.name]),
  });
  const proof = await recordingRefusal(parts, by, { ...signInTry, user: account }, async () => {
    const isRight = await inTurn(invited, signal, async () => {
      await tries.countPassword(signInTry);
      return passwords.matches(acceptance.password, account?.passwordHash);
    });
    if (account !== null && account.disabledAt == null && isRight)
      return { provedHash: account.passwordHash };
    if (account === null && fields.ok) return fields.value;
    throw wrongPassword();
  }).catch((error: unknown) => {
    if (error instanceof ConnectError && reasonOf(error) === 'WRONG_CREDENTIALS') valuesOrThrow(fields);
    throw error;
  });
  await tries.recordRightPassword(signInTry);
  if ('provedHash' in proof) return proof;
  const passwordHash = await inTurn(invited, signal, () => passwords.hash(proof.password));
  return { name: proof.name, language: acceptance.language, passwordHash };
}

const wrongPassword = () =>
  rpcError(
    'WRONG_CREDENTIALS',
    'wrong password; if the address has an account, use the password of that account',
  );

async function acceptMembership(
  parts: AccountParts,
  { token, remoteAddress }: Acceptance,
  proof: Proof,
  by: Actor,
): Promise<User> {
  const { database, newId, now } = parts;
  return database.fork().transactional(async (em) => {
    const at = now();
    const link = await requireLink(em, 'INVITATION', token, at, { locked: true });
    const { merchantId, role } = link;
    const membership: OfferedMembership =
      merchantId == null || role == null ? undefined : { merchantId: publicId('mer', merchantId), role };
    const user =
      'provedHash' in proof
        ? await lockUserByEmail(em, link.emailKey)
        : await addUser(em, parts, link, proof, at);
    if (user === undefined || user.disabledAt != null) throw linkNotUsable();
    if ('provedHash' in proof && user.passwordHash !== proof.provedHash) throw wrongPassword();
    // The account was eligible when it was invited. It may have joined another merchant or the operators since.
    if ((await invitationRefusal(em, user, membership)) !== undefined) throw linkNotUsable();
    if (membership === undefined) em.assign(user, { isOperator: true, operatorSince: at, updatedAt: at });
    else
      em.create(MembershipRow, {
        merchantId: storedId('mer', membership.merchantId),
        userId: user.id,
        role: membership.role,
        createdAt: at,
        updatedAt: at,
      });
    em.remove(link);
    recordAudit(em, newId, at, actingAsUser(by, user.id), {
      action: 'user.accept_invitation',
      merchantId: membership?.merchantId,
      targetId: publicId('usr', user.id),
      details: {
        email: user.email,
        role: membership?.role ?? 'OPERATOR',
        new_account: !('provedHash' in proof),
        ...originOf(remoteAddress),
      },
    });
    await em.flush();
    // The dashboard begins a session after the password, unless the user has a second factor. Recorded after the flush,
    // because the merchant of the invitation records it too.
    if ('provedHash' in proof && user.totpEnabledAt == null) {
      user.lastSignInAt = at;
      await recordSignIn(em, parts, at, by, user, { proof: 'PASSWORD', remoteAddress });
      await em.flush();
    }
    return readUser(em, user);
  });
}

async function addUser(
  em: EntityManager,
  { newId }: AccountParts,
  { email, emailKey }: AccountLinkRow,
  proof: Pick<UserRow, 'name' | 'language' | 'passwordHash'>,
  at: Date,
): Promise<UserRow> {
  const user = em.create(UserRow, {
    id: storedId('usr', newId('usr', at)),
    email,
    emailKey,
    ...proof,
    isOperator: false,
    // The dashboard begins the first session with the account.
    lastSignInAt: at,
    createdAt: at,
    updatedAt: at,
  });
  await em.flush();
  return user;
}
