import type { ConnectorOptions } from '../connector/connector-kind.ts';
import type {
  Acknowledgement,
  Health,
  PaymentOutcome,
  Recovery,
  ReversalOutcome,
} from '../connector/outcomes.ts';
import { isIdOfReversal } from '../connector/id-of-reversal.ts';
import type { Answer, ExchangePurpose, RawExchange } from '../connector/raw-exchange.ts';
import { noStatement } from '../connector/no-statement.ts';
import type {
  CallOptions,
  CallbackHint,
  CallbackRequest,
  PaymentQuery,
  PaymentRequest,
  ReversalQuery,
  ReversalRequest,
  StatementPage,
  WalletCapabilities,
  WalletConnector,
} from '../connector/wallet-connector.ts';
import { WalletHttp } from '../connector/wallet-http.ts';
import { MomoProduct } from './momo-product.ts';
import type { ProductCredentials } from './momo-product.ts';
import { readAcknowledgement, readPayment, readRecovery, readRefund, unknownAfter } from './read-answers.ts';
import { readCallback } from './read-callback.ts';
import { referenceId } from './reference-id.ts';
import { writePayment, writeRefund } from './write-requests.ts';
import type { WrittenRequest } from './write-requests.ts';

export interface MtnMomoParts {
  readonly baseUrl: string;
  readonly targetEnvironment: string;
  readonly collection: ProductCredentials;
  /** Refunds are another product, which a merchant may not have. */
  readonly disbursement: ProductCredentials | undefined;
  readonly providerCallbackHost: string | undefined;
}

/** The resources of the API: their product, and the path that creates one and whose children are queried. */
const resources = {
  requesttopay: { product: 'collection', path: 'v1_0/requesttopay' },
  refund: { product: 'disbursement', path: 'v1_0/refund' },
} as const;
type Resource = keyof typeof resources;

/** The stored form: the resource and its X-Reference-Id. */
const storedReference = (resource: Resource, requestId: string): string =>
  `${resource}/${referenceId(requestId)}`;

/** A wallet of MTN Mobile Money. Payments and refunds are named by their X-Reference-Id, which repeats cannot duplicate. */
export class MtnMomoConnector implements WalletConnector {
  readonly capabilities: WalletCapabilities;
  readonly #parts: MtnMomoParts;
  readonly #options: ConnectorOptions;
  readonly #http: WalletHttp;
  readonly #collection: MomoProduct;
  readonly #disbursement: MomoProduct | undefined;

