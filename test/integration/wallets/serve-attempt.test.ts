import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { describe, expect, test } from '@jest/globals';
import { PaymentAttemptStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { LeasedPaymentAttemptSchema } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { WalletConnector } from '../../../src/wallets/connector/wallet-connector.ts';
import { createCallbackTokens } from '../../../src/wallets/callback-token.ts';
import { serveAttempt } from '../../../src/wallets/serve-attempt.ts';
import { attemptId, gsmaOfEachTest, requestStateId, routes } from './gsma-subject.ts';
import { json } from './scripted-wallet.ts';
import { routes as telebirrRoutes, startTelebirr, token } from './telebirr-subject.ts';

const subject = gsmaOfEachTest();
const now = new Date();

interface Leased {
  readonly sentBefore: boolean;
  readonly providerReference?: string;
  readonly status?: PaymentAttemptStatus;
  /** How long the payer may still be asked. */
  readonly promptMs?: number;
  /** Those of GSMA when absent. */
  readonly connector?: WalletConnector;
}

const serve = ({
  status = PaymentAttemptStatus.SENT,
  promptMs = 60_000,
  connector = subject.connector,
  ...over
}: Leased) =>
  serveAttempt(
    {
      connector,
      tokens: createCallbackTokens(Buffer.alloc(32), 'walleta-sandbox'),
      now: () => now,
    },
    create(LeasedPaymentAttemptSchema, {
      paymentAttempt: {
        paymentAttemptId: attemptId,
        status,
        paymentOption: 'walleta_ussd',
        phone: '+251911223344',
      },
      merchantId: 'mer_01k9z3t5y8e6wbv2n4m7q1h0cd',
      ...{ amount: '100.50', currency: 'ETB', orderNumber: 'R-1' },
      promptUntil: timestampFromDate(new Date(now.getTime() + promptMs)),
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
const notFound = json(404, { errorCategory: 'identification', errorCode: 'identifierError' });
const { SENT, UNKNOWN, DECLINED, TIMED_OUT } = PaymentAttemptStatus;
const minuteMs = 60_000;

describe('a request that the wallet does not know', () => {
  test.each([
    ['is sent again before the end of the prompt', SENT, 1, 1, 'pending'],
    ['is sent again, although its outcome is unknown', UNKNOWN, 1, 1, 'pending'],
    ['is not sent again at the end of the prompt', SENT, 0, 0, 'unknown'],
    ['stays undecided until ten minutes later', UNKNOWN, -10 * minuteMs, 0, 'unknown'],
    ['was never made after ten minutes', UNKNOWN, -10 * minuteMs - 1, 0, 'timedOut'],
    ['of a declined attempt is not sent again', DECLINED, minuteMs, 0, 'unknown'],
    ['of an attempt that timed out is not sent again', TIMED_OUT, minuteMs, 0, 'unknown'],
    ['of a declined attempt stays undecided', DECLINED, -11 * minuteMs, 0, 'unknown'],
  ])('%s', async (_name, status, promptMs, requests, outcome) => {
    subject.wallet.on(routes.responses, notFound);

    const served = await serve({ sentBefore: true, status, promptMs });

    expect(served.outcome.case).toBe(outcome);
    expect(subject.wallet.requestsTo(routes.initiate)).toHaveLength(requests);
  });

  test.each([
    [SENT, 'timedOut'],
    [TIMED_OUT, 'unknown'],
  ])(
    'of an attempt that is %i, whose payers need a link from its answer, has the outcome %s',
    async (status, outcome) => {
      const { wallet, connector, close } = await startTelebirr();
      try {
        wallet.on(telebirrRoutes.token, json(200, token));
        wallet.on(telebirrRoutes.queryOrder, json(299, { errorCode: '60330006', errorMsg: 'No data.' }));

        expect((await serve({ connector, sentBefore: true, status })).outcome.case).toBe(outcome);
        expect(wallet.requestsTo(telebirrRoutes.preOrder)).toEqual([]);
      } finally {
        await close();
      }
    },
  );

  test('is not sent again while the wallet does not answer whether it knows the request', async () => {
    subject.wallet.on(routes.responses, busy(503, '1'));

    expect((await serve({ sentBefore: true })).outcome.case).toBe('unknown');
    expect(subject.wallet.requestsTo(routes.initiate)).toEqual([]);
  });

  test('is not decided by the refusal of the repeated request', async () => {
    const refusal = { errorCategory: 'businessRule', errorCode: 'insufficientFunds' };
    subject.wallet.on(routes.responses, notFound);
    subject.wallet.on(routes.initiate, json(400, refusal));

    const [first, repeated] = [await serve({ sentBefore: false }), await serve({ sentBefore: true })];

    expect([first.outcome.case, repeated.outcome.case]).toEqual(['declined', 'unknown']);
  });
});

test('a first request that the wallet has already is found by its own id, and queried', async () => {
  const duplicate = { errorCategory: 'businessRule', errorCode: 'duplicateRequest' };
  subject.wallet.on(routes.initiate, json(409, duplicate));

  const served = await serve({ sentBefore: false });

  expect(served.outcome.case).toBe('pending');
  expect(served.exchanges.map(({ purpose }) => purpose)).toEqual(['token', 'initiate', 'recover', 'query']);
});

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
  subject.wallet.on(routes.responses, notFound);
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
