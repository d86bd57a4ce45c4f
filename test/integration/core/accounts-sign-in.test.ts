import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { failureOf, refusalOf } from '../../support/rpc-failure.ts';
import { password, waitAskedFor } from './account-desk.ts';
import { sharedAccountSite } from './account-site.ts';

const { site, desk, database } = sharedAccountSite();
let merchantId: string;
beforeAll(() => {
  ({ merchantId } = site);
});

let places = 0;
/** A public address that no sign-in has used yet. */
const newPlace = (): string => `198.51.${Math.floor(++places / 256)}.${places % 256}`;
const viewer = () => desk.addUser({ merchantId, role: MemberRole.VIEWER });
const signIn = (email: string, own: object = {}, core = 0) =>
  desk.accounts[core]!.verifyPassword({ email, password, remoteAddress: '203.0.113.1', ...own });
const wrong = 'not the right password';

const tryElsewhere = (email: string, core = 0) =>
  refusalOf(signIn(email, { password: wrong, remoteAddress: newPlace() }, core));

/**
 * Tries a hundred wrong passwords for the address, each from another network. Only the first two and the last are
 * hashed.
 */
async function tryFromEverywhere(email: string): Promise<void> {
  await tryElsewhere(email, 0);
  await tryElsewhere(email, 1);
  await database.query('update core.account_tries set tries = 99 where tries = 2');
  expect(await tryElsewhere(email)).toBe('WRONG_CREDENTIALS');
}

describe('a password', () => {
  test('signs its user in, with the address in upper or lower case, and records the time', async () => {
    const user = await viewer();
    const { user: signedIn } = await signIn(user.email.toUpperCase());
    expect(signedIn).toMatchObject({ userId: user.userId });
    expect(user.lastSignInTime).toBeUndefined();
    expect(signedIn?.lastSignInTime).toBeDefined();
  });

  test('is the same in composed and decomposed Unicode', async () => {
    const email = desk.newEmail();
    const { token } = await desk.accounts[0].inviteUser({ email, merchantId, role: MemberRole.VIEWER });
    await desk.accounts[0].acceptInvitation({ token, name: 'Zoé', password: 'crème brûlée au four' });
    await signIn(email, { password: 'crème brûlée au four'.normalize('NFD') });
  });

  test('that is wrong, an unknown address and a disabled user get the same answer', async () => {
    const [user, kept] = [await viewer(), await viewer()];
    await desk.accounts[0].setUserDisabled({ email: kept.email, isDisabled: true });
    const calls = [
      signIn(user.email, { password: wrong }),
      signIn('nobody@shop.example'),
      signIn(kept.email),
      signIn('not an address'),
      signIn('null\0@shop.example'),
      signIn(user.email, { password: '' }),
      signIn(user.email, { password: 'x'.repeat(1_000_000) }),
    ];

    const failures = await Promise.all(
      calls.map((call) => call.catch((error: unknown) => (error as Error).message)),
    );

    expect(new Set(failures)).toEqual(new Set(['[unauthenticated] wrong email or password']));
  });
});

