import { describe, expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { mpesaEthiopia as simulator } from '../../../src/wallet-simulator/mpesa-ethiopia/mpesa-ethiopia.ts';
import { accountReference } from '../../../src/wallets/mpesa-daraja/account-reference.ts';
import { mpesaEthiopia } from '../../../src/wallets/mpesa-ethiopia/mpesa-ethiopia.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { startCallbackListener } from './callback-listener.ts';
import { describeOutcomes } from './connector-conformance.ts';
import type { Ending, RealSubject } from './connector-conformance.ts';
import { startMpesaSimulator } from './mpesa-simulator.ts';
import { buildMpesaPayment, mpesaOptions, mpesaSettings } from './mpesa-subject.ts';
import { shared } from '../../support/shared-stack.ts';

/** The last two digits of the payer for whom it ends so. */
const payers: Readonly<Partial<Record<Ending, string>>> = {
  completed: '00',
  insufficient_funds: '01',
  wrong_pin: '02',
  declined_by_payer: '03',
  expired: '04',
  payer_not_found: '05',
  limit_exceeded: '06',
  account_state: '07',
  rate_limited_once: '08',
  callback_thrice: '11',
  late_success: '13',
  lost_acknowledgement: '14',
  nothing_created: '15',
  unavailable: '16',
  error_yet_paid: '17',
  forged_callback: '18',
  another_amount: '19',
  still_pending: '20',
  failure_callback: '21',
  reversal_refused: '22',
  reversal_unknown: '23',
  reversal_unknown_then_not: '28',
};

const started = shared(
  () => startMpesaSimulator(simulator),
  ({ close }) => close(),
);

const paymentOf = (digits: string) =>
  buildMpesaPayment({ currency: 'ETB', payerPhone: `+2517000000${digits}` });

const charges = (attemptId: string) =>
  started.wallet.charges().filter((charge) => charge.merchant_reference === accountReference(attemptId));

async function startSubject(clock = () => new Date()) {
  const callbacks = await startCallbackListener((callback) => connector.parseCallback(callback));
  const connector = (await mpesaEthiopia.load())(
    mpesaSettings(started.baseUrl),
    mpesaOptions({
      callbackBaseUrl: () => callbacks.baseUrl,
      timeouts: { connectMs: 1_000, callMs: 2_000 },
      now: clock,
    }),
  );
  return {
    connector,
    paymentThat: (ending: Ending) => paymentOf(payers[ending] ?? ''),
    chargesOf: async ({ attemptId }: { readonly attemptId: string }) =>
      charges(attemptId).map(({ amount }) => amount),
    reversedOf: async ({ attemptId }: { readonly attemptId: string }) =>
      charges(attemptId)[0]?.reversed ?? '',
    notesOf: callbacks.notesOf,
    // Without the answers to status questions, which come to the same URL.
    callbacksOf: ({ attemptId }: { readonly attemptId: string }) =>
      callbacks.callbacksOf(attemptId).filter(({ raw }) => raw.includes('stkCallback')),
    expireTokens: async () => started.wallet.expireTokens(),
    newId: () => newRandomId('stp', new Date()),
    close: async () => {
      await connector.close();
      await callbacks.close();
    },
  } satisfies RealSubject;
}

describeOutcomes('the M-Pesa connector for Ethiopia', Object.keys(payers) as Ending[], startSubject);

describe('without a callback', () => {
  test('a payment is asked for by our own id of the request after a while', async () => {
    let aheadMs = 0;
    const subject = await startSubject(() => new Date(Date.now() + aheadMs));
    const { connector } = subject;
    const payment = paymentOf('10');
    const options = { signal: new AbortController().signal };
    const { result } = await connector.initiate(payment, options);
    let reference = result.kind === 'accepted' ? result.providerReference : '';
    const ask = async () => {
      const { attemptId, amount, currency, callbackToken } = payment;
      const callbackNotes = subject.notesOf(attemptId);
      const inquiry = { attemptId, amount, currency, callbackToken, callbackNotes };
      const outcome = await connector.query({ ...inquiry, providerReference: reference }, options);
      if (outcome.result.kind === 'pending') reference = outcome.result.providerReference ?? reference;
      return outcome;
    };

    const first = await ask();
    await waitUntil('the payer has paid', async () => (await subject.chargesOf(payment)).length === 1);
    aheadMs = 21_000;
    const outcome = await waitUntil('the payment is settled', async () => {
      const { result: current } = await ask();
      return current.kind === 'pending' ? undefined : current;
    });
    await subject.close();

    expect(first).toEqual({ result: expect.objectContaining({ kind: 'pending' }), exchanges: [] });
    expect(outcome).toMatchObject({ kind: 'completed', amount: '100', currency: 'ETB' });
  });
});

test.each(['plain', 'sha256'] as const)(
  'a request with a password of the form %s is accepted',
  async (form) => {
    const connector = (await mpesaEthiopia.load())(
      { ...mpesaSettings(started.baseUrl), password_form: form },
      mpesaOptions({ callbackBaseUrl: () => 'http://127.0.0.1:9/callbacks' }),
    );

    const { result } = await connector.initiate(paymentOf(form === 'plain' ? '40' : '41'), {
      signal: new AbortController().signal,
    });
    await connector.close();

    expect(result.kind).toBe('accepted');
  },
);
