import { durationFromMs } from '@bufbuild/protobuf/wkt';
import type { Duration } from '@bufbuild/protobuf/wkt';
import { isPublicId } from '../../contract/public-id.ts';
import type { PublicId } from '../../contract/public-id.ts';
import type { LeasePaymentAttemptsRequest } from '../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { LeaseRequest } from '../database/next-due.sql.ts';
import { combine } from '../domain/combine.ts';
import type { Issue } from '../domain/issue.ts';
import type { PaymentOption } from '../domain/order.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { parseEnvironment } from './environment.ts';
import { paymentOptionOf } from './order-messages.ts';
import { parseId, valuesOrThrow } from './request-fields.ts';

const maxLeased = 100;
const minLeaseSeconds = 5;
const maxLeaseSeconds = 300;

/** Which wallets' work the caller takes: at least one option. */
function parsePaymentOptions(names: readonly string[]): Result<PaymentOption[], Issue> {
  const options = names.map(paymentOptionOf).filter((option) => option !== undefined);
  if (options.length === 0 || options.length < names.length) {
    const issue = 'must name at least one option, each a wallet id with _ussd or _wallet';
    return err({ field: 'payment_options', issue });
  }
  return ok(options);
}

/** The most items that the caller leases in one call. */
export function parseLeaseLimit(limit: number, field: string): Result<number, Issue> {
  if (limit < 1 || limit > maxLeased) return err({ field, issue: `must be 1 to ${maxLeased}` });
  return ok(limit);
}

/** The duration of the lease, in milliseconds. */
export function parseLease(lease: Duration | undefined): Result<number, Issue> {
  const seconds = Number(lease?.seconds ?? 0);
  if (seconds < minLeaseSeconds || seconds > maxLeaseSeconds) {
    return err({ field: 'lease', issue: `must be ${minLeaseSeconds}s to ${maxLeaseSeconds}s` });
  }
  return ok(seconds * 1000);
}

const maxExcepted = 100;

function parseExcepted(ids: readonly string[]): Result<PublicId<'mer'>[], Issue> {
  const field = 'except_merchant_ids';
  if (ids.length > maxExcepted) return err({ field, issue: `must name at most ${maxExcepted} merchants` });
  const wrong = ids.map((id) => parseId('mer', id, field)).find((parsed) => !parsed.ok);
  return wrong ?? ok(ids.filter((id) => isPublicId('mer', id)));
}

/** A request for payments, reversals or refunds. @throws INVALID_ARGUMENT INVALID_FIELDS with every issue. */
export const parseLeaseRequest = (
  request: Pick<
    LeasePaymentAttemptsRequest,
    'environment' | 'paymentOptions' | 'lease' | 'exceptMerchantIds'
  >,
  limitField: string,
  limit: number,
): LeaseRequest =>
  valuesOrThrow(
    combine({
      environment: parseEnvironment(request.environment),
      paymentOptions: parsePaymentOptions(request.paymentOptions),
      limit: parseLeaseLimit(limit, limitField),
      leaseMs: parseLease(request.lease),
      exceptMerchantIds: parseExcepted(request.exceptMerchantIds),
    }),
  );

/** The field of the answer that says for how long no work will be due. */
export const nothingDueFor = (ms: number | undefined): { nothingDueFor?: Duration } =>
  ms === undefined ? {} : { nothingDueFor: durationFromMs(ms) };
