import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf';
import type pg from 'pg';
import { holdLocks } from '../../support/database-connections.ts';
import { publicId, storedId } from '../../support/ids.ts';
import { CheckoutService } from '../../../src/gen/gatehouse/v1/checkout_service_pb.js';
import { Environment, OrderEventType } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import type {
  CreateRefundRequestSchema,
  LeasedRefund,
  RecordRefundOutcomeRequestSchema,
} from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import type {
  StartDirectPaymentRequestSchema,
  RegisterOrderRequestSchema,
} from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { PayerPaymentService } from '../../../src/gen/gatehouse/v1/payer_payment_service_pb.js';
import { PaymentAttemptService } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import type {
  LeasedPaymentAttempt,
  RecordPaymentOutcomeRequestSchema,
  RecordPaymentOutcomeResponse,
} from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { StrayPaymentService } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import type {
  LeasedReversal,
  RecordReversalOutcomeRequestSchema,
} from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { directPayment, registration } from '../../support/order-requests.ts';
import type { Statement } from '../../support/sql.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openPool, shared } from '../../support/shared-stack.ts';
import type { Stack } from '../../support/stack.ts';
import { sql } from '../../support/sql.ts';

export type Outcome = NonNullable<MessageInitShape<typeof RecordPaymentOutcomeRequestSchema>['outcome']>;
type RefundOutcome = NonNullable<MessageInitShape<typeof RecordRefundOutcomeRequestSchema>['outcome']>;
type ReversalOutcome = NonNullable<MessageInitShape<typeof RecordReversalOutcomeRequestSchema>['outcome']>;
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

/** The use of a transaction of wallet A for a payment, as another core records it. */
export const useOf = (transaction: string, { attemptId }: Pick<Payment, 'attemptId'>): Statement => sql`
  insert into core.wallet_receipts (environment, wallet, provider_transaction_id, merchant_id, payment_attempt_id)
  select environment, 'walleta', ${transaction}, merchant_id, id
  from core.payment_attempts where id = ${storedId('pat', attemptId)}`;

/** A payment that its payer started at the menu of the phone, as its wallet names it. */
export const menuPayment = (
  merchantId: string,
  reference: string,
  own: {
    readonly wallet?: string;
    readonly paymentOption?: string;
    readonly amount?: string;
    readonly paymentAttemptIdEnd?: string;
    readonly exchange?: { readonly purpose: string };
  } = {},
) => ({
  ...{ environment: Environment.SANDBOX, wallet: 'walleta', paymentOption: 'walleta_ussd', payee: '174379' },
  ...{ reference, providerTransactionId: transactionOf(merchantId, reference) },
  ...{ amount: '100.50', currency: 'ETB', ...own },
});

function ownTransaction(merchantId: string, outcome: Outcome): Outcome {
  if (outcome.case !== 'completed') return outcome;
  const { providerTransactionId: id = '', ...value } = outcome.value;
  if (!/^t-[0-9]$/.test(id)) return outcome;
  return { case: 'completed', value: { ...value, providerTransactionId: transactionOf(merchantId, id) } };
}

type OfMerchant<S extends DescMessage> = MessageInitShape<S> & { readonly merchantId: string };

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

