import { createHash, randomBytes } from 'node:crypto';
import { durationFromMs, timestampFromDate, timestampMs } from '@bufbuild/protobuf/wkt';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { sweepAccounts } from '../../../src/core/accounts/sweep-accounts.ts';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import type { User, VerifyPasswordResponse } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { failureOf, refusalOf } from '../../support/rpc-failure.ts';
import { password, sessionOf, sharedAccountDesk } from './account-desk.ts';
import { sharedStack, sharedPool } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';

const newPassword = 'staple of quiet mornings';
let userId: string;
let addOwner: () => Promise<User>;
const stack = sharedStack({ facades: 0 });
const desk = sharedAccountDesk(stack);
const pool = sharedPool(() => stack.databaseUrl, 4);
beforeAll(async () => {
  const { id: merchantId } = await stack.createMerchant();
  addOwner = () => desk.addUser({ merchantId, role: MemberRole.OWNER });
  ({ userId } = await addOwner());
});

const newHash = (): Buffer => createHash('sha256').update(randomBytes(16)).digest();
const read = (sessionHash: Buffer) => desk.sessions.readSession({ sessionHash });

describe('a session', () => {
  test('is read as it was last written, with the current state of its user', async () => {
    const sessionHash = newHash();
    await desk.sessions.writeSession({ sessionHash, session: sessionOf(userId, 'first') });
    await desk.sessions.writeSession({ sessionHash, session: sessionOf(userId, 'second') });
    await desk.accounts[0].updateProfile({ userId, name: 'ሳራ', language: 'am' });

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
    expect(await read(sessionHash)).toMatchObject({});
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

  test('that has ended is not written back by a request in progress, and its data is deleted', async () => {
    const sessionHash = await desk.openSession(userId);
    await desk.sessions.deleteSession({ sessionHash });
    await desk.sessions.deleteSession({ sessionHash });
    await desk.sessions.writeSession({ sessionHash, session: sessionOf(userId) });
    expect(await desk.isOpen(sessionHash)).toBe(false);
    const { rows } = await pool.query('select data from core.dashboard_sessions where hash = $1', [
      sessionHash,
    ]);
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
    ['more than 16 kB of data', { data: new Uint8Array(16_385) }, 'session.data'],
    ['no end', { expireTime: undefined }, 'session.expire_time'],
    [
      'an end in 31 days',
      { expireTime: timestampFromDate(new Date(Date.now() + 31 * 86_400_000)) },
      'session.expire_time',
    ],
    ['a time of 31 days', { validFor: durationFromMs(31 * 86_400_000) }, 'session.expire_time'],
    ['an invalid user id', { userId: 'abebe' }, 'session.user_id'],
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

describe('a session of the old password', () => {
  const begin = ({ user, passwordVersion }: VerifyPasswordResponse, sessionHash = newHash()) =>
    desk.sessions.writeSession({ sessionHash, session: { ...sessionOf(user!.userId), passwordVersion } });
  const addSignedIn = async () => {
    const { email, userId: ofUser } = await addOwner();
    return { email, userId: ofUser, signedIn: await desk.accounts[0].verifyPassword({ email, password }) };
  };

  test('does not begin after a change of the password', async () => {
    const { email, userId: ofUser, signedIn } = await addSignedIn();
    await desk.accounts[0].changePassword({ userId: ofUser, currentPassword: password, newPassword });
    expect(await refusalOf(begin(signedIn))).toBe('CHANGED_MEANWHILE');
    await begin(await desk.accounts[0].verifyPassword({ email, password: newPassword }));
  });

  test('does not begin after a reset', async () => {
    const { email, signedIn } = await addSignedIn();
    const { token } = await desk.accounts[0].startPasswordReset({ email });
    await desk.accounts[0].resetPassword({ token, password: newPassword });
    expect(await refusalOf(begin(signedIn))).toBe('CHANGED_MEANWHILE');
  });

  test('is still written if the change kept it', async () => {
    const { userId: ofUser, signedIn } = await addSignedIn();
    const here = newHash();
    await begin(signedIn, here);
    const change = { userId: ofUser, currentPassword: password, newPassword, keepSessionHash: here };
    await desk.accounts[0].changePassword(change);
    await begin(signedIn, here);
    expect(await desk.isOpen(here)).toBe(true);
  });

  test('waits for a change in progress, and is refused after it', async () => {
    const { email, signedIn } = await addSignedIn();
    const changing = await pool.connect();
    await changing.query('begin');
    await changing.query(
      `update core.users set password_hash = password_hash || 'changed' where email = $1`,
      [email],
    );
    const { rows } = await changing.query<{ pid: number }>('select pg_backend_pid() as pid');
    let isAnswered = false;
    const begun = refusalOf(begin(signedIn)).finally(() => (isAnswered = true));
    await waitUntil('the session waits for the change', async () => {
      const waiting = await pool.query(
        'select from pg_stat_activity where $1 = any (pg_blocking_pids(pid))',
        [rows[0]!.pid],
      );
      return isAnswered || waiting.rowCount === 1;
    });
    await changing.query('commit');
    changing.release();
    expect(await begun).toBe('CHANGED_MEANWHILE');
  });
});

test('two concurrent sweeps remove expired sessions in batches, and no others', async () => {
  const kept = await desk.openSession(userId);
  await pool.query(
    `insert into core.dashboard_sessions (hash, data, expires_at)
     select sha256(i::text::bytea), '', now() - interval '1 second' from generate_series(1, 2500) i`,
  );
  await pool.query(
    `insert into core.account_tries (key, tries, ends_at)
     select sha256(i::text::bytea), 1, now() - interval '1 second' from generate_series(1, 1500) i`,
  );

  const swept = await Promise.all([
    sweepAccounts(pool, { aborted: false }),
    sweepAccounts(pool, { aborted: false }),
  ]);

  const { rows } = await pool.query<{ over: number }>(
    `select (select count(*) from core.dashboard_sessions where expires_at < now())::integer
          + (select count(*) from core.account_tries where ends_at < now())::integer as over`,
  );
  expect(swept[0] + swept[1]).toBeGreaterThanOrEqual(4000);
  expect(rows).toEqual([{ over: 0 }]);
  expect(await desk.isOpen(kept)).toBe(true);
});
