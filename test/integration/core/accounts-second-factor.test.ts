import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { codeOf, totpStepMs } from '../../support/authenticator.ts';
import { failureOf, refusalOf } from '../../support/rpc-failure.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { password, waitAskedFor } from './account-desk.ts';
import { sharedAccountSite } from './account-site.ts';

// A code is valid for a step of 30 seconds and the steps beside it. So tests use the previous, the current and the
// next one, and only wait for the end of a step.

const { site, desk, database } = sharedAccountSite();
let merchantId: string;
beforeAll(() => {
  ({ merchantId } = site);
});
/** The time that a test and its core may need, so that both are in the same step. */
const leftMs = 6_000;
beforeEach(() => waitUntil('the step is young enough', () => Date.now() % totpStepMs < totpStepMs - leftMs));

const addUser = async () => (await desk.addUser({ merchantId, role: MemberRole.OWNER })).userId;
const verify = (userId: string, code: string, core = 0) => desk.accounts[core]!.verifyTotp({ userId, code });
const userOf = async (userId: string) =>
  (await desk.accounts[0].listUsers({ merchantId })).users.find((user) => user.userId === userId);

describe('turning the second factor on', () => {
  test('gives a secret for an authenticator, and takes effect with its first code', async () => {
    const userId = await addUser();

    const { secret, uri } = await desk.accounts[0].beginTotp({ userId });
    const begun = await userOf(userId);
    const { recoveryCodes } = await desk.accounts[0].confirmTotp({ userId, code: codeOf(secret) });

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

  test('begun again invalidates the first secret', async () => {
    const userId = await addUser();
    const { secret: first } = await desk.accounts[0].beginTotp({ userId });
    const { secret: second } = await desk.accounts[0].beginTotp({ userId });
    expect(await refusalOf(desk.accounts[0].confirmTotp({ userId, code: codeOf(first) }))).toBe('WRONG_CODE');
    await desk.accounts[0].confirmTotp({ userId, code: codeOf(second) });
  });

  test('is refused before it has begun, and after it is complete', async () => {
    const userId = await addUser();
    expect(await refusalOf(desk.accounts[0].confirmTotp({ userId, code: '123456' }))).toBe('TOTP_NOT_BEGUN');
    expect(await refusalOf(verify(userId, '123456'))).toBe('TOTP_NOT_ENABLED');
    const { secret } = await desk.enableTotp(userId);
    expect(await refusalOf(desk.accounts[0].beginTotp({ userId }))).toBe('TOTP_ENABLED');
    const again = desk.accounts[0].confirmTotp({ userId, code: codeOf(secret, 1) });
    expect(await refusalOf(again)).toBe('TOTP_ENABLED');
  });

  test('requires a code before the user is signed in', async () => {
    const userId = await addUser();
    const { secret } = await desk.enableTotp(userId, -1);
    const { email } = (await userOf(userId))!;
    const { user } = await desk.accounts[0].verifyPassword({ email, password });
    expect(user).toMatchObject({ isTotpEnabled: true });
    expect(user?.lastSignInTime).toBeUndefined();
    await verify(userId, codeOf(secret));
    expect((await userOf(userId))?.lastSignInTime).toBeDefined();
  });
});

describe('a one-time code', () => {
  test('is accepted once, also the first one, however often it is sent to two cores at once', async () => {
    const userId = await addUser();
    const { secret } = await desk.enableTotp(userId, -1);
    expect(await refusalOf(verify(userId, codeOf(secret, -1)))).toBe('WRONG_CODE');
    // As authenticators show it.
    const code = codeOf(secret).replace(/^.../, '$& ');
    const outcomes = await Promise.allSettled([0, 1, 0, 1].map((core) => verify(userId, code, core)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('is refused after a later one was accepted', async () => {
    const userId = await addUser();
    const { secret } = await desk.enableTotp(userId, -1);
    await verify(userId, codeOf(secret, 1));
    expect(await refusalOf(verify(userId, codeOf(secret)))).toBe('WRONG_CODE');
  });

  test('of two steps ago or ahead, or in another form, is refused', async () => {
    for (const make of [
      (secret: string) => codeOf(secret, -2),
      (secret: string) => codeOf(secret, 2),
      (secret: string) => codeOf(secret, 1).slice(1),
      (secret: string) => `${codeOf(secret, 1)}0`,
      () => '٠١٢٣٤٥',
    ]) {
      const userId = await addUser();
      const { secret } = await desk.enableTotp(userId, -1);
      expect(await refusalOf(verify(userId, make(secret)))).toBe('WRONG_CODE');
    }
  });

  test('of one user is refused for another', async () => {
    const [one, other] = [await addUser(), await addUser()];
    const { secret } = await desk.enableTotp(one, -1);
    await desk.enableTotp(other, -1);
    expect(await refusalOf(verify(other, codeOf(secret)))).toBe('WRONG_CODE');
  });

  test('does not sign in a disabled user', async () => {
    const userId = await addUser();
    const { secret, recoveryCodes } = await desk.enableTotp(userId, -1);
    await desk.addUser({ merchantId, role: MemberRole.OWNER });
    await desk.accounts[0].setUserDisabled({ email: (await userOf(userId))!.email, isDisabled: true });
    expect(await refusalOf(verify(userId, codeOf(secret)))).toBe('WRONG_CODE');
    expect(await refusalOf(verify(userId, recoveryCodes[0]!))).toBe('WRONG_CODE');
  });

  test('can be tried five times, and then even the right code must wait', async () => {
    const userId = await addUser();
    const { secret } = await desk.enableTotp(userId, -1);
    const wrong = String((Number(codeOf(secret)) + 1) % 1_000_000).padStart(6, '0');
    const reasons = await Promise.all(
      Array.from({ length: 12 }, (_each, count) => refusalOf(verify(userId, wrong, count % 2))),
    );
    expect(reasons.filter((reason) => reason === 'WRONG_CODE')).toHaveLength(5);
    expect(await waitAskedFor(verify(userId, codeOf(secret)))).toBeGreaterThan(14 * 60);
    await database.query('update core.account_tries set ends_at = now()');
    await verify(userId, codeOf(secret));
  });
});

describe('a browser in which a code was right', () => {
  const browserSecret = 'b'.repeat(43);
  const wrongFor = (secret: string): string =>
    String((Number(codeOf(secret)) + 500_000) % 1_000_000).padStart(6, '0');
  const tryIn = async (secret: string, of: { userId: string; browserSecret?: string }) => {
    for (let count = 0; count < 6; count += 1)
      await refusalOf(desk.accounts[count % 2]!.verifyTotp({ ...of, code: wrongFor(secret) }));
  };
  const verifyIn = (of: { userId: string; browserSecret: string }, code: string) =>
    desk.accounts[0].verifyTotp({ ...of, code });

  test('still works when someone who knows the password has used the tries of the account', async () => {
    const userId = await addUser();
    const { secret } = await desk.enableTotp(userId, -1);
    await verifyIn({ userId, browserSecret }, codeOf(secret));
    const { email } = (await userOf(userId))!;
    const stranger = { userId, browserSecret: 's'.repeat(43) };
    await desk.accounts[0].verifyPassword({ email, password, browserSecret: stranger.browserSecret });
    await tryIn(secret, stranger);

    expect(await refusalOf(verifyIn(stranger, codeOf(secret, 1)))).toBe('TOO_MANY_TRIES');
    await verifyIn({ userId, browserSecret }, codeOf(secret, 1));
  });

  test('has five tries of its own', async () => {
    const userId = await addUser();
    const { secret } = await desk.enableTotp(userId, -1);
    await verifyIn({ userId, browserSecret }, codeOf(secret));
    await tryIn(secret, { userId, browserSecret });

    expect(await refusalOf(verifyIn({ userId, browserSecret }, codeOf(secret, 1)))).toBe('TOO_MANY_TRIES');
    await verify(userId, codeOf(secret, 1));
  });

  test('gives no tries at another account', async () => {
    const [own, other] = [await addUser(), await addUser()];
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
    const userId = await addUser();
    const { recoveryCodes } = await desk.enableTotp(userId);
    const typed = recoveryCodes[0]!.toUpperCase().replaceAll('-', ' ');

    const outcomes = await Promise.allSettled([0, 1, 0, 1].map((core) => verify(userId, typed, core)));

    const taken = outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(taken).toMatchObject([{ wasRecoveryCode: true, recoveryCodesLeft: 9 }]);
    expect(await refusalOf(verify(userId, recoveryCodes[0]!))).toBe('WRONG_CODE');
    expect(await verify(userId, recoveryCodes[1]!)).toMatchObject({ recoveryCodesLeft: 8 });
  });

  test('becomes invalid with the second factor that it belongs to', async () => {
    const userId = await addUser();
    const { recoveryCodes: old } = await desk.enableTotp(userId, -1);
    await desk.accounts[0].disableTotp({ userId });
    await desk.accounts[0].disableTotp({ userId });
    expect((await userOf(userId))?.isTotpEnabled).toBe(false);
    await desk.enableTotp(userId, 1);
    expect(await refusalOf(verify(userId, old[0]!))).toBe('WRONG_CODE');
  });
});

test.each(['beginTotp', 'disableTotp'] as const)('%s of an unknown user is NOT_FOUND', async (method) => {
  const call = desk.accounts[0][method]({ userId: 'usr_01h455vb4pex5vsknk084sn02q' });
  expect(await failureOf(call)).toMatchObject({ code: 'NotFound', reason: 'USER_NOT_FOUND' });
});
