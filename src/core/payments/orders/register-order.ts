import { invalidFields } from '../../../platform/rpc/rpc-error.ts';
import type { NewId } from '../../../contract/public-id.ts';
import type { Issue } from '../../domain/issue.ts';
import type { Order, OrderFacts } from '../../domain/order.ts';
import { registerOrder } from '../../domain/order.ts';
import { answerRegistration } from '../../domain/taken-order-number.ts';
import type { AskedRegistration } from '../../domain/taken-order-number.ts';
import type { FindMerchant } from '../../merchants/find-merchant.ts';
import { requireMerchant } from '../../merchants/find-merchant.ts';
import { payableIssues } from '../../domain/merchant-terms.ts';
import type { Wallet } from '../../domain/wallet.ts';
import type { Registration } from './order-requests.ts';
import type { AddOrders, CallScope } from '../changes/add-orders.ts';
import type { ClaimPayments } from '../changes/claim-payments.ts';
import type { KeyedCall } from '../idempotency/keyed-calls.ts';
import type { FindOrder } from '../search/find-order.ts';
import { recovering } from '../../database/payment-gate.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import {
  addPaidOrder,
  findByNumber,
  findTaken,
  issueOfDifferent,
  issueOfEnded,
  orderNumberTaken,
} from './taken-order.ts';

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
  readonly gate: Pick<PaymentGate, 'isOpenFor'>;
  readonly wallets: readonly Wallet[];
  readonly newId: NewId;
  readonly now: () => Date;
}

/**
 * Registers an order for the hosted checkout. A repeat with the same values returns the order while it is PENDING or
 * COMPLETED. So a merchant that lost the answer can send the request again, even if the merchant's terms have changed
 * since. Errors: MERCHANT_NOT_FOUND, MERCHANT_SUSPENDED, PRODUCTION_NOT_ACTIVATED, INVALID_FIELDS by the merchant's
 * terms or because no wallet takes the money, ORDER_NUMBER_TAKEN, OVERLOADED, RECOVERING for an unknown order while the
 * gateway recovers from a restore.
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
    const asked = { facts, sessionLifetimeMs };
    const issues = payableIssues(terms, facts.environment, facts.amount, wallets);
    if (issues.length > 0 || !gate.isOpenFor(facts.environment, facts.merchantId))
      return answerWithoutAdding(await findByNumber(findOrder, facts, scope), asked, issues);

    const changed = registerOrder(facts);
    // The database lost this order after its customer had paid. It is added with that payment, so `add` below answers 'taken' and the
    // call counts as a repeat.
    if (await claims.isPaid(facts)) await addPaidOrder(parts, changed, scope);
    const registered = { order: changed.order, repeated: false };
    const added = await changes.add(changed, scope, keyed?.inStatement(registered));
    return added === 'added' ? registered : repeatedOrThrow(await findTaken(findOrder, facts, scope), asked);
  };
}

/** The answer to a registration that may not add an order: by the merchant's terms, or while the gateway recovers. */
function answerWithoutAdding(
  earlier: Order | undefined,
  asked: AskedRegistration,
  issues: readonly Issue[],
): Registered {
  if (issues.length > 0 && (earlier === undefined || answerRegistration(earlier, asked).type === 'differs'))
    throw invalidFields(issues);
  // The order may be one of those that the database has lost, and that a wallet has charged.
  if (earlier === undefined) throw recovering();
  return repeatedOrThrow(earlier, asked);
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
