import { storedId } from '../../support/ids.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { Payment, PaymentDesk } from '../core/payment-desk.ts';

/** Starts payments all at once, each from a phone of its own that confirms. */
export function startMany(
  desk: PaymentDesk,
  merchantId: string,
  count: number,
  paymentOption: string,
  prefix: string,
): Promise<Payment[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) =>
      desk.startDirect({
        merchantId,
        orderNumber: `${prefix}-${index}`,
        // A range of phones for each option.
        phone: `09${paymentOption === 'walletb_ussd' ? 2 : 1}1${String(index).padStart(6, '0')}`,
        paymentOption,
      }),
    ),
  );
}

/** Waits until all of them are COMPLETED. */
export async function completed(desk: PaymentDesk, payments: readonly Payment[]): Promise<void> {
  const ids = payments.map(({ orderId }) => storedId('ord', orderId));
  await waitUntil('every payment is COMPLETED', async () => {
    const paid = await desk.query(`select 1 from core.orders where status = 'COMPLETED' and id = any($1)`, [
      ids,
    ]);
    return paid.length === payments.length;
  });
}
