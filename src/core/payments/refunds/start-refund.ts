import { dueWork } from '../../../contract/due-work.ts';
import type { DueWork } from '../../../contract/due-work.ts';
import { rpcError } from '../../../contract/error-reason.ts';
import type { NewId, PublicId } from '../../../contract/public-id.ts';
import type { Statement } from '../../../platform/database/run-statement.ts';
import type { Actor } from '../../../platform/rpc/actor.ts';
import { invalidFields } from '../../../platform/rpc/rpc-error.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { RefundRow } from '../../database/order-entities.ts';
import { eraseAgain } from '../../database/erase-again.sql.ts';
import { recovering } from '../../database/payment-gate.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { isErased } from '../../domain/erased.ts';
import type { Issue } from '../../domain/issue.ts';
import { Money } from '../../domain/money.ts';
import type { Changed, Environment, OrderInFull } from '../../domain/order.ts';
import { refundLimitOf } from '../../domain/refund-limits.ts';
import type { RefundingRole } from '../../domain/refund-limits.ts';
import { createRefund } from '../../domain/refund.ts';
import type { Refund } from '../../domain/refund-record.ts';
import { differingFields, needsApproval, refundAmount, refundable } from '../../domain/refundable.ts';
import type { NotRefundable, RefundBasis } from '../../domain/refundable.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { walletIdOf } from '../../domain/wallet.ts';
import type { Wallet } from '../../domain/wallet.ts';
import type { FindMerchant, MerchantTerms } from '../../merchants/find-merchant.ts';
import { requireMerchant } from '../../merchants/find-merchant.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { orderOfId, orderOfNumber } from '../changes/read-order.ts';
import type { LockOrder } from '../changes/read-order.ts';
import { executeIn } from '../idempotency/keyed-calls.ts';
import type { KeyedCall } from '../idempotency/keyed-calls.ts';
import { addRefund, refundOf } from '../changes/refund-row.ts';
import { readNewRefund } from './refund-basis.sql.ts';
import type { NewRefundFacts, StoredRefundBasis } from './refund-basis.sql.ts';
import type { FindRefundingRole } from './find-refunding-role.ts';

export interface RefundRequest {
  readonly merchantId: PublicId<'mer'>;
  readonly environment: Environment;
  readonly order:
    | { readonly by: 'id'; readonly value: PublicId<'ord'> }
    | { readonly by: 'order_number'; readonly value: string };
  readonly refundNumber: string;
  /** Decimal text, whose currency is the order's; undefined for all that is not refunded yet. */
  readonly amount: string | undefined;
  readonly reason: string;
}

export interface CreatedRefund {
  readonly refund: Refund;
  /** Whether an earlier request with the same values had created it. */
  readonly repeated: boolean;
}

/**
 * Creates a refund under the lock of its order. Errors: MERCHANT_NOT_FOUND, MERCHANT_SUSPENDED, PRODUCTION_NOT_ACTIVATED,
 * ORDER_NOT_FOUND, INVALID_FIELDS, REFUND_NUMBER_TAKEN, ORDER_NOT_REFUNDABLE, RECOVERING. With `keyed`, the answer is stored
 * with the refund.
 */
export type StartRefund = (
  request: RefundRequest,
  by: Actor,
  keyed?: KeyedCall<CreatedRefund>,
) => Promise<CreatedRefund>;

export interface StartRefundParts {
  readonly changes: Pick<OrderChanges, 'change'>;
  readonly findMerchant: FindMerchant;
  readonly findRole: FindRefundingRole;
  readonly gate: Pick<PaymentGate, 'isOpenFor' | 'missing'>;
  readonly wallets: readonly Wallet[];
  readonly newId: NewId;
}

/** A request, with the facts about its merchant and its caller that decide who must approve. */
interface RefundCall {
  readonly request: RefundRequest;
  readonly by: Actor;
  readonly terms: MerchantTerms;
  readonly role: RefundingRole | undefined;
}

