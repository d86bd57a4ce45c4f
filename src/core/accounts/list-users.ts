import type { Database } from '../database/database.ts';
import { AccountLinkRow, MembershipRow, UserRow } from '../database/account-entities.ts';
import { containing } from '../database/containing.ts';
import type { MemberRole } from '../database/account-entities.ts';
import { storedId } from '../../contract/public-id.ts';
import type { PublicId } from '../../contract/public-id.ts';
import { readUsers } from './user-reader.ts';
import type { User } from './user-reader.ts';

export type OpenInvitation = Pick<AccountLinkRow, 'email' | 'role' | 'createdAt' | 'expiresAt'>;

export interface UserFilter {
  /** Undefined for the operators. */
  readonly merchantId: PublicId<'mer'> | undefined;
  /** A part of the address or name; '' for all. */
  readonly text: string;
  /** The role at the merchant; undefined for all, and for operators. */
  readonly role: MemberRole | undefined;
}

export interface UserList {
  readonly users: readonly User[];
  readonly invitations: readonly OpenInvitation[];
  /** Whether there are more of either. */
  readonly hasMore: boolean;
}

const maxListed = 500;

/** Users, and usable invitations. The first 500 of each by address. */
export async function listUsers(
  database: Database,
  { merchantId, text, role }: UserFilter,
  now: Date,
): Promise<UserList> {
  const em = database.fork();
  const stored = merchantId === undefined ? null : storedId('mer', merchantId);
  const withRole = role === undefined ? {} : { role };
  const ids =
    stored === null
      ? []
      : (await em.find(MembershipRow, { merchantId: stored, ...withRole })).map(({ userId }) => userId);
  const contains = containing(text);
  const byEmail = { orderBy: { emailKey: 'asc' }, limit: maxListed + 1 } as const;
  const rows = await em.find(
    UserRow,
    {
      ...(stored === null ? { isOperator: true } : { id: { $in: ids } }),
      ...(text === '' ? {} : { $or: [{ email: contains }, { name: contains }] }),
    },
    byEmail,
  );
  const invitations = await em.find(
    AccountLinkRow,
    {
      kind: 'INVITATION',
      merchantId: stored,
      expiresAt: { $gt: now },
      ...withRole,
      ...(text === '' ? {} : { email: contains }),
    },
    byEmail,
  );
  return {
    users: await readUsers(em, rows.slice(0, maxListed), merchantId),
    invitations: invitations.slice(0, maxListed),
    hasMore: rows.length > maxListed || invitations.length > maxListed,
  };
}
