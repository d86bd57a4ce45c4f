import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { rpcError } from '../../../contract/error-reason.ts';
import { isWalletId, walletOf } from '../../../contract/payment-option.ts';
import { publicId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import { rpcService } from '../../../contract/rpc-service.ts';
import {
  PayerPaymentDecision as DecisionMessage,
  PayerPaymentSchema,
  PayerPaymentService,
  PayerPaymentStatus as StatusMessage,
} from '../../../gen/gatehouse/v1/payer_payment_service_pb.js';
import type {
  ListPayerPaymentsRequest,
  PayerPayment as PayerPaymentMessage,
  RecordPayerPaymentOutcomeRequest,
  ReportPayerPaymentRequest,
} from '../../../gen/gatehouse/v1/payer_payment_service_pb.js';
import { annotate, callerOf, markUneventful } from '../../../platform/rpc/call-context.ts';
import { pageOf } from '../../../platform/rpc/page-token.ts';
import type { RpcService } from '../../../platform/rpc/rpc-service.ts';
import { combine } from '../../domain/combine.ts';
import type { Issue } from '../../domain/issue.ts';
import type { PaymentOption } from '../../domain/order.ts';
import type { PayerPaymentDecision, PayerPaymentStatus } from '../../domain/payer-payment.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { parseEnumWords } from '../../rpc/enum-words.ts';
import { environmentNumbers, parseEnvironment, parseOptionalEnvironment } from '../../rpc/environment.ts';
import { parseLease, parseLeaseLimit } from '../../rpc/lease-fields.ts';
import { paymentOptionOf } from '../../rpc/order-messages.ts';
import { parsePageSize, parsePageToken } from '../../rpc/page-token.ts';
import { parseId, valuesOrThrow } from '../../rpc/request-fields.ts';
import { walletText } from '../../rpc/wallet-text.ts';
import type { ConfirmPayerPayment, ConfirmationOutcome } from './confirm-payer-payment.ts';
import type { PayerPaymentQueue } from './lease-payer-payments.ts';
import type { PayerPaymentReader } from './list-payer-payments.ts';
import type { PayerPayment } from './payer-payment-row.ts';
import type { ReportPayerPayment } from './report-payer-payment.ts';
import type { ValidatePayerPayment } from './validate-payer-payment.ts';

export interface PayerPaymentServiceParts {
  readonly validate: ValidatePayerPayment;
  readonly report: ReportPayerPayment;
  readonly queue: PayerPaymentQueue;
  readonly confirm: ConfirmPayerPayment;
  readonly reader: PayerPaymentReader;
}

/** More than any wallet sends. A longer text still describes money that was received. */
const maxText = 64;
const maxReference = 800;
const maxDetail = 512;

/** gatehouse.v1.PayerPaymentService. */
export function payerPaymentService(parts: PayerPaymentServiceParts): RpcService {
  const { validate, report, queue, confirm, reader } = parts;
  return rpcService(
    PayerPaymentService,
    {
      async validatePayerPayment(request, context) {
        const { reference, amount, currency, paymentAttemptIdEnd: attemptIdEnd } = request;
        const scope = valuesOrThrow(combine(parseScope(request)));
        const decision = await validate({
          ...scope,
          reference: storableText(reference),
          amount,
          currency,
          attemptIdEnd,
        });
        annotate(context, { decision });
        return { decision: decisions[decision] };
      },
      async reportPayerPayment(request, context) {
        const payment = await report({
          ...parseReported(request),
          exchange: request.exchange,
          signal: context.signal,
        });
        annotate(context, { payer_payment_id: publicId('ppm', payment.id), status: payment.status });
        return { payerPayment: messageOf(payment) };
      },
      async leasePayerPayments(request, context) {
        const { wallet, environment, limit, leaseMs } = valuesOrThrow(
          combine({
            ...parseScope(request),
            limit: parseLeaseLimit(request.maxPayments, 'max_payments'),
            leaseMs: parseLease(request.lease),
          }),
        );
        const leased = await queue.lease(wallet, environment, limit, leaseMs);
        annotate(context, { items: leased.length });
        if (leased.length === 0) markUneventful(context);
        return {
          payments: leased.map(({ payment, leaseId }) => ({
            payerPayment: messageOf(payment),
            leaseId,
            providerReference: payment.providerReference ?? '',
            callbackNotes: payment.callbackNotes,
          })),
        };
      },
      async recordPayerPaymentOutcome(request, context) {
        const { payerPaymentId, leaseId, outcome } = parseOutcomeReport(request);
        const { exchanges } = request;
        const { requestId } = callerOf(context);
        const recorded = await confirm({ payerPaymentId, leaseId, outcome, exchanges, requestId });
        annotate(context, { payer_payment_id: payerPaymentId, outcome: outcome.type });
        if (!recorded.ok) {
          if (recorded.error === 'not_found') throw notFound(payerPaymentId);
          throw rpcError('LEASE_LOST', 'the lease has expired, and another worker holds the payment');
        }
        const { value: payment } = recorded;
        annotate(context, { status: payment.status });
        return { payerPayment: messageOf(payment) };
      },
      async hastenPayerPayment(request, context) {
        const id = valuesOrThrow(parseId('ppm', request.payerPaymentId, 'payer_payment_id'));
        annotate(context, { payer_payment_id: id });
        const { exchange, callbackNote: note } = request;
        const hastened = await queue.hasten(id, { exchange, note }, context.signal);
        if (hastened === undefined) throw notFound(id);
        return { payerPayment: messageOf(hastened) };
      },
      async getPayerPayment(request) {
        const id = valuesOrThrow(parseId('ppm', request.payerPaymentId, 'payer_payment_id'));
        const found = await reader.get(id);
        if (found === undefined) throw notFound(id);
        return { payerPayment: messageOf(found.payment), exchanges: [...found.exchanges] };
      },
      async listPayerPayments(request) {
        const { filter, key } = parseFilter(request);
        const listed = await reader.list({ ...filter, limit: filter.limit + 1 });
        const page = pageOf(
          listed.map((payment) => ({ id: publicId('ppm', payment.id), payment })),
          filter.limit,
          key,
        );
        return {
          payerPayments: page.items.map(({ payment }) => messageOf(payment)),
          nextPageToken: page.nextPageToken,
        };
      },
    },
    {
      validatePayerPayment: ['wallets'],
      reportPayerPayment: ['wallets'],
      leasePayerPayments: ['wallets'],
      recordPayerPaymentOutcome: ['wallets'],
      hastenPayerPayment: ['wallets', 'dashboard', 'operator'],
      getPayerPayment: ['dashboard', 'operator', 'reader'],
      listPayerPayments: ['dashboard', 'operator', 'reader'],
    },
  );
}

const storableText = (text: string): string => walletText(text, maxText);

const notFound = (id: PublicId<'ppm'>) =>
  rpcError('PAYER_PAYMENT_NOT_FOUND', `there is no payer-started payment ${id}`);

const statuses = {
  OPEN: StatusMessage.OPEN,
  ORDER_PAID: StatusMessage.ORDER_PAID,
  STRAY: StatusMessage.STRAY,
  REQUESTED_PAYMENT: StatusMessage.REQUESTED_PAYMENT,
  NO_PAYMENT: StatusMessage.NO_PAYMENT,
  ABANDONED: StatusMessage.ABANDONED,
} as const satisfies Record<PayerPaymentStatus, StatusMessage>;

const decisions = {
  ACCEPT: DecisionMessage.ACCEPT,
  UNKNOWN_REFERENCE: DecisionMessage.UNKNOWN_REFERENCE,
  WRONG_AMOUNT: DecisionMessage.WRONG_AMOUNT,
  NOT_PAYABLE: DecisionMessage.NOT_PAYABLE,
} as const satisfies Record<PayerPaymentDecision, DecisionMessage>;

function messageOf(payment: PayerPayment): PayerPaymentMessage {
  const { merchantId, orderId, paymentAttemptId, strayPaymentId } = payment;
  return create(PayerPaymentSchema, {
    payerPaymentId: publicId('ppm', payment.id),
    wallet: payment.wallet,
    environment: environmentNumbers[payment.environment],
    providerTransactionId: payment.providerTransactionId,
    reference: payment.reference,
    payee: payment.payee,
    amount: payment.amount,
    currency: payment.currency,
    status: statuses[payment.status],
    merchantId: merchantId == null ? '' : publicId('mer', merchantId),
    orderId: orderId == null ? '' : publicId('ord', orderId),
    paymentAttemptId: paymentAttemptId == null ? '' : publicId('pat', paymentAttemptId),
    strayPaymentId: strayPaymentId == null ? '' : publicId('stp', strayPaymentId),
    detail: payment.detail,
    tries: payment.tries,
    createTime: timestampFromDate(payment.createdAt),
    updateTime: timestampFromDate(payment.updatedAt),
  });
}

const parseWallet = (wallet: string): Result<string, Issue> =>
  isWalletId(wallet) ? ok(wallet) : err({ field: 'wallet', issue: 'must be the id of a wallet' });

const parseScope = ({ wallet, environment }: { wallet: string; environment: number }) => ({
  wallet: parseWallet(wallet),
  environment: parseEnvironment(environment),
});

function parseOption({ wallet, paymentOption }: ReportPayerPaymentRequest): Result<PaymentOption, Issue> {
  const option = paymentOptionOf(paymentOption);
  return option !== undefined && walletOf(option) === wallet
    ? ok(option)
    : err({ field: 'payment_option', issue: 'must be an option of the wallet' });
}

function parseReported(request: ReportPayerPaymentRequest) {
  const { providerTransactionId: transaction, paymentAttemptIdEnd: attemptIdEnd, callbackNote } = request;
  const parsed = valuesOrThrow(
    combine({
      ...parseScope(request),
      paymentOption: parseOption(request),
      providerTransactionId:
        transaction === ''
          ? err({ field: 'provider_transaction_id', issue: 'is required' })
          : ok(walletText(transaction, maxReference)),
    }),
  );
  return {
    ...parsed,
    reference: storableText(request.reference),
    payee: storableText(request.payee),
    amount: storableText(request.amount),
    currency: storableText(request.currency),
    attemptIdEnd,
    callbackNote,
  };
}

function parseOutcomeReport(request: RecordPayerPaymentOutcomeRequest) {
  return valuesOrThrow(
    combine({
      payerPaymentId: parseId('ppm', request.payerPaymentId, 'payer_payment_id'),
      leaseId:
        request.leaseId === '' ? err({ field: 'lease_id', issue: 'is required' }) : ok(request.leaseId),
      outcome: parseOutcome(request),
    }),
  );
}

function parseOutcome({ outcome }: RecordPayerPaymentOutcomeRequest): Result<ConfirmationOutcome, Issue> {
  switch (outcome.case) {
    case 'pending':
      return ok({
        type: 'pending',
        providerReference: walletText(outcome.value.providerReference, maxReference),
      });
    case 'completed': {
      const { amount, currency } = outcome.value;
      return ok({ type: 'completed', amount: storableText(amount), currency: storableText(currency) });
    }
    case 'declined':
      return ok({ type: 'declined' });
    case 'unknown':
      return ok({ type: 'unknown', detail: walletText(outcome.value.detail, maxDetail) });
    case undefined:
      return err({ field: 'outcome', issue: 'is required' });
  }
}

function parseFilter(request: ListPayerPaymentsRequest) {
  const key = [request.environment, request.wallet, request.statuses];
  const filter = valuesOrThrow(
    combine({
      environment: parseOptionalEnvironment(request.environment),
      wallet: request.wallet === '' ? ok('') : parseWallet(request.wallet),
      statuses: parseEnumWords(statuses, request.statuses, 'statuses'),
      beforeId: parsePageToken(request.pageToken, 'ppm', key),
      limit: parsePageSize(request.pageSize),
    }),
  );
  return { filter, key };
}
