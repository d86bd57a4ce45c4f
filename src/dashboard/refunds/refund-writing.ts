import type { FastifyRequest } from 'fastify';
import { RefundStatus } from '../../gen/gatehouse/v1/order_pb.js';
import type { Refund } from '../../gen/gatehouse/v1/order_pb.js';
import { amountText } from '../../contract/amount-text.ts';
import { isPublicId } from '../../contract/public-id.ts';
import { pathIn, pageMerchantOf } from '../access/page-context.ts';
import type { PageMerchant } from '../access/page-context.ts';
import { refunds as amharic } from '../language/amharic/refunds.ts';
import { refunds as english } from '../language/english/refunds.ts';
import { wordsFor } from '../language/words.ts';
import { momentOf } from '../moment-text.ts';
import { notFound } from '../page-problem.ts';
import { orderWords, optionText } from '../payments/order-words.ts';
import type { OrderWriting } from '../payments/order-words.ts';
import { refundStateOf } from '../payments/refund-states.ts';

export const refundWords = { en: english, am: amharic };
export type RefundWords = typeof english;

/** The words, language and time zone of the pages of refunds. */
export interface RefundWriting extends OrderWriting {
  readonly own: RefundWords;
}

export const refundWriting = (request: FastifyRequest, timeZone: string): RefundWriting => ({
  words: wordsFor(request, orderWords),
  own: wordsFor(request, refundWords),
  language: request.language,
  timeZone,
  wallets: request.wallets,
});

/** The refund in a path. An invalid id is not found. */
export function refundIdOf({ params }: FastifyRequest): string {
  const { refundId } = params as { readonly refundId: string };
  if (!isPublicId('rfd', refundId)) throw notFound('REFUND_NOT_FOUND');
  return refundId;
}

export const refundPath = (pageMerchant: PageMerchant, refundId: string): string =>
  pathIn(pageMerchant, `refunds/${refundId}`);

/** Whether the signed-in user requested the refund. */
export const isOwnRefund = ({ requestedBy }: Refund, { signedInUser }: FastifyRequest): boolean =>
  requestedBy === `dashboard:${signedInUser?.userId ?? ''}`;

/** Whether the user may approve or decline the refund. Core refuses the person who requested it too. */
export const mayDecide = (refund: Refund, request: FastifyRequest): boolean =>
  refund.status === RefundStatus.AWAITING_APPROVAL &&
  pageMerchantOf(request).role === 'owner' &&
  !isOwnRefund(refund, request);

const tones = { awaiting: 'warn', pending: 'info', completed: 'good', failed: 'bad' } as const;

/** The state in words, and its style. */
export function refundStateText({ status }: Pick<Refund, 'status'>, { states }: RefundWords) {
  const name = refundStateOf(status);
  return { name, text: states[name], tone: tones[name] };
}

/** A row of the list. */
export function refundRow(refund: Refund, pageMerchant: PageMerchant, writing: RefundWriting) {
  const { own, language, timeZone } = writing;
  return {
    href: refundPath(pageMerchant, refund.refundId),
    orderNumber: refund.orderNumber,
    orderHref: pathIn(pageMerchant, `orders/${refund.orderId}`),
    state: refundStateText(refund, own),
    amount: amountText(refund.amount, refund.currency, language),
    reason: refund.reason,
    option: optionText(refund.paymentOption, writing),
    created: momentOf(refund.createTime, language, timeZone),
  };
}
