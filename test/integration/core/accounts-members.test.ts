import { beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { failureOf, outcomeOf, refusalOf, waitAskedFor, wrongFields } from '../../support/rpc-failure.ts';
import { asUser, password, sharedAccountSite } from './account-desk.ts';
import type { User } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { sentText } from '../../../src/core/accounts/withdraw-invitations.ts';
import { storedId } from '../../support/ids.ts';
import { duringChange } from '../../support/database-connections.ts';
import { addMembers } from '../../support/many-members.ts';
import { sql } from '../../support/sql.ts';

const { stack, desk, accounts, database, merchant } = sharedAccountSite();
const { OWNER, DEVELOPER, VIEWER } = MemberRole;
let merchantId: string;
beforeAll(() => {
  ({ id: merchantId } = merchant);
});

const invite = async (email: string, role = DEVELOPER, where = merchantId): Promise<string> =>
  (await accounts.inviteUser({ email, merchantId: where, role })).token;
const accept = (token: string, own: object = {}, core = 0) =>
  desk.accounts[core]!.acceptInvitation({ token, name: 'Abebe', password, language: 'am', ...own });

describe('removing a member', () => {
  test('removes the role or the invitation, and repeating it says that nothing changed', async () => {
    const { merchantId, members } = await desk.openShop(OWNER, VIEWER);
    const user = members[1]!;
    const invited = desk.newEmail();
    const { token } = await accounts.inviteUser({ email: invited, merchantId, role: VIEWER });
    const before = await accounts.listUsers({ merchantId });

    const absent: boolean[] = [];
    for (const email of [user.email, user.email, invited.toUpperCase(), desk.newEmail()])
      absent.push((await remove(merchantId, email)).wasAbsent);

    const after = await accounts.listUsers({ merchantId });
    expect([before.users.length, before.invitations.length]).toEqual([2, 1]);
    expect(before.invitations).toMatchObject([{ email: invited, role: VIEWER }]);
    expect(absent).toEqual([false, true, false, true]);
    expect([after.users.length, after.invitations.length]).toEqual([1, 0]);
    expect(await refusalOf(accounts.getInvitation({ token }))).toBe('LINK_NOT_USABLE');
    const { user: left } = await accounts.verifyPassword({ email: user.email, password });
    expect(left?.memberships).toEqual([]);
  });

  test('only with an open invitation keeps a user who accepted it, and the invitations of that user', async () => {
    const { merchantId, members } = await desk.openShop(OWNER, OWNER);
    const user = members[1]!;
    const sent = { email: desk.newEmail(), merchantId, role: VIEWER };
    await accounts.inviteUser(sent, asUser(user));

    const withdraw = (email: string) =>
      accounts.removeMembership({ merchantId, email, invitationOnly: true });
    const accepted = await withdraw(user.email);
    const after = await accounts.listUsers({ merchantId });
    const open = await withdraw(sent.email);

    expect([accepted.wasAbsent, open.wasAbsent]).toEqual([true, false]);
    expect([after.users.length, after.invitations.length]).toEqual([2, 1]);
    expect((await accounts.listUsers({ merchantId })).invitations).toEqual([]);
  });

  test('from the operators withdraws an invitation', async () => {
    const email = desk.newEmail();
    await accounts.inviteUser({ email, asOperator: true });
    expect((await accounts.listUsers({})).invitations).toMatchObject([{ email }]);
    await accounts.removeMembership({ email });
    expect((await accounts.listUsers({})).invitations).toEqual([]);
  });
});

describe('operators', () => {
  test('are never all disabled, even by two who disable each other at once', async () => {
    const both = [await desk.addUser(), await desk.addUser()];
    const outcomes = await Promise.all(
      both.map(({ email }, core) =>
        outcomeOf(desk.accounts[core]!.setUserDisabled({ email, isDisabled: true })),
      ),
    );
    expect(outcomes.sort()).toEqual(['LAST_OPERATOR', 'done']);
    for (const { email } of both) await accounts.setUserDisabled({ email, isDisabled: false });
    const { users } = await accounts.listUsers({});
    expect(users.every(({ isDisabled, isOperator }) => isOperator && !isDisabled)).toBe(true);
  });

  test('disable a user, whose sessions and links for a new password end, and enable the user again', async () => {
    const merchantId = await newMerchant();
    const user = await desk.addUser({ merchantId, role: OWNER });
    const open = await desk.openSession(user.userId);
    const { token } = await accounts.startPasswordReset({ email: user.email });

    const { user: kept } = await accounts.setUserDisabled({ email: user.email, isDisabled: true });
    expect(kept?.isDisabled).toBe(true);
    expect(await desk.isOpen(open)).toBe(false);
    const write = desk.openSession(user.userId);
    expect(await refusalOf(write)).toBe('USER_NOT_FOUND');

    await accounts.setUserDisabled({ email: user.email, isDisabled: false });
    await accounts.verifyPassword({ email: user.email, password });
    expect(await desk.isOpen(open)).toBe(false);
    expect(await refusalOf(accounts.resetPassword({ token, password }))).toBe('LINK_NOT_USABLE');
  });
});

describe('an invitation', () => {
  test('names its merchant and role, and creates the account with the role when it is accepted', async () => {
    const email = 'Sara.Bekele@Shop.Example';
    const token = await invite(email, OWNER);

    const seen = await accounts.getInvitation({ token });
    const { user } = await accept(token, { name: 'ሳራ በቀለ' });

    expect(seen).toMatchObject({
      email,
      merchantName: 'Test Shop',
      role: OWNER,
      asOperator: false,
    });
    expect(user).toMatchObject({
      email,
      name: 'ሳራ በቀለ',
      language: 'am',
      isOperator: false,
      isTotpEnabled: false,
      memberships: [{ merchantId, merchantName: 'Test Shop', role: OWNER }],
    });
    // The acceptance is the first sign-in.
    expect(user?.lastSignInTime).toBeDefined();
    const signedIn = await desk.accounts[1]!.verifyPassword({ email: email.toLowerCase(), password });
    expect(signedIn.user?.userId).toBe(user?.userId);
  });

  test('of an operator creates an operator, who belongs to no merchant', async () => {
    const { token } = await accounts.inviteUser({ email: desk.newEmail(), asOperator: true });
    expect(await accounts.getInvitation({ token })).toMatchObject({
      asOperator: true,
      role: MemberRole.UNSPECIFIED,
      merchantName: '',
    });
    expect((await accept(token)).user).toMatchObject({ isOperator: true, memberships: [] });
  });

  test('can be accepted once, however many requests use it at the same moment on different cores', async () => {
    const token = await invite(desk.newEmail());

    const outcomes = await Promise.all([0, 1, 0, 1, 0, 1].map((core) => outcomeOf(accept(token, {}, core))));
    const refusals = outcomes.filter((outcome) => outcome !== 'done');

    expect(refusals).toHaveLength(5);
    for (const reason of refusals)
      expect(['LINK_NOT_USABLE', 'WRONG_CREDENTIALS', 'TOO_MANY_TRIES']).toContain(reason);
    expect(await refusalOf(accounts.getInvitation({ token }))).toBe('LINK_NOT_USABLE');
  });

  test('ends only when the same address is invited to the same merchant again', async () => {
    const other = (await stack.createMerchant()).id;
    const email = desk.newEmail();
    const [first, elsewhere] = [await invite(email), await invite(email, VIEWER, other)];

    const second = await invite(email.toUpperCase(), VIEWER);

    expect(await refusalOf(accept(first))).toBe('LINK_NOT_USABLE');
    expect((await accept(second)).user?.memberships).toMatchObject([{ role: VIEWER }]);
    expect((await accept(elsewhere)).user?.memberships).toHaveLength(2);
  });

  test('that is created many times at once leaves one valid link', async () => {
    const email = desk.newEmail();
    const tokens = await Promise.all(
      [0, 1, 0, 1].map((core) => desk.accounts[core]!.inviteUser({ email, merchantId, role: VIEWER })),
    );
    const read = tokens.map(({ token }) => accounts.getInvitation({ token }));
    const usable = (await Promise.allSettled(read)).filter(({ status }) => status === 'fulfilled');
    expect(usable).toHaveLength(1);
  });

  test.each([
    ['has expired or does not exist', '-7 days'],
    // Otherwise it would be valid for a month.
    ["was created while the database's clock was a month ahead", '30 days'],
  ])('that %s opens nothing', async (_name, shift) => {
    const email = desk.newEmail();
    const token = await invite(email);
    await database.query(sql`update core.account_links
      set created_at = created_at + ${shift}::interval, expires_at = expires_at + ${shift}::interval
      where email_key = ${email}`);
    expect(await refusalOf(accounts.getInvitation({ token }))).toBe('LINK_NOT_USABLE');
    for (const wrong of [token, '', 'x', 'A'.repeat(43), `${'A'.repeat(42)}\0`])
      expect(await refusalOf(accept(wrong))).toBe('LINK_NOT_USABLE');
  });

  test('to a user with an account asks for its password, and changes nothing else of it', async () => {
    const user = await desk.addUser({ merchantId, role: VIEWER });
    const other = (await stack.createMerchant()).id;
    const token = await invite(user.email, DEVELOPER, other);

    await expect(accept(token, { password: 'another password altogether' })).rejects.toMatchObject({
      rawMessage: 'wrong password; if the address has an account, use the password of that account',
    });
    const accepted = await accept(token, { name: 'Mallory', language: 'en' });

    expect(accepted.user).toMatchObject({ userId: user.userId, name: user.name });
    expect(accepted.user?.memberships).toHaveLength(2);
  });

  test.each([
    ['the password was changed', "password_hash = password_hash || 'changed'", 'WRONG_CREDENTIALS'],
    ['the user was disabled', 'disabled_at = now()', 'LINK_NOT_USABLE'],
  ])('is not accepted if %s while the old password was checked', async (_, change, refusal) => {
    const user = await desk.addUser({ merchantId, role: VIEWER });
    const { token } = await desk.inviteElsewhere(user.email);
    const accepted = await duringChange(
      stack.databaseUrl,
      { text: `update core.users set ${change} where email = $1`, values: [user.email] },
      () => outcomeOf(accept(token)),
    );
    expect(accepted).toBe(refusal);
  });

  test('to a disabled user is refused alike with the right password and a wrong one', async () => {
    const { email } = await desk.addUser({ merchantId, role: VIEWER });
    const { token } = await desk.inviteElsewhere(email);
    await accounts.setUserDisabled({ email, isDisabled: true });
    const answers = [
      await refusalOf(accept(token)),
      await refusalOf(accept(token, { password: 'not this one' })),
    ];
    expect(answers).toEqual(['WRONG_CREDENTIALS', 'WRONG_CREDENTIALS']);
  });

  test('limits attempts to guess a password', async () => {
    const user = await desk.addUser({ merchantId, role: VIEWER });
    const token = await invite(user.email, VIEWER, (await stack.createMerchant()).id);
    const wrong = () =>
      refusalOf(accept(token, { password: 'not this one either', remoteAddress: '192.0.2.7' }));

    for (let count = 0; count < 5; count += 1) expect(await wrong()).toBe('WRONG_CREDENTIALS');
    expect(await wrong()).toBe('TOO_MANY_TRIES');
  });

  test('that is accepted together with another one for the same new address creates the account or asks for its password', async () => {
    const other = (await stack.createMerchant()).id;
    const email = desk.newEmail();
    const tokens = [await invite(email), await invite(email, VIEWER, other)];

    await Promise.all(tokens.map((token, core) => accept(token, {}, core)));

    const { users } = await accounts.listUsers({ merchantId: other });
    expect(users.map((user) => user.email)).toEqual([email]);
    const { user } = await accounts.verifyPassword({ email, password });
    expect(user?.memberships).toHaveLength(2);
  });
});

describe('an invitation is refused', () => {
  test('for a merchant that the user already belongs to', async () => {
    const user = await desk.addUser({ merchantId, role: VIEWER });
    const failure = await failureOf(invite(user.email.toUpperCase()));
    expect(failure).toMatchObject({ code: 'AlreadyExists', reason: 'ALREADY_A_MEMBER' });
  });

  test('for an operator as a member of a merchant, and for a member as an operator', async () => {
    const member = await desk.addUser({ merchantId, role: VIEWER });
    const operator = await desk.addUser();
    const toOperators = accounts.inviteUser({ email: member.email, asOperator: true });
    expect(await refusalOf(toOperators)).toBe('ALREADY_A_MEMBER');
    // The inviter does not learn that the address is an operator's.
    expect(await refusalOf(accept(await invite(operator.email)))).toBe('LINK_NOT_USABLE');
  });

  test('for both the operators and a merchant, because an operator belongs to no merchant', async () => {
    const email = desk.newEmail();
    const place = await invite(email);
    const { token: operators } = await accounts.inviteUser({ email, asOperator: true });

    await Promise.allSettled([accept(place, {}, 0), accept(operators, {}, 1)]);

    const { user } = await accounts.verifyPassword({ email, password });
    expect(user?.isOperator ? user.memberships : [user?.isOperator]).toHaveLength(user?.isOperator ? 0 : 1);
  });

  test('for an unknown merchant', async () => {
    const call = invite(desk.newEmail(), OWNER, 'mer_01h455vb4pex5vsknk084sn02q');
    expect(await failureOf(call)).toMatchObject({ code: 'NotFound', reason: 'MERCHANT_NOT_FOUND' });
  });

  test('with invalid values', async () => {
    const fieldsOf = (own: object) =>
      wrongFields(
        accounts.inviteUser({
          ...{ email: 'someone@shop.example', merchantId, role: VIEWER },
          ...own,
        }),
      );
    for (const email of ['', 'a@b.example\nbcc: c@d.example', 'A <a@b.example>', `a@${'b'.repeat(253)}`])
      expect(await fieldsOf({ email })).toBe('email');
    for (const role of [MemberRole.UNSPECIFIED, 9]) expect(await fieldsOf({ role })).toBe('role');
    for (const seconds of [0n, 15n * 86_400n])
      expect(await fieldsOf({ validFor: { seconds } })).toBe('valid_for');
    expect(await fieldsOf({ asOperator: true })).toBe('merchant_id');
    expect(await fieldsOf({ email: 'x', merchantId: 'x', role: 0 })).toBe('email merchant_id role');
  });

  test.each([
    ['no name', { name: '' }, 'name'],
    ['a password of 11 characters', { password: 'horse batte' }, 'password'],
    ["the user's address as the password", { password: 'someone@shop.example' }, 'password'],
    ['an unknown language', { language: 'fr' }, 'language'],
  ])('when it is accepted with %s', async (_name, own, field) => {
    const token = await invite(field === 'password' ? 'someone@shop.example' : desk.newEmail());
    expect(await wrongFields(accept(token, own))).toBe(field);
    await accounts.getInvitation({ token });
  });
});

describe('no answer reveals whether an address has an account:', () => {
  test('an invitation to a merchant is created, read and refused alike for a stranger, a user and an operator', async () => {
    const other = (await stack.createMerchant()).id;
    const emails = [
      desk.newEmail(),
      (await desk.addUser({ merchantId: other, role: OWNER })).email,
      (await desk.addUser()).email,
    ];

    const seen = await Promise.all(
      emails.map(async (email) => {
        const token = await invite(email);
        const { email: _email, expireTime: _time, ...read } = await accounts.getInvitation({ token });
        const weak = await failureOf(accept(token, { password: 'Password123456', name: '' }));
        const short = await failureOf(accept(token, { password: 'short' }));
        return { read, weak, short };
      }),
    );

    expect(seen[0]?.weak).toMatchObject({ reason: 'INVALID_FIELDS' });
    expect(Object.keys(seen[0]?.weak.issues ?? {}).sort()).toEqual(['name', 'password']);
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[2]).toEqual(seen[0]);
  });
});

