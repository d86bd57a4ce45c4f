import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { OrderStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { PaymentOption } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { waitUntil } from '../../support/wait-until.ts';
import type { Payment, PaymentDesk } from '../core/payment-desk.ts';

/** What half of the times, and all but a hundredth of them, stayed below; rounded. */
export function quantiles(times: readonly number[]): { readonly p50: number; readonly p99: number } {
  const sorted = times.filter((time) => !Number.isNaN(time)).sort((a, b) => a - b);
  const at = (share: number): number =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN);
  return { p50: at(0.5), p99: at(0.99) };
}

const ms = (time: Timestamp | undefined): number =>
  time === undefined ? NaN : timestampDate(time).getTime();

/** Starts payments all at once, each from a phone of its own that pays. */
export function startMany(
  desk: PaymentDesk,
  merchantId: string,
  count: number,
  paymentOption: PaymentOption,
  prefix: string,
): Promise<Payment[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) =>
      desk.startDirect({
        merchantId,
        orderNumber: `${prefix}-${index}`,
        phone: `09${paymentOption}1${String(index).padStart(6, '0')}`,
        paymentOption,
      }),
    ),
  );
}

export interface PaymentTimes {
  /** From the order's creation to COMPLETED. */
  readonly totalMs: number;
  /** From the wallet's callback to COMPLETED; NaN when it was decided before one came. */
  readonly callbackMs: number;
}

/** Waits until all are COMPLETED and tells how long each took, by what is on record. */
export async function completed(desk: PaymentDesk, payments: readonly Payment[]): Promise<PaymentTimes[]> {
  await waitUntil('every payment is COMPLETED', async () => {
    const [row] = await desk.query<{ count: number }>(
      `select count(*)::int as count from core.orders where status = 'COMPLETED'`,
    );
    return (row?.count ?? 0) >= payments.length;
  });
  return Promise.all(
    payments.map(async (payment) => {
      const { order, exchanges } = await desk.story(payment);
      if (order?.status !== OrderStatus.COMPLETED) throw new Error(`${payment.orderId} is not COMPLETED`);
      const callback = exchanges.find(({ purpose }) => purpose === 'callback');
      return {
        totalMs: ms(order.updateTime) - ms(order.createTime),
        callbackMs: Math.max(0, ms(order.updateTime) - ms(callback?.startTime)),
      };
    }),
  );
}
