import { beforeEach, describe, expect, test } from '@jest/globals';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { failureOf, outcomeOf, refusalOf, waitAskedFor } from '../../support/rpc-failure.ts';
import { asUser, password, sharedAccountSite } from './account-desk.ts';
import type { User } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import type { AuditEntry } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { codeOf, untilStepIsYoung, wrongCodeOf } from '../../support/authenticator.ts';
import { hangMs } from '../../support/wait-until.ts';

const { stack, desk, accounts, database, merchant } = sharedAccountSite();
let places = 0;
/** A public address that no sign-in has used yet. */
const newPlace = (): string => `198.51.${Math.floor(++places / 256)}.${places % 256}`;
const viewer = () => desk.addUser({ merchantId: merchant.id, role: MemberRole.VIEWER });
const signIn = (email: string, own: object = {}, core = 0) =>
  desk.accounts[core]!.verifyPassword({ email, password, remoteAddress: '203.0.113.1', ...own });
const wrong = 'not the right password';

/** So many sign-ins with a wrong password. Returns their outcomes. */
const tryWrong = async (email: string, times: number, own: object = {}) => {
  const outcomes: (string | undefined)[] = [];
  for (let count = 0; count < times; count += 1)
    outcomes.push(await refusalOf(signIn(email, { password: wrong, ...own }, count % 2)));
  return new Set(outcomes);
};
/** Ten sign-ins at once to ten accounts that do not exist. */
const spray = (name: string, from: number, remoteAddress: string) =>
  Promise.all(
    Array.from({ length: 10 }, (_each, index) =>
      refusalOf(
        signIn(`${name}-${from + index}@shop.example`, { password: wrong, remoteAddress }, index % 2),
      ),
    ),
  );

const tryElsewhere = (email: string, core = 0) =>
  refusalOf(signIn(email, { password: wrong, remoteAddress: newPlace() }, core));

/** Uses the fifty tries of a network. Only the first ten and the last ten are hashed. */
async function useUp(
  remoteAddress: string,
  between = () => Promise.resolve<unknown>(undefined),
): Promise<void> {
  await spray('early', 0, remoteAddress);
  await between();
  await database.query('update core.account_tries set tries = 40 where tries = 10');
  await spray('late', 10, remoteAddress);
}

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
    const { token } = await desk.inviteElsewhere(email);
    await accounts.acceptInvitation({ token, name: 'Zoé', password: 'crème brûlée au four' });
    await signIn(email, { password: 'crème brûlée au four'.normalize('NFD') });
  });

  test('that is wrong, an unknown address and a disabled user get the same answer', async () => {
    const [user, kept] = [await viewer(), await viewer()];
    await accounts.setUserDisabled({ email: kept.email, isDisabled: true });
    const calls = [
      signIn(user.email, { password: wrong }),
      signIn('nobody@shop.example'),
      signIn(kept.email),
      signIn('not an address'),
      signIn('null\0@shop.example'),
      signIn(user.email, { password: '' }),
      signIn(user.email, { password: 'x'.repeat(200_000) }),
    ];

    const failures = await Promise.all(
      calls.map((call) => call.catch((error: unknown) => (error as Error).message)),
    );

    expect(new Set(failures)).toEqual(new Set(['[unauthenticated] wrong email or password']));
  });
});

