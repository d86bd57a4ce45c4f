import { describe, expect, test } from '@jest/globals';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import {
  MerchantWalletService,
  WalletAccountCheck,
} from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { headingOf } from '../../support/customer.ts';
import { hiddenField } from '../../support/dashboard-visitor.ts';
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import { sharedDashboardDesk } from './dashboard-desk.ts';

const stack = sharedStack({ facades: 0, dashboards: 1 });
const desk = sharedDashboardDesk(stack);
const merchantWallets = sharedClient(stack, MerchantWalletService, 'operator');
const worker = sharedClient(stack, MerchantWalletService, 'wallets');
const merchants = sharedClient(stack, MerchantService, 'operator');

const environment = Environment.SANDBOX;
const secret = 'canary-of-a-client-secret';
const form = {
  'secret-complete': 'yes',
  'value.client_id': 'shoes-and-co',
  'secret.client_secret': secret,
  'value.payee.type': 'accountid',
  'value.payee.id': '3001',
};

async function atNewMerchant(role?: MemberRole) {
  const { merchant, visitor, at } = await desk.atNewMerchant(role);
  const { id: merchantId } = merchant;
  const walletsOf = async () =>
    (await merchantWallets.listMerchantWallets({ merchantId, environment })).wallets;
  return { merchantId, visitor, walletsOf, path: at('wallets') };
}

describe('the choice of wallets', () => {
  test('an owner switches a wallet off and on, with a warning when no customer can pay', async () => {
    const { visitor, walletsOf, path } = await atNewMerchant();
    const before = await visitor.get(path);

    await visitor.post(`${path}/walleta/switch`, { on: 'no' });
    await visitor.post(`${path}/walletb/switch`, { on: 'no' });

    expect((await walletsOf()).map(({ on }) => on)).toEqual([false, false]);
    expect(before.body).not.toContain('Nobody can pay you');
    expect((await visitor.get(path)).body).toContain('Nobody can pay you in this environment');
    expect((await visitor.get(`${path}?lang=am`)).body).toContain('ማንም ሊከፍልዎ አይችልም');
    await visitor.post(`${path}/walleta/switch`, { on: 'yes' });
    expect((await walletsOf()).map(({ on }) => on)).toEqual([true, false]);
  });

  test.each([{ on: 'maybe' }, { on: '' }, {}])('a switch with the form %j is refused', async (body) => {
    const { visitor, walletsOf, path } = await atNewMerchant();

    const answer = await visitor.post(`${path}/walleta/switch`, body);

    expect(answer.status).toBe(400);
    expect((await walletsOf()).map(({ on }) => on)).toEqual([true, true]);
  });

  test('a wallet that the operator does not allow has no switch', async () => {
    const { merchantId, visitor, path } = await atNewMerchant();
    await merchants.updateMerchant({ merchantId, terms: { sandboxPaymentOptions: ['walletb_ussd'] } });

    const { body } = await visitor.get(path);

    expect(body).toContain('Not available to you');
    expect(body).not.toContain(`${path}/walleta/switch`);
    expect(body).toContain(`${path}/walletb/switch`);
  });

  test.each([
    ['developer', MemberRole.DEVELOPER, 200],
    ['viewer', MemberRole.VIEWER, 403],
  ] as const)('a %s sees it and cannot change it', async (_name, role, accounts) => {
    const { visitor, walletsOf, path } = await atNewMerchant(role);

    const { body, status } = await visitor.get(path);

    expect(status).toBe(200);
    expect(body).not.toContain('/switch');
    expect((await visitor.post(`${path}/walleta/switch`, { on: 'no' })).status).toBe(403);
    expect((await visitor.get(`${path}/walleta`)).status).toBe(accounts);
    expect((await visitor.post(`${path}/walleta/accounts`, form)).status).toBe(403);
    expect(await walletsOf()).toMatchObject([{ on: true, accounts: [] }, { accounts: [] }]);
  });
});

