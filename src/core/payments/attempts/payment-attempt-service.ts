import { durationMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { PaymentAttemptService } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type {
  ListPaymentAttemptsRequest,
  NextAction as NextActionMessage,
  RecordPaymentOutcomeRequest,
} from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { annotate, callerOf, markUneventful } from '../../../platform/rpc/call-context.ts';
import { rpcError } from '../../../contract/error-reason.ts';
import { invalidFields } from '../../../platform/rpc/rpc-error.ts';
import { rpcService } from '../../../contract/rpc-service.ts';
import type { RpcService } from '../../../platform/rpc/rpc-service.ts';
import { publicId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { combine } from '../../domain/combine.ts';
import type { Issue } from '../../domain/issue.ts';
import { walletDeclineReasons } from '../../domain/order.ts';
import type { WalletDeclineReason } from '../../domain/order.ts';
import type { WalletOutcome } from '../../domain/wallet-outcome.ts';
import type { NextAction } from '../../domain/next-action.ts';
import type { Order } from '../../domain/order.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { parseWords } from '../../rpc/enum-words.ts';
import { environmentNumbers, parseEnvironment } from '../../rpc/environment.ts';
import { nothingDueFor, parseLeaseRequest } from '../../rpc/lease-fields.ts';
import { attemptMessage, attemptStatusOf, orderMessage } from '../../rpc/order-messages.ts';
import { pageOf } from '../../../platform/rpc/page-token.ts';
import { parsePageSize, parsePageToken } from '../../rpc/page-token.ts';
import { parseId, parseOptionalId, valuesOrThrow } from '../../rpc/request-fields.ts';
import { walletText } from '../../rpc/wallet-text.ts';
import type { FindTraces } from './find-traces.ts';
import type { MakeAttemptDue } from './make-attempt-due.ts';
import type { LeaseAttempts, LeasedAttempt } from './lease-attempts.ts';
import type { PaymentReader } from './payment-reader.ts';
import type { OutcomeRefusal, RecordOutcome } from './record-outcome.ts';

type CheckoutUrlOf = (order: Pick<Order, 'id' | 'merchantId' | 'environment'>) => string;

export interface PaymentAttemptServiceParts {
  readonly checkoutUrlOf: CheckoutUrlOf;
  readonly leaseAttempts: LeaseAttempts;
  readonly findTraces: FindTraces;
  readonly recordOutcome: RecordOutcome;
  readonly makeAttemptDue: MakeAttemptDue;
  readonly gate: Pick<PaymentGate, 'missing'>;
  readonly reader: PaymentReader;
}

const maxReference = 800;
const maxDetail = 512;
/** More than any amount or currency code needs. A longer text still describes money that was received. */
const maxMoney = 64;

/** gatehouse.v1.PaymentAttemptService. */
export function paymentAttemptService(parts: PaymentAttemptServiceParts): RpcService {
  return rpcService(
    PaymentAttemptService,
    {
      async leasePaymentAttempts(request, context) {
        const asked = parseLeaseRequest(request, 'max_attempts', request.maxAttempts);
        const { items: attempts, nothingDueForMs } = await parts.leaseAttempts(asked);
        annotate(context, { items: attempts.length });
        if (attempts.length === 0) markUneventful(context);
        const traceOf = await parts.findTraces(attempts);
        return {
          attempts: attempts.map((attempt) => ({
            ...leasedMessage(attempt, parts.checkoutUrlOf),
            traceparent: traceOf(attempt),
          })),
          ...nothingDueFor(nothingDueForMs),
        };
      },
      async recordPaymentOutcome(request, context) {
        const report = parseReport(request);
        const { requestId } = callerOf(context);
        const { exchanges, retryAfter } = request;
        const retryAfterMs = retryAfter === undefined ? 0 : durationMs(retryAfter);
        const recorded = await parts.recordOutcome({ ...report, exchanges, retryAfterMs, requestId });
        annotate(context, { payment_attempt_id: report.attemptId, outcome: report.outcome.type });
        if (!recorded.ok) throw refusalError(recorded.error, report.attemptId);
        const { order, attempt, dueAt, strayPaymentId, isNotReturnable } = recorded.value;
        if (isNotReturnable) annotate(context, { stray_payment_id: strayPaymentId, not_returnable: true });
        annotate(context, { order_id: order.id, order_status: order.status, attempt_status: attempt.status });
        return {
          paymentAttempt: attemptMessage(order, attempt),
          order: orderMessage(order),
          ...(dueAt === null ? {} : { dueTime: timestampFromDate(dueAt) }),
          strayPaymentId,
        };
      },
      async hastenPaymentAttempt(request, context) {
        const key = valuesOrThrow(combine(parseKey(request)));
        const done = await parts.makeAttemptDue({
          ...key,
          exchange: request.exchange,
          callbackNote: request.callbackNote,
          signal: context.signal,
        });
        annotate(context, { payment_attempt_id: key.attemptId });
        // The wallets process repeats the callback of an attempt that a restore may have lost.
        if (done === undefined) throw await parts.gate.missing(key, refusalError('not_found', key.attemptId));
        return { paymentAttempt: attemptMessage(done.order, done.attempt) };
      },
      async getPaymentAttempt(request) {
        const { merchantId, attemptId } = valuesOrThrow(combine(parseKey(request)));
        const story = await parts.reader.get(merchantId, attemptId);
        if (story === undefined) throw refusalError('not_found', attemptId);
        const { order, attempt, dueAt, exchanges, ...told } = story;
        return {
          paymentAttempt: attemptMessage(order, attempt),
          order: orderMessage(order),
          ...told,
          ...(dueAt === null ? {} : { dueTime: timestampFromDate(dueAt) }),
          exchanges: [...exchanges],
        };
      },
      async listPaymentAttempts(request) {
        const { filter, key } = parseFilter(request);
        const listed = await parts.reader.list({ ...filter, limit: filter.limit + 1 });
        const page = pageOf(listed, filter.limit, key);
        const paymentAttempts = page.items.map(({ orderId, attempt }) =>
          attemptMessage({ id: publicId('ord', orderId) }, attempt),
        );
        return { paymentAttempts, nextPageToken: page.nextPageToken };
      },
    },
    {
      leasePaymentAttempts: ['wallets'],
      recordPaymentOutcome: ['wallets'],
      hastenPaymentAttempt: ['wallets', 'dashboard', 'operator'],
      getPaymentAttempt: ['dashboard', 'operator', 'reader', 'wallets'],
      listPaymentAttempts: ['dashboard', 'operator', 'reader'],
    },
  );
}

const parseKey = (request: { readonly merchantId: string; readonly paymentAttemptId: string }) => ({
  merchantId: parseId('mer', request.merchantId, 'merchant_id'),
  attemptId: parseId('pat', request.paymentAttemptId, 'payment_attempt_id'),
});

function parseReport(request: RecordPaymentOutcomeRequest) {
  return valuesOrThrow(
    combine({
      ...parseKey(request),
      leaseId:
        request.leaseId === '' ? err({ field: 'lease_id', issue: 'is required' }) : ok(request.leaseId),
      outcome: parseOutcome(request),
    }),
  );
}

function parseOutcome({ outcome }: RecordPaymentOutcomeRequest): Result<WalletOutcome, Issue> {
  switch (outcome.case) {
    case 'pending':
      return ok({
        type: 'pending',
        providerReference: walletText(outcome.value.providerReference, maxReference),
        ...nextActionOf(outcome.value.nextAction),
      });
    case 'completed': {
      const { providerTransactionId, amount, currency } = outcome.value;
      if (providerTransactionId === '')
        return err({ field: 'completed.provider_transaction_id', issue: 'is required' });
      return ok({
        type: 'completed',
        providerTransactionId: walletText(providerTransactionId, maxReference),
        amount: walletText(amount, maxMoney),
        currency: walletText(currency, maxMoney),
      });
    }
    case 'declined': {
      const reason = walletDeclineReasons.find((known) => known === outcome.value.reason);
      if (reason === undefined)
        return err({ field: 'declined.reason', issue: `must be one of ${walletDeclineReasons.join(', ')}` });
      return ok<WalletOutcome>({ type: 'declined', reason: reason satisfies WalletDeclineReason });
    }
    case 'timedOut':
      return ok({ type: 'timed_out' });
    case 'unknown':
      return ok({ type: 'unknown', detail: walletText(outcome.value.detail, maxDetail) });
    case 'notReached':
      return ok({ type: 'not_reached', detail: walletText(outcome.value.detail, maxDetail) });
    case undefined:
      return err({ field: 'outcome', issue: 'is required' });
  }
}

const maxActionText = 4_096;

/** A next action that is too long, or a page that is no web page, is left out: the payer could not use it. */
function nextActionOf(message: NextActionMessage | undefined): { readonly nextAction?: NextAction } {
  const { case: kind, value = '' } = message?.action ?? {};
  if (kind === undefined || value === '' || value.length > maxActionText) return {};
  switch (kind) {
    case 'redirectUrl':
      return /^https?:$/.test(URL.parse(value)?.protocol ?? '')
        ? { nextAction: { kind: 'redirect', url: value } }
        : {};
    case 'qrPayload':
      return { nextAction: { kind: 'qr', payload: value } };
    case 'instructions':
      return { nextAction: { kind: 'instructions', text: value } };
  }
}

function refusalError(refused: OutcomeRefusal, attemptId: PublicId<'pat'>) {
  switch (refused) {
    case 'not_found':
      return rpcError('PAYMENT_ATTEMPT_NOT_FOUND', `the merchant has no payment attempt ${attemptId}`);
    case 'lease_lost':
      return rpcError('LEASE_LOST', 'the lease has expired, and another worker holds the attempt');
    case 'sent_before':
      return invalidFields([
        { field: 'not_reached', issue: 'is allowed only when sent_before of the lease is false' },
      ]);
  }
}

function parseFilter(request: ListPaymentAttemptsRequest) {
  const key = [request.merchantId, request.environment, request.statuses, request.orderId];
  const filter = valuesOrThrow(
    combine({
      merchantId: parseId('mer', request.merchantId, 'merchant_id'),
      environment: parseEnvironment(request.environment),
      statuses: parseWords(request.statuses, attemptStatusOf, {
        field: 'statuses',
        issue: 'must contain only known states of payment attempts',
      }),
      orderId: parseOptionalId('ord', request.orderId, 'order_id'),
      beforeId: parsePageToken(request.pageToken, 'pat', key),
      limit: parsePageSize(request.pageSize),
    }),
  );
  return { filter, key };
}

function leasedMessage({ order, attempt, ...lease }: LeasedAttempt, checkoutUrlOf: CheckoutUrlOf) {
  return {
    paymentAttempt: attemptMessage(order, attempt),
    leaseId: lease.leaseId,
    merchantId: order.merchantId,
    environment: environmentNumbers[order.environment],
    amount: order.amount.text,
    currency: order.amount.currency.code,
    orderNumber: order.orderNumber,
    reason: order.reason,
    sentBefore: lease.sentBefore,
    providerReference: lease.providerReference,
    leases: lease.leases,
    promptUntil: timestampFromDate(lease.promptUntil),
    leaseTime: timestampFromDate(lease.leasedAt),
    callbackNotes: [...lease.callbackNotes],
    returnUrl: order.paymentType === 'DIRECT' ? '' : checkoutUrlOf(order),
    walletAccountId: lease.walletAccountId === null ? '' : publicId('wac', lease.walletAccountId),
  };
}