describe('attempts from one network', () => {
  test('are limited to five at an account, and then even the right password waits, on every core', async () => {
    const user = await viewer();
    const remoteAddress = newPlace();
    const attempt = (own: object = {}, core = 0) => signIn(user.email, { remoteAddress, ...own }, core);
    for (let count = 0; count < 5; count += 1)
      expect(await refusalOf(attempt({ password: wrong }, count % 2))).toBe('WRONG_CREDENTIALS');

    const failure = await failureOf(attempt({}, 0));
    const waitSeconds = await waitAskedFor(attempt({}, 1));

    expect(failure).toMatchObject({ code: 'ResourceExhausted', reason: 'TOO_MANY_TRIES' });
    expect(waitSeconds).toBeGreaterThan(14 * 60);
    expect(waitSeconds).toBeLessThanOrEqual(15 * 60);
  });

  test('made all at once are limited to five', async () => {
    const user = await viewer();
    const remoteAddress = newPlace();
    const calls = Array.from({ length: 40 }, (_each, count) =>
      refusalOf(signIn(user.email, { password: wrong, remoteAddress }, count % 2)),
    );
    const reasons = await Promise.all(calls);
    expect(reasons.filter((reason) => reason === 'WRONG_CREDENTIALS')).toHaveLength(5);
    expect(reasons.filter((reason) => reason === 'TOO_MANY_TRIES')).toHaveLength(35);
  });

  test('do not block another network, and end by themselves', async () => {
    const user = await viewer();
    const remoteAddress = newPlace();
    const tries = Array.from({ length: 6 }, () => signIn(user.email, { password: wrong, remoteAddress }));
    await Promise.allSettled(tries);

    await signIn(user.email, { remoteAddress: newPlace() });
    expect(await refusalOf(signIn(user.email, { remoteAddress }))).toBe('TOO_MANY_TRIES');
    await database.query('update core.account_tries set ends_at = now()');
    await signIn(user.email, { remoteAddress });
  });

  test('are counted from zero after the right password', async () => {
    const user = await viewer();
    const remoteAddress = newPlace();
    for (let round = 0; round < 3; round += 1) {
      for (let count = 0; count < 4; count += 1)
        expect(await refusalOf(signIn(user.email, { password: wrong, remoteAddress }))).toBe(
          'WRONG_CREDENTIALS',
        );
      await signIn(user.email, { remoteAddress });
    }
  });

  test('are limited to fifty over all accounts, and signing in to an own account does not reset them', async () => {
    const user = await viewer();
    const remoteAddress = newPlace();
    for (let count = 0; count < 50; count += 10) {
      await Promise.allSettled(
        Array.from({ length: 10 }, (_each, index) =>
          signIn(`someone-${count + index}@shop.example`, { password: wrong, remoteAddress }),
        ),
      );
      if (count < 40) await signIn(user.email, { remoteAddress });
    }
    expect(await refusalOf(signIn(user.email, { remoteAddress }))).toBe('TOO_MANY_TRIES');
    await signIn(user.email, { remoteAddress: newPlace() });
  });

  test('write nothing once the fifty are used, so that a flood cannot fill the database', async () => {
    const remoteAddress = newPlace();
    const attempt = (name: string) =>
      refusalOf(signIn(`${name}@shop.example`, { password: wrong, remoteAddress }));
    const countRows = async () =>
      (await database.query<{ count: string }>('select count(*) from core.account_tries')).rows[0]?.count;
    for (let count = 0; count < 50; count += 10)
      await Promise.all(Array.from({ length: 10 }, (_each, index) => attempt(`used-${count + index}`)));
    const before = await countRows();

    const refusals = await Promise.all(
      Array.from({ length: 30 }, (_each, index) => attempt(`flood-${index}`)),
    );

    expect(new Set(refusals)).toEqual(new Set(['TOO_MANY_TRIES']));
    expect(await countRows()).toBe(before);
  });

  test('count for the whole /64 of an IPv6 subscriber', async () => {
    const user = await viewer();
    for (let count = 1; count <= 5; count += 1)
      await signIn(user.email, { password: wrong, remoteAddress: `2001:db8:1:1::${count}` }).catch(
        () => undefined,
      );
    expect(await refusalOf(signIn(user.email, { remoteAddress: '2001:db8:1:1:ffff::1' }))).toBe(
      'TOO_MANY_TRIES',
    );
    await signIn(user.email, { remoteAddress: '2001:db8:1:2::1' });
  });
});

describe('attempts from all networks', () => {
  beforeEach(() => database.query('truncate core.account_tries'));

  test('are limited to a hundred at an account, whose owner can still sign in from a known network', async () => {
    const user = await viewer();
    const home = newPlace();
    await signIn(user.email, { remoteAddress: home });
    await tryFromEverywhere(user.email);

    expect(await refusalOf(signIn(user.email, { remoteAddress: newPlace() }))).toBe('TOO_MANY_TRIES');
    await signIn(user.email, { remoteAddress: home });
  });

  test('are limited to a hundred at an unknown address too, so that the answer reveals nothing', async () => {
    const email = desk.newEmail();
    await tryFromEverywhere(email);
    expect(await refusalOf(signIn(email, { remoteAddress: newPlace() }))).toBe('TOO_MANY_TRIES');
  });
});

