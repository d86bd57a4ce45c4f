import { setTimeout as delay } from 'node:timers/promises';
import { Type } from '@sinclair/typebox';
import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { DemoStopped } from './demo-stopped.ts';

/** One call to the merchant API, and its response. */
export interface ShopCall {
  readonly path: string;
  readonly body: object;
  readonly status: number;
  readonly answer: unknown;
  readonly requestId: string;
  readonly startedAt: Date;
  readonly tookMs: number;
}

/** A merchant's server. It has only an address and an API key. */
export interface SandboxShop {
  readonly register: (body: object) => Promise<ShopCall>;
  readonly startPayment: (option: string, body: object) => Promise<ShopCall>;
  /** The checkout page of a registered order. */
  readonly checkoutUrlOf: (registration: ShopCall) => string;
  readonly verify: (orderNumber: string) => Promise<ShopCall & { readonly orderStatus: string }>;
  readonly refund: (body: object) => Promise<ShopCall>;
  readonly verifyRefund: (refundNumber: string) => Promise<ShopCall & { readonly refundStatus: string }>;
}

const timeoutMs = 15_000;
const maxRepeats = 3;
const repeatAfterMs = 1_000;
const registered = Type.Object({ data: Type.Object({ checkout_url: Type.String() }) });
const verified = Type.Object({ data: Type.Object({ status: Type.String() }) });

export function openSandboxShop(origin: string, apiKey: string, now: () => Date): SandboxShop {
  const callOnce = async (path: string, body: object): Promise<ShopCall> => {
    const startedAt = now();
    const begun = performance.now();
    const response = await fetch(`${origin}${path}`, {
      method: 'POST',
      headers: { apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    }).catch((error: unknown) => {
      throw new DemoStopped(
        `${origin}${path} does not answer (${String(error)}). Is npm start still running?`,
      );
    });
    const answer: unknown = await response.json();
    return {
      path,
      body,
      answer,
      startedAt,
      status: response.status,
      requestId: response.headers.get('x-request-id') ?? '',
      tookMs: performance.now() - begun,
    };
  };
  /** Repeats a call that the gateway could not answer, as shops should. All calls are safe to repeat. */
  const call = async (path: string, body: object): Promise<ShopCall> => {
    for (let repeats = 0; ; repeats += 1) {
      const answered = await callOnce(path, body);
      if (answered.status < 500 || repeats === maxRepeats) return answered;
      await delay(repeatAfterMs);
    }
  };
  return {
    register: (body) => call('/api/v1/register', body),
    startPayment: (option, body) => call(`/api/v1/direct?payment_option=${option}`, body),
    checkoutUrlOf: (registration) => readAnswer(registered, registration).data.checkout_url,
    async verify(orderNumber) {
      const verification = await call('/api/v1/verify', { order_number: orderNumber });
      return { ...verification, orderStatus: readAnswer(verified, verification).data.status };
    },
    refund: (body) => call('/api/v1/refund', body),
    async verifyRefund(refundNumber) {
      const verification = await call('/api/v1/refund/verify', { refund_number: refundNumber });
      return { ...verification, refundStatus: readAnswer(verified, verification).data.status };
    },
  };
}

function readAnswer<T extends TSchema>(schema: T, { path, status, answer }: ShopCall) {
  if (Value.Check(schema, answer)) return answer;
  throw new DemoStopped(
    `${path} answered ${status} ${JSON.stringify(answer)}, which the demo did not expect`,
  );
}
