import { expect, test } from '@jest/globals';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { MerchantWalletService } from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import { walletsOfCore } from '../../support/simulated-wallets.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sharedDashboardDesk } from './dashboard-desk.ts';

/** No demo wallet: `pagepay` has only a page of its own, and `mobilepay` prompts phones for shillings without cents. */
const otherWallets = walletsOfCore({ walletb: { currencies: [{ code: 'UGX' }] } })
  .replaceAll('"channels":["wallet","ussd"]', '"channels":["wallet"]')
  .replaceAll('"walleta"', '"pagepay"')
  .replaceAll('"walletb"', '"mobilepay"');
const stack = sharedStack({
  facades: 0,
  dashboards: 1,
  settings: { GATEHOUSE_WALLETS: otherWallets },
});
const desk = sharedDashboardDesk(stack);
const wallets = sharedClient(stack, MerchantWalletService, 'operator');

test('the quick start prompts a phone with a wallet of the merchant, or says that no wallet can', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const visitor = await desk.signedIn(await desk.users.member(merchantId, MemberRole.DEVELOPER));
  const page = async (): Promise<string> =>
    (await visitor.get(`/m/${merchantId}/production/quick-start?code=typescript`)).body;
  const direct = await page();
  const choice = { merchantId, environment: Environment.PRODUCTION };
  await wallets.switchMerchantWallet({ ...choice, wallet: 'mobilepay', on: false });
  const without = await waitUntil('the wallet is off', async () => {
    const body = await page();
    return body.includes('payment_option=') ? undefined : body;
  });

  expect(direct).toContain('/api/v1/direct?payment_option=mobilepay_ussd');
  expect(direct.match(/currency: &#39;UGX&#39;/g)).toHaveLength(2);
  expect(direct.match(/amount: &#39;100&#39;/g)).toHaveLength(2);
  expect(direct).not.toContain('walleta');
  expect(without).toContain('None of your wallets can prompt a phone in this environment');
  expect(without).toContain(`href="/m/${merchantId}/production/wallets"`);
});