/** The calls of the `wallets` process to core, as single steps, and access to the database. */
export async function openPaymentDesk(stack: Stack) {
  const orders = stack.client(OrderService, 'writer');
  const events = stack.client(OrderService, 'reader');
  const payments = stack.client(PaymentAttemptService, 'wallets');
  const checkout = stack.client(CheckoutService, 'checkout');
  const strayPayments = stack.client(StrayPaymentService, 'operator');
  const reversals = stack.client(StrayPaymentService, 'wallets');
  const refunds = stack.client(RefundService, 'writer');
  const refundWork = stack.client(RefundService, 'wallets');
  const payers = stack.client(PayerPaymentService, 'wallets');
  const environment = Environment.SANDBOX;
  const work = { environment, paymentOptions: ['walleta_ussd'], lease: { seconds: 60n } };
  const database = openPool({ connectionString: stack.databaseUrl, max: 4 });
  const query = async <R extends pg.QueryResultRow>(
    statement: string | Statement,
    values?: unknown[],
  ): Promise<R[]> => (await database.query<R>(statement, values)).rows;

  /** Locks the order, because a change of it that runs at the same time writes all columns of the attempt. */
  const setWork = async ({ attemptId }: Payment, values: string): Promise<void> => {
    await query(
      `with attempt as (select a.id from core.payment_attempts a join core.orders o on o.id = a.order_id where a.id = $1 for update of o)
       update core.payment_attempts a set ${values} from attempt where a.id = attempt.id`,
      [storedId('pat', attemptId)],
    );
  };
  /** Every attempt of both wallets' USSD that is due in the sandbox, at most 100. */
  async function lease(seconds = 60n): Promise<LeasedPaymentAttempt[]> {
    const { attempts } = await payments.leasePaymentAttempts({
      ...{ environment: Environment.SANDBOX, paymentOptions: ['walleta_ussd', 'walletb_ussd'] },
      ...{ maxAttempts: 100, lease: { seconds } },
    });
    return attempts;
  }
  /** The lease of one attempt, which must be due. A lease skips an order that the sweep has locked at that moment. */
  const take = ({ attemptId }: Payment): Promise<LeasedPaymentAttempt> =>
    waitUntil(`${attemptId} is due`, async () =>
      (await lease()).find(({ paymentAttempt }) => paymentAttempt?.paymentAttemptId === attemptId),
    );
  const record = (
    { merchantId, paymentAttempt, leaseId }: LeasedPaymentAttempt,
    outcome: Outcome,
    exchanges: Exchanges = [],
  ): Promise<RecordPaymentOutcomeResponse> =>
    payments.recordPaymentOutcome({
      ...{ merchantId, paymentAttemptId: paymentAttempt?.paymentAttemptId ?? '', leaseId },
      ...{ outcome: ownTransaction(merchantId, outcome), exchanges },
    });

  /** Requests a refund of an order of the sandbox, by default of the whole amount. */
  const askRefund = (
    merchantId: string,
    orderNumber: string,
    own: MessageInitShape<typeof CreateRefundRequestSchema> = {},
  ) =>
    refunds.createRefund({
      ...{ merchantId, environment, order: { case: 'orderNumber', value: orderNumber } },
      ...{ refundNumber: 'R-1', reason: 'Shoes came back', ...own },
    });
  const leaseRefunds = async (maxRefunds = 100, exceptMerchantIds: string[] = []) =>
    (await refundWork.leaseRefunds({ ...work, maxRefunds, exceptMerchantIds })).refunds;
  const leaseReversals = async (maxReversals = 100, exceptMerchantIds: string[] = []) =>
    (await reversals.leaseReversals({ ...work, maxReversals, exceptMerchantIds })).reversals;
  /** Every payment from the menu that is due in the sandbox. */
  const leaseFromMenu = async (wallet = 'walleta', maxPayments = 100) =>
    (await payers.leasePayerPayments({ environment, wallet, maxPayments, lease: { seconds: 60n } })).payments;

  return {
    ...{ orders, payments, checkout, strayPayments, reversals, refunds, refundWork, payers },
    ...{ query, lease, take, record, leaseFromMenu },
    /** A wallet reports a payment from the menu. Returns the payment's id. */
    async reportFromMenu(...payment: Parameters<typeof menuPayment>): Promise<string> {
      const { payerPayment } = await payers.reportPayerPayment(menuPayment(...payment));
      return payerPayment?.payerPaymentId ?? '';
    },
    /** The wallet confirms a payment from the menu, by default to a worker that takes it now. */
    async confirmFromMenu(
      merchantId: string,
      payerPaymentId: string,
      reference: string,
      { leaseId, ...own }: { readonly leaseId?: string; readonly amount?: string } = {},
    ) {
      const { providerTransactionId, amount, currency } = menuPayment(merchantId, reference, own);
      const { payerPayment } = await payers.recordPayerPaymentOutcome({
        ...{ payerPaymentId, leaseId: leaseId ?? (await leaseFromMenu())[0]?.leaseId ?? '' },
        outcome: { case: 'completed', value: { providerTransactionId, amount, currency } },
        exchanges: [{ purpose: 'query' }],
      });
      return payerPayment;
    },
    /** Lets every change of an order wait. Returns how to let them continue. */
    holdOrder: ({ orderId }: { readonly orderId: string }) =>
      holdLocks(
        stack.databaseUrl,
        sql`select pg_advisory_xact_lock(hashtextextended(${storedId('ord', orderId)}::uuid::text, 0))`,
      ),
    /** The number of statements that wait for a lock. */
    async lockWaits(): Promise<number> {
      const [waiting] = await query<{ count: number }>(`select count(*)::int from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`);
      return waiting?.count ?? 0;
    },
    async startDirect(own: OfMerchant<typeof StartDirectPaymentRequestSchema>): Promise<Payment> {
      const { order, paymentAttempt } = await orders.startDirectPayment(directPayment(own));
      const attemptId = paymentAttempt?.paymentAttemptId ?? '';
      return { merchantId: own.merchantId, orderId: order?.orderId ?? '', attemptId };
    },
    async registerHosted(own: OfMerchant<typeof RegisterOrderRequestSchema>): Promise<HostedOrder> {
      const { order, checkoutUrl } = await orders.registerOrder(registration(own));
      const token = checkoutUrl.split('/').at(-1) ?? '';
      return { merchantId: own.merchantId, orderId: order?.orderId ?? '', token };
    },
    /** The numbers of the paybills on the page of an order. */
    async paybillsOf({ token }: HostedOrder): Promise<string[]> {
      const { checkout: page } = await checkout.getCheckout({ token });
      return (page?.paybills ?? []).map(({ number }) => number);
    },
    async payHosted(
      { merchantId, orderId, token }: HostedOrder,
      paymentOption = 'walleta_ussd',
      phone = '0911223344',
    ): Promise<Payment> {
      const payment = { token, browserSecret: browserSecret(), paymentOption, phone };
      const { checkout: paid } = await checkout.submitCheckoutPayment(payment);
      return { merchantId, orderId, attemptId: paid?.latestAttempt?.paymentAttemptId ?? '' };
    },
    /** Leases an attempt, and records an outcome of it. */
    settle: async (payment: Payment, outcome: Outcome) => record(await take(payment), outcome),
    /** Sends a hint about an attempt, which is named by its stored id. */
    queryNow: (merchantId: string, storedAttemptId: string) =>
      payments.hastenPaymentAttempt({ merchantId, paymentAttemptId: publicId('pat', storedAttemptId) }),
    askRefund,
    async refund(...asked: Parameters<typeof askRefund>) {
      const { refund } = await askRefund(...asked);
      if (refund === undefined) throw new Error('no refund in the answer');
      return refund;
    },
    /** Every refund that is due at wallet A's USSD in the sandbox. */
    leaseRefunds,
    /** The lease of one refund, which must be due. */
    takeRefund: (refundId: string): Promise<LeasedRefund> =>
      waitUntil(`${refundId} is due`, async () =>
        (await leaseRefunds()).find(({ refund }) => refund?.refundId === refundId),
      ),
    recordRefund: ({ refund, leaseId }: LeasedRefund, outcome: RefundOutcome) =>
      refundWork.recordRefundOutcome({
        ...{ merchantId: refund?.merchantId ?? '', refundId: refund?.refundId ?? '', leaseId, outcome },
        exchanges: [{ purpose: 'reverse' }],
      }),
    /** Every reversal that is due at wallet A's USSD in the sandbox. */
    leaseReversals,
    /** The lease of the reversal of one stray payment, which must be due. */
    takeReversal: (strayPaymentId: string): Promise<LeasedReversal> =>
      waitUntil(`the reversal of ${strayPaymentId} is due`, async () =>
        (await leaseReversals()).find(({ strayPayment }) => strayPayment?.strayPaymentId === strayPaymentId),
      ),
    recordReversal: (
      { strayPayment, leaseId }: LeasedReversal,
      outcome: ReversalOutcome,
      exchanges: Exchanges = [{ purpose: 'reverse' }],
    ) =>
      reversals.recordReversalOutcome({
        ...{ merchantId: strayPayment?.merchantId ?? '', leaseId, outcome, exchanges },
        strayPaymentId: strayPayment?.strayPaymentId ?? '',
      }),
    /** The customer cancels at the checkout. */
    cancelHosted: ({ token }: HostedOrder) =>
      checkout.cancelCheckout({ token, browserSecret: browserSecret() }),
    makeDue: (payment: Payment) => setWork(payment, 'due_at = now()'),
    /** Ends the lease as if its time had passed. */
    lapse: (payment: Payment) => setWork(payment, 'due_at = now(), leased_until = now()'),
    /** Ends the order's payment session now. The sweep checks it at once. */
    async endSession({ orderId }: { readonly orderId: string }): Promise<void> {
      await query(sql`update core.orders set expires_at = now(), sweep_at = now()
        where id = ${storedId('ord', orderId)} and status = 'PENDING'`);
    },
    /** Removes due work that other tests have left. */
    async clear(): Promise<void> {
      await query('update core.payment_attempts set due_at = null');
      await query(`update core.stray_payments set status = 'REVERSED', due_at = null`);
      await query(`update core.refunds set status = 'REVERSED', due_at = null where due_at is not null`);
    },
    story: ({ merchantId, attemptId }: Payment) =>
      payments.getPaymentAttempt({ merchantId, paymentAttemptId: attemptId }),
    async history({ merchantId, orderId }: Pick<Payment, 'merchantId' | 'orderId'>): Promise<string[]> {
      const { entries } = await events.listOrderEvents({ merchantId, orderId });
      return entries.map(({ event }) => `${event?.sequence} ${OrderEventType[event?.type ?? 0]}`);
    },
    strays: async (merchantId: string) =>
      (await strayPayments.listStrayPayments({ merchantId })).strayPayments,
    close: () => database.end(),
  };
}
export type PaymentDesk = Awaited<ReturnType<typeof openPaymentDesk>>;

/** The latest payment of an order. */
export async function latestPayment(
  { query }: PaymentDesk,
  merchantId: string,
  orderNumber: string,
): Promise<Payment> {
  const [order] = await query<{ id: string; attempt: string }>(sql`
    select id, latest_attempt_id as attempt from core.orders where order_number = ${orderNumber}`);
  if (order === undefined) throw new Error(`there is no order ${orderNumber}`);
  return { merchantId, orderId: publicId('ord', order.id), attemptId: publicId('pat', order.attempt) };
}

/** The desk of all tests of a file. */
export const sharedPaymentDesk = (stack: Stack): PaymentDesk => shared(() => openPaymentDesk(stack));
