import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { ConnectError, createClient } from '@connectrpc/connect';
import type { Transport } from '@connectrpc/connect';
import { AccountService, MemberRole } from '../../gen/gatehouse/v1/account_service_pb.js';
import { reasonOf } from '../../platform/rpc/rpc-error.ts';
import { parseJson } from '../../platform/parse-json.ts';

const Login = Type.Object({ email: Type.String(), password: Type.String() });
const DemoUsers = Type.Object({ owner: Login, operator: Login });
/** The dashboard's demo users: the demo merchant's owner and an operator. */
export type DemoUsers = Static<typeof DemoUsers>;

const emails = { owner: 'owner@demo.example', operator: 'operator@demo.example' } as const;
/** Whether this address belongs to a demo user. */
export const isDemoUser = (email: string): boolean => Object.values<string>(emails).includes(email);
const names = { owner: 'Demo owner', operator: 'Demo operator' } as const;

/** Reads the users of an earlier start from demo.json; undefined when they are absent. */
export function readDemoUsers(text: string | undefined): DemoUsers | undefined {
  const content = parseJson(text ?? '');
  return Value.Check(Type.Object({ users: DemoUsers }), content) ? content.users : undefined;
}

/**
 * Ensures that the demo merchant's owner and an operator can sign in to the dashboard. Logins of an earlier start
 * remain, even with a password that the user has changed. A lost login gets a new password.
 */
export async function ensureDemoUsers(options: {
  readonly operator: Transport;
  readonly dashboard: Transport;
  readonly merchantId: string;
  readonly kept: DemoUsers | undefined;
  readonly randomBytes: (size: number) => Buffer;
  readonly report: (line: string) => void;
}): Promise<DemoUsers> {
  const { merchantId, kept, randomBytes, report } = options;
  const operator = createClient(AccountService, options.operator);
  const dashboard = createClient(AccountService, options.dashboard);

  const isThere = async (who: keyof DemoUsers): Promise<boolean> => {
    const { users } = await operator.listUsers({ merchantId: who === 'owner' ? merchantId : '' });
    return users.some(({ email }) => email === emails[who]);
  };
  const reset = async (who: keyof DemoUsers, password: string): Promise<void> => {
    const { token } = await dashboard.startPasswordReset({ email: emails[who] });
    await dashboard.resetPassword({ token, password });
  };
  const invite = async (who: keyof DemoUsers, password: string): Promise<void> => {
    const membership = who === 'owner' ? { merchantId, role: MemberRole.OWNER } : { asOperator: true };
    const { token } = await operator.inviteUser({ email: emails[who], ...membership });
    const accept = () => dashboard.acceptInvitation({ token, name: names[who], password, language: 'en' });
    try {
      await accept();
    } catch (error) {
      // The error means that the address already has an account, with another password and without this role.
      if (reasonOf(ConnectError.from(error)) !== 'WRONG_CREDENTIALS') throw error;
      await reset(who, password);
      await accept();
    }
  };
  const loginOf = async (who: keyof DemoUsers) => {
    const known = kept?.[who];
    const there = await isThere(who);
    if (there && known !== undefined) return known;
    const password = randomBytes(15).toString('base64url');
    if (there) await reset(who, password);
    else await invite(who, password);
    if (there || known !== undefined)
      report(
        `${emails[who]} has a new password, because demo.json lacks the earlier one, or the account was removed`,
      );
    return { email: emails[who], password };
  };
  return { owner: await loginOf('owner'), operator: await loginOf('operator') };
}
