import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { failureOf } from '../../support/rpc-failure.ts';
import { password } from './account-desk.ts';
import { openAccountSite } from './account-site.ts';
import type { AccountSite } from './account-site.ts';

let stack: AccountSite['stack'];
let desk: AccountSite['desk'];
let database: AccountSite['database'];
let merchantId: string;
let close: AccountSite['close'];
beforeAll(async () => {
  ({ stack, desk, database, merchantId, close } = await openAccountSite());
});
afterAll(() => close());

const invite = async (email: string, role = MemberRole.DEVELOPER, where = merchantId): Promise<string> =>
  (await desk.accounts[0].inviteUser({ email, merchantId: where, role })).token;
const accept = (token: string, own: object = {}, core = 0) =>
  desk.accounts[core]!.acceptInvitation({ token, name: 'Abebe', password, language: 'am', ...own });
const reasonOf = async (call: Promise<unknown>) => (await failureOf(call)).reason;

describe('an invitation', () => {
  test('says what it is to, and gives the account and the role when it is taken up', async () => {
    const email = 'Sara.Bekele@Shop.Example';
    const token = await invite(email, MemberRole.OWNER);

    const seen = await desk.accounts[0].getInvitation({ token });
    const { user } = await accept(token, { name: 'ሳራ በቀለ' });

    expect(seen).toMatchObject({
      email,
      merchantName: 'Test Shop',
      role: MemberRole.OWNER,
      asOperator: false,
      hasAccount: false,
    });
    expect(user).toMatchObject({
      email,
      name: 'ሳራ በቀለ',
      language: 'am',
      isOperator: false,
      isTotpEnabled: false,
      memberships: [{ merchantId, merchantName: 'Test Shop', role: MemberRole.OWNER }],
    });
    const signedIn = await desk.accounts[1]!.verifyPassword({ email: email.toLowerCase(), password });
    expect(signedIn.user?.userId).toBe(user?.userId);
  });

  test('of an operator makes one, who belongs to no merchant', async () => {
    const { token } = await desk.accounts[0].inviteUser({ email: desk.newEmail(), asOperator: true });
    expect(await desk.accounts[0].getInvitation({ token })).toMatchObject({
      asOperator: true,
      role: MemberRole.UNSPECIFIED,
      merchantName: '',
    });
    expect((await accept(token)).user).toMatchObject({ isOperator: true, memberships: [] });
  });

  test('works once, however many use it at the same moment on whichever core', async () => {
    const token = await invite(desk.newEmail());

    const outcomes = await Promise.allSettled([0, 1, 0, 1, 0, 1].map((core) => accept(token, {}, core)));
    const refusals = await Promise.all(
      outcomes.flatMap((outcome) =>
        outcome.status === 'rejected' ? [reasonOf(Promise.reject(outcome.reason as Error))] : [],
      ),
    );

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(refusals).toHaveLength(5);
    for (const reason of refusals) expect(['LINK_NOT_USABLE', 'WRONG_CREDENTIALS']).toContain(reason);
    expect(await reasonOf(desk.accounts[0].getInvitation({ token }))).toBe('LINK_NOT_USABLE');
  });

  test('ends when the same address is invited to the same place again, and no other', async () => {
    const other = (await stack.createMerchant()).id;
    const email = desk.newEmail();
    const [first, elsewhere] = [await invite(email), await invite(email, MemberRole.VIEWER, other)];

    const second = await invite(email.toUpperCase(), MemberRole.VIEWER);

    expect(await reasonOf(accept(first))).toBe('LINK_NOT_USABLE');
    expect((await accept(second)).user?.memberships).toMatchObject([{ role: MemberRole.VIEWER }]);
    expect((await accept(elsewhere)).user?.memberships).toHaveLength(2);
  });

  test('made many times at once leaves one that works', async () => {
    const email = desk.newEmail();
    const tokens = await Promise.all(
      [0, 1, 0, 1].map(async (core) => {
        const { token } = await desk.accounts[core]!.inviteUser({
          email,
          merchantId,
          role: MemberRole.VIEWER,
        });
        return token;
      }),
    );
    const usable = await Promise.all(
      tokens.map((token) =>
        desk.accounts[0].getInvitation({ token }).then(
          () => true,
          () => false,
        ),
      ),
    );
    expect(usable.filter(Boolean)).toHaveLength(1);
  });

  test('that is too old opens nothing', async () => {
    const email = desk.newEmail();
    const token = await invite(email);
    await database.query(`update core.account_links set expires_at = now() where email_key = $1`, [email]);
    expect(await reasonOf(desk.accounts[0].getInvitation({ token }))).toBe('LINK_NOT_USABLE');
    expect(await reasonOf(accept(token))).toBe('LINK_NOT_USABLE');
  });

  test.each(['', 'x', 'A'.repeat(43), `${'A'.repeat(42)}\0`])(
    'with the token %j opens nothing',
    async (token) => {
      expect(await reasonOf(accept(token))).toBe('LINK_NOT_USABLE');
    },
  );

  test('to somebody with an account asks for its own password, and changes nothing else of it', async () => {
    const user = await desk.addUser({ merchantId, role: MemberRole.VIEWER });
    const other = (await stack.createMerchant()).id;
    const token = await invite(user.email, MemberRole.DEVELOPER, other);

    expect((await desk.accounts[0].getInvitation({ token })).hasAccount).toBe(true);
    expect(await reasonOf(accept(token, { password: 'another password altogether' }))).toBe(
      'WRONG_CREDENTIALS',
    );
    const accepted = await accept(token, { name: 'Mallory', language: 'en' });

    expect(accepted.user).toMatchObject({ userId: user.userId, name: user.name });
    expect(accepted.user?.memberships).toHaveLength(2);
  });

  test('cannot be used to try passwords without end', async () => {
    const user = await desk.addUser({ merchantId, role: MemberRole.VIEWER });
    const token = await invite(user.email, MemberRole.VIEWER, (await stack.createMerchant()).id);
    const wrong = () =>
      reasonOf(accept(token, { password: 'not this one either', remoteAddress: '192.0.2.7' }));

    for (let count = 0; count < 5; count += 1) expect(await wrong()).toBe('WRONG_CREDENTIALS');
    expect(await wrong()).toBe('TOO_MANY_TRIES');
  });

  test('two for one new address, taken up at once: one makes the account, the other is asked for its password', async () => {
    const other = (await stack.createMerchant()).id;
    const email = desk.newEmail();
    const tokens = [await invite(email), await invite(email, MemberRole.VIEWER, other)];

    await Promise.all(tokens.map((token, core) => accept(token, {}, core)));

    const { users } = await desk.accounts[0].listUsers({ merchantId: other });
    expect(users.map((user) => user.email)).toEqual([email]);
    const { user } = await desk.accounts[0].verifyPassword({ email, password });
    expect(user?.memberships).toHaveLength(2);
  });
});

