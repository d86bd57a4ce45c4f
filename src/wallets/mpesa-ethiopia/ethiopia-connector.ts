import { createHash } from 'node:crypto';
import type { ConnectorOptions } from '../connector/connector-kind.ts';
import type {
  Acknowledgement,
  Health,
  PaymentOutcome,
  Recovery,
  ReversalOutcome,
} from '../connector/outcomes.ts';
import { sameDecimal } from '../../contract/decimal-text.ts';
import { noStatement } from '../connector/no-statement.ts';
import type { Answer, RawExchange } from '../connector/raw-exchange.ts';
import type {
  CallOptions,
  CallbackHint,
  CallbackRequest,
  PayerStartedPayments,
  PaymentQuery,
  PaymentRequest,
  ReversalQuery,
  ReversalRequest,
  StatementPage,
  WalletConnector,
} from '../connector/wallet-connector.ts';
import { accountReference } from '../mpesa-daraja/account-reference.ts';
import { callbackUrl } from '../mpesa-daraja/callback-url.ts';
import type { Confirmation, ConfirmationParts } from '../mpesa-daraja/confirm-payment.ts';
import {
  completedOutcome,
  confirmReceipt,
  confirmTransaction,
  endedFailure,
} from '../mpesa-daraja/confirm-payment.ts';
import type { ResultAddress, StatusSubject } from '../mpesa-daraja/initiator-api.ts';
import { InitiatorApi, initiatorOf } from '../mpesa-daraja/initiator-api.ts';
import { MpesaClient } from '../mpesa-daraja/mpesa-client.ts';
import { unknown } from '../mpesa-daraja/mpesa-error.ts';
import type { PushNote } from '../mpesa-daraja/notes.ts';
import { confirmedReceipts, pushNotes, readNotes } from '../mpesa-daraja/notes.ts';
import { payerStartedPayments } from '../mpesa-daraja/payer-started.ts';
import { readCallback } from '../mpesa-daraja/read-callback.ts';
import { readPushAnswer } from '../mpesa-daraja/read-push.ts';
import type { PaymentReference } from '../mpesa-daraja/references.ts';
import { readPaymentReference, withOther, writeReference } from '../mpesa-daraja/references.ts';
import { judgePush } from '../mpesa-daraja/result-codes.ts';
import { queryReversal } from '../mpesa-daraja/reversals.ts';
import { requestReversal } from '../mpesa-daraja/request-reversal.ts';
import { payeeOf, pushPassword, writePush } from '../mpesa-daraja/write-push.ts';
import type { Payee } from '../mpesa-daraja/write-push.ts';
import { ethiopiaCapabilities } from './ethiopia-capabilities.ts';
import type { EthiopiaSettings } from './ethiopia-settings.ts';

const currency = 'ETB';

/** How long the callback of a payment is awaited before the wallet is asked. */
const awaitCallbackMs = 20_000;

/**
 * M-Pesa in Ethiopia. There is no query of a payment request. So its outcome is the answer to a status query. The answer comes by callback,
 * and counts only with the conversation id that M-Pesa acknowledged to us. The query names the receipt that a callback gave, or else our
 * own id of the request.
 */
export class EthiopiaConnector implements WalletConnector {
  readonly capabilities = ethiopiaCapabilities;
  readonly payerStarted: PayerStartedPayments;
  readonly #settings: EthiopiaSettings;
  readonly #options: ConnectorOptions;
  readonly #client: MpesaClient;
  readonly #payee: Payee;
  readonly #api: InitiatorApi;

