import { beforeAll, describe, expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { mpesaDaraja as kenya } from '../../../src/wallet-simulator/mpesa-daraja/mpesa-daraja.ts';
import { mpesaEthiopia as ethiopia } from '../../../src/wallet-simulator/mpesa-ethiopia/mpesa-ethiopia.ts';
import type { PaymentOutcome } from '../../../src/wallets/connector/outcomes.ts';
import type {
  PayerStartedMessage,
  ValidationDecision,
  WalletConnector,
} from '../../../src/wallets/connector/wallet-connector.ts';
import { mpesaDaraja } from '../../../src/wallets/mpesa-daraja/mpesa-daraja.ts';
import { mpesaEthiopia } from '../../../src/wallets/mpesa-ethiopia/mpesa-ethiopia.ts';
import { shared } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { startCallbackListener } from './callback-listener.ts';
import { startMpesaSimulator } from './mpesa-simulator.ts';
import { buildMpesaPayment, credentials, mpesaOptions, mpesaSettings } from './mpesa-subject.ts';

const options = { signal: new AbortController().signal };

describe.each([
  {
    country: 'Kenya',
    simulator: kenya,
    kind: mpesaDaraja,
    currency: 'KES',
    code: '254',
    simulate: '/mpesa/c2b/v2/simulate',
  },
  {
    country: 'Ethiopia',
    simulator: ethiopia,
    kind: mpesaEthiopia,
    currency: 'ETB',
    code: '251',
    simulate: '/mpesa/b2c/simulatetransaction/v1/request',
  },
])('payer-started payments at M-Pesa in $country', ({ simulator, kind, currency, code, simulate }) => {
  let decision: ValidationDecision = 'accept';
  const messages: { readonly stage: string; readonly message: PayerStartedMessage }[] = [];
  const payerStarted = () => {
    if (connector.payerStarted === undefined) throw new Error('the connector reports no such payments');
    return connector.payerStarted;
  };
  const started = shared(
    () => startMpesaSimulator(simulator),
    ({ close }) => close(),
  );
  const listener = shared(
    () =>
      startCallbackListener((callback) => {
        const stage = /\/(validation|confirmation)\//.exec(callback.url)?.[1];
        const hint = connector.parseCallback(callback);
        if (stage === undefined) return hint;
        messages.push({ stage, message: payerStarted().parse(callback) });
        return stage === 'validation' ? { ...hint, reply: payerStarted().replyToValidation(decision) } : hint;
      }),
    ({ close }) => close(),
  );
  const connector: WalletConnector = shared<WalletConnector>(
    async () =>
      (await kind.load())(
        mpesaSettings(started.baseUrl),
        mpesaOptions({ callbackBaseUrl: () => listener.baseUrl }),
      ),
    (opened) => opened.close(),
  );

  beforeAll(async () => {
    const { result } = await payerStarted().register(
      {
        validation: `${listener.baseUrl}/validation/x`,
        confirmation: `${listener.baseUrl}/confirmation/x`,
        withoutAnswer: 'cancel',
      },
      options,
    );
    expect(result).toEqual({ kind: 'registered' });
  });

  /** A payer pays 250 in the menu of the phone, with this text as account. */
  async function payInMenu(reference: string): Promise<void> {
    const basic = Buffer.from(`${credentials.consumer_key}:${credentials.consumer_secret}`).toString(
      'base64',
    );
    const path = code === '254' ? '/oauth/v1/generate' : '/v1/token/generate';
    const answer = await fetch(`${started.baseUrl}${path}?grant_type=client_credentials`, {
      headers: { authorization: `Basic ${basic}` },
    });
    const { access_token: token } = (await answer.json()) as { access_token: string };
    const response = await fetch(`${started.baseUrl}${simulate}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({
        ShortCode: credentials.short_code,
        CommandID: 'CustomerPayBillOnline',
        Amount: '250',
        Msisdn: `${code}700000012`,
        BillRefNumber: reference,
      }),
    });
    expect(response.status).toBe(200);
  }

  const messagesAbout = (reference: string) =>
    messages.flatMap(({ stage, message }) =>
      message.kind === 'payment' && message.payment.reference === reference
        ? [{ stage, ...message.payment }]
        : [],
    );

  test('are queried, reported, and confirmed by their receipt', async () => {
    decision = 'accept';
    await payInMenu('ORDER-42');
    const reported = await waitUntil('the payment is reported', () =>
      messagesAbout('ORDER-42').find(({ stage }) => stage === 'confirmation'),
    );
    const paymentId = newRandomId('stp', new Date());
    let providerReference: string | undefined;

    const outcome = await waitUntil(
      'the payment is confirmed',
      async (): Promise<PaymentOutcome | undefined> => {
        const { result } = await payerStarted().confirm(
          {
            ...{ paymentId, callbackToken: 'token', callbackNotes: listener.notesOf(paymentId) },
            providerTransactionId: reported.providerTransactionId,
            ...(providerReference === undefined ? {} : { providerReference }),
          },
          options,
        );
        if (result.kind === 'pending') providerReference = result.providerReference ?? providerReference;
        return result.kind === 'pending' ? undefined : result;
      },
    );

    expect(messagesAbout('ORDER-42').map(({ stage }) => stage)).toEqual(['validation', 'confirmation']);
    expect(reported).toMatchObject({ amount: '250', currency, payee: credentials.short_code });
    expect(outcome).toMatchObject({
      ...{ kind: 'completed', amount: '250', currency },
      providerTransactionId: reported.providerTransactionId,
    });
  });

  test('move no money when validation rejects them', async () => {
    decision = 'unknown_reference';
    await payInMenu('NO-SUCH-ORDER');
    const prompt = await waitUntil('the payment has ended', () =>
      started.wallet
        .prompts()
        .find(
          ({ merchant_reference, status }) => merchant_reference === 'NO-SUCH-ORDER' && status !== 'open',
        ),
    );

    expect(prompt).toMatchObject({ status: 'failed', error: { code: 'C2B00012' } });
    expect(messagesAbout('NO-SUCH-ORDER').map(({ stage }) => stage)).toEqual(['validation']);
  });

  test('a payment request whose answer was lost is found by the confirmation of its payment', async () => {
    const payment = buildMpesaPayment({ currency, payerPhone: `+${code}700000014` });
    const { attemptId, amount, callbackToken } = payment;
    const giveUp = { signal: AbortSignal.timeout(500) };
    expect((await connector.initiate(payment, giveUp)).result.kind).toBe('unknown');
    const reported = await waitUntil('the payment is confirmed', () =>
      messages
        .flatMap(({ stage, message }) =>
          stage === 'confirmation' && message.kind === 'payment' ? [message.payment] : [],
        )
        .find(({ reference }) => payerStarted().attemptIdEnd(reference) === attemptId.slice(-12)),
    );
    const confirmation = payerStarted().noteOf(reported);
    let providerReference: string | undefined;

    const outcome = await waitUntil('the payment is settled', async () => {
      // The test drops the wallet's own callback.
      const answers = listener.notesOf(attemptId).filter((note) => !note.includes('checkout'));
      const { result } = await connector.query(
        {
          ...{ attemptId, amount, currency, callbackToken, callbackNotes: [confirmation, ...answers] },
          ...(providerReference === undefined ? {} : { providerReference }),
        },
        options,
      );
      if (result.kind === 'pending') providerReference = result.providerReference ?? providerReference;
      return result.kind === 'pending' ? undefined : result;
    });

    expect(outcome).toMatchObject({
      ...{ kind: 'completed', amount, currency },
      providerTransactionId: reported.providerTransactionId,
    });
  });
});
