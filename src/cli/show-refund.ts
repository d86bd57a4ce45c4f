import { RefundSchema, RefundStatus, RefundStatusSchema } from '../gen/gatehouse/v1/order_pb.js';
import type { Order, Refund } from '../gen/gatehouse/v1/order_pb.js';
import type { CoreClients } from './core-clients.ts';
import { environmentWord, showEnvironment } from './options.ts';
import type { Output } from './output.ts';
import { plainJson, wordOf } from './plain-json.ts';
import { fields, table } from './table.ts';
import { showTime } from './time.ts';

export const showRefundStatus = ({ status }: Refund): string => wordOf(RefundStatusSchema, status) ?? '';
const showAmount = ({ amount, currency }: Refund): string => `${amount} ${currency}`;

/** Why it failed as a word, and the wallet's own words. */
const showAnswer = ({ failureReason, detail }: Refund): string =>
  [failureReason, detail].filter((text) => text !== '').join(': ');

/** A refund in full, with what to do in its state. */
export const describeRefund = (refund: Refund): Output => ({
  json: plainJson(RefundSchema, refund),
  text: (width) =>
    [
      fields(
        [
          ['Refund', refund.refundId],
          ['Refund number', refund.refundNumber],
          ['Merchant', refund.merchantId],
          ['Environment', showEnvironment(refund.environment)],
          ['Status', showRefundStatus(refund)],
          ['Amount', showAmount(refund)],
          ['Reason', refund.reason],
          ['Order', refund.orderId],
          ['Order number', refund.orderNumber],
          ['Payment attempt', refund.paymentAttemptId],
          ['Option', refund.paymentOption],
          ["Wallet's answer", showAnswer(refund)],
          ["Wallet's reference", refund.providerReference],
          ['Requests to wallet', String(refund.tries)],
          ['Requested by', refund.requestedBy],
          ['Decided by', refund.decidedBy],
          ['Settlement', refund.settlementId],
          ['Created', showTime(refund.createTime)],
          ['Changed', showTime(refund.updateTime)],
        ],
        width,
      ),
      nextStep(refund),
    ]
      .filter((part) => part !== '')
      .join('\n\n'),
});

function nextStep(refund: Refund): string {
  const { status, merchantId, refundId, environment, orderId, failureReason } = refund;
  switch (status) {
    case RefundStatus.AWAITING_APPROVAL:
      return [
        "The amount is above the merchant's limit, so another person must approve it in the dashboard.",
        'All users of one service token count as one person. If the refund was not created with your token, you can approve it with:',
        `gatehouse refund approve ${merchantId} ${refundId}`,
      ].join('\n');
    case RefundStatus.REQUESTED:
    case RefundStatus.SENT:
      return ['The wallet has not decided yet. To see the outcome:', showCommand(refund)].join('\n');
    case RefundStatus.UNKNOWN:
      return [
        "The wallet's answer is unknown. Gatehouse queries it until it is definite, and never sends the refund twice.",
        'To see the outcome:',
        showCommand(refund),
      ].join('\n');
    case RefundStatus.FAILED:
      return [
        failureReason === 'approval_declined'
          ? 'No money was returned, because the approval was declined.'
          : 'No money was returned. Resolve the reason with the wallet or the payer.',
        'To refund again, create a refund with a new refund_number:',
        `gatehouse refund create ${merchantId} ${orderId} --environment ${environmentWord(environment)} --reason <text>`,
      ].join('\n');
    case RefundStatus.COMPLETED:
    case RefundStatus.UNSPECIFIED:
      return '';
  }
}

/** The command that shows the refund's present state. */
const showCommand = ({ merchantId, refundId }: Refund): string =>
  `gatehouse refund show ${merchantId} ${refundId}`;

/** A table of refunds. Refunds of several orders are shown with their orders. */
export function showRefunds(
  refunds: readonly Refund[],
  width: number,
  orders: 'with their orders' | 'of one order',
): string {
  const isOfOne = orders === 'of one order';
  const columns = [
    { head: 'REFUND, NUMBER', wraps: true },
    { head: 'STATUS' },
    { head: 'AMOUNT', right: true },
    { head: isOfOne ? 'CREATED' : 'ORDER, CREATED' },
  ];
  const rows = refunds.map((refund) => {
    const { orderNumber, createTime, merchantId, environment } = refund;
    const created = showTime(createTime);
    return [
      [refund.refundId, refund.refundNumber].join('\n'),
      [showRefundStatus(refund), refund.failureReason].filter(Boolean).join('\n'),
      showAmount(refund),
      isOfOne ? created : [orderNumber, created, merchantId, showEnvironment(environment)].join('\n'),
    ];
  });
  return table(columns, rows, width);
}

/** The latest refunds of an order, newest first, and whether it has more. */
export interface RefundsOfOrder {
  readonly latest: readonly Refund[];
  readonly hasMore: boolean;
}

export async function refundsOf(
  refunds: CoreClients['refunds'],
  { merchantId, orderId }: Order,
): Promise<RefundsOfOrder> {
  const { refunds: latest, nextPageToken } = await refunds.listRefunds({ merchantId, orderId });
  return { latest, hasMore: nextPageToken !== '' };
}

/** The section of an order's refunds. If there are more, it ends with the command that lists them. */
export function showRefundsOf(
  { orderId }: Order,
  { latest, hasMore }: RefundsOfOrder,
  width: number,
): string {
  const more = `\n\nThese are the latest ${latest.length}. To list all of them:\ngatehouse refund list --order ${orderId} --limit 1000`;
  return `Refunds of the order\n${showRefunds(latest, width, 'of one order')}${hasMore ? more : ''}`;
}
