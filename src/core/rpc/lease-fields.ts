import type { Duration } from '@bufbuild/protobuf/wkt';
import type { PaymentOption as PaymentOptionMessage } from '../../gen/gatehouse/v1/order_pb.js';
import type { Issue } from '../domain/issue.ts';
import type { PaymentOption } from '../domain/order.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { paymentOptionOf } from './order-messages.ts';

const maxLeased = 100;
const minLeaseSeconds = 5;
const maxLeaseSeconds = 300;

/** The payment options of the caller's wallets: at least one, all known. */
export function parsePaymentOptions(
  numbers: readonly PaymentOptionMessage[],
): Result<PaymentOption[], Issue> {
  const options = numbers.map(paymentOptionOf).filter((option) => option !== undefined);
  if (options.length === 0 || options.length < numbers.length) {
    return err({ field: 'payment_options', issue: 'must name at least one option, and only known ones' });
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
