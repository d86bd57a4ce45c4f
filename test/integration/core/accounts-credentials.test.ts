import { beforeAll, describe, expect, test, beforeEach } from '@jest/globals';
import { createHash, randomBytes } from 'node:crypto';
import { durationFromMs, timestampFromDate, timestampMs } from '@bufbuild/protobuf/wkt';
import { MemberRole, AccountService } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { failureOf, outcomeOf, refusalOf, waitAskedFor, wrongFields } from '../../support/rpc-failure.ts';
import { password, sessionOf, sharedAccountSite } from './account-desk.ts';
import { codeOf, untilStepIsYoung, wrongCodeOf } from '../../support/authenticator.ts';
import { duringChange } from '../../support/database-connections.ts';
import { sweepAccounts } from '../../../src/core/accounts/sweep-accounts.ts';
import type { VerifyPasswordResponse } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { sharedPool } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';
import { storedId } from '../../../src/contract/public-id.ts';
import type { PublicId } from '../../../src/contract/public-id.ts';

const { stack, desk, accounts, database, merchant } = sharedAccountSite();
const newPassword = 'staple of quiet mornings';
const addUser = () => desk.addUser({ merchantId: merchant.id, role: MemberRole.OWNER });
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

    const reply = await accounts.resetPassword({ token: first, password: newPassword });

    expect(reply.user).toMatchObject({ userId: user.userId });
    expect(await desk.isOpen(open)).toBe(false);
    expect(await refusalOf(accounts.verifyPassword({ email: user.email, password }))).toBe(
      'WRONG_CREDENTIALS',
    );
    await accounts.verifyPassword({ email: user.email, password: newPassword });
    for (const token of [first, second]) {
      expect(await refusalOf(accounts.getPasswordReset({ token }))).toBe('LINK_NOT_USABLE');
      expect(await refusalOf(accounts.resetPassword({ token, password }))).toBe('LINK_NOT_USABLE');
    }
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

  test('of an unknown address or a disabled user gives no link and no error, and stores nothing', async () => {
    const user = await addUser();
    await accounts.setUserDisabled({ email: user.email, isDisabled: true });
    for (const email of [desk.newEmail(), user.email]) {
      const { token, expireTime } = await accounts.startPasswordReset({ email });
      expect([token, expireTime]).toEqual(['', expect.anything()]);
      const links = await database.query(sql`select from core.account_links where email_key = ${email}`);
      expect(links.rowCount).toBe(0);
    }
  });

  test('of a user who was disabled at the same moment is refused, and so is a session', async () => {
    const { email, userId: disabled } = await addUser();
    const [open, token] = [await desk.openSession(disabled), await startReset(email)];
    await database.query(sql`update core.users set disabled_at = now() where email = ${email}`);

    expect(await refusalOf(accounts.getPasswordReset({ token }))).toBe('LINK_NOT_USABLE');
    expect(await refusalOf(accounts.resetPassword({ token, password: newPassword }))).toBe('LINK_NOT_USABLE');
    expect(await desk.isOpen(open)).toBe(false);
  });

  test('can be requested five times an hour, with and without an account', async () => {
    const user = await addUser();
    for (const email of [user.email, desk.newEmail()]) {
      for (let count = 0; count < 5; count += 1) await accounts.startPasswordReset({ email });
      expect(await refusalOf(accounts.startPasswordReset({ email }))).toBe('TOO_MANY_TRIES');
    }
  });

  test('can be requested twenty times an hour from one network, for whatever addresses', async () => {
    const outcomes: (string | undefined)[] = [];
    for (let count = 0; count < 21; count += 1)
      outcomes.push(
        await outcomeOf(accounts.startPasswordReset({ email: desk.newEmail(), remoteAddress: '192.0.2.77' })),
      );
    expect(outcomes.filter((outcome) => outcome !== 'done')).toEqual(['TOO_MANY_TRIES']);
  });

  test('can be requested in a browser in which the user signed in, after strangers used up the limits of the address and the network', async () => {
    const user = await addUser();
    const remoteAddress = '198.51.100.77';
    const browserSecret = 'b'.repeat(43);
    const here = { email: user.email, remoteAddress, browserSecret };
    await accounts.verifyPassword({ ...here, password });
    for (const email of [user.email, ...Array.from({ length: 3 }, () => desk.newEmail())])
      for (let count = 0; count < 5; count += 1)
        await accounts.startPasswordReset({ email, remoteAddress, browserSecret: 's'.repeat(43) });

    const elsewhere = { ...here, browserSecret: 's'.repeat(43) };
    expect(await refusalOf(accounts.startPasswordReset(elsewhere))).toBe('TOO_MANY_TRIES');
    for (let count = 0; count < 5; count += 1)
      expect((await accounts.startPasswordReset(here)).token).not.toBe('');
    expect(await refusalOf(accounts.startPasswordReset(here))).toBe('TOO_MANY_TRIES');
  });

  test("with a password that breaks the rules, or is the user's own name, leaves the link as it was", async () => {
    const user = await addUser();
    const name = 'Abebe Bikila Demissie';
    await accounts.updateProfile({ userId: user.userId, name, language: 'en' });
    const token = await startReset(user.email);

    for (const weak of ['short', name])
      expect(await wrongFields(accounts.resetPassword({ token, password: weak }))).toBe('password');
    await accounts.resetPassword({ token, password: newPassword });
  });

  test('cannot be accepted as an invitation, nor an invitation as a reset', async () => {
    const user = await addUser();
    const reset = await startReset(user.email);
    const { token: invitation } = await desk.inviteElsewhere(desk.newEmail());
    expect(await refusalOf(accounts.getInvitation({ token: reset }))).toBe('LINK_NOT_USABLE');
    expect(await refusalOf(accounts.getPasswordReset({ token: invitation }))).toBe('LINK_NOT_USABLE');
    const call = accounts.resetPassword({ token: invitation, password: newPassword });
    expect(await refusalOf(call)).toBe('LINK_NOT_USABLE');
  });
});

