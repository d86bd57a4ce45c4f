import { isSameOrErased } from './erased.ts';
import type { Issue } from './issue.ts';
import { Money } from './money.ts';
import type { Order } from './order.ts';
import type { Refund, RefundSum } from './refund-record.ts';
import { heldMinorUnits, holdsMoney } from './refund.ts';
import { type Result, err, ok } from './result.ts';
import type { Wallet } from './wallet.ts';

/** Everything that decides how much of an order can be refunded. */
export interface RefundBasis {
  readonly order: Order;
  /** All refunds of the order, each or summed by status. */
  readonly refunds: readonly RefundSum[];
  /** The configured wallet that was paid; undefined when the configuration no longer has it. */
  readonly wallet: Wallet | undefined;
  /** Whether the transaction that paid the order is also on record as a stray payment, and goes back as that. */
  readonly isStrayToo: boolean;
  /** Whether the merchant's own wallet account, which received the payment, was removed. Then no refund can be sent. */
  readonly isAccountGone: boolean;
}

/** Why nothing of an order can be refunded. */
export type NotRefundable =
  | 'not_completed'
  | 'nothing_left'
  | 'wallet_cannot'
  /** The merchant's own wallet account, which received the payment, was removed. */
  | 'account_gone'
  /** The transaction that paid the order goes back as a stray payment. */
  | 'stray_payment';

/** How much of an order can be refunded. */
export interface Refundable {
  readonly leftMinorUnits: bigint;
  /** Whether less than everything is possible. */
  readonly isPartial: boolean;
  /** The decimals that the wallet takes. */
  readonly decimals: number;
}

/**
 * How much of an order can be refunded. The refunds that are not FAILED never exceed what the wallet debited: this is true as
 * long as the caller has locked the order.
 */
export function refundable({
  order,
  refunds,
  wallet,
  isStrayToo,
  isAccountGone,
}: RefundBasis): Result<Refundable, NotRefundable> {
  if (order.status !== 'COMPLETED') return err('not_completed');
  if (isStrayToo) return err('stray_payment');
  const { currency } = order.amount;
  if (wallet === undefined || wallet.refunds === 'none') return err('wallet_cannot');
  if (isAccountGone) return err('account_gone');
  const leftMinorUnits = order.deductedMinorUnits - heldMinorUnits(refunds);
  if (leftMinorUnits <= 0n) return err('nothing_left');
  const terms = wallet.currencies.find((each) => each.currency.code === currency.code);
  const decimals = terms?.decimals ?? currency.exponent;
  return ok({ leftMinorUnits, isPartial: wallet.refunds === 'any', decimals });
}

/** The amount of a new refund in minor units: the requested one, or all that is not refunded yet. Rejection: the issue of the amount. */
export function refundAmount(
  { order, refunds, wallet }: RefundBasis,
  { leftMinorUnits, isPartial, decimals }: Refundable,
  wanted: Money | undefined,
): Result<bigint, Issue> {
  const refuse = (issue: string): Result<bigint, Issue> => err({ field: 'amount', issue });
  const { currency } = order.amount;
  const write = (minorUnits: bigint): string =>
    `${Money.formatMinorUnits(minorUnits, currency)} ${currency.code}`;
  const minorUnits = wanted?.minorUnits ?? leftMinorUnits;
  if (minorUnits > leftMinorUnits) {
    const held = order.deductedMinorUnits - leftMinorUnits;
    const why =
      held === 0n ? '' : `: refunds already cover ${write(held)} of ${write(order.deductedMinorUnits)}`;
    return refuse(`must be at most ${write(leftMinorUnits)}, what is left of the order${why}`);
  }
  if (!isPartial && (minorUnits < order.deductedMinorUnits || refunds.some(holdsMoney)))
    return refuse(
      `must be ${write(order.deductedMinorUnits)}: ${wallet?.id ?? 'the wallet'} returns a payment only as a whole`,
    );
  const step = 10n ** BigInt(currency.exponent - decimals);
  // The rest of an order is always possible, because the wallet took it.
  if (minorUnits % step !== 0n && minorUnits !== order.deductedMinorUnits)
    return refuse(
      decimals === 0
        ? `must be a whole number of ${currency.code}, because ${wallet?.id ?? 'the wallet'} takes no decimals`
        : `must have at most ${decimals} decimals, because ${wallet?.id ?? 'the wallet'} takes no more`,
    );
  return ok(minorUnits);
}

/**
 * Whether a second person must approve. The order's refunds count together, so that several small ones do not avoid the limit.
 * `limit` is decimal text in the order's currency; '' is no limit.
 */
export function needsApproval(
  { order, refunds }: Pick<RefundBasis, 'order' | 'refunds'>,
  minorUnits: bigint,
  limit: string,
): boolean {
  const { currency } = order.amount;
  if (limit === '') return false;
  if (limit === '0') return true;
  const money = Money.parse(limit, 'limit', currency);
  if (!money.ok) throw new RangeError(`${limit} ${currency.code} was stored and is no amount`);
  return heldMinorUnits(refunds) + minorUnits > money.value.minorUnits;
}

/** A request for a refund, as far as a repeat must have the same values. */
export interface AskedRefund {
  readonly orderId: Order['id'];
  /** Undefined for all that is not refunded yet. */
  readonly amount: Money | undefined;
  readonly reason: string;
}

/** The fields in which a request differs from the refund that has its refund_number. Amounts are compared by value. */
export function differingFields(refund: Refund, { orderId, amount, reason }: AskedRefund): readonly string[] {
  const isAmountSame = amount === undefined ? !refund.isAmountGiven : amount.minorUnits === refund.minorUnits;
  return [
    ...(refund.orderId === orderId ? [] : ['order_number']),
    ...(isAmountSame ? [] : ['amount']),
    ...(isSameOrErased(refund.reason, reason) ? [] : ['reason']),
  ];
}