export function createStartRefund(parts: StartRefundParts): StartRefund {
  const { changes, findMerchant, findRole, gate } = parts;
  return async (request, by, keyed) => {
    const { merchantId, environment, refundNumber } = request;
    const terms = await requireMerchant(findMerchant, merchantId, environment);
    const call: RefundCall = { request, by, terms, role: await findRole(merchantId, by) };
    const created = await changes.change(lockOf(request, keyed), {
      requestId: by.requestId,
      async read(em, { row }): Promise<KnownRefunds> {
        const key = { merchantId: row.merchantId, environment, refundNumber };
        const facts = await readNewRefund(em, row, key);
        return {
          ...facts,
          existing: facts.isNumberTaken ? refundOf(await em.findOneOrFail(RefundRow, key)) : undefined,
        };
      },
      decide: (order, known, now) => decideRefund(parts, call, order, known, now),
      async write(em, { refund, repeated, erasesAgain }, { now }): Promise<CreatedRefund> {
        await keyed?.store(executeIn(em), { refund, repeated });
        if (repeated) return { refund, repeated };
        addRefund(em, refund);
        if (erasesAgain) await eraseAgain(em, { merchantId, environment, id: refund.orderId });
        recordAudit(em, parts.newId, now, by, {
          action: 'refund.create',
          merchantId,
          targetId: refund.id,
          details: auditDetails(refund),
        });
        return { refund, repeated };
      },
    });
    if (created.ok) return created.value;
    throw created.error === 'not_found' ? await gate.missing(request) : refusalError(created.error, request);
  };
}

const lockNumber: Statement = {
  name: 'lock-refund-number',
  text: 'select pg_advisory_xact_lock(hashtextextended($1, 0))',
};

/** Locks the idempotency key, the refund_number and the order. */
function lockOf(
  { merchantId, environment, refundNumber, order: { by, value } }: RefundRequest,
  keyed: KeyedCall<CreatedRefund> | undefined,
): LockOrder {
  // Two requests with one refund_number may name different orders, whose locks do not exclude each other.
  const first = [{ ...lockNumber, values: [`refund:${merchantId}:${environment}:${refundNumber}`] }];
  const lockOrder =
    by === 'id'
      ? orderOfId({ merchantId, environment, id: value }, first)
      : orderOfNumber({ merchantId, environment, orderNumber: value }, first);
  return async (em) => {
    await keyed?.lock(executeIn(em));
    return lockOrder(em);
  };
}

interface KnownRefunds extends NewRefundFacts {
  /** The refund that has the refund_number. */
  readonly existing: Refund | undefined;
}

interface Decided {
  readonly changed: Changed | undefined;
  readonly makesDue: DueWork | undefined;
  readonly refund: Refund;
  readonly repeated: boolean;
  /** Whether the personal data of the order was erased, so that the refund's reason must be too. */
  readonly erasesAgain: boolean;
}

type Refusal =
  | { readonly type: 'invalid'; readonly issue: Issue }
  | { readonly type: 'taken'; readonly fields: readonly string[] }
  | { readonly type: NotRefundable; readonly status: OrderInFull['status'] }
  /** The refund may be one that the database has lost, and that the wallet has paid. */
  | { readonly type: 'recovering' };

function decideRefund(
  parts: StartRefundParts,
  call: RefundCall,
  order: OrderInFull,
  { existing, basis, takesPayments }: KnownRefunds,
  now: Date,
): Result<Decided, Refusal> {
  const { amount: text, reason, environment } = call.request;
  const amount = text === undefined ? ok(undefined) : Money.parse(text, 'amount', order.amount.currency);
  if (!amount.ok) return err({ type: 'invalid', issue: amount.error });
  if (existing !== undefined) {
    const fields = differingFields(existing, { orderId: order.id, amount: amount.value, reason });
    if (fields.length > 0) return err({ type: 'taken', fields });
    return ok({
      changed: undefined,
      makesDue: undefined,
      refund: existing,
      repeated: true,
      erasesAgain: false,
    });
  }
  if (!takesPayments || !parts.gate.isOpenFor(environment, order.merchantId))
    return err({ type: 'recovering' });
  return decideNew(parts, call, order, basis, amount.value, now);
}

