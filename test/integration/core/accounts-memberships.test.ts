import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import type { User } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { storedId } from '../../support/ids.ts';
import { refusalOf } from '../../support/rpc-failure.ts';
import { password } from './account-desk.ts';
import { sharedAccountSite } from './account-site.ts';

const { OWNER, DEVELOPER, VIEWER } = MemberRole;

const { stack, desk, database } = sharedAccountSite();

const newMerchant = async () => (await stack.createMerchant()).id;
const change = (merchantId: string, user: User, from: MemberRole, to: MemberRole, core = 0) =>
  desk.accounts[core]!.changeMembership({ merchantId, userId: user.userId, role: to, expectedRole: from });
const remove = (merchantId: string, email: string, core = 0) =>
  desk.accounts[core]!.removeMembership({ merchantId, email });
const rolesOf = async (merchantId: string) =>
  (await desk.accounts[0].listUsers({ merchantId })).users.map(({ memberships }) => memberships[0]?.role);
const done = async (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    async (error: unknown) => await refusalOf(Promise.reject(error as Error)),
  );

describe('an open invitation', () => {
  const invite = async (by: User, merchantId: string) => {
    const wish = { email: desk.newEmail(), merchantId, role: OWNER };
    const call = { headers: { 'x-gatehouse-actor': by.userId } };
    return (await desk.accounts[0].inviteUser(wish, call)).token;
  };
  const isOpen = async (token: string) => (await done(desk.accounts[0].getInvitation({ token }))) === 'done';

  test.each<[string, (merchantId: string, owner: User) => Promise<unknown>]>([
    ['is removed', (merchantId, { email }) => remove(merchantId, email)],
    ['becomes a developer', (merchantId, owner) => change(merchantId, owner, OWNER, DEVELOPER)],
    ['is disabled', (_, { email }) => desk.accounts[0].setUserDisabled({ email, isDisabled: true })],
  ])('is withdrawn when the owner who sent it %s, and no other one is', async (_, end) => {
    const [merchantId, elsewhere] = [await newMerchant(), await newMerchant()];
    const leaving = await desk.addUser({ merchantId, role: OWNER });
    const staying = await desk.addUser({ merchantId, role: OWNER });
    const [theirs, another, ofOther] = [
      await invite(leaving, merchantId),
      await invite(staying, merchantId),
      await invite(staying, elsewhere),
    ];

    await end(merchantId, leaving);

    expect([await isOpen(theirs), await isOpen(another), await isOpen(ofOther)]).toEqual([false, true, true]);
  });

  test('stays when the owner who sent it stays', async () => {
    const merchantId = await newMerchant();
    const owner = await desk.addUser({ merchantId, role: OWNER });
    const developer = await desk.addUser({ merchantId, role: DEVELOPER });
    const token = await invite(owner, merchantId);
    await change(merchantId, developer, DEVELOPER, OWNER);
    await remove(merchantId, developer.email);
    expect(await isOpen(token)).toBe(true);
  });
});

describe('a role', () => {
  test('is changed at one merchant only', async () => {
    const [here, elsewhere] = [await newMerchant(), await newMerchant()];
    const user = await desk.addUser({ merchantId: here, role: VIEWER });
    const { token } = await desk.accounts[0].inviteUser({
      email: user.email,
      merchantId: elsewhere,
      role: OWNER,
    });
    await desk.accounts[0].acceptInvitation({ token, password });

    const { user: changed } = await change(here, user, VIEWER, DEVELOPER);

    expect(changed?.memberships).toMatchObject([{ merchantId: here, role: DEVELOPER }]);
    expect(await rolesOf(elsewhere)).toEqual([OWNER]);
  });

  test('that another person has changed meanwhile is kept, and the second change is refused', async () => {
    const merchantId = await newMerchant();
    const user = await desk.addUser({ merchantId, role: VIEWER });
    const outcomes = await Promise.all([
      done(change(merchantId, user, VIEWER, DEVELOPER, 0)),
      done(change(merchantId, user, VIEWER, OWNER, 1)),
    ]);
    expect(outcomes.sort()).toEqual(['CHANGED_MEANWHILE', 'done']);
  });

  test('of a user of another merchant is not found', async () => {
    const [here, elsewhere] = [await newMerchant(), await newMerchant()];
    const user = await desk.addUser({ merchantId: elsewhere, role: VIEWER });
    expect(await refusalOf(change(here, user, VIEWER, OWNER))).toBe('USER_NOT_FOUND');
  });
});

