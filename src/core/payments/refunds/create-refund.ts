import type { EntityManager } from '@mikro-orm/postgresql';
import { rpcError } from '../../../contract/error-reason.ts';
import { storedId } from '../../../contract/public-id.ts';
import type { NewId, PublicId } from '../../../contract/public-id.ts';
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
import { createRefund } from '../../domain/refund.ts';
import type { Refund } from '../../domain/refund-record.ts';
import { differingFields, needsApproval, refundAmount, refundable } from '../../domain/refundable.ts';
import type { NotRefundable, RefundBasis } from '../../domain/refundable.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import type { Wallet } from '../../domain/wallet.ts';
import type { FindMerchant } from '../../merchants/find-merchant.ts';
import { requireMerchant } from '../../merchants/find-merchant.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { orderOfId, orderOfNumber } from '../changes/read-order.ts';
import { executeIn } from '../idempotency/keyed-calls.ts';
import type { KeyedCall } from '../idempotency/keyed-calls.ts';
import { addRefund, refundOf } from '../changes/refund-row.ts';
import { readRefundBasis } from './read-refund-basis.ts';
import type { FindRefundingRole } from './find-refunding-role.ts';

/** A request for a refund. */
export interface RefundRequest {
  readonly merchantId: PublicId<'mer'>;
  readonly environment: Environment;
  readonly order:
    | { readonly by: 'id'; readonly value: PublicId<'ord'> }
    | { readonly by: 'order_number'; readonly value: string };
  readonly refundNumber: string;
  /** Decimal text, whose currency is the order's; undefined for whatever is left. */
  readonly amount: string | undefined;
  readonly reason: string;
}

export interface CreatedRefund {
  readonly refund: Refund;
  /** Whether an earlier request with the same values had created it. */
  readonly repeated: boolean;
}

/**
 * Creates a refund under the order's lock. Errors: MERCHANT_NOT_FOUND, MERCHANT_SUSPENDED, PRODUCTION_NOT_ACTIVATED,
 * ORDER_NOT_FOUND, INVALID_FIELDS, REFUND_NUMBER_TAKEN, ORDER_NOT_REFUNDABLE, RECOVERING. With `keyed`, the answer is stored with the refund.
 */
export type CreateRefund = (
  request: RefundRequest,
  by: Actor,
  keyed?: KeyedCall<CreatedRefund>,
) => Promise<CreatedRefund>;

export interface CreateRefundParts {
  readonly changes: Pick<OrderChanges, 'change'>;
  readonly findMerchant: FindMerchant;
  readonly findRole: FindRefundingRole;
  readonly gate: Pick<PaymentGate, 'isOpen'>;
  readonly wallets: readonly Wallet[];
  readonly newId: NewId;
}

type Refusal =
  | { readonly type: 'invalid'; readonly issue: Issue }
  | { readonly type: 'taken'; readonly fields: readonly string[]; readonly refund: Refund }
  | { readonly type: NotRefundable; readonly status: OrderInFull['status'] }
  /** The refund may be one that the database has lost, and that the wallet has paid. */
  | { readonly type: 'recovering' };

interface Decided {
  readonly changed: Changed | undefined;
  readonly makesDue: 'refund' | undefined;
  readonly refund: Refund;
  readonly repeated: boolean;
  /** Whether the personal data of the order was erased, so that the refund's reason must be too. */
  readonly erasesAgain: boolean;
}