  constructor(parts: MtnMomoParts, capabilities: WalletCapabilities, options: ConnectorOptions) {
    const { timeouts, lookup, maxConnections, now } = options;
    this.capabilities = capabilities;
    this.#parts = parts;
    this.#options = options;
    this.#http = new WalletHttp({ connectMs: timeouts.connectMs, lookup, maxConnections }, now);
    const product = (name: 'collection' | 'disbursement', credentials: ProductCredentials) => {
      const { baseUrl, targetEnvironment } = parts;
      const settings = { name, baseUrl, targetEnvironment, credentials, callMs: timeouts.callMs };
      return new MomoProduct(settings, this.#http, now);
    };
    this.#collection = product('collection', parts.collection);
    this.#disbursement =
      parts.disbursement === undefined ? undefined : product('disbursement', parts.disbursement);
  }

  async initiate(request: PaymentRequest, options: CallOptions): Promise<Answer<Acknowledgement>> {
    const written = writePayment(request, this.#options.currencies);
    const { attemptId, callbackToken } = request;
    return this.#submit('initiate', 'requesttopay', attemptId, callbackToken, written, options);
  }

  async reverse(request: ReversalRequest, options: CallOptions): Promise<Answer<Acknowledgement>> {
    const { reversalId, callbackToken } = request;
    return this.#submit('reverse', 'refund', reversalId, callbackToken, writeRefund(request), options);
  }

  async query(payment: PaymentQuery, options: CallOptions): Promise<Answer<PaymentOutcome>> {
    const { attemptId } = payment;
    const { result, exchanges } = await this.#get('query', 'requesttopay', attemptId, options);
    return { result: readPayment(result, attemptId), exchanges };
  }

  async queryReversal(reversal: ReversalQuery, options: CallOptions): Promise<Answer<ReversalOutcome>> {
    const { reversalId } = reversal;
    const { result, exchanges } = await this.#get('query_reversal', 'refund', reversalId, options);
    return { result: readRefund(result, reversalId), exchanges };
  }

  /** An id of an attempt is a payment, and an id of a reversal a refund. A plain UUID can be either. */
  async recover(requestId: string, options: CallOptions): Promise<Answer<Recovery>> {
    const exchanges: RawExchange[] = [];
    const isAttempt = requestId.startsWith('pat_');
    const isReversal = isIdOfReversal(requestId);
    const candidates: Resource[] = [
      ...(isReversal ? [] : (['requesttopay'] as const)),
      ...(isAttempt || this.#disbursement === undefined ? [] : (['refund'] as const)),
    ];
    for (const resource of candidates) {
      const { result: reply, exchanges: made } = await this.#get('recover', resource, requestId, options);
      exchanges.push(...made);
      const result = readRecovery(reply, requestId, storedReference(resource, requestId));
      if (result.kind !== 'not_found') return { result, exchanges };
    }
    return { result: { kind: 'not_found' }, exchanges };
  }

  parseCallback(callback: CallbackRequest): CallbackHint {
    const { collection, disbursement } = this.#parts;
    return readCallback(callback, [
      collection.subscriptionKey,
      collection.apiKey,
      disbursement?.subscriptionKey ?? '',
      disbursement?.apiKey ?? '',
    ]);
  }

  /** Reconciliation is by hand: the portal's report shows `externalId`, which is our id. */
  statement(): AsyncIterable<StatementPage> {
    return noStatement('MTN MoMo');
  }

  /** MTN has no health endpoint. The balance needs valid credentials and moves no money. */
  async health(options: CallOptions): Promise<Answer<Health>> {
    const request = { purpose: 'health', path: 'v1_0/account/balance' } as const;
    const { result: reply, exchanges } = await this.#collection.call(request, this.#limit(options));
    if (reply.kind !== 'answered')
      return { result: { kind: 'unavailable', detail: reply.detail }, exchanges };
    const isBalance =
      reply.status === 200 &&
      reply.body.ok &&
      typeof reply.body.json === 'object' &&
      reply.body.json !== null &&
      'availableBalance' in reply.body.json;
    if (!isBalance) {
      const detail = reply.status === 200 ? 'the answer is not a balance' : unknownAfter(reply).detail;
      return { result: { kind: 'unavailable', detail }, exchanges };
    }
    const { providerCallbackHost: registered } = this.#parts;
    const { callbackBaseUrl, callbackHost = () => new URL(callbackBaseUrl()).hostname } = this.#options;
    const ours = callbackHost();
    if (registered === undefined || ours === undefined || registered === ours)
      return { result: { kind: 'available' }, exchanges };
    const detail = `MTN sends callbacks to ${registered} only, and ours is ${ours}: payments are found by polling`;
    return { result: { kind: 'degraded', detail }, exchanges };
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #submit(
    purpose: ExchangePurpose,
    resource: Resource,
    requestId: string,
    callbackToken: string,
    written: WrittenRequest,
    options: CallOptions,
  ): Promise<Answer<Acknowledgement>> {
    const { product: name, path } = resources[resource];
    const product = name === 'collection' ? this.#collection : this.#disbursement;
    if (product === undefined) return { result: noRefunds, exchanges: [] };
    if (!written.ok) return { result: { kind: 'refused', ...written.failure }, exchanges: [] };
    const post = {
      body: written.body,
      referenceId: referenceId(requestId),
      callbackUrl: this.#callbackUrl(requestId, callbackToken),
      callbackToken,
    };
    const { result, exchanges } = await product.call({ purpose, path, post }, this.#limit(options));
    const request = resource === 'refund' ? 'refund' : 'payment';
    return { result: readAcknowledgement(request, result, storedReference(resource, requestId)), exchanges };
  }

  async #get(purpose: ExchangePurpose, resource: Resource, requestId: string, options: CallOptions) {
    const { product: name, path } = resources[resource];
    const product = name === 'collection' ? this.#collection : this.#disbursement;
    if (product === undefined) {
      const reply = { kind: 'not_sent', why: 'no_token', detail: noRefunds.providerText } as const;
      return { result: reply, exchanges: [] };
    }
    return product.call({ purpose, path: `${path}/${referenceId(requestId)}` }, this.#limit(options));
  }

  /** MTN refuses a payment whose callback URL has another host than the registered one. */
  #callbackUrl(requestId: string, token: string): string | undefined {
    const base = this.#options.callbackBaseUrl().replace(/\/+$/, '');
    const { providerCallbackHost: registered } = this.#parts;
    if (registered !== undefined && registered !== new URL(base).hostname) return undefined;
    return `${base}/${encodeURIComponent(requestId)}/${encodeURIComponent(token)}`;
  }

  #limit({ signal }: CallOptions): AbortSignal {
    return AbortSignal.any([signal, AbortSignal.timeout(this.#options.timeouts.callMs)]);
  }
}

const noRefunds = {
  kind: 'refused',
  reason: 'merchant_config',
  providerCode: '',
  providerText: 'refunds need the credentials of the Disbursement product, which are not configured',
} as const;
