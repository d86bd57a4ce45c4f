import { beforeAll, describe, expect, test } from '@jest/globals';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { refusalOf, wrongFields } from '../../support/rpc-failure.ts';
import { AccountService } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { password } from './account-desk.ts';
import { sharedAccountSite } from './account-site.ts';

const { site, stack, desk } = sharedAccountSite();
let merchantId: string;
beforeAll(() => {
  ({ merchantId } = site);
});

const newPassword = 'staple of quiet mornings';
const addUser = () => desk.addUser({ merchantId, role: MemberRole.OWNER });
const startReset = async (email: string) =>
  (await stack.client(AccountService, 'dashboard').startPasswordReset({ email })).token;

describe('a reset', () => {
  test('sets the password by a link that works once, and ends every session and other link', async () => {
    const user = await addUser();
    const [open, first, second] = [
      await desk.openSession(user.userId),
      await startReset(user.email),
      await startReset(user.email),
    ];

    const reply = await desk.accounts[0].resetPassword({ token: first, password: newPassword });

    expect(reply.user).toMatchObject({ userId: user.userId });
    expect(await desk.isOpen(open)).toBe(false);
    expect(await refusalOf(desk.accounts[0].verifyPassword({ email: user.email, password }))).toBe(
      'WRONG_CREDENTIALS',
    );
    await desk.accounts[0].verifyPassword({ email: user.email, password: newPassword });
    for (const token of [first, second])
      expect(await refusalOf(desk.accounts[0].resetPassword({ token, password }))).toBe('LINK_NOT_USABLE');
  });

  test('is done once, also by two links at once on two cores', async () => {
    const user = await addUser();
    const tokens = [await startReset(user.email), await startReset(user.email)];
    const outcomes = await Promise.allSettled(
      [0, 1, 0, 1].map((index) =>
        desk.accounts[index % 2]!.resetPassword({
          token: tokens[index % 2]!,
          password: `${newPassword} ${index}`,
        }),
      ),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('leaves the second factor as it is', async () => {
    const user = await addUser();
    await desk.enableTotp(user.userId);
    const { token } = await desk.accounts[0].startPasswordReset({ email: user.email });
    const kept = await desk.accounts[0].resetPassword({ token, password: newPassword });
    expect(kept.user?.isTotpEnabled).toBe(true);
  });

  test('of an unknown address or a disabled user gives no link and no error', async () => {
    const user = await addUser();
    await desk.accounts[0].setUserDisabled({ email: user.email, isDisabled: true });
    const replies = [
      await desk.accounts[0].startPasswordReset({ email: desk.newEmail() }),
      await desk.accounts[0].startPasswordReset({ email: user.email }),
    ];
    expect(replies.map(({ token }) => token)).toEqual(['', '']);
    for (const { expireTime } of replies) expect(expireTime).toBeDefined();
  });

  test('can be requested five times an hour, with and without an account', async () => {
    const user = await addUser();
    for (const email of [user.email, desk.newEmail()]) {
      for (let count = 0; count < 5; count += 1) await desk.accounts[0].startPasswordReset({ email });
      expect(await refusalOf(desk.accounts[0].startPasswordReset({ email }))).toBe('TOO_MANY_TRIES');
    }
  });

  test('with a password that breaks the rules leaves the link as it was', async () => {
    const user = await addUser();
    const token = await startReset(user.email);
    expect(await wrongFields(desk.accounts[0].resetPassword({ token, password: 'short' }))).toBe('password');
    await desk.accounts[0].resetPassword({ token, password: newPassword });
  });

  test('cannot be accepted as an invitation, nor an invitation as a reset', async () => {
    const user = await addUser();
    const reset = await startReset(user.email);
    const { token: invitation } = await desk.accounts[0].inviteUser({
      email: desk.newEmail(),
      merchantId,
      role: MemberRole.VIEWER,
    });
    expect(await refusalOf(desk.accounts[0].getInvitation({ token: reset }))).toBe('LINK_NOT_USABLE');
    const call = desk.accounts[0].resetPassword({ token: invitation, password: newPassword });
    expect(await refusalOf(call)).toBe('LINK_NOT_USABLE');
  });
});

test('a reset ends the wait of a user after wrong passwords, whoever typed them', async () => {
  const user = await addUser();
  const remoteAddress = '192.0.2.77';
  const signIn = (own: string) =>
    desk.accounts[0].verifyPassword({ email: user.email, password: own, remoteAddress });
  for (let count = 0; count < 6; count += 1) await signIn('not the right password').catch(() => undefined);
  expect(await refusalOf(signIn(password))).toBe('TOO_MANY_TRIES');

  await desk.accounts[1]!.resetPassword({ token: await startReset(user.email), password: newPassword });

  await signIn(newPassword);
});

describe('changing a password', () => {
  test('needs the current password, and ends the other sessions', async () => {
    const user = await addUser();
    const [here, elsewhere] = [await desk.openSession(user.userId), await desk.openSession(user.userId)];
    await desk.accounts[0].changePassword({
      userId: user.userId,
      currentPassword: password,
      newPassword,
      keepSessionHash: here,
    });
    expect([await desk.isOpen(here), await desk.isOpen(elsewhere)]).toEqual([true, false]);
    await desk.accounts[1]!.verifyPassword({ email: user.email, password: newPassword });
  });

  test('ends reset links, which others may have seen', async () => {
    const user = await addUser();
    const token = await startReset(user.email);
    await desk.accounts[0].changePassword({
      userId: user.userId,
      currentPassword: password,
      newPassword,
    });
    const call = desk.accounts[0].resetPassword({ token, password: `${newPassword} again` });
    expect(await refusalOf(call)).toBe('LINK_NOT_USABLE');
  });

  test('without the current password changes nothing, and attempts are limited', async () => {
    const user = await addUser();
    const change = () =>
      desk.accounts[0].changePassword({
        userId: user.userId,
        currentPassword: 'guess after guess',
        newPassword,
      });
    for (let count = 0; count < 5; count += 1) expect(await refusalOf(change())).toBe('WRONG_CREDENTIALS');
    expect(await refusalOf(change())).toBe('TOO_MANY_TRIES');
    await desk.accounts[0].verifyPassword({ email: user.email, password, remoteAddress: '192.0.2.1' });
  });

  test('twice at once succeeds once, and the second call is refused', async () => {
    const user = await addUser();
    const outcomes = await Promise.all(
      [0, 1].map((core) =>
        desk.accounts[core]!.changePassword({
          userId: user.userId,
          currentPassword: password,
          newPassword: `${newPassword} ${core}`,
        }).then(
          () => 'done',
          async (error: unknown) => await refusalOf(Promise.reject(error as Error)),
        ),
      ),
    );
    expect(outcomes).toContain('done');
    expect(outcomes.filter((outcome) => outcome !== 'done')).toHaveLength(1);
  });
});
