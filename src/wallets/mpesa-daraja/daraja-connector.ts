import type { ConnectorOptions } from '../connector/connector-kind.ts';
import type {
  Acknowledgement,
  Health,
  PaymentOutcome,
  Recovery,
  ReversalOutcome,
} from '../connector/outcomes.ts';
import type { Answer, RawExchange } from '../connector/raw-exchange.ts';
import type {
  CallOptions,
  CallbackHint,
  CallbackRequest,
  PayerStartedQuery,
  PayerStartedPayments,
  PaymentQuery,
  PaymentRequest,
  ReversalQuery,
  ReversalRequest,
  StatementPage,
  StatementPeriod,
  WalletCapabilities,
  WalletConnector,
} from '../connector/wallet-connector.ts';
import { sameDecimal } from '../../contract/decimal-text.ts';
import { callbackUrl } from './callback-url.ts';
import {
  completedOutcome,
  confirmReceipt,
  confirmTransaction,
  contradiction,
  paidBeside,
} from './confirm-payment.ts';
import type { ConfirmationParts } from './confirm-payment.ts';
import { darajaCapabilities } from './daraja-capabilities.ts';
import type { DarajaSettings } from './daraja-settings.ts';
import { compactTime } from './eat-time.ts';
import { InitiatorApi, initiatorOf } from './initiator-api.ts';
import type { ResultAddress } from './initiator-api.ts';
import { MpesaClient } from './mpesa-client.ts';
import { unknown } from './mpesa-error.ts';
import type { Note } from './notes.ts';
import { confirmedReceipts, pushNotes, readNotes } from './notes.ts';
import { payerStartedPayments } from './payer-started.ts';
import { findInStatement, readPullStatement } from './pull-statement.ts';
import { readPushAnswer, readPushState } from './read-push.ts';
import { readCallback } from './read-callback.ts';
import { readPaymentReference, withOther, withReceipts, writeReference } from './references.ts';
import type { PaymentReference } from './references.ts';
import type { PushResult } from './result-codes.ts';
import { requestReversal } from './request-reversal.ts';
import { queryReversal } from './reversals.ts';
import { payeeOf, pushPassword, writePush } from './write-push.ts';
import type { Payee } from './write-push.ts';

const currency = 'KES';
const dialect = {
  statusPath: '/mpesa/transactionstatus/v1/query',
  reversalPath: '/mpesa/reversal/v1/request',
  reversalIdentifierType: '11',
};

/**
 * M-Pesa in Kenya, with the Daraja API.
 *
 * A payment is completed when our query says that it was made, and our status query about its receipt confirms status and
 * amount. Only the callback, or the statement if it is granted, gives the receipt. The answer to the status query comes by
 * callback too, and counts only with the conversation id that M-Pesa acknowledged to us.
 */
export class DarajaConnector implements WalletConnector {
  readonly capabilities: WalletCapabilities;
  readonly payerStarted: PayerStartedPayments;
  readonly #settings: DarajaSettings;
  readonly #options: ConnectorOptions;
  readonly #client: MpesaClient;
  readonly #payee: Payee;
  readonly #api: InitiatorApi;

  /** @throws TypeError that names an unusable setting */
  constructor(settings: DarajaSettings, options: ConnectorOptions) {
    this.#settings = settings;
    this.#options = options;
    this.#client = new MpesaClient(settings, '/oauth/v1/generate', options);
    this.#payee = payeeOf(settings);
    this.#api = new InitiatorApi(this.#client, initiatorOf(settings), dialect);
    const pull = settings.pull === true;
    this.capabilities = { ...darajaCapabilities, statement: pull, recovery: pull };
    this.payerStarted = payerStartedPayments({
      client: this.#client,
      settings,
      currency,
      secrets: this.#secrets(),
      registration: { path: '/mpesa/c2b/v2/registerurl' },
      confirm: (query, callOptions) => this.#confirmPayerStarted(query, callOptions),
    });
  }

  async initiate(request: PaymentRequest, options: CallOptions): Promise<Answer<Acknowledgement>> {
    const { url, secrets } = this.#address(request.attemptId, request.callbackToken);
    const now = this.#options.now();
    const rules = {
      currencies: this.#options.currencies.filter((code) => code === currency),
      msisdn: /^254[17][0-9]{8}$/,
      wallet: 'M-Pesa in Kenya',
    };
    const written = writePush(this.#payee, rules, request, {
      url,
      now,
      password: (timestamp) => pushPassword(this.#payee, timestamp),
    });
    if (!written.ok) return { result: { kind: 'refused', ...written.failure }, exchanges: [] };
    const { result, exchanges } = await this.#client.post(
      {
        purpose: 'initiate',
        path: '/mpesa/stkpush/v1/processrequest',
        body: written.body,
        secrets: [this.#settings.passkey, written.password, url, ...secrets],
      },
      options,
    );
    return { result: readPushAnswer(result, now), exchanges };
  }

