import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  AccountHelp,
  AccountNoticeEvent,
  AccountService,
  MemberRole,
} from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import type { User } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { duringChange } from '../../support/database-connections.ts';
import { makeOperatorsOld } from '../../support/dashboard-users.ts';
import { storedId } from '../../support/ids.ts';
import { outcomeOf, refusalOf } from '../../support/rpc-failure.ts';
import { codeOf } from '../../support/authenticator.ts';
import { sharedPool } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';
import { sweepAccounts } from '../../../src/core/accounts/sweep-accounts.ts';
import { asUser, password, sharedAccountSite } from './account-desk.ts';

const { stack, desk, accounts, database, merchant } = sharedAccountSite();
const pool = sharedPool(() => stack.databaseUrl, 1);
let operators: User[];
beforeAll(async () => {
  operators = [await desk.addUser(), await desk.addUser(), await desk.addUser()];
  await makeOperatorsOld(stack);
});

const { NEW_PASSWORD, REMOVE_SECOND_FACTOR } = AccountHelp;
const newPassword = 'staple of quiet mornings';
const owner = () => desk.addUser({ merchantId: merchant.id, role: MemberRole.OWNER });
/** A call of the command line, under a name that it chooses itself. */
const byToken = (name: string) => {
  const client = stack.client(AccountService, 'operator');
  return { client, options: { headers: { 'x-gatehouse-actor': name } } };
};
/** An owner for whom the first operator requests this help. */
const ask = async (help = NEW_PASSWORD) => {
  const user = await owner();
  if (help === REMOVE_SECOND_FACTOR) await desk.enableTotp(user.userId);
  const request = { email: user.email, help };
  await accounts.requestAccountHelp(request, asUser(operators[0]));
  return { user, request };
};
const refusedApproval = (request: { email: string; help: AccountHelp }, by: User | undefined) =>
  refusalOf(accounts.approveAccountHelp(request, asUser(by)));
const eventsOf = async ({ userId }: User) =>
  (await accounts.listAccountNotices({ userId })).notices
    .map(({ event }) => AccountNoticeEvent[event])
    .reverse();
const actionsOf = async ({ userId }: User) => {
  const { entries } = await stack
    .client(AuditService, 'operator')
    .listAuditEntries({ merchantId: merchant.id });
  return entries
    .filter(({ targetId }) => targetId === userId)
    .map(({ action, actor }) => [action, actor.split(':').at(-1)])
    .reverse();
};
const changePassword = ({ userId }: User) =>
  accounts.changePassword({ userId, currentPassword: password, newPassword });
const resetPassword = async ({ email }: User) => {
  const { token } = await accounts.startPasswordReset({ email });
  await accounts.resetPassword({ token, password: newPassword });
};
const disableAndEnable = async ({ email }: User) => {
  await accounts.setUserDisabled({ email, isDisabled: true });
  await accounts.setUserDisabled({ email, isDisabled: false });
};

