import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../../platform/rpc/actor.ts';
import { rpcError } from '../../contract/error-reason.ts';
import { storedId } from '../../contract/public-id.ts';
import type { NewId, PublicId } from '../../contract/public-id.ts';
import { recordAudit } from '../audit/record-audit.ts';
import { AccountLinkRow, MembershipRow, UserRow } from '../database/account-entities.ts';
import type { MemberRole } from '../database/account-entities.ts';
import { MerchantRow } from '../database/merchant-entities.ts';
import { addNotice } from './account-notices.ts';
import { makeLinkToken, requireLink } from './account-links.ts';
import type { AccountParts } from './account-parts.ts';
import type { EmailAddress } from './email-address.ts';
import { notAnOperator } from './require-operator.ts';

/** The membership that an invitation offers; undefined when it invites an operator. */
export type OfferedMembership =
  | { readonly merchantId: PublicId<'mer'>; readonly role: MemberRole }
  | undefined;

export interface CreatedLink {
  readonly token: string;
  readonly expiresAt: Date;
}

export interface OpenInvitation {
  readonly email: string;
  readonly merchantName: string;
  readonly role: MemberRole | undefined;
  readonly expiresAt: Date;
}

export interface InvitationTerms {
  readonly email: EmailAddress;
  readonly membership: OfferedMembership;
  readonly validForMs: number;
  /** The signed-in user who invites; undefined for a call that names no user. */
  readonly inviter: PublicId<'usr'> | undefined;
  /** Whether an operator invites. Operators belong to no merchant, so the owners are notified of a new owner. */
  readonly isByOperator: boolean;
}

type Parts = Pick<AccountParts, 'database' | 'newId' | 'now' | 'randomBytes'>;

/**
 * Invites an address to a merchant or as an operator, and withdraws its earlier invitation to the same. Errors: NOT_FOUND
 * MERCHANT_NOT_FOUND; ALREADY_EXISTS ALREADY_A_MEMBER; PERMISSION_DENIED NOT_AN_OWNER, NOT_AN_OPERATOR.
 */
export async function inviteUser(
  { database, newId, now, randomBytes }: Parts,
  { email, membership, validForMs, inviter, isByOperator }: InvitationTerms,
  by: Actor,
): Promise<CreatedLink> {
  return database.fork().transactional(async (em) => {
    // Concurrent invitations would not find each other, so they are serialised.
    const lockName = `invitations:${membership?.merchantId ?? ''}:${email.key}`;
    await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [lockName]);
    if (membership !== undefined) await requireMerchantRow(em, membership.merchantId);
    if (inviter !== undefined) await requireInviter(em, inviter, membership);
    await refuseMember(em, email, membership);
    const at = now();
    const { token, hash } = makeLinkToken(randomBytes);
    const expiresAt = new Date(at.getTime() + validForMs);
    const merchantId = membership === undefined ? null : storedId('mer', membership.merchantId);
    await em.nativeDelete(AccountLinkRow, { kind: 'INVITATION', emailKey: email.key, merchantId });
    em.create(AccountLinkRow, {
      hash,
      kind: 'INVITATION',
      email: email.text,
      emailKey: email.key,
      merchantId,
      role: membership?.role ?? null,
      createdAt: at,
      expiresAt,
    });
    recordAudit(em, newId, at, by, {
      action: 'user.invite',
      merchantId: membership?.merchantId,
      targetId: email.text,
      details: {
        email: email.text,
        role: membership?.role ?? 'OPERATOR',
        expires_at: expiresAt.toISOString(),
      },
    });
    if (isByOperator && membership?.role === 'OWNER')
      await notifyOwners(em, newId, at, membership.merchantId);
    return { token, expiresAt };
  });
}

/**
 * Requires that the inviter is an enabled operator, or an enabled owner of the merchant. The rows stay locked until the
 * invitation is stored. So removing or disabling the inviter waits for it, and then withdraws it.
 */
async function requireInviter(
  em: EntityManager,
  inviter: PublicId<'usr'>,
  membership: OfferedMembership,
): Promise<void> {
  const lock = { lockMode: LockMode.PESSIMISTIC_READ };
  const userId = storedId('usr', inviter);
  const merchantId = membership === undefined ? undefined : storedId('mer', membership.merchantId);
  const inviterMembership =
    merchantId === undefined ? null : await em.findOne(MembershipRow, { merchantId, userId }, lock);
  const user = await em.findOne(UserRow, { id: userId }, lock);
  const isEnabled = user !== null && user.disabledAt == null;
  if (isEnabled && (user.isOperator || inviterMembership?.role === 'OWNER')) return;
  if (membership === undefined) throw notAnOperator();
  throw rpcError('NOT_AN_OWNER', 'only an owner of the merchant may do this');
}

/** An operator who makes another user an owner could thereby act as the merchant, so its owners are notified. */
export async function notifyOwners(
  em: EntityManager,
  newId: NewId,
  at: Date,
  merchantId: PublicId<'mer'>,
): Promise<void> {
  const merchant = await em.findOne(MerchantRow, { id: storedId('mer', merchantId) });
  const owners = await em.find(MembershipRow, { merchantId: storedId('mer', merchantId), role: 'OWNER' });
  for (const { userId } of owners) addNotice(em, newId, at, userId, 'OWNER_INVITED', merchant?.name ?? '');
}

/** The address, merchant, role and expiry of an open invitation. Errors: NOT_FOUND LINK_NOT_USABLE. */
export async function readInvitation({ database, now }: Parts, token: string): Promise<OpenInvitation> {
  const em = database.fork();
  const { email, merchantId, role, expiresAt } = await requireLink(em, 'INVITATION', token, now());
  const merchant = merchantId == null ? null : await em.findOne(MerchantRow, { id: merchantId });
  return { email, merchantName: merchant?.name ?? '', role: role ?? undefined, expiresAt };
}

async function requireMerchantRow(em: EntityManager, merchantId: PublicId<'mer'>): Promise<void> {
  if ((await em.count(MerchantRow, { id: storedId('mer', merchantId) })) === 0)
    throw rpcError('MERCHANT_NOT_FOUND', `there is no merchant ${merchantId}`);
}

/**
 * Refuses an address that the inviter already sees in the list of users. All other addresses are invited in the same
 * way, so an invitation does not reveal which addresses have an account. Operators see the users of all merchants.
 */
async function refuseMember(
  em: EntityManager,
  { key, text }: EmailAddress,
  membership: OfferedMembership,
): Promise<void> {
  const user = await em.findOne(UserRow, { emailKey: key });
  if (user === null || (membership !== undefined && user.isOperator)) return;
  const refusal = await invitationRefusal(em, user, membership);
  if (refusal !== undefined) throw rpcError('ALREADY_A_MEMBER', `${text} ${refusal}`);
}

/** Why an account cannot accept an invitation; undefined when it can. */
export async function invitationRefusal(
  em: EntityManager,
  user: UserRow,
  membership: OfferedMembership,
): Promise<string | undefined> {
  if (user.isOperator)
    return membership === undefined
      ? 'is an operator already'
      : 'is an operator, who sees every merchant and belongs to none';
  if (membership === undefined) {
    const memberships = await em.count(MembershipRow, { userId: user.id });
    return memberships === 0
      ? undefined
      : 'belongs to a merchant, and operators belong to none; remove the user from it first, or invite another address';
  }
  const known = { userId: user.id, merchantId: storedId('mer', membership.merchantId) };
  return (await em.count(MembershipRow, known)) === 0 ? undefined : 'belongs to this merchant already';
}
