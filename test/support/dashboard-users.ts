import { randomBytes } from 'node:crypto';
import { AccountService, MemberRole } from '../../src/gen/gatehouse/v1/account_service_pb.js';
import pg from 'pg';
import type { Stack } from './stack.ts';

export interface TestUser {
  readonly userId: string;
  readonly email: string;
  readonly password: string;
}

/** Creates users who can sign in to the dashboard of a stack. */
export interface DashboardUsers {
  readonly member: (merchantId: string, role?: MemberRole) => Promise<TestUser>;
  readonly operator: () => Promise<TestUser>;
}

export function openDashboardUsers(stack: Pick<Stack, 'client'>): DashboardUsers {
  const operator = stack.client(AccountService, 'operator');
  const dashboard = stack.client(AccountService, 'dashboard');
  const make = async (place: { merchantId: string; role: MemberRole } | { asOperator: true }) => {
    const email = `u${randomBytes(6).toString('hex')}@shop.example`;
    const password = randomBytes(15).toString('base64url');
    const { token } = await operator.inviteUser({ email, ...place });
    const { user } = await dashboard.acceptInvitation({
      token,
      name: 'Test person',
      password,
      language: 'en',
    });
    return { userId: user?.userId ?? '', email, password };
  };
  return {
    member: (merchantId, role = MemberRole.OWNER) => make({ merchantId, role }),
    operator: () => make({ asOperator: true }),
  };
}

/**
 * Makes every operator of a stack an operator for two days, because newer operators cannot take part in opening an
 * account.
 */
export async function makeOperatorsOld({ databaseUrl }: Pick<Stack, 'databaseUrl'>): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`update core.users set operator_since = now() - interval '2 days' where is_operator`);
  await client.end();
}