export function createCreateRefund({
  changes,
  findMerchant,
  findRole,
  gate,
  wallets,
  newId,
}: CreateRefundParts): CreateRefund {
  return async (request, by, keyed) => {
    const { merchantId, environment, refundNumber, reason } = request;
    const terms = await requireMerchant(findMerchant, merchantId, environment);
    const role = await findRole(merchantId, by);
    const key = { merchantId: storedId('mer', merchantId), environment, refundNumber };
    const lock = lockOf(request);
    const created = await changes.change(
      async (em) => {
        await keyed?.claim(executeIn(em));
        // Two requests with one refund_number may name different orders, whose locks do not exclude each other.
        await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
          `refund:${merchantId}:${environment}:${refundNumber}`,
        ]);
        return lock(em);
      },
      {
        requestId: by.requestId,
        async read(em: EntityManager, { row }) {
          const existing = await em.findOne(RefundRow, key);
          return {
            existing: existing === null ? undefined : refundOf(existing),
            ...(await readRefundBasis(em, row)),
          };
        },
        decide(order, { existing, ...known }, now): Result<Decided, Refusal> {
          const { currency } = order.amount;
          const amount =
            request.amount === undefined ? ok(undefined) : Money.parse(request.amount, 'amount', currency);
          if (!amount.ok) return err({ type: 'invalid', issue: amount.error });
          if (existing !== undefined) {
            const fields = differingFields(existing, { orderId: order.id, amount: amount.value, reason });
            if (fields.length > 0) return err({ type: 'taken', fields, refund: existing });
            return ok({
              changed: undefined,
              makesDue: undefined,
              refund: existing,
              repeated: true,
              erasesAgain: false,
            });
          }
          if (!gate.isOpen(environment)) return err({ type: 'recovering' });
          const basis: RefundBasis = { ...known, order, wallet: walletOf(wallets, order) };
          const possible = refundable(basis);
          if (!possible.ok) return err({ type: possible.error, status: order.status });
          const minorUnits = refundAmount(basis, possible.value, amount.value);
          if (!minorUnits.ok) return err({ type: 'invalid', issue: minorUnits.error });
          const { latestAttempt } = order;
          // A COMPLETED order has the attempt that paid it.
          if (latestAttempt === null) throw new TypeError(`${order.id} is COMPLETED without an attempt`);
          const facts = {
            id: newId('rfd', now),
            merchantId,
            environment,
            refundNumber,
            orderId: order.id,
            orderNumber: order.orderNumber,
            attemptId: latestAttempt.id,
            paymentOption: latestAttempt.paymentOption,
            providerTransactionId: known.providerTransactionId,
            minorUnits: minorUnits.value,
            currency,
            isAmountGiven: amount.value !== undefined,
            reason,
            requestedBy: by.actor,
            createdAt: now,
          };
          const limit = refundLimitOf(terms, role, currency.code);
          const isHeld = needsApproval(basis, minorUnits.value, limit.amount);
          return ok({
            ...createRefund(order, facts, isHeld),
            makesDue: isHeld ? undefined : 'refund',
            repeated: false,
            erasesAgain: isErased(order),
          });
        },
        async write(em, { refund, repeated, erasesAgain }, { now }): Promise<CreatedRefund> {
          await keyed?.store(executeIn(em), { refund, repeated });
          if (repeated) return { refund, repeated };
          addRefund(em, refund);
          if (erasesAgain) await eraseAgain(em, { merchantId, environment, id: refund.orderId });
          recordAudit(em, newId, now, by, {
            action: 'refund.create',
            merchantId,
            targetId: refund.id,
            details: {
              refund_number: refundNumber,
              order_number: refund.orderNumber,
              amount: Money.formatMinorUnits(refund.minorUnits, refund.currency),
              currency: refund.currency.code,
              reason,
              awaits_approval: refund.progress.status === 'AWAITING_APPROVAL',
            },
          });
          return { refund, repeated };
        },
      },
    );
    if (created.ok) return created.value;
    if (created.error === 'not_found' && !gate.isOpen(environment)) throw recovering();
    throw refusal(created.error, request);
  };
}

const lockOf = ({ merchantId, environment, order: { by, value } }: RefundRequest) =>
  by === 'id'
    ? orderOfId({ merchantId, environment, id: value })
    : orderOfNumber({ merchantId, environment, orderNumber: value });

/** The configured wallet that was paid. */
export const walletOf = (
  wallets: readonly Wallet[],
  { latestAttempt }: Pick<OrderInFull, 'latestAttempt'>,
): Wallet | undefined =>
  latestAttempt === null
    ? undefined
    : wallets.find(({ options }) => options.includes(latestAttempt.paymentOption));

function refusal(refused: Refusal | 'not_found', { refundNumber }: RefundRequest): Error {
  if (refused === 'not_found')
    return rpcError('ORDER_NOT_FOUND', 'the merchant has no such order in this environment');
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
    case 'stray_payment':
      return notRefundable(
        'the payment is already on its way back to the payer as a stray payment',
        'belongs to an order whose payment is already on its way back to the customer',
      );
  }
}

/** `issue` is the same for merchants, about their order_number. */
const notRefundable = (message: string, issue: string): Error =>
  rpcError('ORDER_NOT_REFUNDABLE', message, { issues: [{ field: 'order_number', issue }] });
