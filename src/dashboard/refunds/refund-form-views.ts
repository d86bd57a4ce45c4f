import { MemberRole } from '../../gen/gatehouse/v1/account_service_pb.js';
import type { Order, PaymentAttempt, Refund } from '../../gen/gatehouse/v1/order_pb.js';
import { NotRefundable } from '../../gen/gatehouse/v1/refund_service_pb.js';
import type { GetRefundableResponse } from '../../gen/gatehouse/v1/refund_service_pb.js';
import { amountText } from '../../contract/amount-text.ts';
import { attemptPhone } from '../../contract/attempt-phone.ts';
import { pathIn } from '../access/page-context.ts';
import type { PageMerchant } from '../access/page-context.ts';
import type { FormState } from '../forms/read-form.ts';
import { optionText } from '../payments/order-words.ts';
import { isAboveLimit } from './refund-amount.ts';
import { refundPath } from './refund-writing.ts';
import type { RefundWords, RefundWriting } from './refund-writing.ts';

/** An order that may be refunded, as core shows it. */
export interface RefundedOrder {
  readonly order: Order;
  readonly refundable: GetRefundableResponse;
  /** The attempt that paid it. */
  readonly payment: PaymentAttempt | undefined;
}

/** The page with the form of a refund. */
export interface RefundPage {
  /** The path of the form. */
  readonly path: string;
  readonly pageMerchant: PageMerchant;
  readonly writing: RefundWriting;
}

const refusalsOfOrder = {
  [NotRefundable.UNSPECIFIED]: undefined,
  [NotRefundable.NOT_COMPLETED]: 'notCompleted',
  [NotRefundable.NOTHING_LEFT]: 'nothingLeft',
  [NotRefundable.BY_WALLET]: 'byWallet',
  [NotRefundable.STRAY_PAYMENT]: 'stray',
} as const satisfies Record<NotRefundable, keyof RefundWords['form']['not'] | undefined>;

const isAboveZero = (amount: string): boolean => /[1-9]/.test(amount);

const orderPath = (pageMerchant: PageMerchant, { orderId }: Order): string =>
  pathIn(pageMerchant, `orders/${orderId}`);

/** The form. `earlier` is the refund that it has already created. */
export function refundFormView(
  { order, refundable }: Omit<RefundedOrder, 'payment'>,
  { form, refused, earlier }: { form: FormState; refused?: string | undefined; earlier?: Refund | undefined },
  { path, pageMerchant, writing }: RefundPage,
) {
  const { own, language } = writing;
  const { left, refunded, pending, currency, partial } = refundable;
  const write = (amount: string): string => amountText(amount, currency, language);
  const why = refusalsOfOrder[refundable.notRefundable];
  const isHeld = isAboveZero(refunded) || isAboveZero(pending);
  return {
    path,
    order: { href: orderPath(pageMerchant, order), number: order.orderNumber },
    // A whole payment has one amount, whatever a form says.
    form: { ...form, values: { ...form.values, amount: (partial && form.values['amount']) || left } },
    refused,
    not: why === undefined ? undefined : own.form.not[why],
    already: earlier === undefined ? undefined : refundPath(pageMerchant, earlier.refundId),
    left: own.form.left(write(left)),
    held: isHeld ? own.form.held(write(refunded), write(pending)) : undefined,
    currency,
    isPartial: partial,
    whole: write(left),
  };
}

/** The page that confirms a refund with these values. */
export function confirmRefundView(
  { order, refundable, payment }: RefundedOrder,
  values: { readonly amount: string; readonly reason: string; readonly refund_number: string },
  { path, pageMerchant, writing }: RefundPage,
) {
  const words = writing.own.confirm;
  const { approvalAbove, approvalRole, currency } = refundable;
  const write = (text: string): string => amountText(text, currency, writing.language);
  const amount = write(values.amount);
  const phone = (payment && attemptPhone(payment)) ?? words.noPhone;
  const option = optionText(payment?.paymentOption ?? order.paymentOption, writing);
  const isHeld = isAboveLimit(values.amount, refundable);
  const needsApproval =
    approvalRole === MemberRole.UNSPECIFIED ? words.needsApproval : words.needsApprovalOfRole;
  const approval = isAboveZero(approvalAbove)
    ? needsApproval(write(approvalAbove))
    : words.needsApprovalAlways;
  return {
    path,
    order: orderPath(pageMerchant, order),
    lead: words.lead(amount, phone, option),
    approval: isHeld ? approval : undefined,
    submit: isHeld ? words.ask(amount) : words.submit(amount),
    values,
    facts: [
      [words.amount, amount],
      [words.to, phone],
      [words.option, option],
      [words.order, order.orderNumber],
      [words.reason, values.reason],
      [words.number, values.refund_number],
    ],
  };
}
