import { describe, expect, test } from '@jest/globals';
import { mpesaEthiopia as simulator } from '../../../src/wallet-simulator/mpesa-ethiopia/mpesa-ethiopia.ts';
import { mpesaEthiopia } from '../../../src/wallets/mpesa-ethiopia/mpesa-ethiopia.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { describeOutcomes, endingsExcept, payerDigits } from './connector-conformance.ts';
import { startMpesaSubject } from './mpesa-simulator-subject.ts';
import { startMpesaSimulator } from './mpesa-simulator.ts';
import { buildMpesaPayment, mpesaOptions, mpesaSettings } from './mpesa-subject.ts';
import { shared } from '../../support/shared-stack.ts';

const supported = endingsExcept('sent_twice', 'no_callback', 'unrecognised_status');

const started = shared(
  () => startMpesaSimulator(simulator),
  ({ close }) => close(),
);

const paymentOf = (digits: string) =>
  buildMpesaPayment({ currency: 'ETB', payerPhone: `+2517000000${digits}` });

const startSubject = (now?: () => Date) =>
  startMpesaSubject({
    connectors: mpesaEthiopia,
    simulator: started,
    paymentThat: (ending) => paymentOf(payerDigits[ending]),
    ...(now && { now }),
  });

describeOutcomes('the M-Pesa connector for Ethiopia', supported, () => startSubject());

describe('without a callback', () => {
  test('a payment is queried by Gatehouse’s id of the request after a while', async () => {
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
