import { durationFromMs, timestampDate } from '@bufbuild/protobuf/wkt';
import type { LeasedPaymentAttempt } from '../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { OrderStatus, PaymentAttemptStatus } from '../gen/gatehouse/v1/order_pb.js';
import { activeSpan } from '../platform/tracing/span.ts';
import type { WalletConnector } from './connector/wallet-connector.ts';
import { exchangeMessage } from './exchange-messages.ts';
import type { LeasedWork } from './lease-worker.ts';
import { createMerchantShare } from './merchant-share.ts';
import { serveAttempt } from './serve-attempt.ts';
import type { Outcome } from './serve-attempt.ts';
import { reportToCore } from './until-core-answers.ts';
import { servedWithoutCall } from './wallet-calls.ts';
import type { Served } from './wallet-calls.ts';
import {
  forgettingRefused,
  headersOf,
  leaseSeconds,
  msOf,
  walletHealthOf,
  workSignal,
} from './wallet-work.ts';
import type { WalletWorkParts } from './wallet-work.ts';

/** The payment attempts of one wallet. They are leased from core and sent to the wallet, and the results are reported. */
export function attemptWork(parts: WalletWorkParts): LeasedWork<LeasedPaymentAttempt> {
  const { wallet, environment, paymentOptions, payments, logger, newRequestId } = parts;
  const share = createMerchantShare(parts.maxInFlight);
  const callWallet = (leased: LeasedPaymentAttempt, askedAtMs: number): Promise<Served<Outcome>> => {
    const now = clockOfLease(leased, askedAtMs, parts.now);
    const options = { signal: workSignal(parts.stop, askedAtMs) };
    const serveWith = (connector: WalletConnector) =>
      serveAttempt({ ...parts, connector, now }, leased, options);
    if (leased.walletAccountId === '') return serveWith(parts.connector);
    return parts.accounts.use(leased, forgettingRefused(serveWith), (detail) =>
      servedWithoutCall({ case: leased.sentBefore ? 'unknown' : 'notReached', value: { detail } }),
    );
  };
  const serve = async (leased: LeasedPaymentAttempt, askedAtMs: number): Promise<boolean | undefined> => {
    const startedAt = performance.now();
    activeSpan()?.set({
      'gatehouse.payment_attempt_id': leased.paymentAttempt?.paymentAttemptId,
      'gatehouse.order_id': leased.paymentAttempt?.orderId,
      'gatehouse.merchant_id': leased.merchantId,
    });
    const requestId = newRequestId();
    const served = await callWallet(leased, askedAtMs);
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
    serve: (leased, askedAtMs) => serve(leased, askedAtMs).finally(() => share.giveBack(leased.merchantId)),
  };
}

/**
 * A clock that starts at core's time of the lease, because this machine's clock may differ. Without a time of the lease, it is this
 * machine's clock. It may be ahead by the time that the lease took, but never behind after a pause of this process.
 */
function clockOfLease(
  { leaseTime }: LeasedPaymentAttempt,
  askedAtMs: number,
  ownTime: () => Date,
): () => Date {
  if (leaseTime === undefined) return ownTime;
  const leasedMs = timestampDate(leaseTime).getTime();
  return () => new Date(leasedMs + performance.now() - askedAtMs);
}
