import { rpcError } from '../../../contract/error-reason.ts';
import { invalidFields } from '../../../platform/rpc/rpc-error.ts';
import type { NewId } from '../../../contract/public-id.ts';
import type { Order, OrderFacts, OrderStatus } from '../../domain/order.ts';
import { registerOrder } from '../../domain/order.ts';
import { answerRegistration } from '../../domain/taken-order-number.ts';
import type { AskedRegistration, DiffersFromOrder } from '../../domain/taken-order-number.ts';
import type { FindMerchant } from '../../merchants/find-merchant.ts';
import { requireMerchant } from '../../merchants/find-merchant.ts';
import { payableIssues } from '../../domain/merchant-terms.ts';
import type { Wallet } from '../../domain/wallet.ts';
import type { Registration } from './order-requests.ts';
import type { AddOrders, CallScope } from '../changes/add-orders.ts';
import type { ClaimPayments } from '../changes/claim-payments.ts';
import { commitOf } from '../idempotency/keyed-calls.ts';
import type { KeyedCall } from '../idempotency/keyed-calls.ts';
import type { FindOrder } from '../search/find-order.ts';
import { recovering } from '../../database/payment-gate.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';

export interface Registered {
  readonly order: Order;
  /** Whether the merchant had already registered it with the same values. */
  readonly repeated: boolean;
}

/** With `keyed`, the answer is stored with the order. */
export type RegisterOrder = (
  registration: Registration,
  scope: CallScope,
  keyed?: KeyedCall<Registered>,
) => Promise<Registered>;

export interface RegisterOrderParts {
  readonly changes: Pick<AddOrders, 'add'>;
  readonly claims: Pick<ClaimPayments, 'isPaid' | 'claim'>;
  readonly findOrder: FindOrder;
  readonly findMerchant: FindMerchant;
  readonly gate: Pick<PaymentGate, 'isOpen'>;
  readonly wallets: readonly Wallet[];
  readonly newId: NewId;
  readonly now: () => Date;
}

/**
 * Registers an order for the hosted checkout. A repeat with the same values returns the order while it is PENDING or
 * COMPLETED. So a merchant that lost the answer can send the request again, even if the merchant's terms have changed
 * since. Errors: MERCHANT_NOT_FOUND, MERCHANT_SUSPENDED, PRODUCTION_NOT_ACTIVATED, INVALID_FIELDS by the merchant's
 * terms or because no wallet takes the money, ORDER_NUMBER_TAKEN, OVERLOADED, RECOVERING for an unknown order while the gateway recovers from a restore.
 */
export function createRegisterOrder(parts: RegisterOrderParts): RegisterOrder {
  const { changes, claims, findOrder, findMerchant, gate, wallets, newId, now } = parts;
  return async ({ sessionLifetimeMs, ...registration }, scope, keyed) => {
    const terms = await requireMerchant(findMerchant, registration.merchantId, registration.environment);
    const createdAt = now();
    const facts: OrderFacts = {
      ...registration,
      id: newId('ord', createdAt),
      createdAt,
      expiresAt: new Date(createdAt.getTime() + (sessionLifetimeMs ?? terms.sessionLifetimeMs)),
    };
    const issues = payableIssues(terms, registration.environment, registration.amount, wallets);
    const asked = { facts, sessionLifetimeMs };
    const isOpen = gate.isOpen(facts.environment);
    if (issues.length > 0 || !isOpen) {
      const { merchantId, environment, orderNumber: value } = facts;
      const earlier = await findOrder({ merchantId, environment, by: 'order_number', value }, scope);
      if (
        issues.length > 0 &&
        (earlier === undefined || answerRegistration(earlier, asked).type === 'differs')
      )
        throw invalidFields(issues);
      // The order may be one of those that the database has lost, and that a wallet has charged.
      if (earlier === undefined) throw recovering();
      return repeatedOrThrow(earlier, asked);
    }
    const changed = registerOrder(facts);
    // The order was paid before it was lost. It gets its payment before its answer.
    if (await claims.isPaid(facts)) {
      await changes.add(changed, scope);
      const order = await findTaken(findOrder, facts, scope);
      await claims.claim(order, scope.requestId);
    }
    const registered = { order: changed.order, repeated: false };
    if ((await changes.add(changed, scope, commitOf(keyed, registered))) === 'added') return registered;
    return repeatedOrThrow(await findTaken(findOrder, facts, scope), asked);
  };
}

/** The existing order if the registration repeats it. @throws ORDER_NUMBER_TAKEN */
function repeatedOrThrow(order: Order, asked: AskedRegistration): Registered {
  const answer = answerRegistration(order, asked);
  switch (answer.type) {
    case 'repeat':
      return { order, repeated: true };
    case 'ended':
      throw orderNumberTaken(issueOfEnded(answer.status));
    case 'differs':
      throw orderNumberTaken(issueOfDifferent(order, answer));
  }
}

/** The order that holds a taken order_number. It exists, because orders are never deleted. */
export async function findTaken(findOrder: FindOrder, facts: OrderFacts, scope: CallScope): Promise<Order> {
  const { merchantId, environment, orderNumber } = facts;
  const existing = await findOrder(
    { merchantId, environment, by: 'order_number', value: orderNumber },
    scope,
  );
  if (existing === undefined) throw new Error(`the order_number is taken, but no order has it: ${facts.id}`);
  return existing;
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
