import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { NextAction } from '../../../src/wallets/connector/outcomes.ts';
import type { PaymentRequest } from '../../../src/wallets/connector/wallet-connector.ts';
import { telebirrId } from '../../../src/wallets/telebirr/telebirr-id.ts';
import { callbackWith, paymentQuery, reversalQuery } from '../../support/wallet-queries.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { Ending, RealSubject } from './connector-conformance.ts';
import { describeOutcomes, payerDigits } from './connector-conformance.ts';
import { sharedSimulator } from './simulator-subject.ts';
import { createTelebirr, payment, settings, simulatorCredentials } from './telebirr-subject.ts';

/** telebirr gives no reason for a failure. It gets the number after the order was created, so the tests below set the other outcomes. */
const supported: readonly Ending[] = [
  ...([
    'completed',
    'expired',
    'unrecognised_status',
    'still_pending',
    'late_success',
    'another_amount',
  ] as const),
  ...(['no_callback', 'callback_thrice', 'forged_callback', 'failure_callback'] as const),
  ...(['reversal_refused', 'reversal_unknown'] as const),
];

const options = { signal: new AbortController().signal };
const simulator = sharedSimulator({ telebirr: simulatorCredentials });

/** Opens telebirr's page like a browser, types the number and confirms. */
async function confirmOnPage(action: NextAction | undefined, phone: string): Promise<void> {
  if (action?.kind !== 'redirect') throw new Error(`no page to open: ${JSON.stringify(action)}`);
  const page = await fetch(action.url);
  expect(await page.text()).toContain('Confirm payment');
  await fetch(page.url, { method: 'POST', body: new URLSearchParams({ phone, action: 'pay' }) });
}

const charges = ({ attemptId }: Pick<PaymentRequest, 'attemptId'>) =>
  simulator.charges(`?correlation_id=${telebirrId(attemptId)}`);

const isCharged = (request: PaymentRequest) =>
  waitUntil('the payer is charged', async () => (await charges(request)).length === 1);

const startSubject = (clock?: () => Date): Promise<RealSubject> =>
  Promise.resolve({
    ...simulator.subjectOf(
      createTelebirr(settings(simulator.origin()), simulator.callbackUrl(), clock),
      charges,
    ),
    paymentThat: (ending) =>
      payment({
        attemptId: randomUUID(),
        payerPhone: `+2519100000${payerDigits[ending]}`,
        requestedAt: new Date(),
      }),
    repeatsReversals: true,
    act: (request, action) => confirmOnPage(action, request.payerPhone),
  });

/** Starts a payment, and pays it on the page. */
async function payOnPage({ connector, act }: RealSubject, request: PaymentRequest): Promise<void> {
  const { result } = await connector.initiate(request, options);
  if (result.kind !== 'accepted') throw new Error(result.kind);
  await act?.(request, result.nextAction);
}

const arm = async (fault: string): Promise<void> => {
  expect((await simulator.post(`/simulator/faults?wallet=telebirr&fault=${fault}`)).status).toBe(204);
};

describeOutcomes('the telebirr connector', supported, startSubject);

test.each([
  ['preorder_lost', 'found'],
  ['preorder_not_received', 'not_found'],
])('after %s the order is %s, and no payer can be charged', async (fault, kind) => {
  const { connector, paymentThat, close } = await startSubject();
  const request = paymentThat('completed');
  await arm(fault);

  const { result } = await connector.initiate(request, options);
  const recovery = await connector.recover(request.attemptId, options);

  expect(result.kind).toBe('unknown');
  expect(recovery.result.kind).toBe(kind);
  if (kind === 'found') {
    const outcome = await waitUntil('telebirr closes the order', async () => {
      const answer = await connector.query(paymentQuery({ attemptId: request.attemptId }), options);
      return answer.result.kind === 'pending' ? undefined : answer.result;
    });
    expect(outcome).toEqual({ kind: 'timed_out' });
  }
  expect(await charges(request)).toEqual([]);
  await close();
});

test.each([
  ['rate_limit', 'rate_limited'],
  ['unavailable', 'server_error'],
])('%s leaves a payment open, and it can be paid afterwards', async (fault, why) => {
  const { connector, paymentThat, act, close } = await startSubject();
  const request = paymentThat('completed');
  await arm(fault);

  const first = await connector.initiate(request, options);
  const second = await connector.initiate(request, options);

  expect(first.result).toMatchObject({ kind: 'unknown', why });
  if (second.result.kind !== 'accepted') throw new Error(JSON.stringify(second.result));
  await act?.(request, second.result.nextAction);
  await isCharged(request);
  await close();
});

