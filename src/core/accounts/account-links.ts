import { createHash } from 'node:crypto';
import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { rpcError } from '../../contract/error-reason.ts';
import { AccountHelpRow, AccountLinkRow } from '../database/account-entities.ts';
import type { LinkKind, UserRow } from '../database/account-entities.ts';

/** 256 bits. The token cannot be guessed, so its stored hash can be a fast one. */
const tokenBytes = 32;
const form = /^[A-Za-z0-9_-]{43}$/;

/** A link that was created later than this, by the present time, comes from a clock that was ahead. */
const clockToleranceMs = 60_000;

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** A new link token, and its stored form. */
export function makeLinkToken(randomBytes: (length: number) => Buffer): { token: string; hash: Buffer } {
  const token = randomBytes(tokenBytes).toString('base64url');
  return { token, hash: hashOf(token) };
}

/**
 * The link of a token, if it is usable now. A link that was created while the database's clock was ahead is not: it would be valid for longer
 * than it should. @throws NOT_FOUND LINK_NOT_USABLE
 */
export async function requireLink(
  em: EntityManager,
  kind: LinkKind,
  token: string,
  now: Date,
  { locked = false } = {},
): Promise<AccountLinkRow> {
  const link = form.test(token)
    ? await em.findOne(
        AccountLinkRow,
        { hash: hashOf(token), kind },
        locked ? { lockMode: LockMode.PESSIMISTIC_WRITE } : {},
      )
    : null;
  if (link === null || link.expiresAt <= now) throw linkNotUsable();
  if (link.createdAt.getTime() > now.getTime() + clockToleranceMs) throw linkNotUsable();
  return link;
}

/** The same answer for every reason, so that it reveals nothing. */
export const linkNotUsable = () =>
  rpcError('LINK_NOT_USABLE', 'this link is unknown, used, replaced or expired; request a new one');

/**
 * Ends a user's password reset links, and the request for one that an operator could still approve. The request is
 * deleted first: a call that makes a link of it holds it locked, and its link is then deleted too.
 */
export async function withdrawResets(
  em: EntityManager,
  { id, emailKey }: Pick<UserRow, 'id' | 'emailKey'>,
): Promise<void> {
  await em.nativeDelete(AccountHelpRow, { userId: id, kind: 'NEW_PASSWORD' });
  await em.nativeDelete(AccountLinkRow, { kind: 'RESET', emailKey });
}
