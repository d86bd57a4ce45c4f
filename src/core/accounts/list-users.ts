import type { Database } from '../database/database.ts';
import { AccountLinkRow, MembershipRow, UserRow } from '../database/account-entities.ts';
import { storedId } from '../../contract/public-id.ts';
import type { PublicId } from '../../contract/public-id.ts';
import { readUsers } from './user-reader.ts';
import type { User } from './user-reader.ts';

export type OpenInvitation = Pick<AccountLinkRow, 'email' | 'role' | 'createdAt' | 'expiresAt'>;

const maxListed = 500;

/** A merchant's users, or the operators if there is no merchant, and the usable invitations. The first 500 of each by address. */
export async function listUsers(
  database: Database,
  merchantId: PublicId<'mer'> | undefined,
  now: Date,
): Promise<{ readonly users: readonly User[]; readonly invitations: readonly OpenInvitation[] }> {
  const em = database.fork();
  const stored = merchantId === undefined ? null : storedId('mer', merchantId);
  const ids =
    stored === null ? [] : (await em.find(MembershipRow, { merchantId: stored })).map(({ userId }) => userId);
  const byEmail = { orderBy: { emailKey: 'asc' }, limit: maxListed } as const;
  const rows = await em.find(UserRow, stored === null ? { isOperator: true } : { id: { $in: ids } }, byEmail);
  const invitations = await em.find(
    AccountLinkRow,
    { kind: 'INVITATION', merchantId: stored, expiresAt: { $gt: now } },
    byEmail,
  );
  return { users: await readUsers(em, rows, merchantId), invitations };
}