describe('without mail, a new password', () => {
  test('needs two operators: the second gets the link, and each step notifies the owner', async () => {
    const user = await owner();
    const { secret } = await desk.enableTotp(user.userId, -1);
    const session = await desk.openSession(user.userId);
    const help = { email: user.email.toUpperCase(), help: NEW_PASSWORD };

    const asked = await accounts.requestAccountHelp(help, asUser(operators[0]));
    await accounts.requestAccountHelp(help, asUser(operators[1]));
    const own = await refusalOf(accounts.approveAccountHelp(help, asUser(operators[0])));
    const { token } = await desk.accounts[1]!.approveAccountHelp(help, asUser(operators[1]));
    const again = accounts.approveAccountHelp(help, asUser(operators[2]));
    await expect(again).rejects.toThrow('was approved');
    const { user: reset } = await accounts.resetPassword({ token, password: newPassword });

    expect(asked.isMailed).toBe(false);
    expect([own, await refusalOf(again)]).toEqual(['SECOND_OPERATOR_NEEDED', 'ACCOUNT_HELP_NOT_FOUND']);
    expect(reset?.isTotpEnabled).toBe(true);
    expect(await desk.isOpen(session)).toBe(false);
    const { user: entered } = await accounts.verifyPassword({ email: user.email, password: newPassword });
    expect(entered?.isTotpEnabled).toBe(true);
    await accounts.verifyTotp({ userId: user.userId, code: codeOf(secret, 0) });
    expect(await eventsOf(user)).toEqual(['NEW_PASSWORD_ASKED', 'NEW_PASSWORD_APPROVED', 'PASSWORD_RESET']);
    expect(await actionsOf(user)).toEqual(
      expect.arrayContaining([
        ['user.ask_reset', operators[0]!.userId],
        ['user.approve_reset', operators[1]!.userId],
        ['user.reset_password', user.userId],
      ]),
    );
  });

  test('is given to one of two operators who approve it at the same moment', async () => {
    const { request } = await ask();

    const outcomes = await Promise.allSettled(
      [1, 2].map((index) => desk.accounts[index - 1]!.approveAccountHelp(request, asUser(operators[index]))),
    );

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('is not given to an operator while a dashboard takes the request for a mail', async () => {
    const { user, request } = await ask();

    const refusal = await duringChange(
      stack.databaseUrl,
      sql`delete from core.account_help where user_id = ${storedId('usr', user.userId)}`,
      () => refusedApproval(request, operators[1]),
    );

    expect(refusal).toBe('ACCOUNT_HELP_NOT_FOUND');
  });

  test('cannot be approved by one person with two names at the command line', async () => {
    const user = await owner();
    const help = { email: user.email, help: NEW_PASSWORD };
    const [first, second] = [byToken('abebe'), byToken('sara')];
    await first.client.requestAccountHelp(help, first.options);

    const refused = await refusalOf(second.client.approveAccountHelp(help, second.options));
    const { token } = await accounts.approveAccountHelp(help, asUser(operators[0]));

    expect(refused).toBe('SECOND_OPERATOR_NEEDED');
    expect(token).not.toBe('');
  });

  const operatorOfBefore = async () => {
    const operator = await desk.addUser();
    await makeOperatorsOld(stack);
    await disableAndEnable(operator);
    return operator;
  };
  test.each([
    ['a member of a merchant', () => owner(), 'NOT_AN_OPERATOR'],
    ['a caller without a signed-in user', () => undefined, 'NOT_AN_OPERATOR'],
    ['an operator who was added today', () => desk.addUser(), 'OPERATOR_TOO_NEW'],
    ['an operator who was enabled again today', operatorOfBefore, 'OPERATOR_TOO_NEW'],
  ])('is not approved by %s', async (_name, approver, reason) => {
    const by = await approver();
    const { request } = await ask();

    expect(await refusedApproval(request, by)).toBe(reason);
  });

  test.each<[string, (user: User) => Promise<unknown>]>([
    ['the user has changed the password', changePassword],
    ['the user has reset the password', resetPassword],
    ['the user was disabled and enabled again', disableAndEnable],
    ['it has expired', () => database.query('update core.account_help set expires_at = now()')],
    [
      'it was withdrawn',
      ({ email }) => accounts.rejectAccountHelp({ email, help: NEW_PASSWORD }, asUser(operators[2])),
    ],
  ])('is not approved after %s', async (_name, end) => {
    const { user, request } = await ask();

    await end(user);

    expect(await refusedApproval(request, operators[1])).toBe('ACCOUNT_HELP_NOT_FOUND');
  });

  test('that has expired is requested anew, and then approved', async () => {
    const { request } = await ask();
    await database.query(`update core.account_help set expires_at = now() - interval '1 minute'`);

    await accounts.requestAccountHelp(request, asUser(operators[0]));

    const { token } = await accounts.approveAccountHelp(request, asUser(operators[1]));
    expect(token).not.toBe('');
  });

  test('is not approved if a new operator requested it', async () => {
    const request = { email: (await owner()).email, help: NEW_PASSWORD };
    await accounts.requestAccountHelp(request, asUser(await desk.addUser()));

    expect(await refusedApproval(request, operators[1])).toBe('OPERATOR_TOO_NEW');
  });

  test('is not approved if its requester was disabled, and another operator can request it anew', async () => {
    const requesters = [await desk.addUser(), await desk.addUser()] as const;
    await makeOperatorsOld(stack);
    const request = { email: (await owner()).email, help: NEW_PASSWORD };
    await accounts.requestAccountHelp(request, asUser(requesters[0]));
    await accounts.setUserDisabled({ email: requesters[0].email, isDisabled: true });
    const ended = await refusedApproval(request, operators[1]);
    await accounts.requestAccountHelp(request, asUser(requesters[1]));
    const { requests } = await accounts.listAccountHelp({});
    // As when the request is made while its requester is being disabled.
    await database.query(sql`update core.users set disabled_at = now() where email = ${requesters[1].email}`);
    const left = await refusedApproval(request, operators[1]);

    expect([ended, left]).toEqual(['ACCOUNT_HELP_NOT_FOUND', 'ACCOUNT_HELP_NOT_FOUND']);
    expect(requests.find(({ email }) => email === request.email)?.askedByEmail).toBe(requesters[1].email);
  });

  test('of an operator is neither requested nor approved by that operator', async () => {
    const own = { email: operators[0]!.email, help: NEW_PASSWORD };
    const requested = await refusalOf(accounts.requestAccountHelp(own, asUser(operators[0])));
    await accounts.requestAccountHelp(own, asUser(operators[1]));
    const approved = await refusedApproval(own, operators[0]);
    await accounts.rejectAccountHelp(own, asUser(operators[1]));

    expect([requested, approved]).toEqual(['SECOND_OPERATOR_NEEDED', 'SECOND_OPERATOR_NEEDED']);
  });
});

describe('the removal of a second factor', () => {
  test('needs two operators, and not the password', async () => {
    const withoutFactor = { email: (await owner()).email, help: REMOVE_SECOND_FACTOR };
    const refused = await refusalOf(accounts.requestAccountHelp(withoutFactor, asUser(operators[0])));
    const { user, request } = await ask(REMOVE_SECOND_FACTOR);
    const session = await desk.openSession(user.userId);

    const own = await refusedApproval(request, operators[0]);
    const otherKind = await refusedApproval({ ...request, help: NEW_PASSWORD }, operators[1]);
    const { token } = await accounts.approveAccountHelp(request, asUser(operators[1]));

    expect([refused, own, otherKind, token]).toEqual([
      'TOTP_NOT_ENABLED',
      'SECOND_OPERATOR_NEEDED',
      'ACCOUNT_HELP_NOT_FOUND',
      '',
    ]);
    expect(await desk.isOpen(session)).toBe(false);
    const { user: entered } = await accounts.verifyPassword({ email: user.email, password });
    expect(entered?.isTotpEnabled).toBe(false);
    expect(await eventsOf(user)).toEqual(['SECOND_FACTOR_REMOVAL_ASKED', 'SECOND_FACTOR_REMOVED']);
  });

  test.each<[string, (user: User) => Promise<unknown>, string]>([
    ['ends when its user is disabled', disableAndEnable, 'ACCOUNT_HELP_NOT_FOUND'],
    ['can be approved when its user has changed the password', changePassword, 'done'],
  ])('%s', async (_name, change, approval) => {
    const { user, request } = await ask(REMOVE_SECOND_FACTOR);

    await change(user);

    expect(await outcomeOf(accounts.approveAccountHelp(request, asUser(operators[1])))).toBe(approval);
  });
});

test('the existing owners are notified when an operator invites another owner, or makes a member one', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const user = await desk.addUser({ merchantId, role: MemberRole.OWNER });
  const { userId } = await desk.addUser({ merchantId, role: MemberRole.VIEWER });
  const { client, options } = byToken('abebe');

  await client.inviteUser({ email: desk.newEmail(), merchantId, role: MemberRole.OWNER }, options);
  const promotion = { merchantId, userId, role: MemberRole.OWNER, expectedRole: MemberRole.VIEWER };
  await client.changeMembership(promotion, options);

  expect(await eventsOf(user)).toEqual(['OWNER_INVITED', 'OWNER_INVITED']);
});

test.each([
  ['account_help', 'user_id'],
  ['account_links', 'email'],
  ['account_notices', 'user_id'],
])('what has expired in %s is removed, and nothing else', async (table, column) => {
  const users = [(await ask()).user, (await ask()).user];
  for (const { email } of users) await accounts.startPasswordReset({ email });
  const names = users.map(({ email, userId }) => (column === 'email' ? email : storedId('usr', userId)));
  await database.query(`update core.${table} set expires_at = now() where ${column} = $1`, [names[0]]);

  await sweepAccounts(pool, { aborted: false });

  const { rows } = await database.query(
    `select ${column} as name from core.${table} where ${column} = any($1)`,
    [names],
  );
  expect(rows).toEqual([{ name: names[1] }]);
});

// The last test, because this gateway sends mail from then on.
test('with mail, the link goes to the user and to no operator, whatever was requested before', async () => {
  const [before, after] = [await owner(), await owner()];
  await accounts.requestAccountHelp({ email: before.email, help: NEW_PASSWORD }, asUser(operators[0]));
  const { user: late } = await ask();
  // Core's clock can be a little behind the database's.
  await database.query(sql`update core.account_help set expires_at = now() - interval '1 minute'
    where user_id = ${storedId('usr', late.userId)}`);

  const { requests } = await accounts.listAccountHelp({});
  const { mails } = await accounts.takeAccountMails({});
  const help = { email: after.email, help: NEW_PASSWORD };
  const asked = await accounts.requestAccountHelp(help, asUser(operators[0]));
  const approval = await refusedApproval(help, operators[1]);
  const next = await Promise.all(desk.accounts.map((core) => core.takeAccountMails({})));

  const links = mails.filter(({ resetToken }) => resetToken !== '');
  expect(links.map(({ email }) => email)).toContain(before.email);
  expect([...links, ...requests].map(({ email }) => email)).not.toContain(late.email);
  const token = links.find(({ email }) => email === before.email)?.resetToken ?? '';
  expect((await accounts.resetPassword({ token, password: newPassword })).user?.userId).toBe(before.userId);
  expect(asked.isMailed).toBe(true);
  expect(approval).toBe('MAILED_TO_USER');
  const nextLinks = next.flatMap((reply) => reply.mails).filter(({ resetToken }) => resetToken !== '');
  expect(nextLinks.map(({ email }) => email)).toEqual([after.email]);
  const told = next
    .flatMap((reply) => reply.mails)
    .filter(({ email, notice }) => email === after.email && notice);
  expect(told.map(({ notice }) => AccountNoticeEvent[notice!.event])).toEqual(['NEW_PASSWORD_ASKED']);
});