describe('invitations', () => {
  const toMerchant = (email: string, own: object = {}) => ({
    email,
    merchantId,
    role: VIEWER,
    ...own,
  });

  test('of one inviter are limited to 20 an hour over all cores, and the refusal has the wait', async () => {
    const inviter = await desk.addUser({ merchantId, role: OWNER });
    for (let count = 0; count < 20; count += 1)
      await desk.accounts[count % 2]!.inviteUser(toMerchant(desk.newEmail()), asUser(inviter));

    const refused = () => desk.accounts[1]!.inviteUser(toMerchant(desk.newEmail()), asUser(inviter));

    expect(await refusalOf(refused())).toBe('TOO_MANY_TRIES');
    expect(await waitAskedFor(refused())).toBeGreaterThan(0);
    const another = await desk.addUser({ merchantId, role: OWNER });
    await accounts.inviteUser(toMerchant(desk.newEmail()), asUser(another));
  });

  test('to one address are limited to 5 an hour from one merchant, and 10 beside the first of each, over all inviters', async () => {
    const email = desk.newEmail();
    const merchants = [(await stack.createMerchant()).id, (await stack.createMerchant()).id];
    const inviteTo = (merchant: string, core: number) =>
      desk.accounts[core]!.inviteUser(toMerchant(email, { merchantId: merchant }));
    for (const merchant of merchants) {
      for (let count = 0; count < 5; count += 1) await inviteTo(merchant, count % 2);
      expect(await refusalOf(inviteTo(merchant, 0))).toBe('TOO_MANY_TRIES');
    }
    for (let count = 0; count < 3; count += 1) await inviteTo(merchantId, count % 2);
    expect(await refusalOf(inviteTo(merchantId, 1))).toBe('TOO_MANY_TRIES');
  });

  test('of other merchants to an address do not prevent the first one of a merchant', async () => {
    const email = desk.newEmail();
    for (let others = 0; others < 3; others += 1) {
      const { id: other } = await stack.createMerchant();
      const inviteToOther = () => accounts.inviteUser(toMerchant(email, { merchantId: other }));
      for (let count = 0; count < 5; count += 1) await inviteToOther().catch(() => {});
    }

    expect((await accounts.inviteUser(toMerchant(email))).token).not.toBe('');
  });
});

