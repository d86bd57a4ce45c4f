import { describe, expect, test, beforeAll } from '@jest/globals';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import type { User } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { codeOf } from '../../support/authenticator.ts';
import { asUser, password, sharedAccountDesk } from './account-desk.ts';
import { sharedStack, sharedConnection, shared } from '../../support/shared-stack.ts';
import type { Role } from '../../../src/contract/roles.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { createSendAuditEntries } from '../../../src/webhooks/audit/send-audit-entries.ts';
import { openDatabase } from '../../../src/webhooks/database/database.ts';
import { keptLog } from '../../support/kept-log.ts';
import { wrongFields } from '../../support/rpc-failure.ts';
import { sql } from '../../support/sql.ts';

const stack = sharedStack({ facades: 0, settings: { GATEHOUSE_LOG_LEVEL: 'debug' } });
const database = sharedConnection(() => stack.databaseUrl);
const desk = sharedAccountDesk(stack);

const failed = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => '',
    (error: unknown) => JSON.stringify(error, Object.getOwnPropertyNames(error)),
  );

/** Every secret of an account, used correctly and incorrectly, and the messages of the errors. */
async function useEverySecret() {
  const { id: merchantId } = await stack.createMerchant();
  const [accounts] = desk.accounts;
  const email = desk.newEmail();
  const passwords = ['first secret of seven words', 'second secret of seven words', 'third wrong secret'];
  const [first = '', second = '', wrong = ''] = passwords;
  const { token: invitation } = await accounts.inviteUser({ email, merchantId, role: MemberRole.OWNER });
  const errors = [await failed(accounts.acceptInvitation({ token: invitation, password: first }))];
  const accepted = { token: invitation, name: 'Abebe', password: first };
  const { user } = await accounts.acceptInvitation(accepted);
  const userId = user?.userId ?? '';
  const { token: reset } = await accounts.startPasswordReset({ email });
  await accounts.resetPassword({ token: reset, password: second });
  const { token: openReset } = await accounts.startPasswordReset({ email });
  const { token: openInvitation } = await desk.inviteElsewhere(desk.newEmail());
  const { secret, recoveryCodes } = await desk.enableTotp(userId);
  errors.push(
    await failed(accounts.verifyPassword({ email, password: wrong })),
    await failed(accounts.resetPassword({ token: reset, password: wrong })),
    await failed(accounts.changePassword({ userId, currentPassword: wrong, newPassword: 'short-one' })),
    await failed(accounts.verifyTotp({ userId, code: codeOf(secret) })),
  );
  await accounts.verifyTotp({ userId, code: recoveryCodes[0] ?? '' });
  const links = [invitation, reset, openReset, openInvitation];
  return { canaries: [...passwords, ...links, secret, ...recoveryCodes], errors, merchantId };
}

/** A text in its own form, and in the form of its bytes in a dump. */
const formsOf = (text: string): readonly string[] => [
  text,
  Buffer.from(text).toString('hex'),
  Buffer.from(text).toString('base64').replace(/=+$/, ''),
];

describe('the proof of an identity', () => {
  test('is in no table, no line of the log, no entry of the audit log and no error', async () => {
    const { canaries, errors, merchantId } = await useEverySecret();

    const { rows } = await database.query<{ text: string }>(`
      select schema_to_xml('core', true, false, '')::text as text`);
    const { entries } = await stack.client(AuditService, 'dashboard').listAuditEntries({ merchantId });
    const places = {
      dump: rows.map(({ text }) => text.replaceAll(/\s/g, '')).join(),
      log: JSON.stringify(stack.cores.map(({ log }) => log)),
      audit: JSON.stringify(entries.map(({ details, targetId }) => [details, targetId])),
      errors: errors.join(),
    };

    expect(places.dump).toContain('$argon2id$');
    expect(places.log).toContain('AccountService/VerifyPassword');
    expect(entries.map(({ action }) => action)).toContain('user.enable_totp');
    for (const [place, text] of Object.entries(places)) {
      for (const canary of canaries.flatMap((each) => [each, each.replaceAll(/[\s-]/g, '')]).flatMap(formsOf))
        expect(text.includes(canary) ? `${canary} is in ${place}` : 'nothing').toBe('nothing');
    }
  });

  test('cannot be decrypted for another user, because the encryption is bound to the user', async () => {
    const { members } = await desk.openShop(MemberRole.OWNER, MemberRole.OWNER);
    const [one, other] = members as [User, User];
    const { secret } = await desk.enableTotp(one.userId, -1);
    await desk.enableTotp(other.userId, -1);
    await database.query(sql`update core.users u set totp_secret = o.totp_secret from core.users o
      where u.email = ${other.email} and o.email = ${one.email}`);
    const failure = await failed(desk.accounts[0].verifyTotp({ userId: other.userId, code: codeOf(secret) }));
    expect(failure).toContain('an unexpected error');
  });
});