describe('attempts from one network', () => {
  beforeEach(() => database.query('truncate core.account_tries'));

  test('are limited to five at an account, and then even the right password waits, on every core', async () => {
    const user = await viewer();
    const remoteAddress = newPlace();
    const attempt = (own: object = {}, core = 0) => signIn(user.email, { remoteAddress, ...own }, core);
    expect(await tryWrong(user.email, 5, { remoteAddress })).toEqual(new Set(['WRONG_CREDENTIALS']));

    const failure = await failureOf(attempt({}, 0));
    const waitSeconds = await waitAskedFor(attempt({}, 1));

    expect(failure).toMatchObject({ code: 'ResourceExhausted', reason: 'TOO_MANY_TRIES' });
    expect(waitSeconds).toBeGreaterThan(14 * 60);
    expect(waitSeconds).toBeLessThanOrEqual(15 * 60);
  });

  test('made all at once are limited to five', async () => {
    const user = await viewer();
    const remoteAddress = newPlace();
    const calls = Array.from({ length: 16 }, (_each, count) =>
      refusalOf(signIn(user.email, { password: wrong, remoteAddress }, count % 2)),
    );
    const reasons = await Promise.all(calls);
    expect(reasons.filter((reason) => reason === 'WRONG_CREDENTIALS')).toHaveLength(5);
    expect(reasons.filter((reason) => reason === 'TOO_MANY_TRIES')).toHaveLength(11);
  });

  test('do not block another network, and end by themselves', async () => {
    const user = await viewer();
    const remoteAddress = newPlace();
    await tryWrong(user.email, 6, { remoteAddress });
    await database.query("update core.account_tries set ends_at = now() + interval '1 minute'");

    await signIn(user.email, { remoteAddress: newPlace() });
    // A try above the limit does not prolong the wait.
    expect(await refusalOf(signIn(user.email, { remoteAddress }))).toBe('TOO_MANY_TRIES');
    expect(await waitAskedFor(signIn(user.email, { remoteAddress }))).toBeLessThanOrEqual(60);
    await database.query('update core.account_tries set ends_at = now()');
    await signIn(user.email, { remoteAddress });
  });

  test("do not block their user after the database's clock was a month ahead and was set back", async () => {
    const user = await viewer();
    const remoteAddress = newPlace();
    await tryWrong(user.email, 6, { remoteAddress });

    await database.query(`update core.account_tries set ends_at = ends_at + interval '31 days'`);

    await signIn(user.email, { remoteAddress });
  });

  test('are counted from zero after the right password', async () => {
    const user = await viewer();
    const remoteAddress = newPlace();
    for (let round = 0; round < 3; round += 1) {
      expect(await tryWrong(user.email, 4, { remoteAddress })).toEqual(new Set(['WRONG_CREDENTIALS']));
      await signIn(user.email, { remoteAddress });
    }
  });

  test('are limited to fifty over all accounts, and signing in to an own account does not reset them', async () => {
    const user = await viewer();
    const remoteAddress = newPlace();
    await useUp(remoteAddress, () => signIn(user.email, { remoteAddress }));

    expect(await refusalOf(signIn(user.email, { remoteAddress }))).toBe('TOO_MANY_TRIES');
    await signIn(user.email, { remoteAddress: newPlace() });
  });

  test('write nothing once the fifty are used, so that a flood cannot fill the database', async () => {
    const remoteAddress = newPlace();
    const { token } = await desk.inviteElsewhere((await viewer()).email);
    await useUp(remoteAddress);
    const before = await countTries();

    const refusals = (
      await Promise.all([0, 10, 20].map((from) => spray('flood', from, remoteAddress)))
    ).flat();
    refusals.push(await refusalOf(accounts.acceptInvitation({ token, password: wrong, remoteAddress })));

    expect(new Set(refusals)).toEqual(new Set(['TOO_MANY_TRIES']));
    expect(await countTries()).toBe(before);
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

    // A sign-in that was not counted gives no try back.
    for (let count = 0; count < 3; count += 1) await signIn(user.email, { remoteAddress: home });
    expect(await refusalOf(signIn(user.email, { remoteAddress: newPlace() }))).toBe('TOO_MANY_TRIES');
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

  type Browser = Awaited<ReturnType<typeof userWithBrowser>>;

  test.each<[string, (browser: Browser) => Promise<unknown>, nextPlace: (browser: Browser) => string]>([
    [
      'of all accounts in its network',
      ({ remoteAddress }) => useUp(remoteAddress),
      ({ remoteAddress }) => remoteAddress,
    ],
    [
      'of the account in its network',
      ({ user, remoteAddress }) => tryWrong(user.email, 5, { remoteAddress }),
      ({ remoteAddress }) => remoteAddress,
    ],
    ['of the account, and it is in a new network', ({ user }) => tryFromEverywhere(user.email), newPlace],
  ])('still works when strangers have used the tries %s', async (_which, useTries, nextPlace) => {
    const browser = await userWithBrowser();
    const { user, browserSecret } = browser;
    await useTries(browser);
    const place = () => ({ remoteAddress: nextPlace(browser) });

    await signIn(user.email, { ...place(), browserSecret });
    await signIn(user.email, { ...place(), browserSecret, isConfirmation: true }, 1);
    expect(await refusalOf(signIn(user.email, place()))).toBe('TOO_MANY_TRIES');
  });

  test('signs in while a stranger in its network sends many passwords at once', async () => {
    const { user, ...own } = await userWithBrowser();
    const { remoteAddress } = own;
    const flood = Array.from({ length: 100 }, () =>
      refusalOf(signIn(user.email, { password: wrong, remoteAddress })),
    );
    await Promise.race(flood);

    await signIn(user.email, own);
    expect(await Promise.all(flood)).toContain('OVERLOADED');
  });

  test('can accept an invitation when a stranger in its network has used the tries of the account', async () => {
    const { user, ...own } = await userWithBrowser();
    const { token } = await desk.inviteElsewhere(user.email);
    await tryWrong(user.email, 5, { remoteAddress: own.remoteAddress });

    await accounts.acceptInvitation({ token, password, ...own });
  });

  test('is also one in which the user accepted an invitation', async () => {
    const { email } = await viewer();
    const { token } = await desk.inviteElsewhere(email);
    await accounts.acceptInvitation({ token, password, browserSecret: email, remoteAddress: newPlace() });
    await tryFromEverywhere(email);

    await signIn(email, { browserSecret: email, remoteAddress: newPlace() });
    expect(await refusalOf(signIn(email, { remoteAddress: newPlace() }))).toBe('TOO_MANY_TRIES');
  });

  test('can change the password when strangers have used the tries of the account', async () => {
    const { user, browserSecret } = await userWithBrowser();
    await tryFromEverywhere(user.email);
    const changeIn = (own: object) =>
      accounts.changePassword({
        ...{ userId: user.userId, currentPassword: password, newPassword: 'staple battery correct' },
        ...{ remoteAddress: newPlace(), ...own },
      });

    expect(await refusalOf(changeIn({}))).toBe('TOO_MANY_TRIES');
    await changeIn({ browserSecret });
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
    await tryWrong(other.email, 5, { remoteAddress });

    expect(await refusalOf(signIn(other.email, { browserSecret, remoteAddress }))).toBe('TOO_MANY_TRIES');
  });

  test('is forgotten after 30 days without a sign-in', async () => {
    const { user, ...own } = await userWithBrowser();
    await database.query("update core.account_tries set ends_at = ends_at - interval '30 days'");
    await tryWrong(user.email, 5, { remoteAddress: own.remoteAddress });

    expect(await refusalOf(signIn(user.email, own))).toBe('TOO_MANY_TRIES');
  });
});

/** The number of counts that have not ended. The core of these tests removes the others at any time. */
async function countTries(): Promise<number> {
  const text = 'select count(*)::integer from core.account_tries where ends_at > now()';
  return (await database.query<{ count: number }>(text)).rows[0]?.count ?? 0;
}

/** The number of new rows of counts while `act` runs. */
async function countsDuring(act: () => Promise<unknown>): Promise<number> {
  const before = await countTries();
  await act();
  return (await countTries()) - before;
}

test('a flood of sign-ins is refused when the queue is full, and known users sign in meanwhile', async () => {
  const { email } = await viewer();
  const own = { remoteAddress: newPlace(), browserSecret: `browser of ${email}` };
  await signIn(email, own);
  const emails = Array.from({ length: 300 }, (_each, count) => `flood-${count}@shop.example`);
  const flood = emails.map((name) =>
    refusalOf(
      accounts.verifyPassword({ email: name, password, remoteAddress: newPlace() }, { timeoutMs: hangMs }),
    ),
  );
  await Promise.race(flood);
  await signIn(email, own);
  const reasons = await Promise.all(flood);
  expect(new Set(reasons)).toEqual(new Set(['WRONG_CREDENTIALS', 'OVERLOADED']));
});

test('a sign-in that is refused when the queue is full is not counted', async () => {
  const remoteAddress = newPlace();
  let reasons: (string | undefined)[] = [];
  const counts = await countsDuring(async () => {
    reasons = await Promise.all(
      Array.from({ length: 40 }, (_each, index) =>
        refusalOf(signIn(`full-${index}@shop.example`, { password: wrong, remoteAddress })),
      ),
    );
  });

  const checked = reasons.filter((reason) => reason === 'WRONG_CREDENTIALS').length;
  expect(reasons.filter((reason) => reason === 'OVERLOADED')).toHaveLength(40 - checked);
  expect(checked).toBeLessThan(40);
  // Each has one of its account there, one of its account, and one of its refusal. The network has one of all.
  expect(counts).toBe(3 * checked + 1);
});

test('a flood of requests for password reset links is refused when the queue is full, and known users get theirs meanwhile', async () => {
  const { email } = await viewer();
  const own = { email, remoteAddress: newPlace(), browserSecret: `browser of ${email}` };
  await signIn(email, own);
  let outcomes: (string | undefined)[] = [];
  const counts = await countsDuring(async () => {
    const flood = Array.from({ length: 300 }, (_each, index) =>
      outcomeOf(
        accounts.startPasswordReset(
          { email: `reset-${index}@shop.example`, remoteAddress: newPlace() },
          { timeoutMs: hangMs },
        ),
      ),
    );
    await Promise.race(flood);
    expect((await accounts.startPasswordReset(own)).token).not.toBe('');
    outcomes = await Promise.all(flood);
  });

  expect(new Set(outcomes)).toEqual(new Set(['done', 'OVERLOADED']));
  // The network, the address and its first link of the hour. The known browser has two.
  expect(counts).toBe(3 * outcomes.filter((outcome) => outcome === 'done').length + 2);
});

beforeEach(() => untilStepIsYoung());

/** The recorded sign-ins of the user, oldest first, as the owners of a merchant see them. */
async function recordOf({ userId }: User, merchantId = merchant.id): Promise<readonly AuditEntry[]> {
  const { entries } = await stack
    .client(AuditService, 'reader')
    .listAuditEntries({ merchantId, actionKind: 'session', pageSize: 500 });
  return entries.filter(({ targetId }) => targetId === userId).reverse();
}
const actionsOf = (entries: readonly AuditEntry[]) =>
  entries.map(({ action, details }) => [action, details?.['proof'] ?? details?.['reason'] ?? '']);

describe('a sign-in is recorded', () => {
  test('with its user as the actor, and its address', async () => {
    const user = await viewer();

    await signIn(user.email, { remoteAddress: '::ffff:203.0.113.9' });

    expect(await recordOf(user)).toMatchObject([
      {
        action: 'session.begin',
        actor: `dashboard:${user.userId}`,
        actorEmail: user.email,
        details: { email: user.email, proof: 'PASSWORD', remote_address: '203.0.113.9' },
      },
    ]);
  });

  test('unless its caller is gone, who would not get a session', async () => {
    const user = await viewer();
    await database.query('begin; lock table core.account_tries in share mode');
    try {
      const late = { email: user.email, password, remoteAddress: newPlace() };
      expect(await outcomeOf(accounts.verifyPassword(late, { timeoutMs: 500 }))).not.toBe('done');
    } finally {
      await database.query('commit');
    }
    // It takes its turn after the other one.
    await signIn(user.email);

    expect(await recordOf(user)).toHaveLength(1);
  });

  test('with each merchant of the user, and with none for an operator', async () => {
    const user = await viewer();
    const { merchantId: other, token } = await desk.inviteElsewhere(user.email);
    await accounts.acceptInvitation({ token, password });
    const operator = await desk.addUser();

    await signIn(user.email);
    await signIn(operator.email);
    await refusalOf(signIn(operator.email, { password: wrong }));

    const acceptedAndSignedIn = [
      ['session.begin', 'PASSWORD'],
      ['session.begin', 'PASSWORD'],
    ];
    expect(actionsOf(await recordOf(user))).toEqual(acceptedAndSignedIn);
    expect(actionsOf(await recordOf(user, other))).toEqual(acceptedAndSignedIn);
    const entries = await recordOf(operator, '');
    expect(actionsOf(entries)).toEqual([
      ['session.begin', 'PASSWORD'],
      ['session.refuse', 'WRONG_PASSWORD'],
    ]);
    expect(entries.map((entry) => entry.merchantId)).toEqual(['', '']);
  });

  test('after the right code if there is a second factor, and not after the password', async () => {
    const user = await viewer();
    const { secret, recoveryCodes } = await desk.enableTotp(user.userId, -1);

    const { user: entered } = await signIn(user.email);
    const before = await recordOf(user);
    const place = { remoteAddress: '203.0.113.10' };
    await accounts.verifyTotp({ userId: user.userId, code: codeOf(secret), ...place });
    await accounts.verifyTotp({ userId: user.userId, code: recoveryCodes[0]!, ...place });

    expect(before).toEqual([]);
    expect(entered).toMatchObject({ isTotpEnabled: true });
    expect(entered?.lastSignInTime).toBeUndefined();
    expect((await signIn(user.email)).user?.lastSignInTime).toBeDefined();
    const entries = await recordOf(user);
    expect(actionsOf(entries)).toEqual([
      ['session.begin', 'ONE_TIME_CODE'],
      ['session.begin', 'RECOVERY_CODE'],
    ]);
    expect(entries.map(({ details }) => details?.['remote_address'])).toEqual([
      '203.0.113.10',
      '203.0.113.10',
    ]);
  });

  test('when the password accepts an invitation, with each merchant, its address and its time, whoever else is signed in in that browser', async () => {
    const user = await viewer();
    const { merchantId: other, token } = await desk.inviteElsewhere(user.email);

    const remoteAddress = '203.0.113.12';
    const acceptance = { token, password, remoteAddress };
    const { user: accepted } = await accounts.acceptInvitation(acceptance, asUser(await viewer()));

    const entry = {
      action: 'session.begin',
      actor: `dashboard:${user.userId}`,
      details: { email: user.email, proof: 'PASSWORD', remote_address: remoteAddress },
    };
    expect(await recordOf(user)).toMatchObject([entry]);
    expect(await recordOf(user, other)).toMatchObject([entry]);
    expect(accepted?.lastSignInTime).toBeDefined();
  });

  test('not when the password accepts an invitation but a code is still needed', async () => {
    const user = await viewer();
    await desk.enableTotp(user.userId, -1);
    const { token } = await desk.inviteElsewhere(user.email);

    const { user: accepted } = await accounts.acceptInvitation({ token, password });

    expect(await recordOf(user)).toEqual([]);
    expect(accepted?.lastSignInTime).toBeUndefined();
  });

  test('but a confirmation of the identity is not, and leaves the time of the last sign-in as it was', async () => {
    const user = await viewer();
    const lastSignIn = async () => (await signIn(user.email, { isConfirmation: true })).user?.lastSignInTime;
    const never = await lastSignIn();
    const before = await recordOf(user);
    await signIn(user.email);
    const afterPassword = await lastSignIn();
    const { secret } = await desk.enableTotp(user.userId, -1);
    await accounts.verifyTotp({ userId: user.userId, code: codeOf(secret), isConfirmation: true });

    expect([never, before]).toEqual([undefined, []]);
    expect(afterPassword).toBeDefined();
    expect(await lastSignIn()).toEqual(afterPassword);
    expect(await recordOf(user)).toHaveLength(1);
  });

  test.each([
    ['is empty', ''],
    ['is no address', '<script>'],
  ])('without an address when the stated address %s', async (_name, remoteAddress) => {
    const user = await viewer();
    await signIn(user.email, { remoteAddress });
    const [entry] = await recordOf(user);
    expect(entry?.details).toEqual({ email: user.email, proof: 'PASSWORD' });
  });
});

describe('a refused sign-in is recorded', () => {
  test('without a known actor, with its address', async () => {
    const user = await viewer();

    const attempt = { email: user.email, password: wrong, remoteAddress: '203.0.113.11' };
    await refusalOf(accounts.verifyPassword(attempt, asUser(await viewer())));

    expect(await recordOf(user)).toMatchObject([
      {
        action: 'session.refuse',
        actor: 'dashboard',
        actorEmail: '',
        details: { email: user.email, reason: 'WRONG_PASSWORD', remote_address: '203.0.113.11' },
      },
    ]);
  });

  test('once an hour for each reason, however many there are, from any address and on any core', async () => {
    const user = await viewer();
    const here = newPlace();
    await tryWrong(user.email, 7, { remoteAddress: here });
    await Promise.all(
      Array.from({ length: 16 }, (_each, count) =>
        refusalOf(signIn(user.email, { password: wrong }, count % 2)),
      ),
    );
    const first = actionsOf(await recordOf(user));
    await database.query(`update core.account_tries set ends_at = now() - interval '1 second'`);
    await refusalOf(signIn(user.email, { password: wrong, remoteAddress: here }));
    const later = actionsOf(await recordOf(user));
    // As after a clock of the database that was a month ahead.
    await database.query(`update core.account_tries set ends_at = ends_at + interval '31 days'`);
    await refusalOf(signIn(user.email, { password: wrong, remoteAddress: here }));

    const refusals = [
      ['session.refuse', 'WRONG_PASSWORD'],
      ['session.refuse', 'TOO_MANY_TRIES'],
    ];
    expect(first).toEqual(refusals);
    const again = ['session.refuse', 'WRONG_PASSWORD'];
    expect(later).toEqual([...refusals, again]);
    expect(actionsOf(await recordOf(user))).toEqual([...refusals, again, again]);
  });

  test.each<[string, (user: User) => Promise<unknown>, readonly string[]]>([
    [
      'a wrong code after the right password',
      async ({ userId }) => {
        const code = wrongCodeOf((await desk.enableTotp(userId, -1)).secret);
        for (let count = 0; count < 6; count += 1) await refusalOf(accounts.verifyTotp({ userId, code }));
      },
      ['WRONG_CODE', 'TOO_MANY_TRIES'],
    ],
    [
      'a disabled user, whatever the user enters',
      async ({ email }) => {
        await accounts.setUserDisabled({ email, isDisabled: true });
        await refusalOf(signIn(email));
        await refusalOf(signIn(email, { password: wrong }));
      },
      ['KEPT_OUT'],
    ],
    [
      'a wrong password at an invitation',
      async ({ email }) => {
        const { token } = await desk.inviteElsewhere(email);
        await refusalOf(accounts.acceptInvitation({ token, password: wrong }));
      },
      ['WRONG_PASSWORD'],
    ],
  ])('for %s', async (_what, enter, reasons) => {
    const user = await viewer();
    await enter(user);
    expect(actionsOf(await recordOf(user))).toEqual(reasons.map((reason) => ['session.refuse', reason]));
  });

  test('but not for a mistyped confirmation of the identity, which leaves the entry of the hour to a sign-in', async () => {
    const user = await viewer();
    const { userId } = user;
    const { secret } = await desk.enableTotp(userId, -1);
    const code = wrongCodeOf(secret);
    await refusalOf(signIn(user.email, { password: wrong, isConfirmation: true }));
    await refusalOf(accounts.verifyTotp({ userId, code, isConfirmation: true }));
    const afterConfirmations = await recordOf(user);

    await refusalOf(signIn(user.email, { password: wrong }));
    await refusalOf(accounts.verifyTotp({ userId, code }));

    expect(afterConfirmations).toEqual([]);
    expect(actionsOf(await recordOf(user))).toEqual([
      ['session.refuse', 'WRONG_PASSWORD'],
      ['session.refuse', 'WRONG_CODE'],
    ]);
  });

  test('but not for an unknown address', async () => {
    const before = await database.query('select count(*) from core.audit_entries');
    await refusalOf(signIn('nobody.here@shop.example', { password: wrong }));
    await refusalOf(signIn('null\0@shop.example', { password: wrong }));
    expect((await database.query('select count(*) from core.audit_entries')).rows).toEqual(before.rows);
  });
});

test('requests of strangers for password reset links are recorded once an hour', async () => {
  const user = await viewer();
  // Some come from a browser where somebody else is signed in.
  for (let count = 0; count < 5; count += 1) {
    const actor = count % 2 === 0 ? { 'x-gatehouse-actor': (await viewer()).userId } : {};
    await accounts.startPasswordReset({ email: user.email }, { headers: actor });
  }

  const { entries } = await stack
    .client(AuditService, 'reader')
    .listAuditEntries({ merchantId: merchant.id, actionKind: 'user' });
  const started = entries.filter(
    ({ action, targetId }) => action === 'user.start_reset' && targetId === user.userId,
  );
  expect(started.map(({ actor }) => actor)).toEqual(['dashboard']);
});

describe('the end of a session is recorded', () => {
  test('once when its user signs out', async () => {
    const user = await viewer();
    const sessionHash = await desk.openSession(user.userId);

    await desk.sessions.deleteSession({ sessionHash, isSignOut: true });
    await desk.sessions.deleteSession({ sessionHash, isSignOut: true });

    expect(await desk.isOpen(sessionHash)).toBe(false);
    expect(await recordOf(user)).toMatchObject([
      { action: 'session.end', actor: `dashboard:${user.userId}`, details: { email: user.email } },
    ]);
  });

  test('but not when it continues under another id, or belonged to no user', async () => {
    const user = await viewer();
    await desk.sessions.deleteSession({ sessionHash: await desk.openSession(user.userId) });
    await desk.sessions.deleteSession({ sessionHash: Buffer.alloc(32), isSignOut: true });
    expect(await recordOf(user)).toEqual([]);
  });

  test('when its user ends all others, with their number', async () => {
    const user = await viewer();
    const { userId } = user;
    const keepSessionHash = await desk.openSession(userId);
    await desk.openSession(userId);
    await desk.openSession(userId);

    await desk.sessions.endUserSessions({ userId, keepSessionHash });
    await desk.sessions.endUserSessions({ userId, keepSessionHash });

    expect(await recordOf(user)).toMatchObject([{ action: 'session.end_others', details: { sessions: 2 } }]);
  });
});
