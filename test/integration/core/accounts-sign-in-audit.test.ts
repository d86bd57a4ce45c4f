import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import type { User } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import type { AuditEntry } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { codeOf, totpStepMs } from '../../support/authenticator.ts';
import { refusalOf } from '../../support/rpc-failure.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { password } from './account-desk.ts';
import { sharedAccountSite } from './account-site.ts';

const { site, stack, desk, database } = sharedAccountSite();
let merchantId: string;
beforeAll(() => {
  ({ merchantId } = site);
});
/** The time that a test and its core may need, so that both are in the same step of one-time codes. */
const leftMs = 6_000;
beforeEach(() => waitUntil('the step is young enough', () => Date.now() % totpStepMs < totpStepMs - leftMs));

const wrong = 'not the right password';
let places = 0;
/** A public address that no sign-in has used yet. */
const newPlace = (): string => `198.51.100.${++places}`;
const addUser = () => desk.addUser({ merchantId, role: MemberRole.VIEWER });
const signIn = (email: string, own: object = {}, core = 0) =>
  desk.accounts[core]!.verifyPassword({ email, password, remoteAddress: newPlace(), ...own });

/** The recorded sign-ins of the user, oldest first, as the owners of a merchant see them. */
async function recordOf({ userId }: User, merchant = merchantId): Promise<readonly AuditEntry[]> {
  const { entries } = await stack
    .client(AuditService, 'reader')
    .listAuditEntries({ merchantId: merchant, actionKind: 'session', pageSize: 500 });
  return entries.filter(({ targetId }) => targetId === userId).reverse();
}
const actionsOf = (entries: readonly AuditEntry[]) =>
  entries.map(({ action, details }) => [action, details?.['proof'] ?? details?.['reason'] ?? '']);

