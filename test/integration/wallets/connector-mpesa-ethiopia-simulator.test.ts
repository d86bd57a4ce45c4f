import { describe, expect, test } from '@jest/globals';
import { mpesaEthiopia as simulator } from '../../../src/wallet-simulator/mpesa-ethiopia/mpesa-ethiopia.ts';
import { mpesaEthiopia } from '../../../src/wallets/mpesa-ethiopia/mpesa-ethiopia.ts';
import type { PaymentRequest } from '../../../src/wallets/connector/wallet-connector.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { describeOutcomes, endingsExcept, payerDigits } from './connector-conformance.ts';
import { startMpesaSubject } from './mpesa-simulator-subject.ts';
import { startMpesaSimulator } from './mpesa-simulator.ts';
import { buildMpesaPayment, mpesaOptions, mpesaSettings } from './mpesa-subject.ts';
import { shared } from '../../support/shared-stack.ts';

const supported = endingsExcept('sent_twice', 'no_callback', 'unrecognised_status');

const started = shared(() => startMpesaSimulator(simulator));

const paymentOf = (digits: string) =>
  buildMpesaPayment({ currency: 'ETB', payerPhone: `+2517000000${digits}` });

const startSubject = (now?: () => Date) =>
  startMpesaSubject({
    connectors: mpesaEthiopia,
    simulator: started,
    paymentThat: (ending) => paymentOf(payerDigits[ending]),
    now,
  });

describeOutcomes('the M-Pesa connector for Ethiopia', supported, startSubject);

describe('without a callback', () => {
  const options = { signal: new AbortController().signal };

  /** Requests a payment. Returns its query, which replaces the reference as core does and adds these notes. */
  async function startPayment(
    { connector, notesOf }: Awaited<ReturnType<typeof startSubject>>,
    payment: PaymentRequest,
    notes: readonly string[] = [],
  ) {
    const { result } = await connector.initiate(payment, options);
    let reference = result.kind === 'accepted' ? result.providerReference : '';
    return async () => {
      const { attemptId, amount, currency, callbackToken } = payment;
      const callbackNotes = [...notes, ...notesOf(attemptId)];
      const query = { attemptId, amount, currency, callbackToken, callbackNotes };
      const outcome = await connector.query({ ...query, providerReference: reference }, options);
      if (outcome.result.kind === 'pending') reference = outcome.result.providerReference ?? reference;
      return outcome;
    };
  }
  const settled = (ask: Awaited<ReturnType<typeof startPayment>>) =>
    waitUntil('the payment is settled', async () => {
      const { result } = await ask();
      return result.kind === 'pending' ? undefined : result;
    });

  test('a payment is queried by Gatehouse’s id of the request after a while', async () => {
    let aheadMs = 0;
    const subject = await startSubject(() => new Date(Date.now() + aheadMs));
    const payment = paymentOf('10');
    const ask = await startPayment(subject, payment);

    const first = await ask();
    await waitUntil('the payer has paid', async () => (await subject.chargesOf(payment)).length === 1);
    aheadMs = 21_000;
    const outcome = await settled(ask);
    await subject.close();

    expect(first).toEqual({ result: expect.objectContaining({ kind: 'pending' }), exchanges: [] });
    expect(outcome).toMatchObject({ kind: 'completed', amount: '100', currency: 'ETB' });
  });

  const confirmation = { about: 'confirmation', code: '0' };
  /** Payments of these amounts beside that of the prompt. Their notes name their receipts. */
  test.each([
    ['that M-Pesa does not know', [], confirmation],
    ['of another amount with the same account reference', ['50'], confirmation],
    ['of each of two other amounts with the same account reference', ['50', '60'], confirmation],
    [
      'of another amount in the callback of another request',
      ['50'],
      { about: 'push', checkout: 'ws_CO_OTHER', code: '0' },
    ],
  ])('a receipt %s does not decide the payment of the prompt', async (_what, amounts, note) => {
    let aheadMs = 0;
    const subject = await startSubject(() => new Date(Date.now() + aheadMs));
    const pay = async (paid: string) =>
      settled(await startPayment(subject, { ...paymentOf('00'), amount: paid }));
    const receipts = amounts.length === 0 ? ['SJ90000000'] : [];
    for (const amount of amounts) {
      const beside = await pay(amount);
      if (beside.kind === 'completed') receipts.push(beside.providerTransactionId);
    }
    const payment = paymentOf('10');
    const notes = receipts.map((receipt) => JSON.stringify({ ...note, receipt }));
    const ask = await startPayment(subject, payment, notes);
    await waitUntil('the payer has paid', async () => (await subject.chargesOf(payment)).length === 1);

    aheadMs = 21_000;
    const outcome = await settled(ask);
    await subject.close();

    expect(outcome).toMatchObject({ kind: 'completed', amount: '100' });
    expect(outcome).toMatchObject({ providerTransactionId: expect.not.stringMatching(receipts.join('|')) });
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
