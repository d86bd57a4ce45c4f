import { describe, expect, test } from '@jest/globals';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { codeOf } from '../../support/authenticator.ts';
import { sharedAccountDesk } from './account-desk.ts';
import { sharedStack, sharedConnection } from '../../support/shared-stack.ts';

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
  const passwords = [
    'first secret of seven words',
    'second secret of seven words',
    'third wrong secret',
  ] as const;
  const { token: invitation } = await accounts.inviteUser({ email, merchantId, role: MemberRole.OWNER });
  const errors = [await failed(accounts.acceptInvitation({ token: invitation, password: passwords[0] }))];
  const { user } = await accounts.acceptInvitation({
    token: invitation,
    name: 'Abebe',
    password: passwords[0],
  });
  const userId = user?.userId ?? '';
  const { token: reset } = await accounts.startPasswordReset({ email });
  await accounts.resetPassword({ token: reset, password: passwords[1] });
  const { token: openReset } = await accounts.startPasswordReset({ email });
  const { token: openInvitation } = await accounts.inviteUser({
    email: desk.newEmail(),
    merchantId,
    role: MemberRole.VIEWER,
  });
  const { secret, recoveryCodes } = await desk.enableTotp(userId);
  errors.push(
    await failed(accounts.verifyPassword({ email, password: passwords[2] })),
    await failed(accounts.resetPassword({ token: reset, password: passwords[2] })),
    await failed(
      accounts.changePassword({ userId, currentPassword: passwords[2], newPassword: 'short-one' }),
    ),
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

    const { rows } = await database.query<{ text: string }>(
      `select schema_to_xml('core', true, false, '')::text as text`,
    );
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
    const { id: merchantId } = await stack.createMerchant();
    const [one, other] = [
      await desk.addUser({ merchantId, role: MemberRole.OWNER }),
      await desk.addUser({ merchantId, role: MemberRole.OWNER }),
    ];
    const { secret } = await desk.enableTotp(one.userId, -1);
    await desk.enableTotp(other.userId, -1);
    await database.query(
      `update core.users u set totp_secret = o.totp_secret from core.users o where u.email = $1 and o.email = $2`,
      [other.email, one.email],
    );
    const failure = await failed(desk.accounts[0].verifyTotp({ userId: other.userId, code: codeOf(secret) }));
    expect(failure).toContain('an unexpected error');
  });
});

describe('the audit log', () => {
  test('shows the owners of each of its merchants who changed what of an account', async () => {
    const [here, elsewhere] = [(await stack.createMerchant()).id, (await stack.createMerchant()).id];
    const owner = await desk.addUser({ merchantId: here, role: MemberRole.OWNER });
    const user = await desk.addUser({ merchantId: here, role: MemberRole.VIEWER });
    const { token } = await desk.accounts[0].inviteUser({
      email: user.email,
      merchantId: elsewhere,
      role: MemberRole.DEVELOPER,
    });
    await desk.accounts[0].acceptInvitation({ token, password: 'correct horse battery' });
    const headers = { 'x-gatehouse-actor': owner.userId };
    await desk.accounts[0].changeMembership(
      { merchantId: here, userId: user.userId, role: MemberRole.DEVELOPER, expectedRole: MemberRole.VIEWER },
      { headers },
    );
    await desk.accounts[0].setUserDisabled({ email: user.email, isDisabled: true }, { headers });
    await desk.accounts[0].setUserDisabled({ email: user.email, isDisabled: true }, { headers });

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

  test('has changes of an operator without a merchant', async () => {
    const operator = await desk.addUser();
    const { entries } = await stack.client(AuditService, 'reader').listAuditEntries({ actionKind: 'user' });
    expect(entries[0]).toMatchObject({
      action: 'user.accept_invitation',
      merchantId: '',
      targetId: operator.userId,
      details: { email: operator.email, role: 'OPERATOR' },
    });
  });
});