/** Without `amount`, all that is not refunded yet is refunded. */
function decideNew(
  { wallets, newId }: StartRefundParts,
  { request, by, terms, role }: RefundCall,
  order: OrderInFull,
  stored: StoredRefundBasis,
  amount: Money | undefined,
  now: Date,
): Result<Decided, Refusal> {
  if (stored.mayAccountBeRestored) return err({ type: 'recovering' });
  const basis: RefundBasis = { ...stored, order, wallet: paidWallet(wallets, order) };
  const possible = refundable(basis);
  if (!possible.ok) return err({ type: possible.error, status: order.status });
  const minorUnits = refundAmount(basis, possible.value, amount);
  if (!minorUnits.ok) return err({ type: 'invalid', issue: minorUnits.error });
  const { latestAttempt } = order;
  // A COMPLETED order has the attempt that paid it.
  if (latestAttempt === null) throw new TypeError(`${order.id} is COMPLETED without an attempt`);
  const { merchantId, environment, refundNumber, reason } = request;
  const { currency } = order.amount;
  const facts = {
    id: newId('rfd', now),
    merchantId,
    environment,
    refundNumber,
    orderId: order.id,
    orderNumber: order.orderNumber,
    attemptId: latestAttempt.id,
    paymentOption: latestAttempt.paymentOption,
    providerTransactionId: stored.providerTransactionId,
    minorUnits: minorUnits.value,
    currency,
    isAmountGiven: amount !== undefined,
    reason,
    requestedBy: by.actor,
    createdAt: now,
  };
  const limit = refundLimitOf(terms, role, currency.code);
  const awaitsApproval = needsApproval(basis, minorUnits.value, limit.amount);
  return ok({
    ...createRefund(order, facts, awaitsApproval),
    makesDue: awaitsApproval ? undefined : dueWork('reversals', environment, facts.paymentOption),
    repeated: false,
    erasesAgain: isErased(order),
  });
}

const auditDetails = ({ refundNumber, orderNumber, minorUnits, currency, reason, progress }: Refund) => ({
  refund_number: refundNumber,
  order_number: orderNumber,
  amount: Money.formatMinorUnits(minorUnits, currency),
  currency: currency.code,
  reason,
  awaits_approval: progress.status === 'AWAITING_APPROVAL',
});

/** The configured wallet that was paid, even if it no longer offers the option. */
export const paidWallet = (
  wallets: readonly Wallet[],
  { latestAttempt }: Pick<OrderInFull, 'latestAttempt'>,
): Wallet | undefined =>
  latestAttempt === null
    ? undefined
    : wallets.find(({ id }) => id === walletIdOf(latestAttempt.paymentOption));

function refusalError(refused: Refusal, { refundNumber }: RefundRequest): Error {
  switch (refused.type) {
    case 'recovering':
      return recovering();
    case 'invalid':
      return invalidFields([refused.issue]);
    case 'taken': {
      const advice = 'use a new refund_number, or send the same values to get that refund again';
      const issue = `was used with another ${refused.fields.join(' and ')}; ${advice}`;
      return rpcError('REFUND_NUMBER_TAKEN', `refund_number ${refundNumber} ${issue}`, {
        issues: [{ field: 'refund_number', issue }],
      });
    }
    case 'not_completed':
      return notRefundable(
        `the order is ${refused.status}; only a COMPLETED order can be refunded`,
        `belongs to an order that is ${refused.status}; only a COMPLETED order can be refunded`,
      );
    case 'nothing_left':
      return notRefundable(
        'refunds already cover everything that was paid',
        'belongs to an order whose refunds already cover everything that was paid',
      );
    case 'wallet_cannot':
      return notRefundable(
        'the wallet that was paid cannot return payments; pay the customer in another way',
        'belongs to an order whose wallet cannot return payments; pay the customer in another way',
      );
    case 'account_gone':
      return notRefundable(
        "the payment went to the merchant's own wallet account, which was removed; pay the customer in another way",
        'belongs to an order whose payment went to your own wallet account, which was removed; pay the customer in another way',
      );
    case 'stray_payment':
      return notRefundable(
        'the payment is already on its way back to the payer as a stray payment',
        'belongs to an order whose payment is already on its way back to the customer',
      );
  }
}

/** `issue` gives merchants the same reason, for the field order_number. */
const notRefundable = (message: string, issue: string): Error =>
  rpcError('ORDER_NOT_REFUNDABLE', message, { issues: [{ field: 'order_number', issue }] });
