import { durationFromMs, timestampDate } from '@bufbuild/protobuf/wkt';
import type { Client } from '@connectrpc/connect';
import type { PaymentOption } from '../contract/payment-option.ts';
import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import type {
  LeasedPaymentAttempt,
  PaymentAttemptService,
} from '../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { OrderStatus, PaymentAttemptStatus } from '../gen/gatehouse/v1/order_pb.js';
import type { LeasedReversal, StrayPaymentService } from '../gen/gatehouse/v1/stray_payment_service_pb.js';
import type { Logger } from '../platform/logger.ts';
import type { CallbackTokens } from './callback-token.ts';
import type { WalletConnector } from './connector/wallet-connector.ts';
import { createMerchantShare } from './merchant-share.ts';
import { exchangeMessage } from './exchange-messages.ts';
import type { LeasedWork } from './lease-worker.ts';
import { serveAttempt } from './serve-attempt.ts';
import { serveReversal } from './serve-reversal.ts';

export interface WalletWorkParts {
  /** The name in the log, such as "walleta". */
  readonly wallet: string;
  readonly environment: Environment;
  readonly paymentOptions: readonly PaymentOption[];
  readonly connector: WalletConnector;
  readonly payments: Client<typeof PaymentAttemptService>;
  readonly strayPayments: Client<typeof StrayPaymentService>;
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
  const serve = async (leased: LeasedPaymentAttempt): Promise<boolean> => {
    const startedAt = performance.now();
    const requestId = newRequestId();
    const now = timeSinceLease(leased, parts.now);
    const served = await serveAttempt({ ...parts, now }, leased, { signal: workSignal(parts.stop) });
    const paymentAttemptId = leased.paymentAttempt?.paymentAttemptId ?? '';
    const { order, paymentAttempt, strayPaymentId } = await payments.recordPaymentOutcome(
      {
        merchantId: leased.merchantId,
        paymentAttemptId,
        leaseId: leased.leaseId,
        outcome: served.outcome,
        exchanges: served.exchanges.map(exchangeMessage),
        ...(served.retryAfterMs === 0 ? {} : { retryAfter: durationFromMs(served.retryAfterMs) }),
      },
      { headers: { 'x-request-id': requestId } },
    );
    logger.info(
      {
        request_id: requestId,
        wallet,
        payment_attempt_id: paymentAttemptId,
        order_id: order?.orderId,
        sent_before: leased.sentBefore,
        leases: leased.leases,
        calls: served.exchanges.map(({ purpose, status }) => `${purpose} ${status ?? 'no answer'}`),
        outcome: served.outcome.case,
        attempt_status: PaymentAttemptStatus[paymentAttempt?.status ?? 0],
        order_status: OrderStatus[order?.status ?? 0],
        ...(strayPaymentId === '' ? {} : { stray_payment_id: strayPaymentId }),
        duration_ms: Math.round(performance.now() - startedAt),
      },
      'payment',
    );
    return served.isWell;
  };
  return {
    name: `${wallet} payments`,
    async lease(limit) {
      const { attempts } = await payments.leasePaymentAttempts({
        environment,
        paymentOptions: [...paymentOptions],
        exceptMerchantIds: share.full(),
        maxAttempts: share.free(limit),
        lease: { seconds: leaseSeconds },
      });
      for (const { merchantId } of attempts) share.take(merchantId);
      return attempts;
    },
    serve: (leased) => serve(leased).finally(() => share.giveBack(leased.merchantId)),
  };
}

/**
 * The time by the clock of the attempt's own times, which may differ from this machine's. Without a lease time, this
 * machine's clock.
 */
function timeSinceLease({ leaseTime }: LeasedPaymentAttempt, ownTime: () => Date): () => Date {
  const startedAt = performance.now();
  const leasedAt = leaseTime === undefined ? ownTime() : timestampDate(leaseTime);
  return () => new Date(leasedAt.getTime() + performance.now() - startedAt);
}

/** The reversals of one wallet. They are sent, and queried until the wallet has decided. */
export function reversalWork(parts: WalletWorkParts): LeasedWork<LeasedReversal> {
  const { wallet, environment, paymentOptions, strayPayments, logger, newRequestId } = parts;
  return {
    name: `${wallet} reversals`,
    async lease(maxReversals) {
      const request = {
        environment,
        paymentOptions: [...paymentOptions],
        maxReversals,
        lease: { seconds: leaseSeconds },
      };
      return (await strayPayments.leaseReversals(request)).reversals;
    },
    async serve(leased) {
      const requestId = newRequestId();
      const served = await serveReversal(parts, leased, { signal: workSignal(parts.stop) });
      const { merchantId = '', strayPaymentId = '' } = leased.strayPayment ?? {};
      await strayPayments.recordReversalOutcome(
        {
          merchantId,
          strayPaymentId,
          leaseId: leased.leaseId,
          outcome: served.outcome,
          exchanges: served.exchanges.map(exchangeMessage),
        },
        { headers: { 'x-request-id': requestId } },
      );
      logger.info(
        { request_id: requestId, wallet, stray_payment_id: strayPaymentId, outcome: served.outcome.case },
        'reversal',
      );
      return served.isWell;
    },
  };
}
