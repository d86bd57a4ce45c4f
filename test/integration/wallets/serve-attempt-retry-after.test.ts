import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect, test } from '@jest/globals';
import { PaymentAttemptStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { LeasedPaymentAttemptSchema } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { createCallbackTokens } from '../../../src/wallets/callback-token.ts';
import { serveAttempt } from '../../../src/wallets/serve-attempt.ts';
import { attemptId, gsmaOfEachTest, requestStateId, routes } from './gsma-subject.ts';
import { json } from './scripted-wallet.ts';

const subject = gsmaOfEachTest();

const serve = (over: { readonly sentBefore: boolean; readonly providerReference?: string }) =>
  serveAttempt(
    {
      connector: subject.connector,
      tokens: createCallbackTokens(Buffer.alloc(32), 'walleta-sandbox'),
      now: () => new Date(),
    },
    create(LeasedPaymentAttemptSchema, {
      paymentAttempt: {
        paymentAttemptId: attemptId,
        status: PaymentAttemptStatus.SENT,
        paymentOption: 'walleta_ussd',
        phone: '+251911223344',
      },
      merchantId: 'mer_01k9z3t5y8e6wbv2n4m7q1h0cd',
      ...{ amount: '100.50', currency: 'ETB', orderNumber: 'R-1' },
      promptUntil: timestampFromDate(new Date(Date.now() + 60_000)),
      ...over,
    }),
    { signal: new AbortController().signal },
  );

const busy = (status: number, seconds: string) =>
  json(
    status,
    { errorCategory: 'serviceUnavailable', errorCode: 'genericError' },
    { 'retry-after': seconds },
  );

test('a wallet that asks for a later request leaves the attempt UNKNOWN, with the delay', async () => {
  subject.wallet.on(routes.initiate, busy(429, '30'));

  const served = await serve({ sentBefore: false });

  expect(served).toMatchObject({
    outcome: { case: 'unknown' },
    isWalletHealthy: false,
    retryAfterMs: 30_000,
  });
});

test('a delayed query has the delay too', async () => {
  subject.wallet.on(routes.requestState, busy(503, '12'));

  const served = await serve({ sentBefore: true, providerReference: `requeststates/${requestStateId}` });

  expect(served).toMatchObject({ outcome: { case: 'unknown' }, retryAfterMs: 12_000 });
});

test('of several answers, the longest delay counts', async () => {
  subject.wallet.on(
    routes.responses,
    json(404, { errorCategory: 'identification', errorCode: 'identifierError' }),
  );
  subject.wallet.on(routes.initiate, busy(503, '7'));

  expect(await serve({ sentBefore: true })).toMatchObject({ retryAfterMs: 7_000 });
});

test('an answer without Retry-After causes no delay', async () => {
  expect(await serve({ sentBefore: false })).toMatchObject({
    outcome: { case: 'pending' },
    isWalletHealthy: true,
    retryAfterMs: 0,
  });
});