describe('nobody is invited', () => {
  test('where they are already', async () => {
    const user = await desk.addUser({ merchantId, role: MemberRole.VIEWER });
    const failure = await failureOf(invite(user.email.toUpperCase()));
    expect(failure).toMatchObject({ code: 'AlreadyExists', reason: 'ALREADY_A_MEMBER' });
  });

  test('as an operator when they belong to a merchant, nor to a merchant when they are an operator', async () => {
    const [member, operator] = [
      await desk.addUser({ merchantId, role: MemberRole.VIEWER }),
      await desk.addUser(),
    ];
    const toOperators = desk.accounts[0].inviteUser({ email: member.email, asOperator: true });
    expect(await reasonOf(toOperators)).toBe('ALREADY_A_MEMBER');
    expect(await reasonOf(invite(operator.email))).toBe('ALREADY_A_MEMBER');
  });

  test('to both at once and taken up to both: whoever is an operator belongs to no merchant', async () => {
    const email = desk.newEmail();
    const place = await invite(email);
    const { token: operators } = await desk.accounts[0].inviteUser({ email, asOperator: true });

    await Promise.allSettled([accept(place, {}, 0), accept(operators, {}, 1)]);

    const { user } = await desk.accounts[0].verifyPassword({ email, password });
    expect(user?.isOperator ? user.memberships : [user?.isOperator]).toHaveLength(user?.isOperator ? 0 : 1);
  });

  test('to a merchant that is not there', async () => {
    const call = invite(desk.newEmail(), MemberRole.OWNER, 'mer_01h455vb4pex5vsknk084sn02q');
    expect(await failureOf(call)).toMatchObject({ code: 'NotFound', reason: 'MERCHANT_NOT_FOUND' });
  });

  test.each([
    ['no address', { email: '' }, ['email']],
    ['an address with a line break', { email: 'a@b.example\nbcc: c@d.example' }, ['email']],
    ['a name and an address', { email: 'A <a@b.example>' }, ['email']],
    ['two addresses', { email: 'a@b.example,c@d.example' }, ['email']],
    ['an address of 255 characters', { email: `a@${'b'.repeat(253)}` }, ['email']],
    ['no role', { role: MemberRole.UNSPECIFIED }, ['role']],
    ['a role nobody knows', { role: 9 }, ['role']],
    ['an operator at a merchant', { asOperator: true }, ['merchant_id']],
    ['a link for 15 days', { validFor: { seconds: 15n * 86_400n } }, ['valid_for']],
    ['a link for no time', { validFor: { seconds: 0n } }, ['valid_for']],
    ['nothing right', { email: 'x', merchantId: 'x', role: 0 }, ['email', 'merchant_id', 'role']],
  ])('with %s', async (_name, own, fields) => {
    const request = { email: 'someone@shop.example', merchantId, role: MemberRole.VIEWER, ...own };
    const failure = await failureOf(desk.accounts[0].inviteUser(request));
    expect(failure.code).toBe('InvalidArgument');
    expect(Object.keys(failure.issues).sort()).toEqual(fields);
  });

  test.each([
    ['no name', { name: '' }, 'name'],
    ['a name of 129 characters', { name: 'x'.repeat(129) }, 'name'],
    ['a name that turns the text around', { name: 'a\u202eb' }, 'name'],
    ['a password of 11 characters', { password: 'horse batte' }, 'password'],
    ['a password of 257 characters', { password: 'correct horse '.repeat(19) }, 'password'],
    ['a password everybody tries', { password: 'Password123456' }, 'password'],
    ['their address as the password', { password: 'someone@shop.example' }, 'password'],
    ['a language that there is not', { language: 'fr' }, 'language'],
  ])('and comes in with %s', async (_name, own, field) => {
    const token = await invite('someone@shop.example');
    const failure = await failureOf(accept(token, own));
    expect(Object.keys(failure.issues)).toEqual([field]);
    expect((await desk.accounts[0].getInvitation({ token })).hasAccount).toBe(false);
  });
});
