import { createRouterTransport } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { MerchantWalletService } from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { StrayPaymentService } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import type { AccountConnectors } from '../../../src/wallets/account-connectors.ts';
import { gsmaOfEachTest, routes, token } from './gsma-subject.ts';
import { accountsAt, reversalWorkAt } from './reversal-work.ts';
import { json } from './scripted-wallet.ts';
import type { Behaviour, SeenRequest } from './scripted-wallet.ts';

const subject = gsmaOfEachTest();

/** The work on a refund, with the operator's account or with one of the merchant. */
function refundWork(walletAccountId: string, accounts?: AccountConnectors) {
  const payment = { providerTransactionId: 'REF-1', amount: '100.50', currency: 'ETB' };
  const core = createRouterTransport(({ service }) => {
    service(StrayPaymentService, { leaseReversals: () => ({}) });
    service(RefundService, {
      leaseRefunds: () => ({
        refunds: [{ walletAccountId, refund: { refundId: newRandomId('rfd', new Date()), ...payment } }],
      }),
      recordRefundOutcome: () => ({}),
    });
  });
  return reversalWorkAt(core, subject.connector, accounts);
}

const unauthorised = { errorCategory: 'authorisation', errorCode: 'clientAuthorisationError' };

// What a refusal says about the wallet, for its circuit breaker: undefined is nothing.
test.each<[string, boolean | undefined, RegExp, Behaviour]>([
  ['a refused access token', undefined, routes.reverse, json(401, {})],
  ['refused credentials', undefined, routes.token, json(401, unauthorised)],
  ['credentials in a wrong form', undefined, routes.token, json(400, {})],
  ['too many requests for an access token', false, routes.token, json(429, {})],
  ['no access token because of a fault', false, routes.token, json(503, {})],
  ['a fault', false, routes.reverse, json(503, {})],
  ['an accepted request', true, routes.token, json(200, token)],
])("%s of the operator's account counts for the wallet as %s", async (_name, expected, route, behaviour) => {
  subject.wallet.on(route, behaviour);
  const work = refundWork('');
  const { items } = await work.lease(1);

  expect(await Promise.all(items.map((item) => work.serve(item)))).toEqual([expected]);
});

// After a restore, the id of a lost account can be given to other values.
test('an account whose credentials are refused is read again, because it may have other ones', async () => {
  const secretOf = ({ headers }: SeenRequest): string | undefined =>
    Buffer.from((headers.authorization ?? '').replace('Basic ', ''), 'base64')
      .toString()
      .split(':')[1];
  subject.wallet.on(routes.token, (reply) =>
    secretOf(reply.request) === 'right' ? json(200, token)(reply) : json(401, unauthorised)(reply),
  );
  const given = ['wrong', 'right', 'never read'];
  const core = createRouterTransport(({ service }) => {
    service(MerchantWalletService, {
      getWalletAccountSettings: () => ({ wallet: 'walleta', values: { client_secret: given.shift() ?? '' } }),
    });
  });
  const accounts = accountsAt(core, {
    ...{ base_url: `${subject.wallet.origin}/mm`, client_id: 'shop', client_secret: 's', api_key: 'key' },
    payee: { type: 'accountid', id: '2999' },
  });
  const work = refundWork('wac_1', accounts);
  const serve = async () => {
    const { items } = await work.lease(1);
    return Promise.all(items.map((item) => work.serve(item)));
  };

  const health = [await serve(), await serve(), await serve()];
  await accounts.close();

  expect(health).toEqual([[undefined], [true], [true]]);
  expect(given).toEqual(['never read']);
});
