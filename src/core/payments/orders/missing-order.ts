import { recovering } from '../../database/payment-gate.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import type { ClaimPayments } from '../changes/claim-payments.ts';
import type { OrderName } from '../search/find-order.ts';

export interface MissingOrderParts {
  readonly gate: Pick<PaymentGate, 'missing'>;
  readonly claims: Pick<ClaimPayments, 'isPaid'>;
}

/** RECOVERING while a restored gateway may have lost the order, or knows that it was paid; otherwise ORDER_NOT_FOUND. */
export async function missingOrder({ gate, claims }: MissingOrderParts, name: OrderName): Promise<Error> {
  const { merchantId, environment, by, value: orderNumber } = name;
  const error = await gate.missing(name);
  const isPaid = by === 'order_number' && (await claims.isPaid({ merchantId, environment, orderNumber }));
  return isPaid ? recovering() : error;
}
