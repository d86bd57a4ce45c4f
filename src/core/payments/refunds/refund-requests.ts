import { durationMs } from '@bufbuild/protobuf/wkt';
import type { RecordRefundOutcomeRequest } from '../../../gen/gatehouse/v1/refund_service_pb.js';
import type {
  CreateRefundRequest,
  GetRefundRequest,
  ListRefundsRequest,
} from '../../../gen/gatehouse/v1/refund_service_pb.js';
import type { RecordReversalOutcomeRequest } from '../../../gen/gatehouse/v1/stray_payment_service_pb.js';
import { combine } from '../../domain/combine.ts';
import type { Issue } from '../../domain/issue.ts';
import { requiredIssue } from '../../domain/issue.ts';
import { Money } from '../../domain/money.ts';
import { OrderNumber } from '../../domain/order-number.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import type { ReversalOutcome } from '../../domain/reversal.ts';
import { parseText } from '../../domain/text.ts';
import { parseEnumWords } from '../../rpc/enum-words.ts';
import { parseEnvironment, parseOptionalEnvironment } from '../../rpc/environment.ts';
import { parsePageSize, parsePageToken } from '../../rpc/page-token.ts';
import { refundStatuses } from '../../rpc/refund-message.ts';
import { parseId, parseOptionalId, valuesOrThrow } from '../../rpc/request-fields.ts';
import { parseEnd, parseTime, timeKey } from '../../rpc/time-fields.ts';
import { walletText } from '../../rpc/wallet-text.ts';
import type { RefundRequest } from './start-refund.ts';
import type { RefundFilter, RefundName } from './find-refunds.ts';

const maxReference = 800;
const maxDetail = 512;
const maxRefusalReason = 64;
export const reasonLength = 255;

/** @throws INVALID_FIELDS */
export const parseCreateRefund = (request: CreateRefundRequest): RefundRequest =>
  valuesOrThrow(
    combine({
      merchantId: parseId('mer', request.merchantId, 'merchant_id'),
      environment: parseEnvironment(request.environment),
      order: parseOrder(request.order),
      refundNumber: OrderNumber.parse(request.refundNumber, 'refund_number'),
      // The currency is the order's, and only the order's row contains it.
      amount: request.amount === '' ? ok(undefined) : Money.parseText(request.amount, 'amount'),
      reason: parseText(request.reason, 'reason', { max: reasonLength, required: true }),
    }),
  );

function parseOrder(order: CreateRefundRequest['order']): Result<RefundRequest['order'], Issue> {
  switch (order.case) {
    case 'orderId': {
      const id = parseId('ord', order.value, 'order_id');
      return id.ok ? ok({ by: 'id', value: id.value }) : id;
    }
    case 'orderNumber': {
      const number = OrderNumber.parse(order.value, 'order_number');
      return number.ok ? ok({ by: 'order_number', value: number.value }) : number;
    }
    case undefined:
      return err({ field: 'order_number', issue: requiredIssue });
  }
}

/** @throws INVALID_FIELDS */
export function parseRefundName(request: GetRefundRequest): RefundName {
  const merchantId = parseId('mer', request.merchantId, 'merchant_id');
  const { name } = request;
  switch (name.case) {
    case 'refundId': {
      const environment = parseOptionalEnvironment(request.environment);
      const value = parseId('rfd', name.value, 'refund_id');
      return { by: 'id', ...valuesOrThrow(combine({ merchantId, environment, value })) };
    }
    case 'refundNumber': {
      const environment = parseEnvironment(request.environment);
      const value = OrderNumber.parse(name.value, 'refund_number');
      return { by: 'refund_number', ...valuesOrThrow(combine({ merchantId, environment, value })) };
    }
    case undefined:
      return valuesOrThrow<never>(
        err({ field: 'refund_id', issue: 'is required, unless refund_number is given' }),
      );
  }
}

/** The filter of a list, and the values that its page tokens are bound to. @throws INVALID_FIELDS */
export function parseRefundFilter(request: ListRefundsRequest): {
  readonly filter: RefundFilter;
  readonly key: readonly unknown[];
} {
  const key = [
    request.merchantId,
    request.environment,
    request.orderId,
    request.statuses,
    timeKey(request.createTimeFrom),
    timeKey(request.createTimeTo),
  ];
  const filter = valuesOrThrow(
    combine({
      merchantId: parseOptionalId('mer', request.merchantId, 'merchant_id'),
      environment: parseOptionalEnvironment(request.environment),
      orderId: parseOptionalId('ord', request.orderId, 'order_id'),
      statuses: parseEnumWords(refundStatuses, request.statuses, 'statuses'),
      createdFrom: parseTime(request.createTimeFrom, 'create_time_from'),
      createdTo: parseEnd(request.createTimeTo, 'create_time_to', {
        from: request.createTimeFrom,
        fromField: 'create_time_from',
      }),
      beforeId: parsePageToken(request.pageToken, 'rfd', key),
      limit: parsePageSize(request.pageSize),
    }),
  );
  return { filter, key };
}

/** The wallet's answer to a reversal or a refund. Texts are cut to the length that the database keeps. */
export function parseReversalOutcome({
  outcome,
}: RecordReversalOutcomeRequest | RecordRefundOutcomeRequest): Result<ReversalOutcome, Issue> {
  switch (outcome.case) {
    case 'pending': {
      const { providerReference, detail, notSent, retryAfter } = outcome.value;
      const wait = retryAfter === undefined ? {} : { retryAfterMs: durationMs(retryAfter) };
      const cut = {
        providerReference: walletText(providerReference, maxReference),
        detail: walletText(detail, maxDetail),
      };
      return ok(
        notSent ? { type: 'not_sent', detail: cut.detail, ...wait } : { type: 'pending', ...cut, ...wait },
      );
    }
    case 'done':
      return ok({ type: 'done' });
    case 'refused':
      return ok({
        type: 'refused',
        reason: walletText(outcome.value.reason, maxRefusalReason),
        detail: walletText(outcome.value.detail, maxDetail),
        definite: outcome.value.definite,
      });
    case undefined:
      return err({ field: 'outcome', issue: 'is required' });
  }
}
