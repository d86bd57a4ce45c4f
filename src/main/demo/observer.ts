import type { Transport } from '@connectrpc/connect';
import { createClient } from '@connectrpc/connect';
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { Environment } from '../../gen/gatehouse/v1/order_pb.js';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../gen/gatehouse/v1/order_service_pb.js';
import { PaymentAttemptService } from '../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { GetPaymentAttemptResponse } from '../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { StrayPaymentService } from '../../gen/gatehouse/v1/stray_payment_service_pb.js';
import type { StrayPayment } from '../../gen/gatehouse/v1/stray_payment_service_pb.js';
import { DemoStopped } from './demo-stopped.ts';

const charges = Type.Object({
  charges: Type.Array(
    Type.Object({
      transaction_reference: Type.String(),
      merchant_reference: Type.Union([Type.String(), Type.Null()]),
      amount: Type.String(),
      currency: Type.String(),
      charged_at: Type.String(),
      reversed: Type.String(),
    }),
  ),
});
export type Charge = Static<typeof charges>['charges'][number];

const prompts = Type.Object({
  prompts: Type.Array(
    Type.Object({
      merchant_reference: Type.Union([Type.String(), Type.Null()]),
      created_at: Type.String(),
      outcome: Type.String(),
      amount: Type.String(),
      currency: Type.String(),
      channel: Type.String(),
    }),
  ),
});
export type Prompt = Static<typeof prompts>['prompts'][number];

/** A payment as the simulator knows it: by our id if its protocol has it, else by its payer and time. */
export interface SimulatedPayment {
  readonly paymentAttemptId: string;
  readonly phone: string;
  readonly since: Date;
}

/** Observes the running system: core over gRPC, and the wallet by its ledger. */
export interface Observer {
  readonly order: (orderNumber: string) => Promise<{ orderId: string; events: readonly OrderEvent[] }>;
  readonly attempt: (paymentAttemptId: string) => Promise<GetPaymentAttemptResponse>;
  readonly strayPayment: (paymentAttemptId: string) => Promise<StrayPayment | undefined>;
  readonly prompts: (payment: SimulatedPayment) => Promise<readonly Prompt[]>;
  readonly charges: (payment: SimulatedPayment) => Promise<readonly Charge[]>;
}

const timeoutMs = 5_000;

function isOf(
  { paymentAttemptId, since }: SimulatedPayment,
  { merchant_reference: reference }: { readonly merchant_reference: string | null },
  time: string,
): boolean {
  if (reference?.startsWith('pat_') === true) return reference === paymentAttemptId;
  return new Date(time) >= since;
}

export function openObserver(transport: Transport, merchantId: string, simulator: string): Observer {
  const orders = createClient(OrderService, transport);
  const payments = createClient(PaymentAttemptService, transport);
  const strayPayments = createClient(StrayPaymentService, transport);
  const environment = Environment.SANDBOX;
  const ask = async (what: string, phone: string): Promise<unknown> => {
    const url = `${simulator}/simulator/${what}?payer=${encodeURIComponent(phone)}`;
    return (await fetch(url, { signal: AbortSignal.timeout(timeoutMs) })).json();
  };
  return {
    async order(orderNumber) {
      const key = { case: 'orderNumber', value: orderNumber } as const;
      const { order } = await orders.getOrder({ merchantId, environment, key });
      const orderId = order?.orderId ?? '';
      const { entries } = await orders.listOrderEvents({ merchantId, environment, orderId });
      return { orderId, events: entries.flatMap(({ event }) => event ?? []) };
    },
    attempt: (paymentAttemptId) => payments.getPaymentAttempt({ merchantId, paymentAttemptId }),
    async strayPayment(paymentAttemptId) {
      const { strayPayments: found } = await strayPayments.listStrayPayments({ merchantId, environment });
      return found.find((stray) => stray.paymentAttemptId === paymentAttemptId);
    },
    async prompts(payment) {
      const answer = await ask('prompts', payment.phone);
      if (!Value.Check(prompts, answer)) throw unexpectedAnswer('prompts');
      return answer.prompts.filter((prompt) => isOf(payment, prompt, prompt.created_at));
    },
    async charges(payment) {
      const answer = await ask('charges', payment.phone);
      if (!Value.Check(charges, answer)) throw unexpectedAnswer('charges');
      return answer.charges.filter((charge) => isOf(payment, charge, charge.charged_at));
    },
  };
}

const unexpectedAnswer = (what: string): DemoStopped =>
  new DemoStopped(`the wallet simulator's ${what} are not what the demo expects: is it of the same version?`);
