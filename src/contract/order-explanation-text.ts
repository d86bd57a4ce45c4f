import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { OrderStatus } from '../gen/gatehouse/v1/order_pb.js';
import { OrderFact, OrderFactHolder, OrderNextStep } from '../gen/gatehouse/v1/order_explanation_pb.js';
import type { OrderExplanation } from '../gen/gatehouse/v1/order_explanation_pb.js';
import { clockWords } from '../platform/time-words.ts';

export type OrderExplanationFacts = Pick<
  OrderExplanation,
  'waitingFor' | 'next' | 'walletName' | 'orderStatus' | 'reason' | 'subjectId'
> & { readonly nextTime?: Timestamp | undefined };

/**
 * An explanation of an order in English: the fact, and the next step. The process that knows the facts puts the text into
 * `OrderExplanation.english_text`, and all others show it. The times are absolute, so that the text is the same a moment later. Only a page
 * whose other times are in another time zone passes its own `timeText`.
 */
export const orderExplanationText = (facts: OrderExplanationFacts, timeText = clockWords): string =>
  [factText(facts), nextText(facts, timeText)].filter((text) => text !== '').join(' ');

function factText(facts: OrderExplanationFacts): string {
  const { waitingFor, walletName: wallet, orderStatus, reason } = facts;
  switch (waitingFor) {
    case OrderFact.NOTHING:
      return endText(orderStatus, reason);
    case OrderFact.CUSTOMER_PAYMENT:
      return 'The order waits for the customer to pay on its checkout page.';
    case OrderFact.ANOTHER_PAYMENT:
      return `The latest payment did not pay the order${reasonInBrackets(reason)}. The order waits for the customer to pay again.`;
    case OrderFact.MERCHANT_SUSPENDED:
      return 'The order accepts no payment, because its merchant is suspended.';
    case OrderFact.NO_WALLET_OFFERED:
      return 'The order accepts no payment, because the merchant offers no wallet that takes its amount.';
    case OrderFact.EXPIRY:
      return 'The time to pay has ended without a payment.';
    case OrderFact.REQUEST_SENT:
      return requestText(facts);
    case OrderFact.WALLETS_PROCESS:
      return `The order waits for a wallets process of Gatehouse, because none works with ${wallet}.`;
    case OrderFact.WALLET_RECOVERY:
      return `The order waits for ${wallet}, which keeps failing. Gatehouse continues when it works again.`;
    case OrderFact.WALLET_ANSWER:
      return `The order waits for ${wallet} to answer the payment request.`;
    case OrderFact.PAYER_CONFIRMATION:
      return `The order waits for the payer to confirm the payment with ${wallet}.`;
    case OrderFact.WALLET_DECISION:
      return `The payer's time to confirm has ended. The order waits for ${wallet} to decide the payment.`;
    case OrderFact.WALLET_OUTCOME:
      return `The answer of ${wallet} was lost or unclear. Only ${wallet} knows whether the payer was charged.`;
    case OrderFact.WALLET_REACHED:
      return `The payment request did not reach ${wallet}, so the payer was not charged.`;
    case OrderFact.MERCHANT_CREDENTIALS:
      return `${wallet} refuses the credentials of the merchant's own account.`;
    case OrderFact.WALLET_ACCOUNT_KEY:
      return `The order waits, because the merchant's own account at ${wallet} cannot be decrypted.`;
    case OrderFact.SETTLEMENT_CONFIRMATION:
      return 'An operator proposed the outcome. The order waits for a second operator to confirm it.';
    case OrderFact.MONEY_RETURNED:
      return `The order waits for ${wallet} to return money that does not pay it.${whilePending(orderStatus)}`;
    case OrderFact.RETURN_DECISION:
      return `${wallet} refused to return money that does not pay the order.${whilePending(orderStatus)}`;
    case OrderFact.REFUND_APPROVAL:
      return 'The order waits for a second person to approve a refund.';
    case OrderFact.REFUND_DECISION:
      return `The order waits for ${wallet} to decide a refund.`;
    case OrderFact.WEBHOOK_SENT:
      return 'The order has ended. It waits for Gatehouse to send its webhook.';
    case OrderFact.WEBHOOK_ACCEPTED:
      return "The order has ended. It waits for the merchant's receiver, which did not accept the webhook.";
    case OrderFact.WEBHOOK_SECRET:
      return 'The order has ended. Its webhook waits for a signing secret, without which the receiver cannot verify it.';
    case OrderFact.WEBHOOK_SECRET_KEY:
      return 'The order has ended. Its webhook waits, because the signing secret cannot be decrypted.';
    case OrderFact.WEBHOOK_ENDPOINT_RESUMED:
      return 'The order has ended. Its webhook waits, because its host or webhook endpoint is paused.';
    case OrderFact.WEBHOOKS_PROCESS:
      return 'The order has ended. Its webhook is due, and no webhooks process of Gatehouse sends it.';
    case OrderFact.WEBHOOK_REDELIVERY:
      return 'The order has ended. Its webhook was abandoned, because the receiver never accepted it.';
    case OrderFact.WEBHOOKS_UNKNOWN:
      return 'The order has ended. No webhooks process of Gatehouse answers, so it is unknown whether its webhooks wait.';
    case OrderFact.EVENT_READ:
      return 'The order has ended. It waits for Gatehouse to create its webhooks.';
    case OrderFact.RECOVERY:
      return 'Gatehouse was restored from a backup, and the order may have been paid in the lost time. The customer must not pay again.';
    case OrderFact.PAYER_PAYMENT:
      return `The order waits for ${wallet} to confirm a payment that the payer started from the menu of the phone.`;
    case OrderFact.UNSPECIFIED:
      return 'This version of Gatehouse does not know what the order waits for. Upgrade Gatehouse.';
  }
}

