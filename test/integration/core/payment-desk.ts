import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import pg from 'pg';
import { publicId, storedId } from '../../support/ids.ts';
import { CheckoutService } from '../../../src/gen/gatehouse/v1/checkout_service_pb.js';
import { Environment, OrderEventType } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import type {
  StartDirectPaymentRequestSchema,
  RegisterOrderRequestSchema,
} from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { PaymentAttemptService } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import type {
  LeasedPaymentAttempt,
  RecordPaymentOutcomeRequestSchema,
  RecordPaymentOutcomeResponse,
} from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { StrayPaymentService } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import type { StrayPayment } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { directPayment, registration } from '../../support/order-requests.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { shared } from '../../support/shared-stack.ts';
import type { Stack } from '../../support/stack.ts';

export type Outcome = NonNullable<MessageInitShape<typeof RecordPaymentOutcomeRequestSchema>['outcome']>;
type Exchanges = NonNullable<MessageInitShape<typeof RecordPaymentOutcomeRequestSchema>['exchanges']>;

export const outcomes = {
  pending: (providerReference = ''): Outcome => ({ case: 'pending', value: { providerReference } }),
  completed: (providerTransactionId: string, amount = '100.50', currency = 'ETB'): Outcome => ({
    case: 'completed',
    value: { providerTransactionId, amount, currency },
  }),
  declined: (reason = 'insufficient_funds'): Outcome => ({ case: 'declined', value: { reason } }),
  timedOut: (): Outcome => ({ case: 'timedOut', value: {} }),
  unknown: (detail = 'no answer'): Outcome => ({ case: 'unknown', value: { detail } }),
  notReached: (detail = 'no connection'): Outcome => ({ case: 'notReached', value: { detail } }),
};

/**
 * No two transactions of a wallet have the same id. Tests, which each have a merchant of their own, all begin at t-1.
 */
export const transactionOf = (merchantId: string, id: string): string => `${merchantId}/${id}`;

function ownTransaction(merchantId: string, outcome: Outcome): Outcome {
  if (outcome.case !== 'completed' || !/^t-[0-9]$/.test(outcome.value.providerTransactionId ?? ''))
    return outcome;
  const { providerTransactionId = '', ...value } = outcome.value;
  return {
    case: 'completed',
    value: { ...value, providerTransactionId: transactionOf(merchantId, providerTransactionId) },
  };
}

/** A payment that has started. */
export interface Payment {
  readonly merchantId: string;
  readonly orderId: string;
  readonly attemptId: string;
}

/** An order at the hosted checkout. */
export interface HostedOrder {
  readonly merchantId: string;
  readonly orderId: string;
  readonly token: string;
}

export const browserSecret = (letter = 'b'): string => letter.repeat(43);

/** What the `wallets` process does at core, step by step, and access to the database. */
export interface PaymentDesk {
  readonly orders: Client<typeof OrderService>;
  readonly payments: Client<typeof PaymentAttemptService>;
  readonly checkout: Client<typeof CheckoutService>;
  readonly strayPayments: Client<typeof StrayPaymentService>;
  readonly query: <R extends pg.QueryResultRow>(sql: string, values?: unknown[]) => Promise<R[]>;
  readonly startDirect: (
    own: MessageInitShape<typeof StartDirectPaymentRequestSchema> & { merchantId: string },
  ) => Promise<Payment>;
  readonly registerHosted: (
    own: MessageInitShape<typeof RegisterOrderRequestSchema> & { merchantId: string },
  ) => Promise<HostedOrder>;
  readonly payHosted: (order: HostedOrder, option?: string, phone?: string) => Promise<Payment>;
  /** Every attempt of both wallets' USSD that is due in the sandbox, at most 100. */
  readonly lease: (seconds?: bigint) => Promise<LeasedPaymentAttempt[]>;
  /** The lease of one attempt, which must be due. */
  readonly take: (payment: Payment) => Promise<LeasedPaymentAttempt>;
  readonly record: (
    leased: LeasedPaymentAttempt,
    outcome: Outcome,
    exchanges?: Exchanges,
  ) => Promise<RecordPaymentOutcomeResponse>;
  /** Leases an attempt, and records an outcome of it. */
  readonly settle: (payment: Payment, outcome: Outcome) => Promise<RecordPaymentOutcomeResponse>;
  /** Reports news of an attempt, which is named by its stored id. */
  readonly queryNow: (merchantId: string, storedAttemptId: string) => Promise<unknown>;
  /** The customer cancels at the checkout. */
  readonly cancelHosted: (order: HostedOrder) => Promise<unknown>;
  readonly makeDue: (payment: Payment) => Promise<void>;
  /** Ends the lease as if its time had passed. */
  readonly lapse: (payment: Payment) => Promise<void>;
  /** Ends the order's payment session now. The sweep checks it at once. */
  readonly endSession: (order: { readonly orderId: string }) => Promise<void>;
  /** Removes due work that other tests have left. */
  readonly clear: () => Promise<void>;
  readonly story: (payment: Payment) => ReturnType<Client<typeof PaymentAttemptService>['getPaymentAttempt']>;
  readonly history: (order: { readonly merchantId: string; readonly orderId: string }) => Promise<string[]>;
  readonly strays: (merchantId: string) => Promise<StrayPayment[]>;
  readonly close: () => Promise<void>;
}

