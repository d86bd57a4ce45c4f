import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Code, ConnectError, createClient, createRouterTransport } from '@connectrpc/connect';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import {
  PayerPaymentDecision,
  PayerPaymentService,
} from '../../../src/gen/gatehouse/v1/payer_payment_service_pb.js';
import type { ReportPayerPaymentRequest } from '../../../src/gen/gatehouse/v1/payer_payment_service_pb.js';
import { openFileJournal } from '../../../src/wallet-simulator/journal.ts';
import { mpesaDaraja as kenya } from '../../../src/wallet-simulator/mpesa-daraja/mpesa-daraja.ts';
import { mpesaEthiopia as ethiopia } from '../../../src/wallet-simulator/mpesa-ethiopia/mpesa-ethiopia.ts';
import type { PaymentOutcome } from '../../../src/wallets/connector/outcomes.ts';
import type {
  PayerStartedMessage,
  WalletConnector,
} from '../../../src/wallets/connector/wallet-connector.ts';
import { mpesaDaraja } from '../../../src/wallets/mpesa-daraja/mpesa-daraja.ts';
import { mpesaEthiopia } from '../../../src/wallets/mpesa-ethiopia/mpesa-ethiopia.ts';
import { answerValidation, storeConfirmation } from '../../../src/wallets/payer-started.ts';
import { keptLog } from '../../support/kept-log.ts';
import { shared } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { startCallbackListener } from './callback-listener.ts';
import { payInMenu, startMpesaSimulator } from './mpesa-simulator.ts';
import { buildMpesaPayment, credentials, mpesaOptions, mpesaSettings } from './mpesa-subject.ts';
import { sharedFolder } from '../../support/shared-folder.ts';

const options = { signal: new AbortController().signal };

