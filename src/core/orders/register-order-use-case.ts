import { invalidFields, rpcError } from '../../runtime/rpc/rpc-error.ts';
import type { NewId } from '../../runtime/public-id.ts';
import type { Order, OrderFacts } from '../domain/order.ts';
import { registerOrder, sameRegistration } from '../domain/order.ts';
import type { FindMerchant } from '../merchants/find-merchant-use-case.ts';
import { requireMerchant } from '../merchants/find-merchant-use-case.ts';
import { amountIssues } from '../domain/merchant-terms.ts';
import type { Registration } from './order-requests.ts';
import type { CallScope, OrderStore } from './order-store.ts';

export interface Registered {
  readonly order: Order;
  /** Whether the merchant had registered it before, with the same values. */
  readonly repeated: boolean;
}

export type RegisterOrder = (registration: Registration, scope: CallScope) => Promise<Registered>;

export interface RegisterOrderParts {
  readonly store: OrderStore;
  readonly findMerchant: FindMerchant;
  readonly newId: NewId;
  readonly now: () => Date;
}

/**
 * Registers an order for the hosted checkout. A repeat with the same values while the order is PENDING gives that order
 * again: whoever lost the answer may simply ask once more, even when the merchant's terms are others by then.
 * Errors: MERCHANT_NOT_FOUND, MERCHANT_SUSPENDED, PRODUCTION_NOT_ACTIVATED, INVALID_FIELDS by the merchant's terms,
 * ORDER_NUMBER_TAKEN, OVERLOADED.
 */
export function createRegisterOrder({ store, findMerchant, newId, now }: RegisterOrderParts): RegisterOrder {
  return async ({ sessionLifetimeMs, ...registration }, scope) => {
    const terms = await requireMerchant(findMerchant, registration.merchantId, registration.environment);
    const createdAt = now();
    const facts: OrderFacts = {
      ...registration,
      id: newId('ord', createdAt),
      createdAt,
      expiresAt: new Date(createdAt.getTime() + (sessionLifetimeMs ?? terms.sessionLifetimeMs)),
    };
    const issues = amountIssues(terms, registration.amount);
    if (issues.length > 0) {
      const earlier = await findSame(store, facts, scope);
      if (earlier !== undefined) return { order: earlier, repeated: true };
      throw invalidFields(issues);
    }
    const changed = registerOrder(facts);
    if ((await store.insert(changed, scope)) === 'inserted') return { order: changed.order, repeated: false };

    const existing = await findTaken(store, facts, scope);
    const repeated = sameRegistration(existing, facts) && lastsAsLong(existing, sessionLifetimeMs);
    if (existing.status === 'PENDING' && repeated) return { order: existing, repeated };
    throw orderNumberTaken(existing);
  };
}

/** The PENDING order that was registered with the same values, if there is one. */
async function findSame(store: OrderStore, facts: OrderFacts, scope: CallScope): Promise<Order | undefined> {
  const { merchantId, environment, orderNumber: value } = facts;
  const order = await store.find({ merchantId, environment, by: 'order_number', value }, scope);
  return order?.status === 'PENDING' && sameRegistration(order, facts) ? order : undefined;
}

/** The merchant's own lifetime may have become another one since: only what was asked for has to be the same. */
const lastsAsLong = ({ createdAt, expiresAt }: Order, lifetimeMs: number | undefined): boolean =>
  lifetimeMs === undefined || expiresAt.getTime() - createdAt.getTime() === lifetimeMs;

/** The order that holds an order_number which could not be inserted. Orders are never deleted, so there is one. */
export async function findTaken(store: OrderStore, facts: OrderFacts, scope: CallScope): Promise<Order> {
  const { merchantId, environment, orderNumber } = facts;
  const existing = await store.find(
    { merchantId, environment, by: 'order_number', value: orderNumber },
    scope,
  );
  if (existing === undefined) throw new Error(`order_number taken, yet no order has it: ${facts.id}`);
  return existing;
}

export function orderNumberTaken({ status }: Order) {
  const what = status === 'PENDING' ? 'another order with other values' : `an order that is ${status}`;
  const issue = `has already been used for ${what}; use a new one`;
  return rpcError('ORDER_NUMBER_TAKEN', `order_number ${issue}`, {
    issues: [{ field: 'order_number', issue }],
  });
}