describe('the last owner', () => {
  test('keeps the role, and the membership', async () => {
    const merchantId = await newMerchant();
    const owner = await desk.addUser({ merchantId, role: OWNER });
    await desk.addUser({ merchantId, role: DEVELOPER });
    expect(await refusalOf(change(merchantId, owner, OWNER, VIEWER))).toBe('LAST_OWNER');
    expect(await refusalOf(remove(merchantId, owner.email))).toBe('LAST_OWNER');
  });

  test('is the last one who may sign in: a disabled owner does not count', async () => {
    const merchantId = await newMerchant();
    const [owner, kept] = [
      await desk.addUser({ merchantId, role: OWNER }),
      await desk.addUser({ merchantId, role: OWNER }),
    ];
    await desk.accounts[0].setUserDisabled({ email: kept.email, isDisabled: true });
    expect(await refusalOf(remove(merchantId, owner.email))).toBe('LAST_OWNER');
    await remove(merchantId, kept.email);
  });

  test('remains when two owners leave at the same moment', async () => {
    const merchantId = await newMerchant();
    const owners = [
      await desk.addUser({ merchantId, role: OWNER }),
      await desk.addUser({ merchantId, role: OWNER }),
    ];
    const outcomes = await Promise.all(
      owners.map((owner, core) => done(remove(merchantId, owner.email, core))),
    );
    expect(outcomes.sort()).toEqual(['LAST_OWNER', 'done']);
  });

  test('remains after any concurrent changes', async () => {
    const step = fc.record({
      who: fc.integer({ min: 0, max: 2 }),
      from: fc.constantFrom(OWNER, DEVELOPER),
      to: fc.constantFrom(OWNER, DEVELOPER, undefined),
      core: fc.integer({ min: 0, max: 1 }),
    });
    const elsewhere = { merchantId: await newMerchant(), role: VIEWER };
    const users = [
      await desk.addUser(elsewhere),
      await desk.addUser(elsewhere),
      await desk.addUser(elsewhere),
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { maxLength: 3 }),
        async (rounds) => {
          const merchantId = await newMerchant();
          for (const [index, { userId }] of users.entries())
            await database.query('insert into core.memberships values ($1, $2, $3, now(), now())', [
              storedId('mer', merchantId),
              storedId('usr', userId),
              index < 2 ? 'OWNER' : 'DEVELOPER',
            ]);
          for (const round of rounds) {
            const outcomes = await Promise.all(
              round.map(({ who, from, to, core }) =>
                done(
                  to === undefined
                    ? remove(merchantId, users[who]!.email, core)
                    : change(merchantId, users[who]!, from, to, core),
                ),
              ),
            );
            const expected = ['done', 'LAST_OWNER', 'CHANGED_MEANWHILE', 'USER_NOT_FOUND'];
            for (const outcome of outcomes) expect(expected).toContain(outcome);
            expect(await rolesOf(merchantId)).toContain(OWNER);
          }
        },
      ),
      { numRuns: 12 },
    );
  });
});

describe('removing a member', () => {
  test('removes the role or the invitation, and repeating it says that nothing changed', async () => {
    const merchantId = await newMerchant();
    await desk.addUser({ merchantId, role: OWNER });
    const user = await desk.addUser({ merchantId, role: VIEWER });
    const invited = desk.newEmail();
    const { token } = await desk.accounts[0].inviteUser({ email: invited, merchantId, role: VIEWER });
    const before = await desk.accounts[0].listUsers({ merchantId });

    const absent: boolean[] = [];
    for (const email of [user.email, user.email, invited.toUpperCase(), desk.newEmail()])
      absent.push((await remove(merchantId, email)).wasAbsent);

    const after = await desk.accounts[0].listUsers({ merchantId });
    expect([before.users.length, before.invitations.length]).toEqual([2, 1]);
    expect(before.invitations).toMatchObject([{ email: invited, role: VIEWER }]);
    expect(absent).toEqual([false, true, false, true]);
    expect([after.users.length, after.invitations.length]).toEqual([1, 0]);
    expect(await refusalOf(desk.accounts[0].getInvitation({ token }))).toBe('LINK_NOT_USABLE');
    const { user: left } = await desk.accounts[0].verifyPassword({ email: user.email, password });
    expect(left?.memberships).toEqual([]);
  });

  test('from the operators withdraws an invitation', async () => {
    const email = desk.newEmail();
    await desk.accounts[0].inviteUser({ email, asOperator: true });
    expect((await desk.accounts[0].listUsers({})).invitations).toMatchObject([{ email }]);
    await desk.accounts[0].removeMembership({ email });
    expect((await desk.accounts[0].listUsers({})).invitations).toEqual([]);
  });
});

describe('operators', () => {
  test('are never all disabled, even by two who disable each other at once', async () => {
    const both = [await desk.addUser(), await desk.addUser()];
    const outcomes = await Promise.all(
      both.map(({ email }, core) => done(desk.accounts[core]!.setUserDisabled({ email, isDisabled: true }))),
    );
    expect(outcomes.sort()).toEqual(['LAST_OPERATOR', 'done']);
    for (const { email } of both) await desk.accounts[0].setUserDisabled({ email, isDisabled: false });
    const { users } = await desk.accounts[0].listUsers({});
    expect(users.every(({ isDisabled, isOperator }) => isOperator && !isDisabled)).toBe(true);
  });

  test('disable a user, whose sessions end, and enable the user again', async () => {
    const merchantId = await newMerchant();
    const user = await desk.addUser({ merchantId, role: OWNER });
    const open = await desk.openSession(user.userId);

    const { user: kept } = await desk.accounts[0].setUserDisabled({ email: user.email, isDisabled: true });
    expect(kept?.isDisabled).toBe(true);
    expect(await desk.isOpen(open)).toBe(false);
    const write = desk.openSession(user.userId);
    expect(await refusalOf(write)).toBe('USER_NOT_FOUND');

    await desk.accounts[0].setUserDisabled({ email: user.email, isDisabled: false });
    await desk.accounts[0].verifyPassword({ email: user.email, password });
    expect(await desk.isOpen(open)).toBe(false);
  });
});
