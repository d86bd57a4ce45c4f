import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PaymentAttemptStatus, RefundStatus } from '../../gen/gatehouse/v1/order_pb.js';
import { NotRefundable } from '../../gen/gatehouse/v1/refund_service_pb.js';
import { pathIn, pageMerchantOf, scopeOf } from '../access/page-context.ts';
import { tryCall, callOptions } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { emptyForm, fieldOf, readForm } from '../forms/read-form.ts';
import type { FormState } from '../forms/read-form.ts';
import { notFound } from '../page-problem.ts';
import { failureOfRpc } from '../rpc-failure.ts';
import type { RpcFailure } from '../rpc-failure.ts';
import { shellWords } from '../send-page.ts';
import { flash } from '../session/sign-in-state.ts';
import { orderIdOf } from '../payments/add-order.ts';
import { refundAmountProblem } from './refund-amount.ts';
import { confirmRefundView, refundFormView } from './refund-form-views.ts';
import type { RefundedOrder } from './refund-form-views.ts';
import { refundPath, refundWriting } from './refund-writing.ts';
import type { RefundWords, RefundWriting } from './refund-writing.ts';

const NewRefund = Type.Object({
  amount: Type.String({ maxLength: 20 }),
  reason: Type.String({ maxLength: 255 }),
  // Only the numbers of our own forms, so that a form cannot reuse a refund_number that the merchant's server chose.
  refund_number: Type.String({ pattern: '^R-[0-9A-F]{12}$' }),
});

interface Shown {
  readonly form: FormState;
  readonly status?: number;
  /** A problem that no field can correct. */
  readonly refused?: string | undefined;
}

/**
 * The form that refunds an order, and the page that confirms it. The form's address contains the refund_number. So a form that
 * is sent twice, or again after the back button, creates one refund.
 */
