import { durationFromMs, timestampDate } from '@bufbuild/protobuf/wkt';
import type { Client } from '@connectrpc/connect';
import type { Environment, PaymentOption } from '../gen/gatehouse/v1/order_pb.js';
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
  /** Named in the log, such as "walleta". */
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
  /** Pieces of each kind of work that are under way at once. */
  readonly maxInFlight: number;
  /** Ends the calls to the wallet when the process must go. */
  readonly stop: AbortSignal;
}

/** What a worker that died had taken waits this long: short enough that its orders are decided within a minute. */
const leaseSeconds = 45n;

/** All calls for one lease are cut off then: nobody else begins while they may still speak. */
const workMs = 40_000;
const workSignal = (stop: AbortSignal): AbortSignal => AbortSignal.any([stop, AbortSignal.timeout(workMs)]);

/** Payment attempts of one wallet: taken from core, brought to the wallet, its word brought back. */
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

/** The time by the clock that the attempt's times are by, whatever this machine's says; that one without a lease time. */
function timeSinceLease({ leaseTime }: LeasedPaymentAttempt, ownTime: () => Date): () => Date {
  const startedAt = performance.now();
  const leasedAt = leaseTime === undefined ? ownTime() : timestampDate(leaseTime);
  return () => new Date(leasedAt.getTime() + performance.now() - startedAt);
}

/** Stray money of one wallet: sent back, and followed until the wallet says it went. */
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
