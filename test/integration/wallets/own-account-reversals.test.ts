import { Code, ConnectError, createRouterTransport } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { rpcError } from '../../../src/contract/error-reason.ts';
import { MerchantWalletService } from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import type { RecordRefundOutcomeRequest } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { StrayPaymentService } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { gsmaOfEachTest, routes } from './gsma-subject.ts';
import { accountsAt, reversalWorkAt } from './reversal-work.ts';
import { json } from './scripted-wallet.ts';

const subject = gsmaOfEachTest();

test('the wait that a wallet requests is reported with the outcome of a reversal and of a refund', async () => {
  subject.wallet.on(routes.reverse, json(429, {}, { 'retry-after': '90' }));
  const recorded: unknown[] = [];
  const strayPaymentId = newRandomId('stp', new Date());
  const payment = { providerTransactionId: 'REF-1', amount: '100.50', currency: 'ETB' };
  const core = createRouterTransport(({ service }) => {
    service(StrayPaymentService, {
      leaseReversals: () => ({
        reversals: [
          { leaseId: 'lease', reversalId: strayPaymentId, strayPayment: { strayPaymentId, ...payment } },
        ],
      }),
      recordReversalOutcome({ outcome }) {
        recorded.push(outcome);
        return {};
      },
    });
    service(RefundService, {
      leaseRefunds: () => ({
        refunds: [{ leaseId: 'lease', refund: { refundId: newRandomId('rfd', new Date()), ...payment } }],
      }),
      recordRefundOutcome({ outcome }) {
        recorded.push(outcome);
        return {};
      },
    });
  });
  const work = reversalWorkAt(core, subject.connector);
  const { items } = await work.lease(2);

  await Promise.all(items.map((item) => work.serve(item)));

  const waiting = { case: 'pending', value: { retryAfter: { seconds: 90n } } };
  expect(recorded).toMatchObject([waiting, waiting]);
});

// A merchant can create thousands of refunds at once, and the wallet can be slow to answer.
test('refunds of one merchant leave slots to reversals of other merchants', async () => {
  subject.wallet.on(routes.reverse, json(503, {}));
  const [flooding, other] = [newRandomId('mer', new Date()), newRandomId('mer', new Date())];
  const core = createRouterTransport(({ service }) => {
    service(RefundService, {
      leaseRefunds: ({ maxRefunds, exceptMerchantIds }) => ({
        refunds: exceptMerchantIds.includes(flooding)
          ? []
          : Array.from({ length: maxRefunds }, () => ({
              refund: { merchantId: flooding, refundId: newRandomId('rfd', new Date()) },
            })),
      }),
      recordRefundOutcome: () => ({}),
    });
    service(StrayPaymentService, {
      leaseReversals: () => ({ reversals: [{ strayPayment: { merchantId: other } }] }),
      recordReversalOutcome: () => ({}),
    });
  });
  const work = reversalWorkAt(core, subject.connector);
  const merchantsOf = (items: readonly { readonly task: { readonly merchantId: string } }[]) =>
    items.map(({ task }) => task.merchantId);

  const { items } = await work.lease(2);
  const { items: noMore } = await work.lease(1);
  await Promise.all([...items, ...noMore].map((item) => work.serve(item)));
  const { items: next } = await work.lease(2);

  expect(merchantsOf(items)).toEqual([flooding, other]);
  expect(merchantsOf(noMore)).toEqual([other]);
  expect(merchantsOf(next)).toContain(flooding);
});

const away = () => new ConnectError('the database does not answer', Code.Unavailable);
const removed = () => rpcError('WALLET_ACCOUNT_NOT_FOUND', 'the merchant has no such account');

// A wallet that cannot be asked about a lost request is sent one only once. So "not sent" must not count as "perhaps sent".
test.each([
  ['is removed, at the first lease, counts as not sent', false, true, removed],
  ['is removed, at a later lease, counts as sent as before', true, false, removed],
  ['core does not give, at the first lease, counts as not sent', false, true, away],
])('while core is away, a refund whose account %s', async (_, sentBefore, notSent, failure) => {
  const recorded: RecordRefundOutcomeRequest[] = [];
  let calls = 0;
  const core = createRouterTransport(({ service }) => {
    service(MerchantWalletService, {
      getWalletAccountSettings() {
        throw failure();
      },
    });
    service(RefundService, {
      leaseRefunds: () => ({
        refunds: [{ leaseId: 'lease', sentBefore, walletAccountId: 'wac_1', refund: { refundId: 'rfd_1' } }],
      }),
      recordRefundOutcome(request) {
        calls += 1;
        if (calls === 1) throw away();
        recorded.push(request);
        return {};
      },
    });
    service(StrayPaymentService, {
      leaseReversals() {
        throw away();
      },
    });
  });
  const accounts = accountsAt(core);
  const work = reversalWorkAt(core, subject.connector, accounts);
  const { items } = await work.lease(2);

  await Promise.all(items.map((item) => work.serve(item)));
  await accounts.close();

  expect(recorded.map(({ outcome }) => outcome)).toMatchObject([{ case: 'pending', value: { notSent } }]);
});