describe('a sign-in is recorded', () => {
  test('with its user as the actor, and its address', async () => {
    const user = await addUser();

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

  test('with each merchant of the user, and with none for an operator', async () => {
    const user = await addUser();
    const other = (await stack.createMerchant()).id;
    const role = MemberRole.OWNER;
    const { token } = await desk.accounts[0].inviteUser({ email: user.email, merchantId: other, role });
    await desk.accounts[0].acceptInvitation({ token, password });
    const operator = await desk.addUser();

    await signIn(user.email);
    await signIn(operator.email);
    await refusalOf(signIn(operator.email, { password: wrong }));

    expect(actionsOf(await recordOf(user))).toEqual([['session.begin', 'PASSWORD']]);
    expect(actionsOf(await recordOf(user, other))).toEqual([['session.begin', 'PASSWORD']]);
    const entries = await recordOf(operator, '');
    expect(actionsOf(entries)).toEqual([
      ['session.begin', 'PASSWORD'],
      ['session.refuse', 'WRONG_PASSWORD'],
    ]);
    expect(entries.map((entry) => entry.merchantId)).toEqual(['', '']);
  });

  test('after the right code if there is a second factor, and not after the password', async () => {
    const user = await addUser();
    const { secret, recoveryCodes } = await desk.enableTotp(user.userId, -1);

    await signIn(user.email);
    const before = await recordOf(user);
    const place = { remoteAddress: '203.0.113.10' };
    await desk.accounts[0].verifyTotp({ userId: user.userId, code: codeOf(secret), ...place });
    await desk.accounts[0].verifyTotp({ userId: user.userId, code: recoveryCodes[0]!, ...place });

    expect(before).toEqual([]);
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

  test('but a confirmation of the identity is not', async () => {
    const user = await addUser();
    await signIn(user.email, { isConfirmation: true });
    const { secret } = await desk.enableTotp(user.userId, -1);
    await desk.accounts[0].verifyTotp({ userId: user.userId, code: codeOf(secret), isConfirmation: true });
    expect(await recordOf(user)).toEqual([]);
  });

  test.each([
    ['is empty', ''],
    ['is no address', '<script>'],
  ])('without an address when the stated address %s', async (_name, remoteAddress) => {
    const user = await addUser();
    await signIn(user.email, { remoteAddress });
    const [entry] = await recordOf(user);
    expect(entry?.details).toEqual({ email: user.email, proof: 'PASSWORD' });
  });
});

describe('a refused sign-in is recorded', () => {
  test('without a known actor, with its address', async () => {
    const user = await addUser();

    await refusalOf(signIn(user.email, { password: wrong, remoteAddress: '203.0.113.11' }));

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
    const user = await addUser();
    const here = newPlace();
    for (let count = 0; count < 7; count += 1)
      await refusalOf(signIn(user.email, { password: wrong, remoteAddress: here }, count % 2));
    await Promise.all(
      Array.from({ length: 20 }, (_each, count) =>
        refusalOf(signIn(user.email, { password: wrong }, count % 2)),
      ),
    );
    const first = actionsOf(await recordOf(user));
    await database.query(`update core.account_tries set ends_at = now() - interval '1 second'`);
    await refusalOf(signIn(user.email, { password: wrong, remoteAddress: here }));

    const refusals = [
      ['session.refuse', 'WRONG_PASSWORD'],
      ['session.refuse', 'TOO_MANY_TRIES'],
    ];
    expect(first).toEqual(refusals);
    expect(actionsOf(await recordOf(user))).toEqual([...refusals, ['session.refuse', 'WRONG_PASSWORD']]);
  });

  test('also for a wrong code after the right password', async () => {
    const user = await addUser();
    const { secret } = await desk.enableTotp(user.userId, -1);
    const code = String((Number(codeOf(secret)) + 500_000) % 1_000_000).padStart(6, '0');
    const { userId } = user;
    for (let count = 0; count < 6; count += 1) await refusalOf(desk.accounts[0].verifyTotp({ userId, code }));

    expect(actionsOf(await recordOf(user))).toEqual([
      ['session.refuse', 'WRONG_CODE'],
      ['session.refuse', 'TOO_MANY_TRIES'],
    ]);
  });

  test('for a disabled user, whatever the user enters', async () => {
    const user = await addUser();
    await desk.accounts[0].setUserDisabled({ email: user.email, isDisabled: true });
    await refusalOf(signIn(user.email));
    await refusalOf(signIn(user.email, { password: wrong }));
    expect(actionsOf(await recordOf(user))).toEqual([['session.refuse', 'KEPT_OUT']]);
  });

  test('for a wrong password at an invitation', async () => {
    const user = await addUser();
    const other = (await stack.createMerchant()).id;
    const role = MemberRole.OWNER;
    const { token } = await desk.accounts[0].inviteUser({ email: user.email, merchantId: other, role });
    await refusalOf(desk.accounts[0].acceptInvitation({ token, password: wrong }));
    expect(actionsOf(await recordOf(user))).toEqual([['session.refuse', 'WRONG_PASSWORD']]);
  });

  test('but not for an unknown address', async () => {
    const before = await database.query('select count(*) from core.audit_entries');
    await refusalOf(signIn('nobody.here@shop.example', { password: wrong }));
    await refusalOf(signIn('null\0@shop.example', { password: wrong }));
    expect((await database.query('select count(*) from core.audit_entries')).rows).toEqual(before.rows);
  });

  test('without what was entered', async () => {
    const user = await addUser();
    await refusalOf(signIn(user.email, { password: 'typed into the wrong field' }));
    const { rows } = await database.query<{ text: string }>(
      'select string_agg(e::text, $1) as text from core.audit_entries e',
      ['\n'],
    );
    expect(rows[0]?.text).toContain(user.userId);
    expect(rows[0]?.text).not.toContain('typed into');
  });
});

describe('the end of a session is recorded', () => {
  test('once when its user signs out', async () => {
    const user = await addUser();
    const sessionHash = await desk.openSession(user.userId);

    await desk.sessions.deleteSession({ sessionHash, isSignOut: true });
    await desk.sessions.deleteSession({ sessionHash, isSignOut: true });

    expect(await desk.isOpen(sessionHash)).toBe(false);
    expect(await recordOf(user)).toMatchObject([
      { action: 'session.end', actor: `dashboard:${user.userId}`, details: { email: user.email } },
    ]);
  });

  test('but not when it continues under another id, or belonged to no user', async () => {
    const user = await addUser();
    await desk.sessions.deleteSession({ sessionHash: await desk.openSession(user.userId) });
    await desk.sessions.deleteSession({ sessionHash: Buffer.alloc(32), isSignOut: true });
    expect(await recordOf(user)).toEqual([]);
  });

  test('when its user ends all others, with their number', async () => {
    const user = await addUser();
    const { userId } = user;
    const keepSessionHash = await desk.openSession(userId);
    await desk.openSession(userId);
    await desk.openSession(userId);

    await desk.sessions.endUserSessions({ userId, keepSessionHash });
    await desk.sessions.endUserSessions({ userId, keepSessionHash });

    expect(await recordOf(user)).toMatchObject([{ action: 'session.end_others', details: { sessions: 2 } }]);
  });
});
