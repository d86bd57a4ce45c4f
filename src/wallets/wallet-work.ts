import { durationFromMs, durationMs, timestampDate } from '@bufbuild/protobuf/wkt';
import type { Duration } from '@bufbuild/protobuf/wkt';
import type { Client } from '@connectrpc/connect';
import type { PaymentOption } from '../contract/payment-option.ts';
import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import type {
  LeasedPaymentAttempt,
  PaymentAttemptService,
} from '../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { OrderStatus, PaymentAttemptStatus } from '../gen/gatehouse/v1/order_pb.js';
import type { RefundService } from '../gen/gatehouse/v1/refund_service_pb.js';
import type { StrayPaymentService } from '../gen/gatehouse/v1/stray_payment_service_pb.js';
import type { Logger } from '../platform/logger.ts';
import { activeSpan } from '../platform/tracing/span.ts';
import type { AccountConnectors } from './account-connectors.ts';
import type { CallbackTokens } from './callback-token.ts';
import type { WalletConnector } from './connector/wallet-connector.ts';
import { createMerchantShare } from './merchant-share.ts';
import { exchangeMessage } from './exchange-messages.ts';
import type { Leased, LeasedWork } from './lease-worker.ts';
import { serveAttempt } from './serve-attempt.ts';
import type { Outcome } from './serve-attempt.ts';
import { taskOfRefund, taskOfStrayPayment } from './reversal-task.ts';
import type { ReversalTask } from './reversal-task.ts';
import { serveReversal } from './serve-reversal.ts';
import type { ReversalReport } from './serve-reversal.ts';
import { reportToCore } from './until-core-answers.ts';
import { servedWithoutCall } from './wallet-calls.ts';
import type { Served } from './wallet-calls.ts';

export interface WalletWorkParts {
  /** The name in the log, such as "walleta-sandbox". */
  readonly wallet: string;
  readonly environment: Environment;
  readonly paymentOptions: readonly PaymentOption[];
  /** The connector with the operator's settings. */
  readonly connector: WalletConnector;
  /** The connectors with merchants' own settings. */
  readonly accounts: Pick<AccountConnectors, 'use'>;
  readonly payments: Client<typeof PaymentAttemptService>;
  readonly strayPayments: Client<typeof StrayPaymentService>;
  readonly refunds: Client<typeof RefundService>;
  readonly tokens: CallbackTokens;
  readonly now: () => Date;
  readonly newRequestId: () => string;
  readonly logger: Logger;
  /** The number of items of each kind of work that run concurrently. */
  readonly maxInFlight: number;
  /** Aborts the calls to the wallet at shutdown. */
  readonly stop: AbortSignal;
}

/** The lease of a worker. If the worker exits, its items wait this long, so their orders are still decided within a minute. */
const leaseSeconds = 45n;

/** The time limit for all calls under one lease, so that no other worker begins meanwhile. */
const workMs = 40_000;
const workSignal = (stop: AbortSignal): AbortSignal => AbortSignal.any([stop, AbortSignal.timeout(workMs)]);