describe('a browser in which a user signed in', () => {
  beforeEach(() => database.query('truncate core.account_tries'));

  /** A user who has signed in once, in a browser of their own. */
  const userWithBrowser = async () => {
    const user = await viewer();
    const own = { remoteAddress: newPlace(), browserSecret: `browser of ${user.email}` };
    await signIn(user.email, own);
    return { user, ...own };
  };

  test('still works when a stranger in its network has used the tries of all accounts', async () => {
    const { user, ...own } = await userWithBrowser();
    const { remoteAddress } = own;
    for (let count = 0; count < 50; count += 10)
      await Promise.all(
        Array.from({ length: 10 }, (_each, index) =>
          refusalOf(signIn(`spray-${count + index}@shop.example`, { password: wrong, remoteAddress })),
        ),
      );
    expect(await refusalOf(signIn(user.email, { remoteAddress }))).toBe('TOO_MANY_TRIES');

    await signIn(user.email, own);
    await signIn(user.email, { ...own, isConfirmation: true }, 1);
    expect(await refusalOf(signIn(user.email, { remoteAddress }))).toBe('TOO_MANY_TRIES');
  });

  test('still works when a stranger in its network has used the tries of the account', async () => {
    const { user, ...own } = await userWithBrowser();
    const { remoteAddress } = own;
    for (let count = 0; count < 5; count += 1)
      await refusalOf(signIn(user.email, { password: wrong, remoteAddress }));

    await signIn(user.email, own);
    expect(await refusalOf(signIn(user.email, { remoteAddress }))).toBe('TOO_MANY_TRIES');
  });

  test('still works in a new network when strangers have used the tries of the account', async () => {
    const { user, browserSecret } = await userWithBrowser();
    await tryFromEverywhere(user.email);

    await signIn(user.email, { browserSecret, remoteAddress: newPlace() });
    expect(await refusalOf(signIn(user.email, { remoteAddress: newPlace() }))).toBe('TOO_MANY_TRIES');
  });

  test('can change the password when strangers have used the tries of the account', async () => {
    const { user, browserSecret } = await userWithBrowser();
    await tryFromEverywhere(user.email);
    const change = { userId: user.userId, currentPassword: password, newPassword: 'staple battery correct' };
    const keepSessionHash = await desk.openSession(user.userId);
    const changeIn = (own: object) => desk.accounts[0].changePassword({ ...change, keepSessionHash, ...own });

    expect(await refusalOf(changeIn({ remoteAddress: newPlace() }))).toBe('TOO_MANY_TRIES');
    await changeIn({ browserSecret, remoteAddress: newPlace() });
  });

  test('has five tries, in whichever networks', async () => {
    const { user, browserSecret } = await userWithBrowser();
    const attempt = (own: object = {}) =>
      refusalOf(signIn(user.email, { browserSecret, remoteAddress: newPlace(), ...own }));
    for (let count = 0; count < 5; count += 1)
      expect(await attempt({ password: wrong })).toBe('WRONG_CREDENTIALS');

    expect(await attempt()).toBe('TOO_MANY_TRIES');
    await signIn(user.email, { remoteAddress: newPlace() });
  });

  test('gives no tries at other accounts', async () => {
    const { browserSecret, remoteAddress } = await userWithBrowser();
    const other = await viewer();
    for (let count = 0; count < 5; count += 1)
      await refusalOf(signIn(other.email, { password: wrong, remoteAddress }));

    expect(await refusalOf(signIn(other.email, { browserSecret, remoteAddress }))).toBe('TOO_MANY_TRIES');
  });

  test('is forgotten after 30 days without a sign-in', async () => {
    const { user, ...own } = await userWithBrowser();
    await database.query("update core.account_tries set ends_at = ends_at - interval '30 days'");
    for (let count = 0; count < 5; count += 1)
      await refusalOf(signIn(user.email, { password: wrong, remoteAddress: own.remoteAddress }));

    expect(await refusalOf(signIn(user.email, own))).toBe('TOO_MANY_TRIES');
  });
});

test('a flood of sign-ins is refused when the queue is full, and known users sign in meanwhile', async () => {
  const { email } = await viewer();
  const own = { remoteAddress: newPlace(), browserSecret: `browser of ${email}` };
  await signIn(email, own);
  const emails = Array.from({ length: 300 }, (_each, count) => `flood-${count}@shop.example`);
  const flood = emails.map((email) => refusalOf(signIn(email, { remoteAddress: newPlace() })));
  await Promise.race(flood);
  await signIn(email, own);
  const reasons = await Promise.all(flood);
  expect(new Set(reasons)).toEqual(new Set(['WRONG_CREDENTIALS', 'OVERLOADED']));
});
