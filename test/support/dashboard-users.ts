import { randomBytes } from 'node:crypto';
import { hash } from '@node-rs/argon2';
import { newRandomId } from '../../src/contract/public-id.ts';
import { MemberRole } from '../../src/gen/gatehouse/v1/account_service_pb.js';
import { storedId } from './ids.ts';
import type { Stack } from './stack.ts';
import { queryOnce } from './database-connections.ts';

export interface TestUser {
  readonly userId: string;
  readonly email: string;
  readonly password: string;
}

/** Creates users who can sign in to the dashboard of a stack. */
export interface DashboardUsers {
  readonly member: (merchantId: string, role?: MemberRole, own?: Chosen) => Promise<TestUser>;
  readonly operator: (own?: Chosen) => Promise<TestUser>;
}

/** The values of a user that a test may choose. By default, no other user has them. */
type Chosen = Partial<Pick<TestUser, 'email' | 'password'>>;

/** The name of every user. */
export const testName = 'Test person';

/** A hash names its own cost. The usual one would take most of the time of a sign-in. */
const cheapCost = { memoryCost: 8, timeCost: 1, parallelism: 1 } as const;

/** The users are in the database as if they had accepted an invitation. */
export function openDashboardUsers(stack: Pick<Stack, 'databaseUrl'>): DashboardUsers {
  const make = async (own: Chosen = {}, merchantId?: string, role?: MemberRole): Promise<TestUser> => {
    const userId = newRandomId('usr', new Date());
    const {
      email = `u${randomBytes(6).toString('hex')}@shop.example`,
      password = randomBytes(15).toString('base64url'),
    } = own;
    await queryOnce(stack.databaseUrl, {
      text: `with made as (
         insert into core.users
           (id, email, email_key, name, language, is_operator, operator_since, password_hash, created_at, updated_at)
         values ($1, $2, $2, $6, 'en', $4::uuid is null, case when $4 is null then now() end, $3, now(), now())
         returning id
       )
       insert into core.memberships (merchant_id, user_id, role, created_at, updated_at)
       select $4, id, $5, now(), now() from made where $4 is not null`,
      values: [
        storedId('usr', userId),
        email,
        await hash(password, cheapCost),
        merchantId === undefined ? null : storedId('mer', merchantId),
        role === undefined ? null : MemberRole[role],
        testName,
      ],
    });
    return { userId, email, password };
  };
  return {
    member: (merchantId, role = MemberRole.OWNER, own) => make(own, merchantId, role),
    operator: make,
  };
}

/**
 * Makes every operator of a stack an operator for two days, because newer operators cannot take part in opening an
 * account.
 */
export async function makeOperatorsOld(stack: Pick<Stack, 'databaseUrl'>): Promise<void> {
  await queryOnce(
    stack.databaseUrl,
    `update core.users set operator_since = now() - interval '2 days' where is_operator`,
  );
}