describe('the audit log', () => {
  test('shows the owners of each of its merchants who changed what of an account', async () => {
    const { merchantId: here, members } = await desk.openShop(MemberRole.OWNER, MemberRole.VIEWER);
    const [owner, user] = members as [User, User];
    const { merchantId: elsewhere, token } = await desk.inviteElsewhere(user.email);
    await desk.accounts[0].acceptInvitation({ token, password });
    await desk.accounts[0].changeMembership(
      { merchantId: here, userId: user.userId, role: MemberRole.DEVELOPER, expectedRole: MemberRole.VIEWER },
      asUser(owner),
    );
    await desk.accounts[0].setUserDisabled({ email: user.email, isDisabled: true }, asUser(owner));
    await desk.accounts[0].setUserDisabled({ email: user.email, isDisabled: true }, asUser(owner));

    const audit = stack.client(AuditService, 'dashboard');
    const [ours, theirs] = [
      (await audit.listAuditEntries({ merchantId: here, actionKind: 'user' })).entries,
      (await audit.listAuditEntries({ merchantId: elsewhere, actionKind: 'user' })).entries,
    ];

    expect(ours.map(({ action }) => action).slice(0, 2)).toEqual(['user.disable', 'user.change_role']);
    expect(ours[1]).toMatchObject({
      actor: `dashboard:${owner.userId}`,
      actorEmail: owner.email,
      targetId: user.userId,
      details: { email: user.email, from: 'VIEWER', to: 'DEVELOPER' },
    });
    expect(theirs.map(({ action }) => action)).toEqual([
      'user.disable',
      'user.accept_invitation',
      'user.invite',
    ]);
    expect(theirs[1]).toMatchObject({ actor: `dashboard:${user.userId}`, actorEmail: user.email });
  });

  test('has changes of an operator without a merchant, and the address of a new account', async () => {
    const [accounts] = desk.accounts;
    const email = desk.newEmail();
    const { token } = await accounts.inviteUser({ email, asOperator: true });
    const remoteAddress = '::ffff:203.0.113.14';
    const { user } = await accounts.acceptInvitation({ token, name: 'Abebe', password, remoteAddress });
    const { entries } = await stack.client(AuditService, 'reader').listAuditEntries({ actionKind: 'user' });
    expect(entries[0]).toMatchObject({
      action: 'user.accept_invitation',
      merchantId: '',
      targetId: user?.userId,
      // The first session of a new account has no other entry.
      details: { email, role: 'OPERATOR', new_account: true, remote_address: '203.0.113.14' },
    });
  });
});

const logger = createLogger({ process: 'test', instance: 'audit', level: 'silent' });

const webhooks = shared(() =>
  openDatabase({ url: stack.databaseUrl, poolSize: 2, applicationName: 'test', logger }),
);
beforeAll(() => webhooks.migrate());

const newMerchantId = (): string => newRandomId('mer', new Date());
const entryOf = (merchantId: string) => ({
  auditEntryId: newRandomId('aud', new Date()),
  createTime: timestampFromDate(new Date('2026-11-21T00:00:00.123Z')),
  actor: 'operator:abebe',
  action: 'endpoint.pause',
  merchantId,
  targetId: 'https://shop.example',
  requestId: 'req-1',
  details: { environment: 'SANDBOX' },
});
const listed = async (merchantId: string) =>
  (await stack.client(AuditService, 'reader').listAuditEntries({ merchantId })).entries;

test('only the dashboard acts in the name of a user: another program that sends a user id is shown without the address', async () => {
  const { merchantId, members } = await desk.openShop(MemberRole.OWNER);
  const operator = stack.client(MerchantService, 'operator');
  await operator.updateMerchant({ merchantId, name: 'Other name' }, asUser(members[0]));

  expect((await listed(merchantId))[0]).toMatchObject({
    actor: `operator:${members[0]!.userId}`,
    actorEmail: '',
  });
});

describe('an entry of another process', () => {
  test('is listed as it was sent first, and once when it is sent several times', async () => {
    const merchantId = newMerchantId();
    const entry = entryOf(merchantId);
    const audit = stack.client(AuditService, 'webhooks');

    await Promise.all([audit.recordAuditEntry({ entry }), audit.recordAuditEntry({ entry })]);
    await audit.recordAuditEntry({ entry: { ...entry, actor: 'operator:nobody' } });

    expect(await listed(merchantId)).toMatchObject([entry]);
  });

  test('is refused with all missing fields, and with a time that no record can have', async () => {
    const audit = stack.client(AuditService, 'webhooks');
    expect(await wrongFields(audit.recordAuditEntry({}))).toBe(
      'entry.action entry.actor entry.audit_entry_id entry.create_time entry.merchant_id entry.request_id entry.target_id',
    );
    const entry = { ...entryOf(newMerchantId()), createTime: timestampFromDate(new Date('0000-12-31')) };
    expect(await wrongFields(audit.recordAuditEntry({ entry }))).toBe('entry.create_time');
  });
});