const newMerchant = async () => (await stack.createMerchant()).id;
const change = (merchantId: string, user: User, from: MemberRole, to: MemberRole, core = 0) =>
  desk.accounts[core]!.changeMembership({ merchantId, userId: user.userId, role: to, expectedRole: from });
const remove = (merchantId: string, email: string, core = 0) =>
  desk.accounts[core]!.removeMembership({ merchantId, email });
const rolesOf = async (merchantId: string) =>
  (await accounts.listUsers({ merchantId })).users.map(({ memberships }) => memberships[0]?.role);
/** How a member loses the right to invite. */
const losses: readonly [string, (merchantId: string, owner: User) => Promise<unknown>][] = [
  ['removed', (merchantId, { email }) => remove(merchantId, email)],
  ['made a developer', (merchantId, owner) => change(merchantId, owner, OWNER, DEVELOPER)],
  ['disabled', (_, { email }) => accounts.setUserDisabled({ email, isDisabled: true })],
];

describe('an open invitation', () => {
  const invite = async (by: User, merchantId: string) => {
    const wish = { email: desk.newEmail(), merchantId, role: OWNER };
    return (await accounts.inviteUser(wish, asUser(by))).token;
  };
  const isOpen = async (token: string) => (await outcomeOf(accounts.getInvitation({ token }))) === 'done';

  test.each(losses)('is withdrawn when the owner who sent it is %s, and no other one is', async (_, end) => {
    const { merchantId, members } = await desk.openShop(OWNER, OWNER);
    const [leaving, staying] = members as [User, User];
    const { merchantId: elsewhere, token } = await desk.inviteElsewhere(staying.email);
    await accounts.acceptInvitation({ token, password });
    const [theirs, another, ofOther] = [
      await invite(leaving, merchantId),
      await invite(staying, merchantId),
      await invite(staying, elsewhere),
    ];

    await end(merchantId, leaving);

    expect([await isOpen(theirs), await isOpen(another), await isOpen(ofOther)]).toEqual([false, true, true]);
  });

  test('is found by the ids of the log, so that a long log delays no removal', async () => {
    const statement = sentText.replaceAll('?::uuid', 'null::uuid').replace('?', "'dashboard:usr_1'");
    await database.query('begin; set local enable_seqscan = off');
    const { rows } = await database.query<{ 'QUERY PLAN': string }>(`explain ${statement}`);
    await database.query('rollback');

    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toMatch(/on audit_entries a [^\n]*\n *(Index|Recheck) Cond: \(\(id >= /);
  });
});

describe('a user of the dashboard who may not invite', () => {
  const inviteAs = (user: User, offer: { merchantId: string; role: MemberRole } | { asOperator: true }) =>
    outcomeOf(accounts.inviteUser({ email: desk.newEmail(), ...offer }, asUser(user)));

  test.each(losses)('is refused: an owner who was %s', async (_, end) => {
    const { merchantId, members } = await desk.openShop(OWNER, OWNER);
    const owner = members[0]!;
    expect(await inviteAs(owner, { merchantId, role: OWNER })).toBe('done');

    await end(merchantId, owner);

    expect(await inviteAs(owner, { merchantId, role: OWNER })).toBe('NOT_AN_OWNER');
    expect((await accounts.listUsers({ merchantId })).invitations).toEqual([]);
  });

  test('is refused: an owner of another merchant, and an owner who invites an operator', async () => {
    const [merchantId, elsewhere] = [await newMerchant(), await newMerchant()];
    const owner = await desk.addUser({ merchantId, role: OWNER });
    expect(await inviteAs(owner, { merchantId: elsewhere, role: VIEWER })).toBe('NOT_AN_OWNER');
    expect(await inviteAs(owner, { asOperator: true })).toBe('NOT_AN_OPERATOR');
  });

  test('is refused: a disabled operator', async () => {
    const [operator, other] = [await desk.addUser(), await desk.addUser()];
    await accounts.setUserDisabled({ email: operator.email, isDisabled: true });
    expect(await inviteAs(operator, { asOperator: true })).toBe('NOT_AN_OPERATOR');
    expect(await inviteAs(other, { asOperator: true })).toBe('done');
  });

  test('waits for a removal in progress, and is refused after it', async () => {
    const merchantId = await newMerchant();
    const owner = await desk.addUser({ merchantId, role: OWNER });
    const invited = await duringChange(
      stack.databaseUrl,
      sql`delete from core.memberships where user_id = ${storedId('usr', owner.userId)}`,
      () => inviteAs(owner, { merchantId, role: OWNER }),
    );
    expect(invited).toBe('NOT_AN_OWNER');
  });

  test('leaves no invitation when the removal of its owner comes at the same moment', async () => {
    const merchantId = await newMerchant();
    await desk.addUser({ merchantId, role: OWNER });
    for (let round = 0; round < 5; round += 1) {
      const owner = await desk.addUser({ merchantId, role: OWNER });
      const outcomes = await Promise.all([
        inviteAs(owner, { merchantId, role: OWNER }),
        outcomeOf(remove(merchantId, owner.email, 1)),
      ]);
      expect(['done', 'NOT_AN_OWNER']).toContain(outcomes[0]);
      expect(outcomes[1]).toBe('done');
    }
    expect((await accounts.listUsers({ merchantId })).invitations).toEqual([]);
  });
});

describe('a role', () => {
  test('is changed at one merchant only', async () => {
    const here = await newMerchant();
    const user = await desk.addUser({ merchantId: here, role: VIEWER });
    const { merchantId: elsewhere, token } = await desk.inviteElsewhere(user.email);
    await accounts.acceptInvitation({ token, password });

    const { user: changed } = await change(here, user, VIEWER, DEVELOPER);

    expect(changed?.memberships).toMatchObject([{ merchantId: here, role: DEVELOPER }]);
    expect(await rolesOf(elsewhere)).toEqual([OWNER]);
  });

  test('that another person has changed meanwhile is kept, and the second change is refused', async () => {
    const merchantId = await newMerchant();
    const user = await desk.addUser({ merchantId, role: VIEWER });
    const outcomes = await Promise.all([
      outcomeOf(change(merchantId, user, VIEWER, DEVELOPER, 0)),
      outcomeOf(change(merchantId, user, VIEWER, OWNER, 1)),
    ]);
    expect(outcomes.sort()).toEqual(['CHANGED_MEANWHILE', 'done']);
  });
});

describe('the last owner', () => {
  test('keeps the role, and the membership', async () => {
    const { merchantId, members } = await desk.openShop(OWNER, DEVELOPER);
    const owner = members[0]!;
    expect(await refusalOf(change(merchantId, owner, OWNER, VIEWER))).toBe('LAST_OWNER');
    expect(await refusalOf(remove(merchantId, owner.email))).toBe('LAST_OWNER');
  });

  test('is the last one who may sign in: a disabled owner does not count', async () => {
    const { merchantId, members } = await desk.openShop(OWNER, OWNER);
    const [owner, kept] = members as [User, User];
    await accounts.setUserDisabled({ email: kept.email, isDisabled: true });
    expect(await refusalOf(remove(merchantId, owner.email))).toBe('LAST_OWNER');
    await remove(merchantId, kept.email);
  });

  test('remains when two owners leave at the same moment', async () => {
    const { merchantId, members: owners } = await desk.openShop(OWNER, OWNER);
    const outcomes = await Promise.all(
      owners.map((owner, core) => outcomeOf(remove(merchantId, owner.email, core))),
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
    const { members: users } = await desk.openShop(VIEWER, VIEWER, VIEWER);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { maxLength: 3 }),
        async (rounds) => {
          const merchantId = await newMerchant();
          for (const [index, { userId }] of users.entries())
            await database.query(sql`insert into core.memberships values (${storedId('mer', merchantId)},
              ${storedId('usr', userId)}, ${index < 2 ? 'OWNER' : 'DEVELOPER'}, now(), now())`);
          for (const round of rounds) {
            const outcomes = await Promise.all(
              round.map(({ who, from, to, core }) =>
                outcomeOf(
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

describe('a list of users', () => {
  test('has the first 500, says that there are more, and finds every one by a part of the address or name', async () => {
    const { merchantId } = await desk.openShop(OWNER);
    await addMembers(stack.databaseUrl, merchantId, 501);
    const list = async (own: { text?: string; role?: MemberRole }) => {
      const { users, hasMore } = await accounts.listUsers({ merchantId, ...own });
      return [users.length, hasMore];
    };

    expect(await list({})).toEqual([500, true]);
    expect(await list({ text: ' a1500_MER' })).toEqual([1, false]);
    expect(await list({ text: 'person 1499' })).toEqual([1, false]);
    // Not the wildcards of a pattern.
    expect(await list({ text: 'a15%' })).toEqual([0, false]);
    expect(await list({ text: '____' })).toEqual([0, false]);
    expect(await list({ role: OWNER })).toEqual([1, false]);
    expect(await refusalOf(accounts.listUsers({ role: OWNER }))).toBe('INVALID_FIELDS');
  });
});
