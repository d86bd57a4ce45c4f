import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  OrderStatus,
  PaymentAttemptStatus,
  PaymentOption,
  PaymentType,
} from '../../gen/gatehouse/v1/order_pb.js';
import type { Order } from '../../gen/gatehouse/v1/order_pb.js';
import type { ApiRequest } from '../../gen/gatehouse/v1/request_log_service_pb.js';
import { DeliveryState } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { isPublicId } from '../../contract/public-id.ts';
import { amountText } from '../../contract/amount-text.ts';
import { pathIn, placeOf, scopeOf } from '../access/place.ts';
import { ask, callOptions, panel } from '../ask.ts';
import type { Dashboard } from '../dashboard.ts';
import { attemptResult } from '../developers/delivery-words.ts';
import { home as homeInAmharic } from '../language/amharic/home.ts';
import { order as amharic } from '../language/amharic/order.ts';
import { webhooks as webhooksInAmharic } from '../language/amharic/webhooks.ts';
import { home as homeInEnglish } from '../language/english/home.ts';
import { order as english } from '../language/english/order.ts';
import { webhooks as webhooksInEnglish } from '../language/english/webhooks.ts';
import { wordsFor } from '../language/words.ts';
import { momentOf } from '../moment-text.ts';
import { notFound } from '../page-problem.ts';
import { flash } from '../session/sign-in-state.ts';
import { isAtLeast } from '../session/viewer.ts';
import { orderWords, optionText, statusText, typeText } from './order-words.ts';
import {
  eventEntry,
  exchangeEntries,
  requestEntries,
  storyOf,
  strayEntry,
  webhookEntries,
} from './order-story.ts';
import type { StoryWriting } from './order-story.ts';
import { orderSummary } from './order-summary.ts';

const dictionary = { en: english, am: amharic };
const reasonWords = { en: homeInEnglish.failures.reasons, am: homeInAmharic.failures.reasons };
const webhookWords = { en: webhooksInEnglish, am: webhooksInAmharic };

/** More of a kind than an order comes to in its life, but for who asks for it all the time. */
const most = { events: 100, attempts: 10, deliveries: 20, requests: 500, strays: 20 };

/** The order that a path names. What is no id is no order either. */
export function orderIdOf({ params }: FastifyRequest): string {
  const { orderId } = params as { readonly orderId: string };
  if (!isPublicId('ord', orderId)) throw notFound('ORDER_NOT_FOUND');
  return orderId;
}

export const mayChangeOrders = (request: FastifyRequest): boolean => {
  const { role } = placeOf(request);
  return role !== 'operator' && isAtLeast(role, 'developer');
};

const isOpen = (status: PaymentAttemptStatus): boolean =>
  status === PaymentAttemptStatus.SENT || status === PaymentAttemptStatus.UNKNOWN;