/** Who holds a fact, in English. */
export function holderText({ heldBy, walletName }: Pick<OrderExplanation, 'heldBy' | 'walletName'>): string {
  switch (heldBy) {
    case OrderFactHolder.NOBODY:
      return 'nobody';
    case OrderFactHolder.PAYER:
      return 'the payer';
    case OrderFactHolder.WALLET:
      return walletName;
    case OrderFactHolder.CORE:
      return 'Gatehouse (core)';
    case OrderFactHolder.WALLETS_PROCESS:
      return 'Gatehouse (wallets)';
    case OrderFactHolder.WEBHOOKS_PROCESS:
      return 'Gatehouse (webhooks)';
    case OrderFactHolder.MERCHANT:
      return 'the merchant';
    case OrderFactHolder.OPERATOR:
      return 'an operator of Gatehouse';
    case OrderFactHolder.UNSPECIFIED:
      return 'unknown';
  }
}

/** The request that is about to be sent, for a payment, a refund or a reversal. */
function requestText({ subjectId, walletName: wallet }: OrderExplanationFacts): string {
  if (subjectId.startsWith('stp_'))
    return `The order waits for Gatehouse to ask ${wallet} to return money that does not pay the order.`;
  const request = subjectId.startsWith('rfd_') ? 'the refund' : 'the payment request';
  return `The order waits for Gatehouse to send ${request} to ${wallet}.`;
}

const reasonInBrackets = (reason: string): string => (reason === '' ? '' : ` (${reason})`);

const whilePending = (status: OrderStatus): string =>
  status === OrderStatus.PENDING ? ' It accepts no other payment before that.' : '';

function endText(status: OrderStatus, reason: string): string {
  switch (status) {
    case OrderStatus.COMPLETED:
      return 'The order is paid, and waits for nothing.';
    case OrderStatus.FAILED:
      return `The order failed${reasonInBrackets(reason)}, and waits for nothing. A new payment needs a new order.`;
    case OrderStatus.EXPIRED:
      return 'The order expired unpaid, and waits for nothing. A new payment needs a new order.';
    case OrderStatus.PENDING:
    case OrderStatus.UNSPECIFIED:
      return 'No webhook of the order waits for anything.';
  }
}

function nextText(
  { next, nextTime, walletName: wallet }: OrderExplanationFacts,
  timeText: typeof clockWords,
): string {
  const at = nextTime === undefined ? '' : ` at ${timeText(timestampDate(nextTime))}`;
  const nowOrAt = at === '' ? ' now' : at;
  switch (next) {
    case OrderNextStep.NONE:
    case OrderNextStep.UNSPECIFIED:
      return '';
    case OrderNextStep.ORDER_EXPIRES:
      return at === '' ? 'The order expires within seconds.' : `Unless it is paid, it expires${at}.`;
    case OrderNextStep.REQUEST_SENT:
      return `Gatehouse sends the request${nowOrAt}.`;
    case OrderNextStep.WALLET_QUERIED:
      return `Gatehouse queries ${wallet}${nowOrAt}.`;
    case OrderNextStep.WALLET_CHECKED:
      return `Gatehouse checks ${wallet} every few seconds.`;
    case OrderNextStep.PROCESS_STARTED:
      return 'An operator must start one.';
    case OrderNextStep.CREDENTIALS_CORRECTED:
      return 'The merchant must correct them in the dashboard, under Wallets.';
    case OrderNextStep.SETTLEMENT_CONFIRMED:
      return `The proposal expires${at}.`;
    case OrderNextStep.RETURN_DECIDED:
      return 'An operator must try the return again, or settle it.';
    case OrderNextStep.REFUND_APPROVED:
      return 'Somebody other than its creator must approve or decline it.';
    case OrderNextStep.WEBHOOK_SENT:
      return `Gatehouse sends the webhook${nowOrAt}.`;
    case OrderNextStep.SECRET_CREATED:
      return 'The merchant must create one in the dashboard, under Webhooks.';
    case OrderNextStep.KEY_RESTORED:
      return 'An operator must restore its key.';
    case OrderNextStep.ENDPOINT_RESUMED:
      return 'The merchant must resume it when the receiver works.';
    case OrderNextStep.WEBHOOK_REDELIVERED:
      return 'The merchant must send it again when the receiver works.';
    case OrderNextStep.WALLET_OFFERED:
      return `Unless the merchant switches one on, the order expires${at}.`;
    case OrderNextStep.WEBHOOKS_CREATED:
      return 'That takes some seconds.';
    case OrderNextStep.RECOVERY_COMPLETED:
      return 'If the order was paid, Gatehouse finds that payment. Otherwise the order continues when an operator has completed the recovery.';
    case OrderNextStep.ASKED_AGAIN:
      return 'Ask again later.';
  }
}
