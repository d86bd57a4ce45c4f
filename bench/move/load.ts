import { setTimeout as delay } from 'node:timers/promises';
import type { TestMerchant } from '../../test/support/stack.ts';
import type { ApiRequest, Router } from './router.ts';

/** A request that was answered, or not. Times by `performance.now()`. */
export interface Sent {
  /** When it should have been sent. A client that waits for its turn waits for the gateway. */
  readonly dueMs: number;
  readonly tookMs: number;
}

type Kind = 'register' | 'verify' | 'direct' | 'refund';

/** The requests of one merchant's server at a rate, whether or not the earlier ones are answered. */
export interface Load {
  readonly sent: readonly Sent[];
  /** Refusals, missing and wrong answers, each with its request. */
  readonly problems: readonly string[];
  /** The order numbers of acknowledged orders. */
  readonly acknowledged: readonly string[];
  /** The orders with a direct payment. */
  readonly paid: readonly string[];
  /** Sends no more requests. Resolves when all are answered. */
  readonly stop: () => Promise<void>;
}

export interface LoadOptions {
  readonly router: Router;
  readonly merchant: TestMerchant;
  readonly webhookUrl: string;
  readonly perSecond: number;
  /** The beginning of the order numbers. */
  readonly prefix: string;
  /** Orders that exist already. */
  readonly known?: readonly string[];
}

/** The parts of a hundred requests. */
const shares: Readonly<Record<Kind, number>> = { register: 33, verify: 60, direct: 5, refund: 2 };
const kinds = (Object.keys(shares) as Kind[]).flatMap((kind) =>
  Array.from({ length: shares[kind] }, () => kind),
);
const tickMs = 5;
const amount = '12.50';
const currency = 'ETB';
/** Every so many registrations have an idempotency key. */
const keyedEvery = 4;
/** The part of the verifications that ask for an order with a payment. */
const verifiedPaid = 0.25;

interface Prepared extends Omit<ApiRequest, 'apiKey'> {
  readonly expected: number;
  readonly onSuccess?: (text: string) => void;
}

export const orderOf = (orderNumber: string, webhookUrl: string): Readonly<Record<string, string>> => ({
  order_number: orderNumber,
  amount,
  currency,
  reason: `For ${orderNumber}`,
  customer_phone: '0911223344',
  return_url: 'https://shop.example/return',
  webhook_url: webhookUrl,
});

export function startLoad({
  router,
  merchant,
  webhookUrl,
  perSecond,
  prefix,
  known = [],
}: LoadOptions): Load {
  const sent: Sent[] = [];
  const problems: string[] = [];
  const acknowledged = [...known];
  const paid: string[] = [];
  const running = new Set<Promise<void>>();
  const asked = new Set<string>();
  const wasCompleted = new Set<string>();
  /** Orders to refund. */
  const completed: string[] = [];
  let count = 0;
  let isStopped = false;

  const next = (kind: Kind): Prepared => {
    const number = `${prefix}-${count}`;
    const refundable = completed.shift();
    if (kind === 'refund' && refundable !== undefined) {
      const body = { order_number: refundable, refund_number: `R-${refundable}`, reason: 'Returned' };
      return { path: '/api/v1/refund', body, expected: 201 };
    }
    if (refundable !== undefined) completed.unshift(refundable);
    const payable = acknowledged[Math.floor(Math.random() * acknowledged.length)];
    if (kind === 'direct' && payable !== undefined && !asked.has(payable)) {
      asked.add(payable);
      // A number of its own for each payment, because payments by the same phone wait for each other.
      const phone = `2519${String(10_000_000 + count)}`;
      const body = { order_number: payable, amount, currency, phone };
      return {
        path: '/api/v1/direct?payment_option=walleta_ussd',
        body,
        expected: 201,
        onSuccess: () => paid.push(payable),
      };
    }
    if (kind === 'verify' && acknowledged.length > 0) {
      const some = paid.length > 0 && Math.random() < verifiedPaid ? paid : acknowledged;
      const orderNumber = some[Math.floor(Math.random() * some.length)] ?? '';
      return {
        path: '/api/v1/verify',
        body: { order_number: orderNumber },
        expected: 200,
        onSuccess(text) {
          if (!text.includes(`"amount":"${amount}"`)) problems.push(`${orderNumber} came back as ${text}`);
          if (!text.includes('"status":"COMPLETED"') || wasCompleted.has(orderNumber)) return;
          wasCompleted.add(orderNumber);
          completed.push(orderNumber);
        },
      };
    }
    return {
      path: '/api/v1/register',
      headers: count % keyedEvery === 0 ? { 'idempotency-key': `key-${number}` } : {},
      body: orderOf(number, webhookUrl),
      expected: 201,
      onSuccess: () => acknowledged.push(number),
    };
  };

  const sendOne = async (kind: Kind, dueMs: number): Promise<void> => {
    count += 1;
    const { expected, onSuccess, ...request } = next(kind);
    const told = `${request.path} ${request.body['order_number'] ?? ''}`;
    try {
      const { status, text } = await router.send({ ...request, apiKey: merchant.testKey });
      if (status === expected) onSuccess?.(text);
      else problems.push(`${told}: ${status} ${text}`);
    } catch (error) {
      problems.push(`${told}: ${String(error)}`);
    }
    sent.push({ dueMs, tookMs: performance.now() - dueMs });
  };

  const run = async (): Promise<void> => {
    const begunMs = performance.now();
    for (let scheduled = 0; !isStopped;) {
      for (; begunMs + (scheduled * 1000) / perSecond <= performance.now(); scheduled += 1) {
        const kind = kinds[Math.floor(Math.random() * kinds.length)] ?? 'verify';
        const one = sendOne(kind, begunMs + (scheduled * 1000) / perSecond);
        running.add(one);
        void one.finally(() => running.delete(one));
      }
      await delay(tickMs);
    }
  };
  const loop = run();
  return {
    sent,
    problems,
    acknowledged,
    paid,
    async stop() {
      isStopped = true;
      await loop;
      await Promise.all(running);
    },
  };
}
