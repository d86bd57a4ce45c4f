import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect, test } from '@jest/globals';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { RecoveryService, RecoveryStream } from '../../../src/gen/gatehouse/v1/recovery_service_pb.js';
import { sharedClient, sharedConnection, sharedStack } from '../../support/shared-stack.ts';
import { walletsOfCore } from '../../support/simulated-wallets.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sharedDashboardDesk } from './dashboard-desk.ts';

const stack = sharedStack({
  facades: 0,
  dashboards: 1,
  settings: { GATEHOUSE_WALLETS: walletsOfCore().replaceAll('"reconcile":true', '"reconcile":false') },
});
const desk = sharedDashboardDesk(stack);
const recoveries = sharedClient(stack, RecoveryService, 'operator');
const database = sharedConnection(() => stack.databaseUrl);

test('the users of a merchant are told that payments wait, and afterwards what they have to check', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const visitor = await desk.signedIn(await desk.users.member(merchantId, MemberRole.VIEWER));
  const home = async (environment: string, query = '') =>
    (await visitor.get(`/m/${merchantId}/${environment}${query}`)).body;
  /** Core opens an environment in the background, and a page leaves out what a busy core does not answer in time. */
  const homeWith = (text: string, environment: string, query = '') =>
    waitUntil(`the page says: ${text}`, async () => {
      const page = await home(environment, query);
      return page.includes(text) && page;
    });
  const before = await home('sandbox');
  await recoveries.beginRecovery({ backupTime: timestampFromDate(new Date(Date.now() - 3_600_000)) });
  await waitUntil('the stream was read', async () => {
    const { recovery } = await recoveries.getRecovery({});
    return recovery?.stream === RecoveryStream.LOST;
  });
  const closed = await homeWith('New payments wait', 'sandbox');
  const lost = newRandomId('ord', new Date());
  const missing = await visitor.get(`/m/${merchantId}/sandbox/orders/${lost}`);
  for (const wallet of ['walleta', 'walletb'])
    await recoveries.acceptRecovery({
      subject: { case: 'wallet', value: { wallet, environment: Environment.SANDBOX } },
      reason: 'compared',
    });
  const opened = await homeWith('may be missing', 'sandbox');
  const inAmharic = await homeWith('ሊጎድሉ ይችላሉ', 'sandbox', '?lang=am');
  const production = await homeWith('New payments wait', 'production', '?lang=en');
  await database.query("update core.recoveries set stream = 'COMPLETE'");
  const complete = await homeWith('were rebuilt', 'sandbox');
  const { id: newId } = await stack.createMerchant();
  const newcomer = await desk.signedIn(await desk.users.member(newId, MemberRole.VIEWER));
  const ofNewMerchant = (await newcomer.get(`/m/${newId}/sandbox`)).body;
  await database.query("update core.recoveries set lost_until = lost_until - interval '8 days'");
  const later = await home('sandbox');

  expect(before).not.toContain('restored');
  expect(closed).not.toContain('may be missing');
  expect(missing.status).toBe(503);
  expect(missing.body).toContain('The gateway was restored from a backup');
  expect(opened).not.toContain('New payments wait');
  expect(opened).toMatch(/Orders of .+ to .+ may be missing/);
  expect(opened).toContain('Check the API keys');
  expect(inAmharic).not.toContain('may be missing');
  expect(production).not.toContain('may be missing');
  expect(complete).toMatch(/The orders of .+ to .+ were rebuilt/);
  expect(complete).not.toContain('may be missing');
  expect(ofNewMerchant).toContain('First steps');
  expect(ofNewMerchant).not.toContain('restored');
  expect(later).not.toContain('restored');
});