test('a reset ends the wait of a user after wrong passwords, whoever typed them, also in a known browser', async () => {
  const user = await addUser();
  const places = [
    { browserSecret: user.email, remoteAddress: '192.0.2.78' },
    { remoteAddress: '192.0.2.77' },
  ];
  const signIn = (own: string, place: object = {}) =>
    accounts.verifyPassword({ email: user.email, password: own, ...place });
  for (const place of places) await signIn(password, place);
  for (const place of places) {
    for (let count = 0; count < 6; count += 1)
      await signIn('not the right password', place).catch(() => undefined);
    expect(await refusalOf(signIn(password, place))).toBe('TOO_MANY_TRIES');
  }

  await desk.accounts[1]!.resetPassword({ token: await startReset(user.email), password: newPassword });

  for (const place of places) await signIn(newPassword, place);
  // The reset is remembered for longer than the counts before it.
  await database.query("update core.account_tries set ends_at = ends_at - interval '10 minutes'");
  for (const place of places) await signIn(newPassword, place);
});

describe('changing a password', () => {
  test('needs the current password, and ends the other sessions and reset links, which others may have seen', async () => {
    const user = await addUser();
    const [here, elsewhere] = [await desk.openSession(user.userId), await desk.openSession(user.userId)];
    const token = await startReset(user.email);
    const change = { userId: user.userId, currentPassword: password, newPassword };
    await accounts.changePassword({ ...change, keepSessionHash: here });
    expect([await desk.isOpen(here), await desk.isOpen(elsewhere)]).toEqual([true, false]);
    await desk.accounts[1]!.verifyPassword({ email: user.email, password: newPassword });
    expect(await refusalOf(accounts.resetPassword({ token, password }))).toBe('LINK_NOT_USABLE');
  });

  test('without the current password changes nothing, and attempts are limited', async () => {
    const user = await addUser();
    const change = () =>
      accounts.changePassword({ userId: user.userId, currentPassword: 'guess after guess', newPassword });
    for (let count = 0; count < 5; count += 1) expect(await refusalOf(change())).toBe('WRONG_CREDENTIALS');
    expect(await refusalOf(change())).toBe('TOO_MANY_TRIES');
    await accounts.verifyPassword({ email: user.email, password, remoteAddress: '192.0.2.1' });
  });

  test('twice at once succeeds once, and the second call is refused', async () => {
    const user = await addUser();
    const outcomes = await Promise.all(
      [0, 1].map((core) =>
        outcomeOf(
          desk.accounts[core]!.changePassword({
            ...{ userId: user.userId, currentPassword: password, newPassword: `${newPassword} ${core}` },
          }),
        ),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1);
  });
});

// A code is valid for a step of 30 seconds and the steps beside it. So tests use the previous, the current and the
// next one, and only wait for the end of a step.

beforeEach(() => untilStepIsYoung());

const addUserId = async () => (await addUser()).userId;

test('a user changes the profile 20 times an hour at most, and another user is not affected', async () => {
  const [user, other] = [await addUserId(), await addUserId()];
  const rename = (userId: string, name: string) => accounts.updateProfile({ userId, name, language: 'en' });
  for (let count = 0; count < 20; count += 1) await rename(user, `Name ${count}`);

  expect(await refusalOf(rename(user, 'One more'))).toBe('TOO_MANY_TRIES');
  expect((await rename(other, 'One more')).user?.name).toBe('One more');
});

test('a user changes the password 20 times an hour at most, and wrong current passwords do not count', async () => {
  const user = await addUser();
  const change = (currentPassword: string, next: string, remoteAddress = '') =>
    accounts.changePassword({ userId: user.userId, currentPassword, newPassword: next, remoteAddress });
  await refusalOf(change('not the right password', newPassword, '192.0.2.79'));
  for (let count = 0; count < 10; count += 1) {
    await change(password, newPassword);
    await change(newPassword, password);
  }

  expect(await refusalOf(change(password, newPassword))).toBe('TOO_MANY_TRIES');
});

test('a user signs in with the password alone 100 times an hour at most, and with a reset password 100 more', async () => {
  const [user, other] = [await addUser(), await addUser()];
  const signIn = (email: string, own = password) => accounts.verifyPassword({ email, password: own });
  for (let count = 0; count < 100; count += 1) await signIn(user.email);

  expect(await refusalOf(signIn(user.email))).toBe('TOO_MANY_TRIES');
  await signIn(other.email);
  const confirmation = { email: user.email, password, isConfirmation: true };
  await accounts.verifyPassword(confirmation);
  await accounts.resetPassword({ token: await startReset(user.email), password: newPassword });
  await signIn(user.email, newPassword);
});

const verify = (userId: string, code: string, core = 0) => desk.accounts[core]!.verifyTotp({ userId, code });
const userOf = async (userId: string) =>
  (await accounts.listUsers({ merchantId: merchant.id })).users.find((user) => user.userId === userId);

describe('turning the second factor on', () => {
  test('gives a secret for an authenticator, and takes effect with its first code', async () => {
    const userId = await addUserId();

    const { secret, uri } = await accounts.beginTotp({ userId });
    const begun = await userOf(userId);
    const { recoveryCodes } = await accounts.confirmTotp({ userId, code: codeOf(secret) });

    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    expect(uri).toBe(
      `otpauth://totp/Gatehouse:${encodeURIComponent(begun!.email)}?issuer=Gatehouse&secret=${secret}&algorithm=SHA1&digits=6&period=30`,
    );
    expect(begun?.isTotpEnabled).toBe(false);
    expect((await userOf(userId))?.isTotpEnabled).toBe(true);
    expect(new Set(recoveryCodes).size).toBe(10);
    for (const code of recoveryCodes)
      expect(code).toMatch(/^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){2}$/);
  });

  test('ends the other sessions, which began without a code', async () => {
    const userId = await addUserId();
    const [here, elsewhere] = [await desk.openSession(userId), await desk.openSession(userId)];
    const { secret } = await accounts.beginTotp({ userId });
    await refusalOf(accounts.confirmTotp({ userId, code: wrongCodeOf(secret), keepSessionHash: here }));
    const afterWrongCode = await desk.isOpen(elsewhere);

    await accounts.confirmTotp({ userId, code: codeOf(secret), keepSessionHash: here });

    expect(afterWrongCode).toBe(true);
    expect([await desk.isOpen(here), await desk.isOpen(elsewhere)]).toEqual([true, false]);
  });

  test('can be tried with five codes, and then even the right one must wait', async () => {
    const userId = await addUserId();
    const { secret } = await accounts.beginTotp({ userId });
    const confirm = (code: string) => refusalOf(accounts.confirmTotp({ userId, code }));
    for (let count = 0; count < 5; count += 1) expect(await confirm(wrongCodeOf(secret))).toBe('WRONG_CODE');
    expect(await confirm(codeOf(secret))).toBe('TOO_MANY_TRIES');
  });

  test('begun again invalidates the first secret', async () => {
    const userId = await addUserId();
    const { secret: first } = await accounts.beginTotp({ userId });
    const { secret: second } = await accounts.beginTotp({ userId });
    expect(await refusalOf(accounts.confirmTotp({ userId, code: codeOf(first) }))).toBe('WRONG_CODE');
    await accounts.confirmTotp({ userId, code: codeOf(second) });
  });

  test('is refused before it has begun, and after it is complete', async () => {
    const userId = await addUserId();
    expect(await refusalOf(accounts.confirmTotp({ userId, code: '123456' }))).toBe('TOTP_NOT_BEGUN');
    expect(await refusalOf(verify(userId, '123456'))).toBe('TOTP_NOT_ENABLED');
    const { secret } = await desk.enableTotp(userId);
    expect(await refusalOf(accounts.beginTotp({ userId }))).toBe('TOTP_ENABLED');
    const again = accounts.confirmTotp({ userId, code: codeOf(secret, 1) });
    expect(await refusalOf(again)).toBe('TOTP_ENABLED');
  });
});