test('an environment that requires PKCS#1 v1.5 accepts payments with the setting signature_padding', async () => {
  const connector = createTelebirr(
    settings(simulator.origin(), { signature_padding: 'pkcs1' }),
    simulator.callbackUrl(),
  );
  const request = payment({ attemptId: randomUUID(), payerPhone: '+251910000000' });

  const { result } = await connector.initiate(request, options);
  if (result.kind !== 'accepted') throw new Error(result.kind);
  await confirmOnPage(result.nextAction, request.payerPhone);

  await isCharged(request);
  await connector.close();
});

test('a payment that the payer cancels on the page is declined, without a reason', async () => {
  const { connector, paymentThat, close } = await startSubject();
  const request = paymentThat('completed');
  const { result } = await connector.initiate(request, options);
  if (result.kind !== 'accepted' || result.nextAction?.kind !== 'redirect') throw new Error(result.kind);
  const page = await fetch(result.nextAction.url);

  await fetch(page.url, { method: 'POST', body: new URLSearchParams({ action: 'cancel' }) });

  const answer = await connector.query(paymentQuery({ attemptId: request.attemptId }), options);
  expect(answer.result).toMatchObject({ kind: 'declined', reason: 'provider_error' });
  await close();
});

test.each([
  // Sending the number again would be harmless, but the whole payment needs no query.
  ['100.5', 'queryOrder'],
  ['40', 'queryOrder refund'],
])('a refund of %s whose answer was lost is paid once', async (amount, calls) => {
  const subject = await startSubject();
  const { connector, paymentThat, close } = subject;
  const request = paymentThat('completed');
  await payOnPage(subject, request);
  await isCharged(request);
  const refund = { ...request, amount, reversalId: randomUUID(), providerTransactionId: 'receipt' };
  await arm('refund_lost');

  const lost = await connector.reverse(refund, options);
  const again = await connector.reverse(refund, options);

  expect(lost.result).toMatchObject({ kind: 'unknown', why: 'server_error' });
  expect(again.result.kind).toBe('accepted');
  await waitUntil('the refund is done', async () => {
    const answer = await connector.queryReversal(reversalQuery(refund), options);
    return answer.result.kind === 'completed';
  });
  const third = await connector.reverse(refund, options);
  expect(third.exchanges.map(({ url }) => url.split('/').at(-1)).join(' ')).toBe(calls);
  expect(await charges(request)).toMatchObject([{ amount: '100.5', reversed: amount }]);
  await close();
});

test('a refund that failed after its answer was lost stays open, because the order may show an earlier failure', async () => {
  const subject = await startSubject();
  const { connector, close } = subject;
  const request = payment({ attemptId: randomUUID(), payerPhone: '+251910000028' });
  await payOnPage(subject, request);
  await isCharged(request);
  const refund = { ...request, reversalId: randomUUID(), providerTransactionId: 'receipt' };

  const { result: lost } = await connector.reverse(refund, options);
  const outcome = await waitUntil('the refund fails', async () => {
    const answer = await connector.queryReversal(reversalQuery(refund), options);
    return answer.result.kind === 'pending' ? undefined : answer.result;
  });

  expect(lost.kind).toBe('unknown');
  expect(outcome).toMatchObject({ kind: 'unknown', why: 'inconsistent' });
  expect(await charges(request)).toMatchObject([{ reversed: '0' }]);
  await close();
});

test.each(['notification_as_form', 'notification_as_field_name'])(
  'a signed %s is understood',
  async (fault) => {
    const subject = await startSubject();
    const { connector, paymentThat, callbacksOf, close } = subject;
    const request = paymentThat('completed');
    await arm(fault);
    await payOnPage(subject, request);

    const [callback] = await waitUntil('telebirr notifies', () => {
      const seen = callbacksOf(request);
      return seen.length > 0 && seen;
    });

    const { raw, ...own } = callback!;
    const hint = connector.parseCallback(callbackWith(raw, own));
    expect(hint).toMatchObject({ announced: 'completed' });
    expect(hint.exchange).not.toHaveProperty('problem');
    await close();
  },
);
