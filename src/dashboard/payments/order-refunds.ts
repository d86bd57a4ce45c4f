import { OrderStatus, RefundStatus } from '../../gen/gatehouse/v1/order_pb.js';
import type { Order, Refund } from '../../gen/gatehouse/v1/order_pb.js';
import { amountText } from '../../contract/amount-text.ts';
import { WalletRefunds } from '../../gen/gatehouse/v1/wallet_service_pb.js';
import { isPaymentOption, walletOf } from '../../contract/payment-option.ts';
import type { order as english } from '../language/english/order.ts';
import type { OrderWriting } from './order-words.ts';
import { isOpenRefund, refundSums } from './refund-states.ts';

/** The refunds on the page of an order: the sums, and the link to the form or why there is none. */
export interface OrderRefunds {
  /** The refunded and the pending amounts, and that the latest refund failed, in words; empty before the first refund. */
  readonly facts: readonly string[];
  /** Whether a refund can still change, so that the page follows it. */
  readonly isOpen: boolean;
  /** Undefined for an order that was not paid. */
  readonly offer: { readonly isPossible: boolean; readonly text: string } | undefined;
}

/**
 * The refunds of an order, of very many without the oldest. The form asks core again, because only core knows whether the same payment is
 * also a stray payment on its way back.
 */
export function orderRefunds(
  order: Order,
  refunds: readonly Refund[],
  words: (typeof english)['refunds'],
  { language, wallets }: OrderWriting,
): OrderRefunds {
  const { pending, left, isPending, isAnythingLeft } = refundSums(order, refunds);
  const write = (amount: string): string => amountText(amount, order.currency, language);
  const latest = refunds.toSorted((a, b) => (a.refundId < b.refundId ? -1 : 1)).at(-1);
  const isRefunded = /[1-9]/.test(order.refunded);
  return {
    facts: [
      ...(isRefunded ? [words.refunded(write(order.refunded))] : []),
      ...(isPending ? [words.pending(write(pending))] : []),
      ...(latest?.status === RefundStatus.FAILED ? [words.latestFailed(write(latest.amount))] : []),
    ],
    isOpen: refunds.some(isOpenRefund),
    offer: order.status === OrderStatus.COMPLETED ? offer() : undefined,
  };

  function offer() {
    if (!isAnythingLeft) return { isPossible: false, text: words.nothingLeft };
    const id = isPaymentOption(order.paymentOption) ? walletOf(order.paymentOption) : '';
    const support = refundsOf(wallets.wallets, id);
    if (support === WalletRefunds.NONE)
      return { isPossible: false, text: words.byWallet(wallets.walletNames(id)[language]) };
    return {
      isPossible: true,
      text: support === WalletRefunds.WHOLE ? words.whole(write(left)) : words.left(write(left)),
    };
  }
}

/** The refunds that the wallet supports. UNSPECIFIED while the wallets are unknown, because core did not answer. */
function refundsOf(wallets: OrderWriting['wallets']['wallets'], id: string): WalletRefunds {
  if (wallets.length === 0) return WalletRefunds.UNSPECIFIED;
  return wallets.find(({ wallet }) => wallet === id)?.refunds ?? WalletRefunds.NONE;
}