/** The page of one order: what it is, what happened to it, and what can be done. */
export function addOrder(app: FastifyInstance, dashboard: Dashboard): void {
  const { clients, sendPage, timeZone } = dashboard;
  const path = '/m/:merchantId/:environment/orders/:orderId';

  const writingOf = (request: FastifyRequest): StoryWriting => ({
    words: wordsFor(request, orderWords),
    story: wordsFor(request, dictionary).story,
    summary: wordsFor(request, dictionary).summary,
    reasons: reasonWords[request.language],
    language: request.language,
    timeZone,
  });

  const eventsOf = (request: FastifyRequest, orderId: string) =>
    panel(request, async (options) => {
      const { entries } = await clients.orders.listOrderEvents(
        { ...scopeOf(request), orderId, pageSize: most.events },
        options,
      );
      const events = entries.flatMap(({ event }) => event ?? []);
      return { events, entries: events.map((event) => eventEntry(event, writingOf(request))) };
    });

  const paymentsOf = (request: FastifyRequest, orderId: string) =>
    panel(request, async (options) => {
      const scope = scopeOf(request);
      const { paymentAttempts } = await clients.payments.listPaymentAttempts(
        { ...scope, orderId, pageSize: most.attempts },
        options,
      );
      const stories = await Promise.all(
        paymentAttempts.map(({ paymentAttemptId }) =>
          clients.payments.getPaymentAttempt({ merchantId: scope.merchantId, paymentAttemptId }, options),
        ),
      );
      return {
        open: paymentAttempts.find(({ status }) => isOpen(status)),
        latest: paymentAttempts[0],
        transaction:
          stories.find(({ paymentAttempt }) => paymentAttempt?.status === PaymentAttemptStatus.SUCCEEDED)
            ?.providerTransactionId ?? '',
        entries: stories.flatMap((story) => exchangeEntries(story, writingOf(request))),
      };
    });

  const webhooksOf = (request: FastifyRequest, orderId: string) =>
    panel(request, async (options) => {
      const scope = scopeOf(request);
      const { deliveries } = await clients.webhooks.listDeliveries(
        { ...scope, orderId, pageSize: most.deliveries },
        options,
      );
      const words = wordsFor(request, webhookWords);
      const stories = await Promise.all(
        deliveries.map(async ({ deliveryId }) => {
          const told = await clients.webhooks.getDelivery(
            { merchantId: scope.merchantId, deliveryId },
            options,
          );
          const href = pathIn(placeOf(request), `webhooks/deliveries/${deliveryId}`);
          return webhookEntries(told, href, (result) => attemptResult(result, words), writingOf(request));
        }),
      );
      return {
        ended: deliveries.filter(({ state }) => state !== DeliveryState.PENDING),
        entries: stories.flat(),
      };
    });

  const requestsOf = (request: FastifyRequest, orderNumber: string) =>
    panel(request, async (options) => {
      const { requests } = await clients.requestLog.listApiRequests(
        { ...scopeOf(request), orderNumber, pageSize: most.requests },
        options,
      );
      const place = placeOf(request);
      const verifies = new URLSearchParams({ endpoint: 'verify', order_number: orderNumber }).toString();
      const pages = {
        one: ({ apiRequestId }: ApiRequest) => pathIn(place, `requests/${apiRequestId}`),
        verifies: `${pathIn(place, 'requests')}?${verifies}`,
      };
      return requestEntries(requests, pages, writingOf(request));
    });

  const straysOf = (request: FastifyRequest, orderId: string) =>
    panel(request, async (options) => {
      const { strayPayments } = await clients.strayPayments.listStrayPayments(
        { ...scopeOf(request), orderId, pageSize: most.strays },
        options,
      );
      return strayPayments.map((stray) => strayEntry(stray, writingOf(request)));
    });

  const showOrder = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const orderId = orderIdOf(request);
    const words = wordsFor(request, dictionary);
    const writing = writingOf(request);
    const place = placeOf(request);
    const mayChange = mayChangeOrders(request);
    const { order, checkoutUrl } = await clients.orders.getOrder(
      { ...scopeOf(request), key: { case: 'orderId', value: orderId }, withCheckoutUrl: mayChange },
      callOptions(request),
    );
    if (order === undefined) throw notFound('ORDER_NOT_FOUND');
    const [events, payments, webhooks, requests, strays] = await Promise.all([
      eventsOf(request, orderId),
      paymentsOf(request, orderId),
      webhooksOf(request, orderId),
      requestsOf(request, order.orderNumber),
      straysOf(request, orderId),
    ]);
    const parts = { events, payments, webhooks, requests, strays };
    const entries = [
      ...(events.isThere ? events.value.entries : []),
      ...(payments.isThere ? payments.value.entries : []),
      ...(webhooks.isThere ? webhooks.value.entries : []),
      ...(requests.isThere ? requests.value : []),
      ...(strays.isThere ? strays.value : []),
    ];
    return sendPage(request, reply, {
      template: 'payments/order',
      title: order.orderNumber,
      area: 'orders',
      words,
      view: {
        path: pathIn(place, `orders/${orderId}`),
        list: { href: pathIn(place, 'orders'), text: writing.words.title },
        number: order.orderNumber,
        status: statusText(order.status, writing.words),
        amount: amountText(order.amount, order.currency, request.language),
        summary: orderSummary(
          {
            order,
            events: events.isThere ? events.value.events : undefined,
            latestAttempt: payments.isThere ? payments.value.latest : undefined,
          },
          writing,
        ),
        strays: strays.isThere ? strays.value.map(({ title, notes }) => [title, ...notes].join('. ')) : [],
        facts: factsOf(order, payments.isThere ? payments.value.transaction : '', words.facts, writing),
        story: storyOf(entries, writing),
        // Requests and deliveries are pages for developers.
        mayFollow: place.role === 'operator' || isAtLeast(place.role, 'developer'),
        missing: (Object.keys(parts) as (keyof typeof parts)[])
          .filter((name) => !parts[name].isThere)
          .map((name) => words.story.missing[name]),
        checkoutUrl,
        hasHiddenCheckout:
          !mayChange && order.status === OrderStatus.PENDING && order.paymentType !== PaymentType.DIRECT,
        link: isLink(order) ? pathIn(place, `links/${orderId}`) : undefined,
        mayHasten: mayChange && payments.isThere && payments.value.open !== undefined,
        mayCancel:
          mayChange && order.status === OrderStatus.PENDING && order.paymentType !== PaymentType.DIRECT,
        redeliver:
          mayChange && webhooks.isThere
            ? webhooks.value.ended.map(({ deliveryId, eventType }) => ({
                action: pathIn(place, `webhooks/deliveries/${deliveryId}/redeliver`),
                eventType,
              }))
            : [],
      },
    });
  };

  app.get(path, showOrder);

  app.post(`${path}/cancel`, async (request, reply) => {
    const words = wordsFor(request, dictionary).actions;
    const orderId = orderIdOf(request);
    const answer = await ask(request, (options) =>
      clients.orders.cancelOrder({ ...scopeOf(request), orderId }, options),
    );
    if (answer.ok) flash(request, { tone: 'good', text: words.cancelled });
    else {
      const busy = answer.refusal.reason === 'PAYMENT_IN_PROGRESS';
      flash(request, { tone: 'warn', text: busy ? words.inProgress : words.ended });
    }
    return reply.redirect(pathIn(placeOf(request), `orders/${orderId}`), 303);
  });

  app.post(`${path}/hasten`, async (request, reply) => {
    const orderId = orderIdOf(request);
    const scope = scopeOf(request);
    const { paymentAttempts } = await clients.payments.listPaymentAttempts(
      { ...scope, orderId, pageSize: most.attempts },
      callOptions(request),
    );
    const open = paymentAttempts.find(({ status }) => isOpen(status));
    if (open !== undefined) {
      const { paymentAttemptId } = open;
      const { merchantId } = scope;
      await clients.payments.hastenPaymentAttempt({ merchantId, paymentAttemptId }, callOptions(request));
    }
    flash(request, { tone: 'good', text: wordsFor(request, dictionary).actions.hastened });
    return reply.redirect(pathIn(placeOf(request), `orders/${orderId}`), 303);
  });
}