  /** @throws TypeError that names an unusable setting */
  constructor(settings: EthiopiaSettings, options: ConnectorOptions) {
    this.#settings = settings;
    this.#options = options;
    this.#client = new MpesaClient(settings, '/v1/token/generate', options);
    this.#payee = payeeOf(settings);
    this.#api = new InitiatorApi(this.#client, initiatorOf(settings), {
      statusPath: '/mpesa/transactionstatus/v1/query',
      reversalPath: '/mpesa/reversal/v2/request',
      reversalIdentifierType: '4',
    });
    this.payerStarted = payerStartedPayments({
      client: this.#client,
      settings,
      currency,
      secrets: this.#secrets(),
      registration: {
        path: `/v1/c2b-register-url/register?apikey=${encodeURIComponent(settings.consumer_key)}`,
        fields: { CommandID: 'RegisterURL' },
      },
      confirm: (query, callOptions) =>
        confirmReceipt(
          this.#confirmation(query.paymentId, query.callbackToken),
          {
            receipt: query.providerTransactionId,
            reference: readPaymentReference(query.providerReference),
            notes: readNotes(query.callbackNotes),
          },
          callOptions,
        ),
    });
  }

  async initiate(request: PaymentRequest, options: CallOptions): Promise<Answer<Acknowledgement>> {
    const { url, secrets } = this.#address(request.attemptId, request.callbackToken);
    const now = this.#options.now();
    const rules = {
      currencies: this.#options.currencies.filter((code) => code === currency),
      msisdn: /^251[79][0-9]{8}$/,
      wallet: 'M-Pesa in Ethiopia',
    };
    const password = (timestamp: string) => this.#password(timestamp);
    const written = writePush(this.#payee, rules, request, { url, now, password });
    if (!written.ok) return { result: { kind: 'refused', ...written.failure }, exchanges: [] };
    const { result, exchanges } = await this.#client.post(
      {
        purpose: 'initiate',
        path: '/mpesa/stkpush/v3/processrequest',
        body: {
          MerchantRequestID: request.attemptId,
          ...written.body,
          ReferenceData: [{ Key: 'ThirdPartyReference', Value: accountReference(request.attemptId) }],
        },
        secrets: [this.#settings.passkey, written.password, url, ...secrets],
      },
      options,
    );
    return { result: readPushAnswer(result, now), exchanges };
  }

  async query(payment: PaymentQuery, options: CallOptions): Promise<Answer<PaymentOutcome>> {
    const notes = readNotes(payment.callbackNotes);
    let reference = readPaymentReference(payment.providerReference) ?? {};
    const told = pushNotes(notes).filter(
      ({ checkout }) => reference.checkout === undefined || checkout === reference.checkout,
    );
    if (told.length === 0 && confirmedReceipts(notes).length === 0 && this.#isRecent(reference)) {
      return { result: { kind: 'pending', providerReference: writeReference(reference) }, exchanges: [] };
    }
    const receipt = told.find(({ code }) => code === '0')?.receipt;
    // Later callbacks take the place of the note that gave the receipt.
    const known = receipt === undefined ? reference : { ...reference, receipt };
    const exchanges: RawExchange[] = [];
    const ask = async (subject: StatusSubject): Promise<Confirmation> => {
      const parts = this.#confirmation(payment.attemptId, payment.callbackToken);
      const answer = await confirmTransaction(parts, subject, reference.asked, notes, options);
      exchanges.push(...answer.exchanges);
      return answer.result;
    };
    if (receipt !== undefined)
      return { result: outcomeOf(await ask({ receipt }), known, told.at(-1)), exchanges };
    // Only the callback of the prompt gives its receipt. Any other may be of a payment beside it, so it can only pay: it needs the same amount.
    const { receipt: stored, others = [] } = reference;
    const given = new Set([...(stored === undefined ? [] : [stored]), ...confirmedReceipts(notes)]);
    for (const other of given) {
      if (others.includes(other)) continue;
      const state = await ask({ receipt: other });
      const isOfPrompt =
        state.kind === 'waiting' ||
        state.kind === 'open' ||
        (state.kind === 'completed' && sameDecimal(state.amount, payment.amount));
      // Only the latest queries are kept. So this receipt would otherwise be asked about again, in the place of a newer query.
      if (state.kind === 'completed' && !isOfPrompt) reference = withOther(reference, other);
      if (!isOfPrompt) continue;
      const result = outcomeOf(state, { ...reference, receipt: stored ?? other }, told.at(-1));
      return { result, exchanges };
    }
    if (told.length === 0 && this.#isRecent(reference))
      return { result: { kind: 'pending', providerReference: writeReference(reference) }, exchanges };
    const state = await ask({ conversation: payment.attemptId });
    return { result: outcomeOf(state, reference, told.at(-1)), exchanges };
  }

  async recover(): Promise<Answer<Recovery>> {
    const detail = 'Gatehouse queries this payment by its own request id, and M-Pesa answers by callback';
    return { result: unknown('not_found', detail), exchanges: [] };
  }

  parseCallback(callback: CallbackRequest): CallbackHint {
    return readCallback(callback, this.#secrets());
  }

  async reverse(request: ReversalRequest, options: CallOptions): Promise<Answer<Acknowledgement>> {
    return requestReversal(
      this.#confirmation(request.reversalId, request.callbackToken),
      request,
      options,
      request.reversalId,
    );
  }

  async queryReversal(reversal: ReversalQuery, options: CallOptions): Promise<Answer<ReversalOutcome>> {
    const parts = this.#confirmation(reversal.reversalId, reversal.callbackToken);
    return queryReversal(parts, reversal, options, reversal.reversalId);
  }

  statement(): AsyncIterable<StatementPage> {
    return noStatement('M-Pesa in Ethiopia');
  }

  async health(options: CallOptions): Promise<Answer<Health>> {
    return this.#client.health(options);
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  #isRecent({ at }: PaymentReference): boolean {
    return at !== undefined && Math.abs(this.#options.now().getTime() - at) < awaitCallbackMs;
  }

  /** The code of the official library and the sample in its documentation disagree about the form. */
  #password(timestamp: string): string {
    if (this.#settings.password_form !== 'sha256') return pushPassword(this.#payee, timestamp);
    const { shortCode, passkey } = this.#payee;
    const digest = createHash('sha256').update(`${shortCode}${passkey}${timestamp}`).digest('hex');
    return Buffer.from(digest).toString('base64');
  }

  #secrets(): readonly string[] {
    const { passkey, initiator_password: password, consumer_secret: secret } = this.#settings;
    return [passkey, password, secret];
  }

  #confirmation(requestId: string, callbackToken: string): ConfirmationParts {
    const { now } = this.#options;
    return { api: this.#api, address: this.#address(requestId, callbackToken), currency, now };
  }

  #address(requestId: string, callbackToken: string): ResultAddress {
    return {
      url: callbackUrl(this.#options.callbackBaseUrl(), requestId, callbackToken),
      secrets: [callbackToken, encodeURIComponent(callbackToken)],
    };
  }
}

/** The outcome by the status of the transaction. The callback's code only refines why a payment failed. */
function outcomeOf(
  state: Confirmation,
  reference: PaymentReference,
  told: PushNote | undefined,
): PaymentOutcome {
  switch (state.kind) {
    case 'completed':
      return completedOutcome(state);
    case 'ended':
      return failedOutcome(state.status, told);
    case 'open':
      return { kind: 'pending', providerReference: writeReference(reference) };
    case 'waiting':
      return {
        kind: 'pending',
        providerReference: writeReference({ ...reference, asked: [...state.asked] }),
      };
    case 'unanswered':
      return unknown('not_found', state.detail);
    case 'unknown':
      return state;
  }
}

function failedOutcome(status: string, told: PushNote | undefined): PaymentOutcome {
  const announced = judgePush(told?.code ?? '', '');
  if (announced.kind === 'declined' || announced.kind === 'timed_out') return announced;
  if (status === 'expired') return { kind: 'timed_out' };
  return { kind: 'declined', ...endedFailure(status) };
}
