import { Code, ConnectError, createClient, createRouterTransport } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { MerchantWalletService } from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { accountCheckWork } from '../../../src/wallets/account-check-work.ts';

// Core leases the check again only after a minute, so the merchant would wait that long for each restart of core.
test('a check goes on after a restart of core, which gives the settings and takes the answer then', async () => {
  const calls: string[] = [];
  const restarts = (call: string): void => {
    calls.push(call);
    if (calls.filter((earlier) => earlier === call).length === 1)
      throw new ConnectError('core restarts', Code.Unavailable);
  };
  const core = createRouterTransport(({ service }) => {
    service(MerchantWalletService, {
      leaseWalletAccountChecks: () => ({ accounts: [{ walletAccountId: 'wac_1' }] }),
      recordWalletAccountCheck({ detail }) {
        restarts(detail);
        return {};
      },
    });
  });
  const work = accountCheckWork({
    ...{ name: 'walleta-sandbox', wallet: 'walleta', environment: Environment.SANDBOX },
    accounts: {
      async openForCheck() {
        restarts('settings');
        return { unusable: 'the account was removed' };
      },
    },
    ...{ merchantWallets: createClient(MerchantWalletService, core), newRequestId: () => 'request' },
    ...{ logger: pino({ level: 'silent' }), stop: new AbortController().signal },
  });
  const { items } = await work.lease(1);

  await Promise.all(items.map((item) => work.serve(item, performance.now())));

  expect(calls).toEqual(['settings', 'settings', 'the account was removed', 'the account was removed']);
});
