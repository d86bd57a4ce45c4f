import { canonicalDecimal } from '../../contract/decimal-text.ts';
import type { ConnectorOptions } from '../connector/connector-kind.ts';
import type { Failure } from '../connector/failure-reason.ts';
import type {
  Acknowledgement,
  Health,
  PaymentOutcome,
  Recovery,
  ReversalOutcome,
} from '../connector/outcomes.ts';
import type { Answer } from '../connector/raw-exchange.ts';
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
import { FabricClient } from './fabric-client.ts';
import type { TelebirrParts } from './fabric-client.ts';
import { telebirrId } from './telebirr-id.ts';
import { isIdOfReversal } from '../connector/id-of-reversal.ts';
import { queryOrder } from './query-order.ts';
import { readPayment, readPreOrder, readRecovery } from './read-answers.ts';
import { readNotification } from './read-notification.ts';
import { queryRefund, requestRefund } from './refunds.ts';
import { titleOf } from './title.ts';

/**
 * telebirr by its Fabric gateway. The next action of every payment is telebirr's page, which the payer opens. If the page's
 * address was lost, the payment cannot be paid, and ends when telebirr closes its order.
 */
export class TelebirrConnector implements WalletConnector {
  readonly capabilities: WalletCapabilities;
  readonly #parts: TelebirrParts;
  readonly #options: ConnectorOptions;
  readonly #http: WalletHttp;
  readonly #client: FabricClient;

  constructor(parts: TelebirrParts, capabilities: WalletCapabilities, options: ConnectorOptions) {
    const { timeouts, lookup, maxConnections, now } = options;
    this.capabilities = capabilities;
    this.#parts = parts;
    this.#options = options;
    const { extraCertificates } = parts;
    this.#http = new WalletHttp(
      {
        connectMs: timeouts.connectMs,
        lookup,
        maxConnections,
        ...(extraCertificates === undefined ? {} : { extraCertificates }),
      },
      now,
    );
    this.#client = new FabricClient(parts, this.#http, timeouts.callMs, now);
  }

  async initiate(request: PaymentRequest, options: CallOptions): Promise<Answer<Acknowledgement>> {
    const { attemptId, callbackToken, currency } = request;
    const failure = this.#unpayable(request);
    if (failure !== undefined) return { result: { kind: 'refused', ...failure }, exchanges: [] };
    const order = telebirrId(attemptId);
    const call = {
      purpose: 'initiate',
      method: 'payment.preorder',
      path: 'merchant/preOrder',
      content: {
        notify_url: this.#callbackUrl(attemptId, callbackToken),
        redirect_url: request.returnUrl,
        merch_order_id: order,
        trade_type: 'Checkout',
        title: titleOf(request.description),
        total_amount: canonicalDecimal(request.amount),
        trans_currency: currency,
        timeout_express: `${this.#parts.paymentMinutes}m`,
        business_type: 'BuyGoods',
      },
      // The customer returns to the checkout, whose address is never stored: it opens the checkout.
      secrets: [callbackToken, ...(request.returnUrl === undefined ? [] : [request.returnUrl])],
    } as const;
    const { result: reply, exchanges } = await this.#client.call(call, this.#limit(options));
    const read = readPreOrder(reply, order);
    if (read.kind !== 'created') return { result: read, exchanges };
    const nextAction = { kind: 'redirect', url: this.#client.checkoutPage(read.prepayId) } as const;
    return { result: { kind: 'accepted', providerReference: order, queryNow: false, nextAction }, exchanges };
  }

  async query(payment: PaymentQuery, options: CallOptions): Promise<Answer<PaymentOutcome>> {
    const order = telebirrId(payment.attemptId);
    const { result, exchanges } = await queryOrder(this.#client, 'query', order, this.#limit(options));
    return { result: readPayment(result, order), exchanges };
  }

  /**
   * Finds the order of an attempt. telebirr has no query by the number of a refund. Its documented way to ask is the same request
   * with the same number. `reverse` queries the order before it sends one.
   */
  async recover(requestId: string, options: CallOptions): Promise<Answer<Recovery>> {
    if (isIdOfReversal(requestId)) return { result: { kind: 'not_found' }, exchanges: [] };
    const order = telebirrId(requestId);
    const { result, exchanges } = await queryOrder(this.#client, 'recover', order, this.#limit(options));
    return { result: readRecovery(result, order), exchanges };
  }

  parseCallback(callback: CallbackRequest): CallbackHint {
    return readNotification(callback, this.#parts.telebirrPublicKey, [this.#parts.appSecret]);
  }

  /** Refunds a payment or a part of it. */
  async reverse(request: ReversalRequest, options: CallOptions): Promise<Answer<Acknowledgement>> {
    return requestRefund(this.#client, request, this.#limit(options));
  }

  async queryReversal(reversal: ReversalQuery, options: CallOptions): Promise<Answer<ReversalOutcome>> {
    return queryRefund(this.#client, reversal, this.#limit(options));
  }

  statement(): AsyncIterable<StatementPage> {
    return noStatement('telebirr');
  }

  /** telebirr has no health endpoint. A token needs valid credentials. */
  async health(options: CallOptions): Promise<Answer<Health>> {
    const fetched = await this.#client.fetchToken('health', this.#limit(options));
    const exchanges = [fetched.exchange];
    if (fetched.kind === 'token') return { result: { kind: 'available' }, exchanges };
    return { result: { kind: 'unavailable', detail: fetched.detail }, exchanges };
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  /** Why this wallet cannot take the payment at all. */
  #unpayable({ channel, currency, amount }: PaymentRequest): Failure | undefined {
    const because = (reason: Failure['reason'], providerText: string): Failure => ({
      reason,
      providerCode: '',
      providerText,
    });
    if (channel !== 'wallet_app') {
      return because(
        'merchant_config',
        'telebirr has no USSD prompt, because the payer opens its page; set channels to ["wallet"]',
      );
    }
    if (!this.#options.currencies.includes(currency)) {
      return because('merchant_config', `this wallet is not configured for ${currency}`);
    }
    const decimal = canonicalDecimal(amount);
    if (decimal === undefined || decimal === '0' || (decimal.split('.')[1] ?? '').length > 2) {
      return because('invalid_request', 'telebirr takes positive amounts with at most two decimals');
    }
    return undefined;
  }

  #callbackUrl(requestId: string, token: string): string {
    const base = this.#options.callbackBaseUrl().replace(/\/+$/, '');
    return `${base}/${encodeURIComponent(requestId)}/${encodeURIComponent(token)}`;
  }

  #limit({ signal }: CallOptions): AbortSignal {
    return AbortSignal.any([signal, AbortSignal.timeout(this.#options.timeouts.callMs)]);
  }
}