/** The payment attempts of one wallet. They are leased from core and sent to the wallet, and the results are reported. */
export function attemptWork(parts: WalletWorkParts): LeasedWork<LeasedPaymentAttempt> {
  const { wallet, environment, paymentOptions, payments, logger, newRequestId } = parts;
  const share = createMerchantShare(parts.maxInFlight);
  const callWallet = (leased: LeasedPaymentAttempt): Promise<Served<Outcome>> => {
    const now = clockOfLease(leased, parts.now);
    const options = { signal: workSignal(parts.stop) };
    const serveWith = (connector: WalletConnector) =>
      serveAttempt({ ...parts, connector, now }, leased, options);
    if (leased.walletAccountId === '') return serveWith(parts.connector);
    return parts.accounts.use(leased, forgettingRefused(serveWith), (detail) =>
      servedWithoutCall({ case: leased.sentBefore ? 'unknown' : 'notReached', value: { detail } }),
    );
  };
  const serve = async (leased: LeasedPaymentAttempt): Promise<boolean | undefined> => {
    const startedAt = performance.now();
    activeSpan()?.set({
      'gatehouse.payment_attempt_id': leased.paymentAttempt?.paymentAttemptId,
      'gatehouse.order_id': leased.paymentAttempt?.orderId,
      'gatehouse.merchant_id': leased.merchantId,
    });
    const requestId = newRequestId();
    const served = await callWallet(leased);
    const paymentAttemptId = leased.paymentAttempt?.paymentAttemptId ?? '';
    const outcome = {
      merchantId: leased.merchantId,
      paymentAttemptId,
      leaseId: leased.leaseId,
      outcome: served.outcome,
      exchanges: served.exchanges.map(exchangeMessage),
      ...(served.retryAfterMs === 0 ? {} : { retryAfter: durationFromMs(served.retryAfterMs) }),
    };
    const { order, paymentAttempt, strayPaymentId } = await reportToCore(
      () => payments.recordPaymentOutcome(outcome, headersOf(requestId)),
      parts,
      { request_id: requestId, wallet, payment_attempt_id: paymentAttemptId },
    );
    logger.info(
      {
        request_id: requestId,
        wallet,
        payment_attempt_id: paymentAttemptId,
        order_id: order?.orderId,
        sent_before: leased.sentBefore,
        leases: leased.leases,
        ...(leased.walletAccountId === '' ? {} : { wallet_account_id: leased.walletAccountId }),
        calls: served.exchanges.map(({ purpose, status }) => `${purpose} ${status ?? 'no answer'}`),
        outcome: served.outcome.case,
        attempt_status: PaymentAttemptStatus[paymentAttempt?.status ?? 0],
        order_status: OrderStatus[order?.status ?? 0],
        ...(strayPaymentId === '' ? {} : { stray_payment_id: strayPaymentId }),
        duration_ms: Math.round(performance.now() - startedAt),
      },
      'payment',
    );
    return walletHealthOf(served, leased);
  };
  return {
    name: `${wallet} payments`,
    async lease(limit) {
      const { attempts, nothingDueFor } = await payments.leasePaymentAttempts({
        environment,
        paymentOptions: [...paymentOptions],
        exceptMerchantIds: share.full(),
        maxAttempts: share.free(limit),
        lease: { seconds: leaseSeconds },
      });
      for (const { merchantId } of attempts) share.take(merchantId);
      return { items: attempts, nothingDueForMs: msOf(nothingDueFor) };
    },
    idsOf: ({ merchantId, paymentAttempt }) => ({
      merchant_id: merchantId,
      payment_attempt_id: paymentAttempt?.paymentAttemptId,
      order_id: paymentAttempt?.orderId,
    }),
    traceparentOf: ({ traceparent }) => traceparent,
    serve: (leased) => serve(leased).finally(() => share.giveBack(leased.merchantId)),
  };
}

/**
 * Whether the wallet is healthy, for its circuit breaker. A failure with a merchant's own account may be the fault of that
 * account, so it says nothing about the wallet. Neither do refused credentials, including the operator's: an open circuit would
 * stop the merchants whose accounts work.
 */
function walletHealthOf(
  { isWalletHealthy, areCredentialsRefused }: Served<unknown>,
  { walletAccountId }: { readonly walletAccountId: string },
): boolean | undefined {
  if (!isWalletHealthy) return walletAccountId === '' ? false : undefined;
  return areCredentialsRefused ? undefined : true;
}

/**
 * Drops the connector of an account after work in which the wallet refused the credentials. The account may have new ones by now, and the next
 * call opens a connector with the current ones.
 */
const forgettingRefused =
  <Outcome>(serveWith: (connector: WalletConnector) => Promise<Served<Outcome>>) =>
  async (
    connector: WalletConnector,
    { forget }: { readonly forget: () => void },
  ): Promise<Served<Outcome>> => {
    const served = await serveWith(connector);
    if (served.areCredentialsRefused) forget();
    return served;
  };

/**
 * A clock that starts at core's time of the lease, because this machine's clock may differ. Without a time of the lease, it starts at this
 * machine's time.
 */
function clockOfLease({ leaseTime }: LeasedPaymentAttempt, ownTime: () => Date): () => Date {
  const startedAt = performance.now();
  const leasedAt = leaseTime === undefined ? ownTime() : timestampDate(leaseTime);
  return () => new Date(leasedAt.getTime() + performance.now() - startedAt);
}

/** A leased reversal, and where its outcome is reported. */
interface LeasedTask {
  readonly task: ReversalTask;
  /** The ids of the stray payment or refund, and of its order if it has one, for the log and the span. */
  readonly subject: Readonly<Record<string, string>>;
  readonly record: (served: Served<ReversalReport>, requestId: string) => Promise<unknown>;
}

/** The id of the stray payment or refund and, if the money belongs to an order, the id of the order. */
const subjectOf = (own: Readonly<Record<string, string>>, orderId: string): LeasedTask['subject'] =>
  orderId === '' ? own : { ...own, order_id: orderId };

/** Leases reversals of one kind, at most `limit`, and none of the merchants that are left out. */
type LeaseTasks = (limit: number, exceptMerchantIds: string[]) => Promise<Leased<LeasedTask>>;

const scopeOf = ({ environment, paymentOptions }: WalletWorkParts) => ({
  environment,
  paymentOptions: [...paymentOptions],
  lease: { seconds: leaseSeconds },
});

const reportOf = ({ outcome, exchanges, retryAfterMs }: Served<ReversalReport>) => ({
  outcome: withWait(outcome, retryAfterMs),
  exchanges: exchanges.map(exchangeMessage),
});