export function addRefundForm(app: FastifyInstance, dashboard: Dashboard): void {
  const { clients, sendPage, timeZone, randomBytes } = dashboard;
  const path = '/m/:merchantId/:environment/orders/:orderId/refund';
  const selfOf = (request: FastifyRequest): string =>
    pathIn(pageMerchantOf(request), `orders/${orderIdOf(request)}/refund`);
  const newNumber = (): string => `R-${randomBytes(6).toString('hex').toUpperCase()}`;

  const read = async (request: FastifyRequest): Promise<RefundedOrder> => {
    const asked = { ...scopeOf(request), orderId: orderIdOf(request) };
    const options = callOptions(request);
    const [{ order, paymentAttempts }, refundable] = await Promise.all([
      clients.orderStories.getOrderStory(asked, options),
      clients.refunds.getRefundable(asked, options),
    ]);
    if (order === undefined) throw notFound('ORDER_NOT_FOUND');
    const payment = paymentAttempts
      .flatMap(({ paymentAttempt }) => paymentAttempt ?? [])
      .find(({ status }) => status === PaymentAttemptStatus.SUCCEEDED);
    return { order, refundable, payment };
  };

  /** The refund that the form has already created. */
  const existing = async (request: FastifyRequest, number: string) => {
    try {
      const name = { case: 'refundNumber' as const, value: number };
      const asked = { ...scopeOf(request), name };
      return (await clients.refunds.getRefund(asked, callOptions(request))).refund;
    } catch (thrown) {
      if (failureOfRpc(thrown)?.reason === 'REFUND_NOT_FOUND') return undefined;
      throw thrown;
    }
  };

  const pageOf = (request: FastifyRequest) => ({
    path: selfOf(request),
    pageMerchant: pageMerchantOf(request),
    writing: refundWriting(request, timeZone),
  });

  const showForm = async (request: FastifyRequest, reply: FastifyReply, { form, status, refused }: Shown) => {
    const page = pageOf(request);
    const { own } = page.writing;
    const number = form.values['refund_number'] ?? '';
    const [refunded, earlier] = await Promise.all([read(request), existing(request, number)]);
    reply.code(status ?? 200);
    return sendPage(request, reply, {
      template: 'refunds/form',
      title: own.form.title(refunded.order.orderNumber),
      area: 'orders',
      words: own,
      self: `${page.path}?number=${number}`,
      view: refundFormView(refunded, { form, refused, earlier }, page),
    });
  };

  app.get(path, async (request, reply) => {
    const { number } = request.query as { readonly number?: unknown };
    const isFormNumber = typeof number === 'string' && /^R-[0-9A-F]{12}$/.test(number);
    if (!isFormNumber) return reply.redirect(`${selfOf(request)}?number=${newNumber()}`, 303);
    return showForm(request, reply, { form: emptyForm({ refund_number: number }) });
  });

  const readRefund = (request: FastifyRequest, { own }: RefundWriting) => {
    const { forms } = shellWords[request.language];
    const form = readForm(NewRefund, request.body, forms, { reason: own.form.wrongReason });
    if (form.values['refund_number'] !== '' && form.errors['refund_number'] === undefined) return form;
    // A form without a number of ours gets one, so that it can be sent.
    return { ...form, values: { ...form.values, refund_number: newNumber() } };
  };

  app.post(`${path}/check`, async (request, reply) => {
    const page = pageOf(request);
    const form = readRefund(request, page.writing);
    // The user pressed Back on the page that asks for confirmation.
    if (fieldOf(request.body, 'edit') !== '')
      return showForm(request, reply, { form: { ...form, errors: {} } });
    const refunded = await read(request);
    const { refundable } = refunded;
    // The page of the form says why an order cannot be refunded.
    if (refundable.notRefundable !== NotRefundable.UNSPECIFIED)
      return showForm(request, reply, { form: { ...form, errors: {} }, status: 409 });
    const { amount = '' } = form.values;
    const problem = amount === '' ? undefined : refundAmountProblem(amount, refundable, page.writing);
    // One answer marks all fields that are wrong.
    if (!form.ok || problem !== undefined) {
      const errors = { ...form.errors, ...(problem === undefined ? {} : { amount: problem }) };
      return showForm(request, reply, { form: { ...form, errors }, status: 400 });
    }
    const words = page.writing.own.confirm;
    return sendPage(request, reply, {
      template: 'refunds/confirm',
      title: words.title,
      area: 'orders',
      words,
      self: `${page.path}?number=${form.value.refund_number}`,
      view: confirmRefundView(refunded, form.value, page),
    });
  });

  app.post(path, async (request, reply) => {
    const writing = refundWriting(request, timeZone);
    const { own } = writing;
    const form = readRefund(request, writing);
    if (!form.ok) return showForm(request, reply, { form, status: 400 });
    const { amount, reason, refund_number: refundNumber } = form.value;
    const order = { case: 'orderId' as const, value: orderIdOf(request) };
    const answer = await tryCall(request, (options) =>
      clients.refunds.createRefund({ ...scopeOf(request), order, refundNumber, amount, reason }, options),
    );
    if (!answer.ok) return showForm(request, reply, { form, ...refusalShown(answer.refusal, own) });
    const { refund, repeated } = answer.value;
    const isAwaiting = refund?.status === RefundStatus.AWAITING_APPROVAL;
    if (!repeated) flash(request, { tone: 'good', text: isAwaiting ? own.madeAwaiting : own.made });
    return reply.redirect(refundPath(pageMerchantOf(request), refund?.refundId ?? ''), 303);
  });
}

/** The message for a refund that core refused. The form itself says when the order or the number is the reason. */
function refusalShown({ reason, fields }: RpcFailure, { form }: RefundWords) {
  switch (reason) {
    case 'INVALID_FIELDS': {
      const isReason = fields.some(({ field }) => field === 'reason');
      return { status: 400, refused: isReason ? form.wrongReason : form.changed };
    }
    case 'MERCHANT_SUSPENDED':
      return { status: 409, refused: form.suspended };
    case 'PRODUCTION_NOT_ACTIVATED':
      return { status: 409, refused: form.notActivated };
    default:
      return { status: 409 };
  }
}