export const isLink = ({ paymentType }: Order): boolean =>
  paymentType === PaymentType.LINK || paymentType === PaymentType.QR;

/** What is known of an order, without what it does not have. */
function factsOf(order: Order, transaction: string, words: (typeof english)['facts'], writing: StoryWriting) {
  const { language, words: named } = writing;
  const moment = (time: Order['createTime']) => momentOf(time, language, writing.timeZone);
  const deducted =
    order.status === OrderStatus.COMPLETED ? amountText(order.deducted, order.currency, language) : '';
  const texts: readonly (readonly [string, string])[] = [
    [words.id, order.orderId],
    [words.deducted, deducted],
    [words.type, typeText(order.paymentType, named)],
    [
      words.option,
      order.paymentOption === PaymentOption.UNSPECIFIED ? '' : optionText(order.paymentOption, named),
    ],
    [words.transaction, transaction],
    [words.phone, order.customerPhone],
    [words.reason, order.reason],
    [words.business, order.businessName],
    [words.returnUrl, order.returnUrl],
    [words.webhookUrl, order.webhookUrl],
  ];
  return {
    texts: texts.filter(([, text]) => text !== '').map(([label, text]) => ({ label, text })),
    times: [
      { label: words.created, moment: moment(order.createTime) },
      { label: words.updated, moment: moment(order.updateTime) },
      { label: words.expires, moment: moment(order.expireTime) },
    ],
  };
}