describe('own accounts', () => {
  test('an owner adds one, uses it when it is accepted, and removes it, and its secret is never shown', async () => {
    const { merchantId, visitor, walletsOf, path } = await atNewMerchant();
    const page = `${path}/walleta`;
    const accountOf = async () => (await walletsOf())[0]?.accounts[0];

    const sent = { ...form, form_id: hiddenField(await visitor.get(page), 'form_id') ?? '' };
    expect((await visitor.post(`${page}/accounts`, sent)).status).toBe(303);
    expect(headingOf(await visitor.post(`${page}/accounts`, sent))).toBe('This form was already sent');

    const waiting = await visitor.get(page);
    expect(waiting.body).toContain('Being checked');
    expect(waiting.body).toContain('…cret');
    expect(waiting.body).not.toContain(secret);
    const walletAccountId = (await accountOf())?.walletAccountId ?? '';
    const action = (name: string) => visitor.post(`${page}/accounts/${walletAccountId}/${name}`);
    const early = await action('promote');
    expect(early).toMatchObject({
      status: 409,
      body: expect.stringContaining('has not accepted the credentials'),
    });
    expect(await action('retire')).toMatchObject({
      status: 409,
      body: expect.stringContaining('That is not possible at the moment'),
    });
    await worker.recordWalletAccountCheck({
      merchantId,
      walletAccountId,
      check: WalletAccountCheck.ACCEPTED,
    });
    expect((await action('promote')).status).toBe(303);
    expect((await visitor.get(path)).body).toContain('Your own account');
    expect(await action('remove')).toMatchObject({
      status: 409,
      body: expect.stringContaining('New payments use this account. Stop using it first.'),
    });
    expect((await action('retire')).status).toBe(303);
    expect((await action('check')).status).toBe(303);
    expect((await action('remove')).status).toBe(303);
    expect(await accountOf()).toBeUndefined();
    const audited = await visitor.get(`/m/${merchantId}/audit`);
    expect(audited.body).toContain('The merchant’s own account at the wallet walleta was added in sandbox.');
    expect(audited.body).not.toContain(secret);
  });

  test('above the limit of checks, the page says how long to wait', async () => {
    const { merchantId, visitor, walletsOf, path } = await atNewMerchant();
    await visitor.post(`${path}/walleta/accounts`, form);
    const walletAccountId = (await walletsOf())[0]?.accounts[0]?.walletAccountId ?? '';
    for (let count = 1; count < 30; count += 1)
      await merchantWallets.checkWalletAccount({ merchantId, walletAccountId });

    for (const action of [`accounts/${walletAccountId}/check`, 'accounts']) {
      const { status, headers, body } = await visitor.post(`${path}/walleta/${action}`, form);
      expect(status).toBe(429);
      expect(headers.get('retry-after')).toMatch(/^[0-9]+$/);
      expect(body).toContain('checked 30 times in an hour');
      expect(body).not.toContain(secret);
    }
  });

  test('a form with mistakes is shown again, without the secret', async () => {
    const { visitor, path } = await atNewMerchant();

    const { 'value.payee.type': _type, ...incomplete } = form;
    const refused = await visitor.post(`${path}/walleta/accounts`, incomplete);

    expect(refused.status).toBe(400);
    expect(refused.body).toContain('is required with the other parts of payee');
    expect(refused.body).toContain('value="shoes-and-co"');
    expect(refused.body).not.toContain(secret);
  });

  test.each([
    ['en', 'Fill in at least one field of this form.'],
    ['am', 'የዚህን ቅጽ ቢያንስ አንድ መስክ ይሙሉ።'],
  ])('an empty form has its mistake at the first field, in the language %s', async (language, mistake) => {
    const { visitor, path } = await atNewMerchant();
    await visitor.get(`${path}/walleta?lang=${language}`);

    const { status, body } = await visitor.post(`${path}/walleta/accounts`, { 'secret-complete': 'yes' });

    expect(status).toBe(400);
    expect(body).toContain(`id="field-0-error" lang="${language}">${mistake}<`);
  });

  test('adding one needs a confirmed identity, and the confirmation keeps no secret and adds nothing by itself', async () => {
    const { merchantId, visitor, walletsOf, path } = await atNewMerchant();
    await desk.age(visitor, 11 * 60_000);

    const asked = await visitor.post(`${path}/walleta/accounts`, form);

    expect(asked.status).toBe(303);
    expect(asked.headers.get('location')).toContain('/confirm');
    // The dashboard sends again what it kept of the form.
    const { 'secret-complete': _whole, 'secret.client_secret': _secret, ...kept } = form;
    const owner = await desk.signedIn(await desk.users.member(merchantId, MemberRole.OWNER));
    const again = await owner.post(`${path}/walleta/accounts`, kept);
    expect(again).toMatchObject({ status: 400, body: expect.stringContaining('Enter all values again') });
    expect((await walletsOf())[0]?.accounts).toEqual([]);
  });

  test('an unknown wallet, and an account at another wallet, are not found', async () => {
    const { visitor, walletsOf, path } = await atNewMerchant();
    await visitor.post(`${path}/walleta/accounts`, form);
    const before = await walletsOf();
    const account = before[0]?.accounts[0]?.walletAccountId ?? '';

    const statuses = [(await visitor.get(`${path}/walletc`)).status];
    for (const action of ['check', 'promote', 'retire', 'remove'])
      statuses.push((await visitor.post(`${path}/walletb/accounts/${account}/${action}`)).status);

    expect(account).toMatch(/^wac_/);
    expect(statuses).toEqual([404, 404, 404, 404, 404]);
    expect(await walletsOf()).toEqual(before);
  });
});
