import { createHash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { MembershipRow } from '../database/account-entities.ts';
import type { MemberRole, UserRow } from '../database/account-entities.ts';
import { MerchantRow } from '../database/merchant-entities.ts';
import { publicId, storedId } from '../../contract/public-id.ts';
import type { PublicId } from '../../contract/public-id.ts';
import type { Language } from '../../platform/language/language.ts';

export interface Membership {
  readonly merchantId: PublicId<'mer'>;
  readonly merchantName: string;
  readonly role: MemberRole;
}

/** A dashboard user without credentials, with public ids. */
export interface User {
  readonly id: PublicId<'usr'>;
  readonly email: string;
  readonly name: string;
  readonly language: Language;
  readonly isOperator: boolean;
  readonly isDisabled: boolean;
  readonly isTotpEnabled: boolean;
  readonly memberships: readonly Membership[];
  readonly createdAt: Date;
  readonly lastSignInAt: Date | null;
  /** Another text after each change of the password, and after one-time codes were turned on or off. */
  readonly passwordVersion: string;
}

/** The hash has a random salt, so its own hash reveals nothing. The statement that begins sessions computes the same. */
const passwordVersionOf = ({ passwordHash, totpEnabledAt }: UserRow): string =>
  createHash('sha256')
    .update(`${passwordHash}/${totpEnabledAt?.getTime() ?? ''}`)
    .digest('hex');

/** The users of these rows, in the same order. If a merchant is given, only their memberships there. */
export async function readUsers(
  em: EntityManager,
  rows: readonly UserRow[],
  merchantId?: PublicId<'mer'>,
): Promise<User[]> {
  const memberships = await em.find(MembershipRow, {
    userId: { $in: rows.map(({ id }) => id) },
    ...(merchantId === undefined ? {} : { merchantId: storedId('mer', merchantId) }),
  });
  const merchants = await em.find(MerchantRow, { id: { $in: memberships.map((each) => each.merchantId) } });
  const names = new Map(merchants.map(({ id, name }) => [id, name]));
  return rows.map((row) => ({
    id: publicId('usr', row.id),
    email: row.email,
    name: row.name,
    language: row.language,
    isOperator: row.isOperator,
    isDisabled: row.disabledAt != null,
    isTotpEnabled: row.totpEnabledAt != null,
    memberships: memberships
      .filter(({ userId }) => userId === row.id)
      .map((each) => ({
        merchantId: publicId('mer', each.merchantId),
        merchantName: names.get(each.merchantId) ?? '',
        role: each.role,
      }))
      .sort((one, other) => one.merchantName.localeCompare(other.merchantName)),
    createdAt: row.createdAt,
    lastSignInAt: row.lastSignInAt ?? null,
    passwordVersion: passwordVersionOf(row),
  }));
}

/** As `readUsers`, for one user. */
export async function readUser(em: EntityManager, row: UserRow, merchantId?: PublicId<'mer'>): Promise<User> {
  const [user] = await readUsers(em, [row], merchantId);
  if (user === undefined) throw new Error('the user has no row');
  return user;
}
