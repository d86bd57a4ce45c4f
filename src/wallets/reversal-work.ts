import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { activeSpan } from '../platform/tracing/span.ts';
import type { WalletConnector } from './connector/wallet-connector.ts';
import { exchangeMessage } from './exchange-messages.ts';
import type { Leased, LeasedWork } from './lease-worker.ts';
import { createMerchantShare } from './merchant-share.ts';
import { taskOfRefund, taskOfStrayPayment } from './reversal-task.ts';
import type { ReversalTask } from './reversal-task.ts';
import { serveReversal } from './serve-reversal.ts';
import type { ReversalReport } from './serve-reversal.ts';
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
  const callWallet = (task: ReversalTask, askedAtMs: number): Promise<Served<ReversalReport>> => {
    const options = { signal: workSignal(parts.stop, askedAtMs) };
    const serveWith = (connector: WalletConnector) => serveReversal({ ...parts, connector }, task, options);
    if (task.walletAccountId === '') return serveWith(parts.connector);
    const { providerReference, sentBefore } = task;
    return parts.accounts.use(task, forgettingRefused(serveWith), (detail) =>
      servedWithoutCall({ case: 'pending', value: { providerReference, detail, notSent: !sentBefore } }),
    );
  };
  const serve = async (
    { task, subject, record }: LeasedTask,
    askedAtMs: number,
  ): Promise<boolean | undefined> => {
    const ids = { merchant_id: task.merchantId, ...subject };
    activeSpan()?.set(Object.fromEntries(Object.entries(ids).map(([name, id]) => [`gatehouse.${name}`, id])));
    const requestId = newRequestId();
    const served = await callWallet(task, askedAtMs);
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
    serve: (leased, askedAtMs) =>
      serve(leased, askedAtMs).finally(() => share.giveBack(leased.task.merchantId)),
  };
}

/** The outcome with the wait that the wallet requested. A decided one needs no further request. */
const withWait = (outcome: ReversalReport, retryAfterMs: number): ReversalReport =>
  outcome.case !== 'pending' || retryAfterMs === 0
    ? outcome
    : { case: 'pending', value: { ...outcome.value, retryAfter: durationFromMs(retryAfterMs) } };

/** A source that gave no time may have work at once. */
const earlier = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? undefined : Math.min(one, other);
