import { StrayPaymentKind, StrayPaymentStatus } from '../../gen/gatehouse/v1/stray_payment_service_pb.js';
import type { StrayPayment } from '../../gen/gatehouse/v1/stray_payment_service_pb.js';
import { amountText } from '../../contract/amount-text.ts';
import { noMerchantId } from '../../contract/public-id.ts';
import { momentOf } from '../moment-text.ts';
import { optionText } from '../payments/order-words.ts';
import { environmentName, numberText } from './operator-writing.ts';
import type { Writing } from './operator-writing.ts';

/** A stray payment as a row of a list. */
export function strayRow(stray: StrayPayment, writing: Writing) {
  const { words, language, timeZone } = writing;
  const { strays } = words;
  const base = `/m/${stray.merchantId}/${environmentName(stray.environment)}`;
  return {
    id: stray.strayPaymentId,
    merchantId: stray.merchantId,
    merchantHref: stray.merchantId === noMerchantId ? '' : `/operator/merchants/${stray.merchantId}`,
    orderHref: stray.orderId === '' ? '' : `${base}/orders/${stray.orderId}`,
    orderId: stray.orderId,
    found: momentOf(stray.createTime, language, timeZone),
    amount: amountText(stray.amount, stray.currency, language),
    option: optionText(stray.paymentOption, writing),
    transaction: stray.providerTransactionId,
    why: kindText(stray.kind, strays),
    state: stateOf(stray.status, strays),
    how: howText(stray, writing),
    canRetry:
      stray.status === StrayPaymentStatus.REVERSAL_REFUSED &&
      // Core never requests the return of such an amount.
      stray.refusalReason !== 'amount_not_returnable',
  };
}

/** Who returned the money, or how often the wallet was asked to. */
function howText({ settlementId, tries }: StrayPayment, writing: Writing): string {
  const { strays } = writing.words;
  if (settlementId !== '') return strays.settled;
  return tries === 1 ? strays.oneTry : strays.tries(numberText(tries, writing));
}

function kindText(kind: StrayPaymentKind, { kinds }: Writing['words']['strays']): string {
  switch (kind) {
    case StrayPaymentKind.WRONG_AMOUNT:
      return kinds.wrongAmount;
    case StrayPaymentKind.NO_ORDER:
      return kinds.noOrder;
    default:
      return kinds.late;
  }
}

function stateOf(status: StrayPaymentStatus, { states: words }: Writing['words']['strays']) {
  switch (status) {
    case StrayPaymentStatus.REVERSED:
      return { tone: 'good', text: words.reversed };
    case StrayPaymentStatus.REVERSAL_REFUSED:
      return { tone: 'bad', text: words.refused };
    default:
      return { tone: 'info', text: words.due };
  }
}