describe.each([
  { country: 'Kenya', simulator: kenya, kind: mpesaDaraja, currency: 'KES', code: '254' },
  { country: 'Ethiopia', simulator: ethiopia, kind: mpesaEthiopia, currency: 'ETB', code: '251' },
] as const)(
  'payer-started payments at M-Pesa in $country',
  ({ country, simulator, kind, currency, code }) => {
    const messages: { readonly stage: string; readonly message: PayerStartedMessage }[] = [];
    const payerStarted = () => {
      if (connector.payerStarted === undefined) throw new Error('the connector reports no such payments');
      return connector.payerStarted;
    };
    const started = shared(() => startMpesaSimulator(simulator));
    const folder = sharedFolder();
    const listener = shared(() =>
      startCallbackListener((callback) => {
        const stage = /\/(validation|confirmation)\//.exec(callback.url)?.[1];
        const hint = connector.parseCallback(callback);
        if (stage === undefined) return hint;
        messages.push({ stage, message: payerStarted().parse(callback) });
        return stage === 'validation' ? { ...hint, reply: payerStarted().replyToValidation('accept') } : hint;
      }),
    );
    const connectTo = async (baseUrl: string): Promise<WalletConnector> =>
      (await kind.load())(mpesaSettings(baseUrl), mpesaOptions({ callbackBaseUrl: () => listener.baseUrl }));
    const connector: WalletConnector = shared<WalletConnector>(() => connectTo(started.baseUrl));
    const urls = () =>
      ({
        validation: `${listener.baseUrl}/validation/x`,
        confirmation: `${listener.baseUrl}/confirmation/x`,
        withoutAnswer: 'cancel',
      }) as const;

    beforeAll(async () => {
      const { result } = await payerStarted().register(urls(), options);
      expect(result).toEqual({ kind: 'registered' });
    });

    const pay = async (reference: string, { baseUrl } = started): Promise<void> => {
      const { status } = await payInMenu(baseUrl, country, { reference, amount: '250' });
      expect(status).toBe(200);
    };

    const messagesAbout = (reference: string) =>
      messages.flatMap(({ stage, message }) =>
        message.kind === 'payment' && message.payment.reference === reference
          ? [{ stage, ...message.payment }]
          : [],
      );

    const wallet = () => ({
      ...{
        name: 'mpesa-sandbox',
        wallet: 'mpesa',
        environment: Environment.SANDBOX,
        paymentOption: 'mpesa_ussd' as const,
      },
      connector: payerStarted(),
    });
    /** A message about a payment to our account, with other values of a test. */
    const message = (own: object) => ({
      ...{ method: 'POST', url: '/', headers: {}, receivedAt: new Date() },
      body: Buffer.from(
        JSON.stringify({
          ...{ TransID: 'SGR7X1ABCD', TransAmount: '250', BusinessShortCode: credentials.short_code },
          ...{ BillRefNumber: 'ORDER-1', ...own },
        }),
      ),
    });
    const away = new ConnectError('the database does not answer', Code.Unavailable);
    /** Core, which gives these answers one after another, and repeats the last one. */
    function answering(...answers: (PayerPaymentDecision | ConnectError)[]) {
      const reports: ReportPayerPaymentRequest[] = [];
      const next = (): PayerPaymentDecision => {
        const answer = answers.length > 1 ? answers.shift() : answers[0];
        if (answer instanceof ConnectError) throw answer;
        return answer ?? PayerPaymentDecision.UNSPECIFIED;
      };
      const transport = createRouterTransport(({ service }) => {
        service(PayerPaymentService, {
          validatePayerPayment: () => ({ decision: next() }),
          reportPayerPayment(request) {
            reports.push(request);
            next();
            return {};
          },
        });
      });
      return {
        payerPayments: createClient(PayerPaymentService, transport),
        ...keptLog({ level: 'info' }),
        reports,
      };
    }

    test.each([
      ['that core accepts', {}, PayerPaymentDecision.ACCEPT, '0'],
      ['that core does not answer', {}, away, 'C2B00016'],
      [
        'of a payment to another account',
        { BusinessShortCode: '999999' },
        PayerPaymentDecision.ACCEPT,
        'C2B00015',
      ],
      ['that cannot be read', { TransID: '' }, PayerPaymentDecision.ACCEPT, 'C2B00016'],
    ])('the validation %s gets its code', async (_name, own, answer, code) => {
      const { body } = await answerValidation(answering(answer), wallet(), message(own));

      expect(JSON.parse(body)).toMatchObject({ ResultCode: code });
    });

    const acknowledgement = { status: 200, body: 'stored' };

    test('a confirmation waits for an unavailable core, which then gets the attempt and the receipt', async () => {
      const core = answering(away, PayerPaymentDecision.ACCEPT);
      const named = message({ BillRefNumber: 'abcdefghjkmn' });

      expect(await storeConfirmation(core, wallet(), named, acknowledgement)).toBe(acknowledgement);

      expect(core.reports).toHaveLength(2);
      expect(core.reports[1]).toMatchObject({
        ...{ paymentAttemptIdEnd: 'abcdefghjkmn', payee: credentials.short_code, amount: '250' },
        callbackNote: expect.stringContaining('SGR7X1ABCD'),
      });
      expect(core.log.map((line) => line['wallet'])).toEqual(['mpesa-sandbox', 'mpesa-sandbox']);
    });

    test.each([Code.InvalidArgument, Code.PermissionDenied])(
      'a confirmation that core refuses with %s is not acknowledged, and not sent again',
      async (code) => {
        const core = answering(new ConnectError('refused', code));

        await expect(storeConfirmation(core, wallet(), message({}), acknowledgement)).rejects.toMatchObject({
          code,
        });

        expect(core.reports).toHaveLength(1);
      },
    );

    test('a confirmation that cannot be read is refused', async () => {
      const core = answering(PayerPaymentDecision.ACCEPT);

      expect(
        await storeConfirmation(core, wallet(), message({ TransID: '' }), acknowledgement),
      ).toMatchObject({
        status: 400,
      });
      expect(core.reports).toEqual([]);
    });

    test('are queried, reported, and confirmed by their receipt', async () => {
      await pay('ORDER-42');
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

    test('are reported to the registered URLs after a restart of the simulator', async () => {
      const file = join(folder, 'mpesa.jsonl');
      const first = await startMpesaSimulator(simulator, { journal: openFileJournal(file) });
      const opened = await connectTo(first.baseUrl);
      await opened.payerStarted?.register(urls(), options);
      await opened.close();
      await first.close();
      // After a rollback, an earlier version reads this file, and refuses entries about URLs.
      expect(existsSync(file)).toBe(false);
      const second = await startMpesaSimulator(simulator, { journal: openFileJournal(file) });
      try {
        await pay('ORDER-43', second);

        await waitUntil('the payment is reported', () =>
          messagesAbout('ORDER-43').some(({ stage }) => stage === 'confirmation'),
        );
      } finally {
        await second.close();
      }
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
  },
);