describe('the outbox', () => {
  const put = async (merchantId: string, own: Partial<ReturnType<typeof entryOf>> = {}): Promise<void> => {
    const { auditEntryId, actor, action, targetId, requestId, details } = { ...entryOf(merchantId), ...own };
    await database.query(sql`
      insert into webhooks.audit_outbox (id, created_at, actor, action, merchant_id, target_id, request_id, details)
      values (${auditEntryId}, now(), ${actor}, ${action}, ${merchantId}, ${targetId}, ${requestId}, ${details})`);
  };
  const send = (role: Role = 'webhooks') =>
    createSendAuditEntries({ database: webhooks, audit: stack.client(AuditService, role), logger })();
  const left = async () =>
    (await webhooks.pool.query<{ id: string }>('select id from webhooks.audit_outbox')).rows;

  test('is moved to the audit log completely, also by two processes at once', async () => {
    const merchantId = newMerchantId();
    await put(merchantId);
    await put(merchantId);

    await Promise.all([send(), send()]);

    expect(await listed(merchantId)).toHaveLength(2);
    expect(await left()).toEqual([]);
  });

  test('keeps its entries while core does not take them', async () => {
    const merchantId = newMerchantId();
    await put(merchantId);
    await expect(send('reader')).rejects.toThrow('role reader');
    expect(await left()).toHaveLength(1);
    await send();
    expect(await listed(merchantId)).toHaveLength(1);
  });

  test('sends other entries although core refuses some, however many', async () => {
    const merchantId = newMerchantId();
    for (let count = 0; count < 100; count += 1) await put(merchantId, { actor: '' });
    await put(merchantId);
    await send();
    expect(await listed(merchantId)).toHaveLength(1);
    expect(await left()).toHaveLength(100);
  });

  test('does not log an entry that core refuses again and again each time', async () => {
    await webhooks.pool.query('delete from webhooks.audit_outbox');
    await put(newMerchantId(), { actor: '' });
    const { logger: kept, log } = keptLog({ level: 'error' });
    const audit = stack.client(AuditService, 'webhooks');
    const sendAgain = createSendAuditEntries({ database: webhooks, audit, logger: kept });
    await sendAgain();
    await sendAgain();
    expect(log).toMatchObject([{ audit_entry_id: (await left())[0]?.id }]);
  });

  test('accepts an entry about the longest endpoint', async () => {
    const merchantId = newMerchantId();
    const targetId = `https://${'a'.repeat(2040)}`;
    await put(merchantId, { targetId });
    await send();
    expect(await listed(merchantId)).toMatchObject([{ targetId }]);
  });
});

describe('a list', () => {
  const at = (seconds: number) => timestampFromDate(new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)));
  /** One entry a second: endpoint.pause, api_key.issue, and so on. */
  const putEntries = async (merchantId: string, howMany: number): Promise<void> => {
    for (let second = 0; second < howMany; second += 1) {
      const createTime = at(second);
      const action = second % 2 === 0 ? 'endpoint.pause' : 'api_key.issue';
      const auditEntryId = newRandomId('aud', new Date(Number(createTime.seconds) * 1000));
      const entry = { ...entryOf(merchantId), createTime, action, auditEntryId };
      await stack.client(AuditService, 'webhooks').recordAuditEntry({ entry });
    }
  };
  const list = (request: object) => stack.client(AuditService, 'dashboard').listAuditEntries(request);
  const secondsOf = ({ entries }: Awaited<ReturnType<typeof list>>) =>
    entries.map(({ createTime }) => Number(createTime?.seconds) % 60);

  test('has the actions of one kind and period, page by page', async () => {
    const merchantId = newMerchantId();
    await putEntries(merchantId, 8);
    const filter = { merchantId, actionKind: 'api_key', fromTime: at(1), toTime: at(7), pageSize: 2 };

    const first = await list(filter);
    const second = await list({ ...filter, pageToken: first.nextPageToken });

    expect([secondsOf(first), secondsOf(second)]).toEqual([[5, 3], [1]]);
    expect(second.nextPageToken).toBe('');
  });

  test('matches a kind exactly: an underscore is no wildcard, and half a word matches nothing', async () => {
    const merchantId = newMerchantId();
    await putEntries(merchantId, 2);
    const found = await Promise.all(
      ['api_key', 'api', 'apixkey', 'endpoint'].map(async (actionKind) =>
        secondsOf(await list({ merchantId, actionKind })),
      ),
    );
    expect(found).toEqual([[1], [], [], [0]]);
  });

  test('refuses an invalid kind, a reversed span, and a page token with another filter', async () => {
    expect(await wrongFields(list({ actionKind: '%' }))).toBe('action_kind');
    expect(await wrongFields(list({ fromTime: at(2), toTime: at(1) }))).toBe('to_time');
    const merchantId = newMerchantId();
    await putEntries(merchantId, 3);
    const { nextPageToken: pageToken } = await list({ merchantId, pageSize: 1 });
    for (const other of [{ actionKind: 'endpoint' }, { fromTime: at(0) }, { toTime: at(9) }]) {
      expect(await wrongFields(list({ merchantId, pageSize: 1, pageToken, ...other }))).toBe('page_token');
    }
  });
});
