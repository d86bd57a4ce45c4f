import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { CallOptions, Client } from '@connectrpc/connect';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Checkout, CheckoutService } from '../gen/gatehouse/v1/checkout_service_pb.js';
import type { Order } from '../gen/gatehouse/v1/order_pb.js';
import { atMost } from '../platform/at-most.ts';
import { PageProblem } from './page-problem.ts';
import type { FormFailure } from './payment-form.ts';
import { logFacts } from './request-log.ts';
import { failureOfRpc } from './rpc-failure.ts';
import type { CheckoutFailure } from './rpc-failure.ts';
import type { CountUnknownLink } from './unknown-link-limit.ts';

/** The deadline of a call, for which a customer waits. */
const deadlineMs = 10_000;

const maxKnown = 10_000;

/** At least 256 bits in base64url, and at most the length that the router accepts. Core is not called for other texts. */
const tokenForm = /^[A-Za-z0-9_-]{43,100}$/;

/** Access to core's checkouts for the routes. */
export interface CheckoutAccess {
  /** The token in the request's path. @throws PageProblem when the path has no token of the right form */
  readonly tokenOf: (request: FastifyRequest) => string;
  /** @throws PageProblem when there is no checkout, or core cannot answer */
  readonly get: (request: FastifyRequest, browserSecret: string) => Promise<OpenCheckout>;
  /** The same without the merchant's name and contact, payment options and paybills. It costs core a fraction. @throws PageProblem */
  readonly getStatus: (request: FastifyRequest, browserSecret: string) => Promise<OpenCheckout>;
  /** Asks core about the link of a form, unless core has known it before. @throws PageProblem when there is no checkout, or core cannot answer */
  readonly requireKnown: (request: FastifyRequest, browserSecret: string) => Promise<void>;
  /**
   * Calls core. Returns a failure that the form can show. An unknown link, and a core that cannot answer, are thrown. `onUnanswered` runs before
   * that. @throws PageProblem
   */
  readonly change: (
    request: FastifyRequest,
    call: (
      client: Client<typeof CheckoutService>,
      options: CallOptions,
    ) => Promise<{ checkout?: Checkout | undefined }>,
    onUnanswered?: () => Promise<void>,
  ) => Promise<FormFailure | 'done'>;
}

export interface OpenCheckout {
  readonly checkout: Checkout;
  readonly order: Order;
  /** The time of core's clock, which the order's times follow. This machine's clock may be wrong. */
  readonly nowMs: number;
}

export function accessCheckouts(
  client: Client<typeof CheckoutService>,
  countUnknownLink: CountUnknownLink,
  now: () => Date,
): CheckoutAccess {
  /** The tokens that core has known. */
  const known = new LRUCache<string, true>(atMost(maxKnown));
  const optionsOf = (request: FastifyRequest): CallOptions => ({
    timeoutMs: deadlineMs,
    headers: { 'x-request-id': request.id },
  });
  /** The page for a failure. An unknown link also counts against the address. */
  const countProblem = async (
    failure: CheckoutFailure,
    request: FastifyRequest,
    cause: unknown,
  ): Promise<PageProblem> => {
    const { reason, retryAfterSeconds } = failure;
    if (failure.kind !== 'unknown_link') {
      return new PageProblem('unavailable', reason, { cause, retryAfterSeconds: retryAfterSeconds ?? 5 });
    }
    const waitSeconds = await countUnknownLink(request.ip);
    if (waitSeconds === undefined) return new PageProblem('unknownLink', reason);
    return new PageProblem('tooManyRequests', 'UNKNOWN_LINKS', { retryAfterSeconds: waitSeconds });
  };
  const tokenOf = ({ params }: FastifyRequest): string => {
    const token = (params as { readonly token?: string }).token ?? '';
    if (!tokenForm.test(token)) throw new PageProblem('unknownLink', 'MALFORMED_TOKEN');
    return token;
  };
  const read = async (
    request: FastifyRequest,
    asked: { readonly browserSecret: string; readonly statusOnly: boolean },
  ): Promise<OpenCheckout> => {
    try {
      const token = tokenOf(request);
      const { checkout } = await client.getCheckout({ token, ...asked }, optionsOf(request));
      known.set(token, true);
      const open = openCheckoutOf(checkout, now);
      logCheckout(request, open);
      return open;
    } catch (thrown) {
      throw thrown instanceof PageProblem
        ? thrown
        : await countProblem(failureOfRpc(thrown), request, thrown);
    }
  };
  return {
    tokenOf,
    get: (request, browserSecret) => read(request, { browserSecret, statusOnly: false }),
    getStatus: (request, browserSecret) => read(request, { browserSecret, statusOnly: true }),
    requireKnown: async (request, browserSecret) => {
      if (!known.has(tokenOf(request))) await read(request, { browserSecret, statusOnly: true });
    },
    change: async (request, call, onUnanswered) => {
      try {
        const { checkout } = await call(client, optionsOf(request));
        logCheckout(request, openCheckoutOf(checkout, now));
        return 'done';
      } catch (thrown) {
        const failure = failureOfRpc(thrown);
        const { kind } = failure;
        if (kind === 'unavailable' || kind === 'unknown_link') {
          await onUnanswered?.();
          throw await countProblem(failure, request, thrown);
        }
        logFacts(request, { reason: failure.reason });
        return { ...failure, kind };
      }
    },
  };
}

function openCheckoutOf(checkout: Checkout | undefined, now: () => Date): OpenCheckout {
  if (checkout?.order === undefined) throw new TypeError('core answered without a checkout or its order');
  // A core of the previous version does not send its time.
  const nowMs = checkout.readTime === undefined ? now().getTime() : timestampMs(checkout.readTime);
  return { checkout, order: checkout.order, nowMs };
}

function logCheckout(request: FastifyRequest, { order }: OpenCheckout): void {
  logFacts(request, { orderId: order.orderId, merchantId: order.merchantId });
}