  async query(payment: PaymentQuery, options: CallOptions): Promise<Answer<PaymentOutcome>> {
    const notes = readNotes(payment.callbackNotes);
    const known = referenceOf(payment, notes);
    if (known === undefined) {
      const detail = 'the answer to the request was lost, and no callback has given its id yet';
      return { result: unknown('not_found', detail), exchanges: [] };
    }
    const reference = withReceipts(known, receiptsIn(notes, known));
    if (reference.paid === true || reference.checkout === undefined) {
      return this.#confirm(payment, reference, notes, options);
    }
    const { result: state, exchanges } = await this.#queryPush(reference.checkout, options);
    if (state.kind === 'pending') {
      return { result: { kind: 'pending', providerReference: writeReference(reference) }, exchanges };
    }
    if (state.kind !== 'paid') return { result: state, exchanges };
    const paid = { ...reference, paid: true as const };
    const confirmed = await this.#confirm(payment, paid, notes, options);
    // The finding is recorded even when nothing more is known yet.
    const result: PaymentOutcome =
      confirmed.result.kind === 'unknown'
        ? { kind: 'pending', providerReference: writeReference(paid) }
        : confirmed.result;
    return { result, exchanges: [...exchanges, ...confirmed.exchanges] };
  }

  /** Finds a payment request whose answer was lost, if the statement is granted. */
  async recover(requestId: string, options: CallOptions): Promise<Answer<Recovery>> {
    if (!this.capabilities.recovery) {
      return { result: unknown('not_found', 'Daraja finds no request by our id'), exchanges: [] };
    }
    const { result, exchanges } = await findInStatement(this.#statementParts(), requestId, options);
    if (result.kind !== 'found') return { result, exchanges };
    return {
      result: { kind: 'found', providerReference: writeReference({ receipt: result.receipt }) },
      exchanges,
    };
  }

  parseCallback(callback: CallbackRequest): CallbackHint {
    return readCallback(callback, this.#secrets());
  }

  async reverse(request: ReversalRequest, options: CallOptions): Promise<Answer<Acknowledgement>> {
    return requestReversal(this.#confirmation(request.reversalId, request.callbackToken), request, options);
  }

  async queryReversal(reversal: ReversalQuery, options: CallOptions): Promise<Answer<ReversalOutcome>> {
    return queryReversal(this.#confirmation(reversal.reversalId, reversal.callbackToken), reversal, options);
  }

  statement(period: StatementPeriod, options: CallOptions): AsyncIterable<StatementPage> {
    return readPullStatement(this.#statementParts(), period, options);
  }

  async health(options: CallOptions): Promise<Answer<Health>> {
    return this.#client.health(options);
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  /**
   * Asks for the receipt's status, and judges its answer. Another receipt is tried if the first is not of this payment: first those that
   * callbacks gave, and then those of the statement. M-Pesa debits exactly the requested amount. So a receipt of another amount that only
   * names the attempt's account reference is another payment, which the payer made beside the prompt. It is recorded as such, so that it is
   * not asked about again. Only the latest queries are kept, and a repeated query would take the place of a newer one.
   */
  async #confirm(
    payment: PaymentQuery,
    stored: PaymentReference,
    notes: readonly Note[],
    options: CallOptions,
  ): Promise<Answer<PaymentOutcome>> {
    let reference = stored;
    const exchanges: RawExchange[] = [];
    let last: PaymentOutcome = unknown(
      'not_found',
      'the wallet says the payment was made, but no callback has given its receipt; look it up in the M-Pesa portal',
    );
    const { ofPrompt, tried, left } = receiptsToTry(notes, reference);
    for (;;) {
      const receipt =
        left.values().next().value ?? (await this.#otherReceipt(payment, tried, exchanges, options));
      if (receipt === undefined) return { result: last, exchanges };
      left.delete(receipt);
      tried.add(receipt);
      const parts = this.#confirmation(payment.attemptId, payment.callbackToken);
      const state = await confirmTransaction(parts, { receipt }, reference.asked, notes, options);
      exchanges.push(...state.exchanges);
      switch (state.result.kind) {
        case 'completed': {
          const { amount } = state.result;
          if (ofPrompt.includes(receipt) || sameDecimal(amount, payment.amount))
            return { result: completedOutcome(state.result), exchanges };
          last = paidBeside(receipt, amount);
          reference = withOther(reference, receipt);
          break;
        }
        case 'waiting': {
          const providerReference = writeReference({ ...reference, asked: [...state.result.asked] });
          return { result: { kind: 'pending', providerReference }, exchanges };
        }
        case 'open':
          return { result: { kind: 'pending', providerReference: writeReference(reference) }, exchanges };
        case 'unknown':
          return { result: state.result, exchanges };
        case 'ended':
          last = contradiction(receipt, state.result.status);
          break;
        case 'unanswered':
          last = unknown('inconsistent', state.result.detail);
          break;
      }
    }
  }

  /** The first receipt of the payment in the statement that was not tried. Adds the exchanges to those of the query. */
  async #otherReceipt(
    { attemptId }: PaymentQuery,
    tried: ReadonlySet<string>,
    exchanges: RawExchange[],
    options: CallOptions,
  ): Promise<string | undefined> {
    if (!this.capabilities.statement) return undefined;
    const found = await findInStatement(this.#statementParts(), attemptId, options, tried);
    exchanges.push(...found.exchanges);
    return found.result.kind === 'found' ? found.result.receipt : undefined;
  }

  async #queryPush(checkout: string, options: CallOptions): Promise<Answer<PushResult>> {
    const timestamp = compactTime(this.#options.now());
    const password = pushPassword(this.#payee, timestamp);
    const { result, exchanges } = await this.#client.post(
      {
        purpose: 'query',
        path: '/mpesa/stkpushquery/v1/query',
        body: {
          BusinessShortCode: this.#payee.shortCode,
          Password: password,
          Timestamp: timestamp,
          CheckoutRequestID: checkout,
        },
        secrets: [this.#settings.passkey, password],
      },
      options,
    );
    return { result: readPushState(result, checkout), exchanges };
  }

  async #confirmPayerStarted(
    query: PayerStartedQuery,
    options: CallOptions,
  ): Promise<Answer<PaymentOutcome>> {
    const { paymentId, providerTransactionId: receipt, callbackToken, callbackNotes } = query;
    const reference = readPaymentReference(query.providerReference);
    return confirmReceipt(
      this.#confirmation(paymentId, callbackToken),
      { receipt, reference, notes: readNotes(callbackNotes) },
      options,
    );
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

  #statementParts() {
    const { short_code: shortCode } = this.#settings;
    return {
      client: this.#client,
      shortCode,
      currency,
      now: this.#options.now,
      isGranted: this.capabilities.statement,
    };
  }
}

/** The receipts that callbacks of the payment request gave. */
const pushReceipts = (notes: readonly Note[], { checkout }: PaymentReference): readonly string[] =>
  pushNotes(notes).flatMap((note) =>
    note.checkout === checkout && note.code === '0' && note.receipt !== undefined ? [note.receipt] : [],
  );

/** The receipts that callbacks gave for the payment. */
const receiptsIn = (notes: readonly Note[], reference: PaymentReference): readonly string[] => [
  ...pushReceipts(notes, reference),
  ...confirmedReceipts(notes),
];

/** The receipts of the prompt, those that belong to other payments, and those that are left to try, in this order. */
function receiptsToTry(notes: readonly Note[], reference: PaymentReference) {
  const { receipt: first, receipts = [], others = [] } = reference;
  const ofPrompt = pushReceipts(notes, reference);
  const tried = new Set(others.filter((other) => !ofPrompt.includes(other)));
  const known = [...(first === undefined ? [] : [first]), ...receipts, ...receiptsIn(notes, reference)];
  return { ofPrompt, tried, left: new Set(known.filter((receipt) => !tried.has(receipt))) };
}

/** After a lost answer, the callback gives the id of the request, and a confirmation gives the receipt. */
function referenceOf(payment: PaymentQuery, notes: readonly Note[]): PaymentReference | undefined {
  const stored = readPaymentReference(payment.providerReference);
  const [note] = pushNotes(notes);
  if (stored?.checkout === undefined && note !== undefined) return { ...stored, checkout: note.checkout };
  if (stored !== undefined) return stored;
  const [receipt] = confirmedReceipts(notes);
  return receipt === undefined ? undefined : { receipt };
}
