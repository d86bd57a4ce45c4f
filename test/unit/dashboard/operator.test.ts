import { create } from '@bufbuild/protobuf';
import { expect, test } from '@jest/globals';
import { adviceOn } from '../../../src/dashboard/operator/difference-advice.ts';
import { directoryOf } from '../../../src/contract/wallet-directory.ts';
import { operator } from '../../../src/dashboard/language/amharic/operator.ts';
import { operator as english } from '../../../src/dashboard/language/english/operator.ts';
import { strayRow } from '../../../src/dashboard/operator/stray-rows.ts';
import { StrayPaymentSchema } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { DifferenceKind, DifferenceSchema } from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import { createClient, createRouterTransport } from '@connectrpc/connect';
import type { FastifyRequest } from 'fastify';
import { merchantNames } from '../../../src/dashboard/operator/merchant-names.ts';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';

const attempt = { paymentAttemptId: 'pat_1' };
const refund = { paymentAttemptId: 'pat_1', refundId: 'rfd_1' };
const stray = { paymentAttemptId: 'pat_1', strayPaymentId: 'stp_1' };

test.each([
  ['readAtWallet', 'UNREADABLE', {}],
  ['askForPayment', 'MISSING_IN_STATEMENT', attempt],
  ['askForStray', 'MISSING_IN_STATEMENT', stray],
  ['askForRefund', 'MISSING_IN_STATEMENT', refund],
  ['queriedAgain', 'STATUS_DIFFERS', { ...refund, ourStatus: 'reversal_due', walletStatus: 'completed' }],
  ['failedButReturned', 'STATUS_DIFFERS', { ...refund, ourStatus: 'reversal_refused' }],
  ['askForOwner', 'MISSING_HERE', { walletStatus: 'completed' }],
  ['secondCharge', 'MISSING_HERE', { ...attempt, walletStatus: 'completed' }],
  ['askForAmount', 'AMOUNT_DIFFERS', attempt],
  ['queriedAgain', 'STATUS_DIFFERS', { ...attempt, ourStatus: 'unknown', walletStatus: 'completed' }],
  [
    'returnedWithoutRefund',
    'STATUS_DIFFERS',
    { ...attempt, ourStatus: 'succeeded', walletStatus: 'reversed' },
  ],
  ['askForOutcome', 'STATUS_DIFFERS', { ...attempt, ourStatus: 'succeeded', walletStatus: 'failed' }],
  ['nothingLeft', 'STATUS_DIFFERS', { ...stray, ourStatus: 'reversal_refused', walletStatus: 'reversed' }],
  ['askForOutcome', 'STATUS_DIFFERS', { ...stray, ourStatus: 'reversed', walletStatus: 'completed' }],
] as const)('%s is the advice about %s with %j', (advice, kind, facts) => {
  const difference = create(DifferenceSchema, { kind: DifferenceKind[kind], ...facts });

  expect(adviceOn(difference)).toBe(advice);
  expect(operator.reconciliations.one.advice[advice]).toBeDefined();
});

test.each([
  [1, '', 'The wallet was asked once.'],
  [2, '', 'The wallet was asked 2 times.'],
  [1, 'stl_1', 'Two operators confirmed that the payer has the money.'],
])('a stray payment with %p requests and the settlement %p says: %s', (tries, settlementId, how) => {
  const stray = create(StrayPaymentSchema, { amount: '99.00', currency: 'ETB', tries, settlementId });
  const writing = { words: english, language: 'en', timeZone: 'UTC', wallets: directoryOf([]) } as const;

  expect(strayRow(stray, writing).how).toBe(how);
});

test('the merchants of a page are requested a few at a time', async () => {
  let underWay = 0;
  let most = 0;
  const core = createRouterTransport(({ service }) =>
    service(MerchantService, {
      async getMerchant({ merchantId }) {
        most = Math.max(most, (underWay += 1));
        await new Promise((resolve) => setImmediate(resolve));
        underWay -= 1;
        return { merchant: { name: `Shop ${merchantId}` } };
      },
    }),
  );
  const request = { id: 'request', signedInUser: null } as FastifyRequest;
  const page = Array.from({ length: 50 }, (_, index) => ({ merchantId: `mer_${index}` }));

  const names = await merchantNames(request, { merchants: createClient(MerchantService, core) }, page);

  expect([...names]).toHaveLength(50);
  expect(names.get('mer_49')).toBe('Shop mer_49');
  expect(most).toBe(8);
});