export async function openPaymentDesk(stack: Stack): Promise<PaymentDesk> {
  const orders = stack.client(OrderService, 'writer');
  const events = stack.client(OrderService, 'reader');
  const payments = stack.client(PaymentAttemptService, 'wallets');
  const checkout = stack.client(CheckoutService, 'checkout');
  const strayPayments = stack.client(StrayPaymentService, 'operator');
  const database = new pg.Pool({ connectionString: stack.databaseUrl, max: 4 });
  // Idle connections end with their server.
  database.on('error', () => undefined);
  const query = async <R extends pg.QueryResultRow>(sql: string, values: unknown[] = []): Promise<R[]> =>
    (await database.query<R>(sql, values)).rows;

  const desk: PaymentDesk = {
    orders,
    payments,
    checkout,
    strayPayments,
    query,
    async startDirect(own) {
      const { order, paymentAttempt } = await orders.startDirectPayment(directPayment(own));
      return {
        merchantId: own.merchantId,
        orderId: order?.orderId ?? '',
        attemptId: paymentAttempt?.paymentAttemptId ?? '',
      };
    },
    async registerHosted(own) {
      const { order, checkoutUrl } = await orders.registerOrder(registration(own));
      return {
        merchantId: own.merchantId,
        orderId: order?.orderId ?? '',
        token: checkoutUrl.split('/').at(-1) ?? '',
      };
    },
    async payHosted({ merchantId, orderId, token }, paymentOption = 'walleta_ussd', phone) {
      const { checkout: paid } = await checkout.submitCheckoutPayment({
        token,
        browserSecret: browserSecret(),
        paymentOption,
        phone: phone ?? '0911223344',
      });
      return { merchantId, orderId, attemptId: paid?.latestAttempt?.paymentAttemptId ?? '' };
    },
    async lease(seconds = 60n) {
      const { attempts } = await payments.leasePaymentAttempts({
        environment: Environment.SANDBOX,
        paymentOptions: ['walleta_ussd', 'walletb_ussd'],
        maxAttempts: 100,
        lease: { seconds },
      });
      return attempts;
    },
    take({ attemptId }) {
      // A lease skips an order that the sweep has locked at that moment.
      return waitUntil(`${attemptId} is due`, async () => {
        const attempts = await desk.lease();
        return attempts.find(({ paymentAttempt }) => paymentAttempt?.paymentAttemptId === attemptId);
      });
    },
    record: ({ merchantId, paymentAttempt, leaseId }, outcome, exchanges = []) =>
      payments.recordPaymentOutcome({
        merchantId,
        paymentAttemptId: paymentAttempt?.paymentAttemptId ?? '',
        leaseId,
        outcome: ownTransaction(merchantId, outcome),
        exchanges,
      }),
    settle: async (payment, outcome) => desk.record(await desk.take(payment), outcome),
    queryNow: (merchantId, storedAttemptId) =>
      payments.hastenPaymentAttempt({ merchantId, paymentAttemptId: publicId('pat', storedAttemptId) }),
    cancelHosted: ({ token }) => checkout.cancelCheckout({ token, browserSecret: browserSecret() }),
    async makeDue({ attemptId }) {
      await query('update core.payment_attempts set due_at = now() where id = $1', [
        storedId('pat', attemptId),
      ]);
    },
    async lapse({ attemptId }) {
      await query('update core.payment_attempts set due_at = now(), leased_until = now() where id = $1', [
        storedId('pat', attemptId),
      ]);
    },
    async endSession({ orderId }) {
      await query(
        `update core.orders set expires_at = now(), sweep_at = now() where id = $1 and status = 'PENDING'`,
        [storedId('ord', orderId)],
      );
    },
    async clear() {
      await query('update core.payment_attempts set due_at = null');
      await query(`update core.stray_payments set status = 'REVERSED', due_at = null`);
      await query(`update core.refunds set status = 'REVERSED', due_at = null where due_at is not null`);
    },
    story: ({ merchantId, attemptId }) =>
      payments.getPaymentAttempt({ merchantId, paymentAttemptId: attemptId }),
    async history({ merchantId, orderId }) {
      const { entries } = await events.listOrderEvents({ merchantId, orderId });
      return entries.map(({ event }) => `${event?.sequence} ${OrderEventType[event?.type ?? 0]}`);
    },
    async strays(merchantId) {
      const { strayPayments: found } = await strayPayments.listStrayPayments({ merchantId });
      return found;
    },
    close: () => database.end(),
  };
  return desk;
}

/** The desk of all tests of a file. */
export const sharedPaymentDesk = (stack: Stack): PaymentDesk =>
  shared(
    () => openPaymentDesk(stack),
    (desk) => desk.close(),
  );
