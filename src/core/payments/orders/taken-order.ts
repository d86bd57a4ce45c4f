import { rpcError } from '../../../contract/error-reason.ts';
import { recovering } from '../../database/payment-gate.ts';
import type { Changed, Order, OrderFacts, OrderStatus } from '../../domain/order.ts';
import type { DiffersFromOrder } from '../../domain/taken-order-number.ts';
import type { AddOrders, CallScope } from '../changes/add-orders.ts';
import type { NumberedOrder } from '../changes/attempt-ids.ts';
import type { ClaimPayments } from '../changes/claim-payments.ts';
import type { FindOrder } from '../search/find-order.ts';

/** The order of an order_number; undefined when the merchant has not used it. */
export const findByNumber = (
  findOrder: FindOrder,
  { merchantId, environment, orderNumber }: NumberedOrder,
  scope: CallScope,
): Promise<Order | undefined> =>
  findOrder({ merchantId, environment, by: 'order_number', value: orderNumber }, scope);

/**
 * The order that holds a taken order_number. Orders are never deleted. So if there is none, a restored database refused to add the order.
 * @throws RECOVERING
 */
export async function findTaken(findOrder: FindOrder, facts: OrderFacts, scope: CallScope): Promise<Order> {
  const existing = await findByNumber(findOrder, facts, scope);
  if (existing === undefined) throw recovering();
  return existing;
}

export interface AddPaidOrderParts {
  readonly changes: Pick<AddOrders, 'add'>;
  readonly claims: Pick<ClaimPayments, 'claim'>;
  readonly findOrder: FindOrder;
}

/** Adds an order that was paid before it was lost, and gives it its payment. The call that named it is then a repeat. */
export async function addPaidOrder(
  { changes, claims, findOrder }: AddPaidOrderParts,
  registered: Changed,
  scope: CallScope,
): Promise<void> {
  await changes.add(registered, scope);
  const order = await findTaken(findOrder, registered.order, scope);
  await claims.claim(order, scope.requestId);
}

export const orderNumberTaken = (issue: string): Error =>
  rpcError('ORDER_NUMBER_TAKEN', `order_number ${issue}`, { issues: [{ field: 'order_number', issue }] });

/** The error text for an order_number whose order has ended. */
export const issueOfEnded = (status: OrderStatus): string =>
  `belongs to an order that is ${status}; use a new order_number`;

/** The error text for an order_number whose order differs from the request. */
export function issueOfDifferent(order: Order, { fields }: DiffersFromOrder): string {
  const advice = 'use a new order_number, or send the same values to repeat the first request';
  if (!fields.includes('payment_type')) return `was used with another ${listOf(fields)}; ${advice}`;
  const what = order.paymentType === 'DIRECT' ? 'a direct payment' : `an order of type ${order.paymentType}`;
  return `belongs to ${what}; use a new order_number`;
}

const listOf = (fields: readonly string[]): string =>
  [fields.slice(0, -1).join(', '), ...fields.slice(-1)].filter((part) => part !== '').join(' and ');