const leaseStrayPayments =
  (parts: WalletWorkParts): LeaseTasks =>
  async (maxReversals, exceptMerchantIds) => {
    const { strayPayments } = parts;
    const { reversals, nothingDueFor } = await strayPayments.leaseReversals({
      ...scopeOf(parts),
      exceptMerchantIds,
      maxReversals,
    });
    const items = reversals.map((leased): LeasedTask => {
      const { merchantId = '', strayPaymentId = '', orderId = '' } = leased.strayPayment ?? {};
      const key = { merchantId, strayPaymentId, leaseId: leased.leaseId };
      return {
        task: taskOfStrayPayment(leased),
        subject: subjectOf({ stray_payment_id: strayPaymentId }, orderId),
        record: (served, requestId) =>
          strayPayments.recordReversalOutcome({ ...key, ...reportOf(served) }, headersOf(requestId)),
      };
    });
    return { items, nothingDueForMs: msOf(nothingDueFor) };
  };

const leaseRefunds =
  (parts: WalletWorkParts): LeaseTasks =>
  async (maxRefunds, exceptMerchantIds) => {
    const { refunds, nothingDueFor } = await parts.refunds.leaseRefunds({
      ...scopeOf(parts),
      exceptMerchantIds,
      maxRefunds,
    });
    const items = refunds.map((leased): LeasedTask => {
      const { merchantId = '', refundId = '', orderId = '' } = leased.refund ?? {};
      const key = { merchantId, refundId, leaseId: leased.leaseId };
      return {
        task: taskOfRefund(leased),
        subject: subjectOf({ refund_id: refundId }, orderId),
        record: (served, requestId) =>
          parts.refunds.recordRefundOutcome({ ...key, ...reportOf(served) }, headersOf(requestId)),
      };
    });
    return { items, nothingDueForMs: msOf(nothingDueFor) };
  };

/** The reversals and refunds of one wallet. They are sent, and queried until the wallet has decided. */
export function reversalWork(parts: WalletWorkParts): LeasedWork<LeasedTask> {
  const { wallet, logger, newRequestId } = parts;
  const share = createMerchantShare(parts.maxInFlight);
  const sources = [leaseStrayPayments(parts), leaseRefunds(parts)];
  const callWallet = (task: ReversalTask): Promise<Served<ReversalReport>> => {
    const options = { signal: workSignal(parts.stop) };
    const serveWith = (connector: WalletConnector) => serveReversal({ ...parts, connector }, task, options);
    if (task.walletAccountId === '') return serveWith(parts.connector);
    const { providerReference, sentBefore } = task;
    return parts.accounts.use(task, forgettingRefused(serveWith), (detail) =>
      servedWithoutCall({ case: 'pending', value: { providerReference, detail, notSent: !sentBefore } }),
    );
  };
  const serve = async ({ task, subject, record }: LeasedTask): Promise<boolean | undefined> => {
    const ids = { merchant_id: task.merchantId, ...subject };
    activeSpan()?.set(Object.fromEntries(Object.entries(ids).map(([name, id]) => [`gatehouse.${name}`, id])));
    const requestId = newRequestId();
    const served = await callWallet(task);
    await reportToCore(() => record(served, requestId), parts, { request_id: requestId, wallet, ...ids });
    logger.info({ request_id: requestId, wallet, ...ids, outcome: served.outcome.case }, 'reversal');
    return walletHealthOf(served, task);
  };
  return {
    name: `${wallet} reversals`,
    async lease(limit) {
      // Each source is the first in turn, so that neither waits for the other under load.
      sources.reverse();
      const items: LeasedTask[] = [];
      let nothingDueForMs: number | undefined = Number.POSITIVE_INFINITY;
      for (const leaseFrom of sources) {
        if (items.length >= limit) continue;
        const leased = await leaseFrom(share.free(limit - items.length), share.full()).catch(
          (error: unknown) => {
            // Core has leased the items already, and perhaps they can be sent only now. The next call reports a lasting error.
            if (items.length > 0) return undefined;
            throw error;
          },
        );
        if (leased === undefined) return { items };
        for (const { task } of leased.items) share.take(task.merchantId);
        items.push(...leased.items);
        nothingDueForMs = earlier(nothingDueForMs, leased.nothingDueForMs);
      }
      return { items, nothingDueForMs };
    },
    idsOf: ({ task, subject }) => ({ merchant_id: task.merchantId, ...subject }),
    serve: (leased) => serve(leased).finally(() => share.giveBack(leased.task.merchantId)),
  };
}

/** The outcome with the wait that the wallet requested. A decided one needs no further request. */
const withWait = (outcome: ReversalReport, retryAfterMs: number): ReversalReport =>
  outcome.case !== 'pending' || retryAfterMs === 0
    ? outcome
    : { case: 'pending', value: { ...outcome.value, retryAfter: durationFromMs(retryAfterMs) } };

const headersOf = (requestId: string) => ({ headers: { 'x-request-id': requestId } });

const msOf = (duration: Duration | undefined): number | undefined =>
  duration === undefined ? undefined : durationMs(duration);

/** A source that gave no time may have work at once. */
const earlier = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? undefined : Math.min(one, other);