describe('a one-time code', () => {
  test('is accepted once, also the first one, however often it is sent to two cores at once', async () => {
    const userId = await addUserId();
    const { secret } = await desk.enableTotp(userId, -1);
    expect(await refusalOf(verify(userId, codeOf(secret, -1)))).toBe('WRONG_CODE');
    // As authenticators show it.
    const code = codeOf(secret).replace(/^.../, '$& ');
    const outcomes = await Promise.allSettled([0, 1, 0, 1].map((core) => verify(userId, code, core)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('is refused after a later one was accepted', async () => {
    const userId = await addUserId();
    const { secret } = await desk.enableTotp(userId, -1);
    await verify(userId, codeOf(secret, 1));
    expect(await refusalOf(verify(userId, codeOf(secret)))).toBe('WRONG_CODE');
  });

  test('of one user is refused for another', async () => {
    const [one, other] = [await addUserId(), await addUserId()];
    const { secret } = await desk.enableTotp(one, -1);
    await desk.enableTotp(other, -1);
    expect(await refusalOf(verify(other, codeOf(secret)))).toBe('WRONG_CODE');
  });

  test('does not sign in a disabled user', async () => {
    const userId = await addUserId();
    const { secret, recoveryCodes } = await desk.enableTotp(userId, -1);
    await desk.addUser({ merchantId: merchant.id, role: MemberRole.OWNER });
    await accounts.setUserDisabled({ email: (await userOf(userId))!.email, isDisabled: true });
    expect(await refusalOf(verify(userId, codeOf(secret)))).toBe('WRONG_CODE');
    expect(await refusalOf(verify(userId, recoveryCodes[0]!))).toBe('WRONG_CODE');
  });

  test('is refused without being counted while too many others of the same user are checked', async () => {
    const userId = await addUserId();
    const { secret } = await desk.enableTotp(userId, -1);
    const reasons = await Promise.all(
      Array.from({ length: 40 }, () => refusalOf(verify(userId, wrongCodeOf(secret)))),
    );
    const key = createHash('sha256')
      .update(`code/${storedId('usr', userId as PublicId<'usr'>)}`)
      .digest();
    const counted = await database.query<{ tries: number }>(sql`
      select tries from core.account_tries where key = ${key}`);
    const refused = reasons.filter((reason) => reason === 'OVERLOADED').length;
    expect(refused).toBeGreaterThan(0);
    expect(counted.rows[0]?.tries).toBe(40 - refused);
  });

  test('can be tried five times, and then even the right code must wait', async () => {
    const userId = await addUserId();
    const { secret } = await desk.enableTotp(userId, -1);
    const wrong = wrongCodeOf(secret);
    const reasons = await Promise.all(
      Array.from({ length: 12 }, (_each, count) => refusalOf(verify(userId, wrong, count % 2))),
    );
    expect(reasons.filter((reason) => reason === 'WRONG_CODE')).toHaveLength(5);
    expect(await waitAskedFor(verify(userId, codeOf(secret)))).toBeGreaterThan(14 * 60);
    await database.query('update core.account_tries set ends_at = now()');
    await verify(userId, codeOf(secret));
  });

  test('can be tried forty times a day', async () => {
    const userId = await addUserId();
    const { secret } = await desk.enableTotp(userId, -1);
    await refusalOf(verify(userId, wrongCodeOf(secret)));
    await database.query(`
      update core.account_tries set tries = 40 where tries = 1 and ends_at > now() + interval '23 hours'`);
    expect(await waitAskedFor(verify(userId, codeOf(secret)))).toBeGreaterThan(23 * 60 * 60);
  });
});

describe('a browser in which a code was right', () => {
  const browserSecret = 'b'.repeat(43);
  const tryIn = async (secret: string, of: { userId: string; browserSecret?: string }) => {
    for (let count = 0; count < 6; count += 1)
      await refusalOf(desk.accounts[count % 2]!.verifyTotp({ ...of, code: wrongCodeOf(secret) }));
  };
  const verifyIn = (of: { userId: string; browserSecret: string }, code: string) =>
    accounts.verifyTotp({ ...of, code });

  test('still works when someone who knows the password sends many codes at once', async () => {
    const userId = await addUserId();
    const { secret } = await desk.enableTotp(userId, -1);
    await verifyIn({ userId, browserSecret }, codeOf(secret));
    const { email } = (await userOf(userId))!;
    const stranger = { userId, browserSecret: 's'.repeat(43) };
    await accounts.verifyPassword({ email, password, browserSecret: stranger.browserSecret });
    const flood = Array.from({ length: 50 }, () => refusalOf(verifyIn(stranger, wrongCodeOf(secret))));
    await Promise.race(flood);

    await verifyIn({ userId, browserSecret }, codeOf(secret, 1));
    expect(new Set(await Promise.all(flood))).toEqual(
      new Set(['WRONG_CODE', 'TOO_MANY_TRIES', 'OVERLOADED']),
    );
    expect(await refusalOf(verifyIn(stranger, codeOf(secret, 1)))).toBe('TOO_MANY_TRIES');
  });

  test('has five tries of its own', async () => {
    const userId = await addUserId();
    const { secret } = await desk.enableTotp(userId, -1);
    await verifyIn({ userId, browserSecret }, codeOf(secret));
    await tryIn(secret, { userId, browserSecret });

    expect(await refusalOf(verifyIn({ userId, browserSecret }, codeOf(secret, 1)))).toBe('TOO_MANY_TRIES');
    await verify(userId, codeOf(secret, 1));
  });

  test('gives no tries at another account', async () => {
    const [own, other] = [await addUserId(), await addUserId()];
    const { secret } = await desk.enableTotp(own, -1);
    await verifyIn({ userId: own, browserSecret }, codeOf(secret));
    const { secret: othersSecret } = await desk.enableTotp(other, -1);
    await tryIn(othersSecret, { userId: other });

    expect(await refusalOf(verifyIn({ userId: other, browserSecret }, codeOf(othersSecret)))).toBe(
      'TOO_MANY_TRIES',
    );
  });
});

describe('a recovery code', () => {
  test('replaces a code once, in any notation and in concurrent calls, and the answer says how many are left', async () => {
    const userId = await addUserId();
    const { recoveryCodes } = await desk.enableTotp(userId);
    const typed = recoveryCodes[0]!.toUpperCase().replaceAll('-', ' ');

    const outcomes = await Promise.allSettled([0, 1, 0, 1].map((core) => verify(userId, typed, core)));

    const taken = outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(taken).toMatchObject([{ wasRecoveryCode: true, recoveryCodesLeft: 9 }]);
    expect(await refusalOf(verify(userId, recoveryCodes[0]!))).toBe('WRONG_CODE');
    expect(await verify(userId, recoveryCodes[1]!)).toMatchObject({ recoveryCodesLeft: 8 });
  });

  test('of one user is refused for another, and stays usable', async () => {
    const [one, other] = [await addUserId(), await addUserId()];
    const { recoveryCodes } = await desk.enableTotp(one);
    await desk.enableTotp(other);
    expect(await refusalOf(verify(other, recoveryCodes[0]!))).toBe('WRONG_CODE');
    expect(await verify(one, recoveryCodes[0]!)).toMatchObject({ recoveryCodesLeft: 9 });
  });

  test('becomes invalid with the second factor that it belongs to', async () => {
    const userId = await addUserId();
    const { recoveryCodes: old } = await desk.enableTotp(userId, 1);
    await accounts.disableTotp({ userId });
    await accounts.disableTotp({ userId });
    expect((await userOf(userId))?.isTotpEnabled).toBe(false);
    // The last time of the old secret does not count for the new one.
    await desk.enableTotp(userId, 0);
    expect(await refusalOf(verify(userId, old[0]!))).toBe('WRONG_CODE');
  });
});

test.each(['beginTotp', 'disableTotp'] as const)('%s of an unknown user is NOT_FOUND', async (method) => {
  const call = accounts[method]({ userId: 'usr_01h455vb4pex5vsknk084sn02q' });
  expect(await failureOf(call)).toMatchObject({ code: 'NotFound', reason: 'USER_NOT_FOUND' });
});
let userId: string;
const pool = sharedPool(() => stack.databaseUrl, 4);
beforeAll(async () => {
  ({ userId } = await addUser());
});

const newHash = (): Buffer => createHash('sha256').update(randomBytes(16)).digest();
const read = (sessionHash: Buffer) => desk.sessions.readSession({ sessionHash });

describe('a session', () => {
  test('is read as it was last written, with the current state of its user', async () => {
    const sessionHash = newHash();
    await desk.sessions.writeSession({ sessionHash, session: sessionOf(userId, 'first') });
    await desk.sessions.writeSession({ sessionHash, session: sessionOf(userId, 'second') });
    await accounts.updateProfile({ userId, name: 'ሳራ', language: 'am' });

    const { session, user } = await read(sessionHash);

    expect(Buffer.from(session!.data).toString()).toBe('second');
    expect(user).toMatchObject({ userId, name: 'ሳራ', language: 'am' });
  });

  test('belongs to no user before the sign-in', async () => {
    const sessionHash = newHash();
    await desk.sessions.writeSession({ sessionHash, session: sessionOf('') });
    const { session, user } = await read(sessionHash);
    expect([session?.userId, user]).toEqual(['', undefined]);
  });

  test('is not found before it was written, or after it has expired', async () => {
    const sessionHash = newHash();
    expect((await read(sessionHash)).session).toBeUndefined();
    const past = { ...sessionOf(userId), expireTime: timestampFromDate(new Date(Date.now() - 1)) };
    await desk.sessions.writeSession({ sessionHash, session: past });
    expect((await read(sessionHash)).session).toBeUndefined();
  });

  test('lasts for the time of valid_for by the clock of the database, whatever end another clock gave it', async () => {
    const session = { ...sessionOf(userId), expireTime: timestampFromDate(new Date(Date.now() - 3_600_000)) };
    const [lasting, ended] = [newHash(), newHash()];
    await desk.sessions.writeSession({ sessionHash: lasting, session, validFor: durationFromMs(600_000) });
    await desk.sessions.writeSession({
      ...{ sessionHash: ended, session: sessionOf(userId), validFor: durationFromMs(0) },
    });

    const { expireTime } = (await read(lasting)).session ?? {};

    const leftMs = expireTime === undefined ? 0 : timestampMs(expireTime) - Date.now();
    expect(leftMs).toBeGreaterThan(300_000);
    expect(leftMs).toBeLessThan(900_000);
    expect(await desk.isOpen(ended)).toBe(false);
  });

  test("ends within an hour after it was written, also if the database's clock was a day ahead", async () => {
    const written = newHash();
    const session = {
      ...sessionOf(userId),
      expireTime: timestampFromDate(new Date(Date.now() + 86_400_000)),
    };
    await desk.sessions.writeSession({ sessionHash: written, session });
    const { expireTime } = (await read(written)).session ?? {};
    const misdated = await desk.openSession(userId);
    await pool.query(sql`
      update core.dashboard_sessions set expires_at = expires_at + interval '1 day' where hash = ${misdated}`);

    await sweepAccounts(pool, { aborted: false });

    expect(expireTime && timestampMs(expireTime)).toBeLessThan(Date.now() + 3_900_000);
    expect([await desk.isOpen(written), await desk.isOpen(misdated)]).toEqual([true, false]);
  });

  test('that has ended is not written back by a request in progress, and its data is deleted', async () => {
    const sessionHash = await desk.openSession(userId);
    await desk.sessions.deleteSession({ sessionHash });
    await desk.sessions.deleteSession({ sessionHash });
    await desk.sessions.writeSession({ sessionHash, session: sessionOf(userId) });
    expect(await desk.isOpen(sessionHash)).toBe(false);
    const { rows } = await pool.query(sql`
      select data from core.dashboard_sessions where hash = ${sessionHash}`);
    expect(rows).toEqual([{ data: Buffer.alloc(0) }]);
  });

  test('continues when all others of its user are ended', async () => {
    const [here, elsewhere] = [await desk.openSession(userId), await desk.openSession(userId)];
    await desk.sessions.endUserSessions({ userId, keepSessionHash: here });
    expect([await desk.isOpen(here), await desk.isOpen(elsewhere)]).toEqual([true, false]);
    await desk.sessions.endUserSessions({ userId });
    expect(await desk.isOpen(here)).toBe(false);
  });

  test.each([
    ['more than 16 KiB of data', { data: new Uint8Array(16_385) }, 'session.data'],
    ['no end', { expireTime: undefined }, 'session.expire_time'],
    [
      'an end in 31 days',
      { expireTime: timestampFromDate(new Date(Date.now() + 31 * 86_400_000)) },
      'session.expire_time',
    ],
    ['a time of 31 days', { validFor: durationFromMs(31 * 86_400_000) }, 'session.expire_time'],
    ['an invalid user id', { userId: 'abebe' }, 'session.user_id'],
    ['NUL in the version of the password', { passwordVersion: 'a\0' }, 'session.password_version'],
  ])('is not written with %s', async (_name, own, field) => {
    const { expireTime, validFor, ...session } = { validFor: undefined, ...sessionOf(userId), ...own };
    const call = desk.sessions.writeSession({
      sessionHash: newHash(),
      session: { ...session, ...(expireTime === undefined ? {} : { expireTime }) },
      ...(validFor === undefined ? {} : { validFor }),
    });
    expect(Object.keys((await failureOf(call)).issues)).toEqual([field]);
  });

  test('is stored under a hash of 32 bytes only', async () => {
    const call = desk.sessions.readSession({ sessionHash: Buffer.from('an id itself') });
    expect(Object.keys((await failureOf(call)).issues)).toEqual(['session_hash']);
  });
});

describe('a session of the old credentials', () => {
  const begin = ({ user, passwordVersion }: VerifyPasswordResponse, sessionHash = newHash()) =>
    desk.sessions.writeSession({ sessionHash, session: { ...sessionOf(user!.userId), passwordVersion } });
  const addSignedIn = async () => {
    const { email, userId: ofUser } = await addUser();
    return { email, userId: ofUser, signedIn: await accounts.verifyPassword({ email, password }) };
  };

  const changePassword = ({ userId: ofUser }: { userId: string }, own: object = {}) =>
    accounts.changePassword({ userId: ofUser, currentPassword: password, newPassword, ...own });

  test.each<[string, (user: { email: string; userId: string }) => Promise<unknown>]>([
    ['a change of the password', changePassword],
    [
      'a reset',
      async ({ email }) => accounts.resetPassword({ token: await startReset(email), password: newPassword }),
    ],
    [
      'one-time codes were turned on, so that it cannot turn them off',
      (user) => desk.enableTotp(user.userId),
    ],
  ])('does not begin after %s', async (_what, end) => {
    const { signedIn, ...user } = await addSignedIn();
    const beforeSignIn = newHash();
    await desk.sessions.writeSession({ sessionHash: beforeSignIn, session: sessionOf('') });
    await end(user);
    for (const hash of [newHash(), beforeSignIn])
      expect(await refusalOf(begin(signedIn, hash))).toBe('CHANGED_MEANWHILE');
  });

  test('is still written if the change kept it, and one of the new password begins', async () => {
    const { signedIn, ...user } = await addSignedIn();
    const here = newHash();
    await begin(signedIn, here);
    await changePassword(user, { keepSessionHash: here });
    await begin(signedIn, here);
    expect(await desk.isOpen(here)).toBe(true);
    await begin(await accounts.verifyPassword({ email: user.email, password: newPassword }));
  });

  test('waits for a change in progress, and is refused after it', async () => {
    const { email, signedIn } = await addSignedIn();
    const begun = await duringChange(
      stack.databaseUrl,
      sql`update core.users set password_hash = password_hash || 'changed' where email = ${email}`,
      () => outcomeOf(begin(signedIn)),
    );
    expect(begun).toBe('CHANGED_MEANWHILE');
  });
});

test('two concurrent sweeps remove expired sessions in batches, and no others', async () => {
  const kept = await desk.openSession(userId);
  await pool.query(`insert into core.dashboard_sessions (hash, data, expires_at)
    select sha256(i::text::bytea), '', now() - interval '1 second' from generate_series(1, 2500) i`);
  await pool.query(`insert into core.account_tries (key, tries, ends_at)
    select sha256(i::text::bytea), 1, now() - interval '1 second' from generate_series(1, 1500) i`);

  const swept = await Promise.all([1, 2].map(() => sweepAccounts(pool, { aborted: false })));

  const { rows } = await pool.query<{ over: number }>(`
    select (select count(*) from core.dashboard_sessions where expires_at < now())::integer
    + (select count(*) from core.account_tries where ends_at < now())::integer as over`);
  expect(swept.reduce((sum, each) => sum + each, 0)).toBeGreaterThanOrEqual(4000);
  expect(rows).toEqual([{ over: 0 }]);
  expect(await desk.isOpen(kept)).toBe(true);
});
