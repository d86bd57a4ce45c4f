import { directTexts, explanationTexts, orderTexts, refundTexts, registeredTexts } from './answer-texts.ts';
import { call } from './http.ts';
import type { Call, CallOptions } from './http.ts';
import { pause } from './retries.ts';
import { connectionOf } from './settings.ts';
import type { Connection, GatehouseSettings } from './settings.ts';
import type {
  DirectPayment,
  DirectPaymentRequest,
  Environment,
  OrderExplanation,
  PaymentOrder,
  Refund,
  RefundRequest,
  RegisteredOrder,
  RegisterRequest,
} from './types.ts';

export interface CreateOptions extends CallOptions {
  /**
   * Sent as Idempotency-Key: a new one for each call by default. Give one that you have stored to get the same answer, byte for
   * byte, from a repeat within 24 hours.
   */
  readonly idempotencyKey?: string;
}

export interface WaitOptions extends CallOptions {
  /** The time to wait: 60 by default. */
  readonly timeoutSeconds?: number;
}

/** The longest wait of one request that the gateway accepts. */
const longestWaitSeconds = 30;
/** The pauses between requests to a gateway that does not wait. */
const firstPollMs = 500;
const longestPollMs = 5_000;

/**
 * A client of the merchant API of one environment.
 *
 * Requests without an answer, 5xx, and 429 with a short Retry-After are repeated. That is safe, because the numbers of orders
 * and refunds identify them: a repeat never charges or refunds twice.
 */
export class Gatehouse {
  readonly environment: Environment;
  readonly #connection: Connection;

  /** @throws ConfigurationError when a setting is unusable */
  constructor(settings: GatehouseSettings) {
    this.#connection = connectionOf(settings);
    this.environment = this.#connection.environment;
  }

  /** Registers an order, and gives the URL of its checkout page. */
  async register(order: RegisterRequest, options: CreateOptions = {}): Promise<RegisteredOrder> {
    const request = { path: '/api/v1/register', body: order, texts: registeredTexts };
    return (await this.#create(request, options)) as RegisteredOrder;
  }

  /** Starts a direct payment: the customer gets a prompt on the phone. */
  async direct(payment: DirectPaymentRequest, options: CreateOptions = {}): Promise<DirectPayment> {
    const { payment_option: option, ...body } = payment;
    const path = `/api/v1/direct?${new URLSearchParams({ payment_option: option }).toString()}`;
    const request = { path, body, isWholeBody: true, texts: directTexts };
    return (await this.#create(request, options)) as DirectPayment;
  }

  /** Gives the order as it stands. @throws NotFoundError when you have no such order */
  async verify(orderNumber: string, options: CallOptions = {}): Promise<PaymentOrder> {
    return (await this.#verify(orderNumber, 0, options)).order;
  }

  /**
   * Gives the order as soon as it has left PENDING, or as it stands after `timeoutSeconds`. The gateway holds the request
   * until then, so the outcome arrives at once. A gateway that fails meanwhile is asked again only until then.
   *
   * @throws NotFoundError when you have no such order
   */
  async wait(orderNumber: string, options: WaitOptions = {}): Promise<PaymentOrder> {
    const { timeoutSeconds = 60, ...rest } = options;
    const endMs = performance.now() + timeoutSeconds * 1000;
    for (let polls = 0; ; polls += 1) {
      const leftSeconds = Math.max(0, Math.ceil((endMs - performance.now()) / 1000));
      const { order, hasWaited } = await this.#verify(
        orderNumber,
        Math.min(longestWaitSeconds, leftSeconds),
        rest,
        endMs,
      );
      const leftMs = endMs - performance.now();
      if (order.status !== 'PENDING' || leftMs <= 0) return order;
      const pollMs = hasWaited ? firstPollMs : Math.min(longestPollMs, firstPollMs * 2 ** polls);
      await pause(Math.min(pollMs * (0.5 + Math.random() / 2), leftMs), rest.signal);
    }
  }

  /**
   * Tells what the order waits for, who can change that, and what comes next and when. It is for people and their tools.
   *
   * @throws NotFoundError when you have no such order
   */
  async explain(orderNumber: string, options: CallOptions = {}): Promise<OrderExplanation> {
    const request = { path: '/api/v1/explain', body: { order_number: orderNumber }, texts: explanationTexts };
    return (await call(this.#connection, { ...options, ...request })).result as OrderExplanation;
  }

  /** Returns money of a COMPLETED order to the customer. The key needs the scope for refunds. */
  async refund(refund: RefundRequest, options: CreateOptions = {}): Promise<Refund> {
    const request = { path: '/api/v1/refund', body: refund, texts: refundTexts };
    return (await this.#create(request, options)) as Refund;
  }

  /** Gives the refund as it stands. @throws NotFoundError when you have no such refund */
  async verifyRefund(refundNumber: string, options: CallOptions = {}): Promise<Refund> {
    const request = {
      path: '/api/v1/refund/verify',
      body: { refund_number: refundNumber },
      texts: refundTexts,
    };
    return (await call(this.#connection, { ...options, ...request })).result as Refund;
  }

  async #create(request: Call, { idempotencyKey, ...options }: CreateOptions) {
    const headers = { 'idempotency-key': idempotencyKey ?? crypto.randomUUID() };
    return (await call(this.#connection, { ...options, ...request, headers })).result;
  }

  async #verify(orderNumber: string, waitSeconds: number, options: CallOptions, endMs?: number) {
    const { result, headers } = await call(this.#connection, {
      ...options,
      path: '/api/v1/verify',
      body: { order_number: orderNumber },
      texts: orderTexts,
      headers: waitSeconds === 0 ? {} : { prefer: `wait=${waitSeconds}` },
      waitSeconds,
      ...(endMs === undefined ? {} : { endMs }),
    });
    return { order: result as PaymentOrder, hasWaited: headers.has('preference-applied') };
  }
}
