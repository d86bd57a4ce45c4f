import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { OrderStatus, PaymentAttemptStatus, PaymentType } from '../../gen/gatehouse/v1/order_pb.js';
import type { Order, PaymentAttempt } from '../../gen/gatehouse/v1/order_pb.js';
import type {
  GetOrderStoryResponse,
  PaymentAttemptStory,
} from '../../gen/gatehouse/v1/order_story_service_pb.js';
import type { ApiRequest } from '../../gen/gatehouse/v1/request_log_service_pb.js';
import { StrayPaymentStatus } from '../../gen/gatehouse/v1/stray_payment_service_pb.js';
import type { StrayPayment } from '../../gen/gatehouse/v1/stray_payment_service_pb.js';
import { DeliveryState } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type {
  Delivery,
  GetOrderDeliveriesResponse,
  OrderDelivery,
} from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { isPublicId } from '../../contract/public-id.ts';
import { amountText } from '../../contract/amount-text.ts';
import { attemptPhone } from '../../contract/attempt-phone.ts';
import { mayChange, mayOpenDeveloperPages, pageMerchantOf, pathIn, scopeOf } from '../access/page-context.ts';
import type { PageMerchant } from '../access/page-context.ts';
import { tryCall, callOptions, loadPanel } from '../try-call.ts';
import type { Panel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { attemptResult } from '../developers/delivery-words.ts';
import { home as homeInAmharic } from '../language/amharic/home.ts';
import { order as amharic } from '../language/amharic/order.ts';
import { refunds as refundsInAmharic } from '../language/amharic/refunds.ts';
import { webhooks as webhooksInAmharic } from '../language/amharic/webhooks.ts';
import { home as homeInEnglish } from '../language/english/home.ts';
import { order as english } from '../language/english/order.ts';
import { refunds as refundsInEnglish } from '../language/english/refunds.ts';
import { webhooks as webhooksInEnglish } from '../language/english/webhooks.ts';
import { wordsFor } from '../language/words.ts';
import { momentOf } from '../moment-text.ts';
import { notFound } from '../page-problem.ts';
import { flash } from '../session/sign-in-state.ts';
import { orderWords, optionText, statusText, typeText } from './order-words.ts';
import { eventEntry, exchangeEntries, storyItems, strayEntry, webhookEntries } from './order-story.ts';
import type { StoryEntry, StoryWriting } from './order-story.ts';
import { requestEntries } from './request-story.ts';
import { orderExplanation } from './order-explanation.ts';
import { orderRefunds } from './order-refunds.ts';
import { isLongUndecided, orderSummary } from './order-summary.ts';
import { isOpenRefund, openRefundStatuses, refundsIn } from './refund-states.ts';

const dictionary = { en: english, am: amharic };
const reasonWords = { en: homeInEnglish.failures.reasons, am: homeInAmharic.failures.reasons };
const refundDictionary = { en: refundsInEnglish, am: refundsInAmharic };
const webhookWords = { en: webhooksInEnglish, am: webhooksInAmharic };

/** The order in a path. An invalid id is not found. */
export function orderIdOf({ params }: FastifyRequest): string {
  const { orderId } = params as { readonly orderId: string };
  if (!isPublicId('ord', orderId)) throw notFound('ORDER_NOT_FOUND');
  return orderId;
}

/** The attempt that was sent and whose outcome only the wallet knows. An order has one at most. */
const openAttempt = (attempts: readonly PaymentAttemptStory[]): PaymentAttempt | undefined =>
  attempts
    .flatMap(({ paymentAttempt }) => paymentAttempt ?? [])
    .find(({ status }) => status === PaymentAttemptStatus.SENT || status === PaymentAttemptStatus.UNKNOWN);

/** The wallet's id of the transaction that paid the order; empty without one. */
const transactionOf = (attempts: readonly PaymentAttemptStory[]): string =>
  attempts.find(({ paymentAttempt }) => paymentAttempt?.status === PaymentAttemptStatus.SUCCEEDED)
    ?.providerTransactionId ?? '';

const isCutShort = ({ deliveries, incomplete }: GetOrderDeliveriesResponse): boolean =>
  incomplete || deliveries.some(({ delivery, attempts }) => attempts.length < (delivery?.attemptCount ?? 0));

/** The form to redeliver; none while the delivery is pending. */
const redeliveryForm = (pageMerchant: PageMerchant, delivery: Delivery | undefined) =>
  delivery === undefined || delivery.state === DeliveryState.PENDING
    ? []
    : [
        {
          action: pathIn(pageMerchant, `webhooks/deliveries/${delivery.deliveryId}/redeliver`),
          eventType: delivery.eventType,
        },
      ];

const isRefused = ({ status }: StrayPayment): boolean => status === StrayPaymentStatus.REVERSAL_REFUSED;

/** Whether operators can settle money of the order by hand: what the wallet has not decided for long, or does not return. */
const waitsForPerson = (story: GetOrderStoryResponse, now: Date): boolean =>
  isLongUndecided(openAttempt(story.paymentAttempts)?.createTime, now) ||
  story.refunds.some((refund) => isOpenRefund(refund) && isLongUndecided(refund.createTime, now)) ||
  story.strayPayments.some(
    (stray) =>
      isRefused(stray) ||
      (stray.status === StrayPaymentStatus.REVERSAL_DUE && isLongUndecided(stray.createTime, now)),
  );

/** The actions that the user may take on the order, and the pages that the user may open. */
function actionsOn(
  { status, paymentType }: Order,
  request: FastifyRequest,
  {
    openAttempt: attempt,
    waitsForPerson: isWaiting,
    deliveries,
  }: {
    readonly openAttempt: PaymentAttempt | undefined;
    readonly waitsForPerson: boolean;
    readonly deliveries: readonly OrderDelivery[];
  },
) {
  const pageMerchant = pageMerchantOf(request);
  const isChangeable = mayChange(request);
  const hasCheckout = status === OrderStatus.PENDING && paymentType !== PaymentType.DIRECT;
  return {
    mayRefund: isChangeable,
    mayCancel: isChangeable && hasCheckout,
    mayQueryWallet: isChangeable && attempt !== undefined,
    hasHiddenCheckout: !isChangeable && hasCheckout,
    redeliver: isChangeable
      ? deliveries.flatMap(({ delivery }) => redeliveryForm(pageMerchant, delivery))
      : [],
    // Only developers may read the pages of requests and deliveries.
    mayFollow: mayOpenDeveloperPages(request),
    // Only operators may open the page of money that waits for a person.
    settlements: request.signedInUser?.isOperator === true && isWaiting ? '/operator/settlements' : undefined,
  };
}

const path = '/m/:merchantId/:environment/orders/:orderId';

/** The page of one order: its values, history and actions. */
export function addOrder(app: FastifyInstance, dashboard: Dashboard): void {
  app.get(path, (request, reply) => showOrder(dashboard, request, reply));
  addState(app, dashboard);
  addActions(app, dashboard);
}

const writingOf = (
  request: FastifyRequest,
  { timeZone }: Dashboard,
  attempts: readonly PaymentAttemptStory[],
) => ({
  words: wordsFor(request, orderWords),
  wallets: request.wallets,
  story: wordsFor(request, dictionary).story,
  summary: wordsFor(request, dictionary).summary,
  reasons: reasonWords[request.language],
  refundFailures: wordsFor(request, refundDictionary).failures,
  language: request.language,
  timeZone,
  unsentAttempts: new Set(
    attempts
      .filter(({ unsent }) => unsent)
      .map(({ paymentAttempt }) => paymentAttempt?.paymentAttemptId ?? ''),
  ),
});

const storyOf = ({ clients }: Dashboard, request: FastifyRequest, withCheckoutUrl: boolean) =>
  clients.orderStories.getOrderStory(
    { ...scopeOf(request), orderId: orderIdOf(request), withCheckoutUrl },
    callOptions(request),
  );

const deliveriesOf = ({ clients }: Dashboard, request: FastifyRequest) =>
  loadPanel(request, (options) =>
    clients.webhooks.getOrderDeliveries({ ...scopeOf(request), orderId: orderIdOf(request) }, options),
  );

function deliveryEntries(
  request: FastifyRequest,
  found: readonly OrderDelivery[],
  writing: StoryWriting,
): StoryEntry[] {
  const words = wordsFor(request, webhookWords);
  return found.flatMap((each) => {
    const href = pathIn(pageMerchantOf(request), `webhooks/deliveries/${each.delivery?.deliveryId ?? ''}`);
    return webhookEntries(each, href, (result) => attemptResult(result, words), writing);
  });
}

function apiRequestEntries(
  request: FastifyRequest,
  orderNumber: string,
  found: readonly ApiRequest[],
  writing: StoryWriting,
): StoryEntry[] {
  const pageMerchant = pageMerchantOf(request);
  const verifies = new URLSearchParams({ endpoint: 'verify', order_number: orderNumber }).toString();
  const pages = {
    one: ({ apiRequestId }: ApiRequest) => pathIn(pageMerchant, `requests/${apiRequestId}`),
    verifies: `${pathIn(pageMerchant, 'requests')}?${verifies}`,
  };
  return requestEntries(found, pages, writing);
}

async function showOrder(
  dashboard: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const [story, webhooks] = await Promise.all([
    storyOf(dashboard, request, mayChange(request)),
    deliveriesOf(dashboard, request),
  ]);
  const { order } = story;
  if (order === undefined) throw notFound('ORDER_NOT_FOUND');
  const view = orderView({ order, story, webhooks }, request, dashboard);
  return dashboard.sendPage(request, reply, {
    template: 'payments/order',
    title: order.orderNumber,
    area: 'orders',
    words: wordsFor(request, dictionary),
    scripts: view.refunds.isOpen ? [dashboard.assets.live.path] : [],
    view,
  });
}

interface ReadOrder {
  readonly order: Order;
  readonly story: GetOrderStoryResponse;
  readonly webhooks: Panel<GetOrderDeliveriesResponse>;
}

function orderView({ order, story, webhooks }: ReadOrder, request: FastifyRequest, dashboard: Dashboard) {
  const words = wordsFor(request, dictionary);
  const pageMerchant = pageMerchantOf(request);
  const { events, paymentAttempts, checkoutUrl } = story;
  const writing = writingOf(request, dashboard, paymentAttempts);
  const deliveries = webhooks.isThere ? webhooks.value.deliveries : [];
  const strays = story.strayPayments.map((stray) => strayEntry(stray, writing));
  const entries = [
    ...events.map((event) => eventEntry(event, writing, (id) => pathIn(pageMerchant, `refunds/${id}`))),
    ...paymentAttempts.flatMap((attempt) => exchangeEntries(attempt, writing)),
    ...deliveryEntries(request, deliveries, writing),
    ...apiRequestEntries(request, order.orderNumber, story.apiRequests, writing),
    ...strays,
  ];
  const latestAttempt = paymentAttempts[0]?.paymentAttempt;
  const refunds = orderRefunds(order, refundsIn(story), words.refunds, writing);
  const summary = orderSummary({ order, events, latestAttempt, now: dashboard.now() }, writing);
  const explained = webhooks.isThere ? webhooks.value.explanation : undefined;
  return {
    path: pathIn(pageMerchant, `orders/${order.orderId}`),
    list: { href: pathIn(pageMerchant, 'orders'), text: writing.words.title },
    number: order.orderNumber,
    status: statusText(order.status, writing.words),
    amount: amountText(order.amount, order.currency, request.language),
    summary: [summary, ...refunds.facts].join(' '),
    explanation: orderExplanation(
      story.explanation,
      explained,
      writing,
      (subjectId) => (request.signedInUser?.isOperator === true ? detailOf(story, subjectId) : ''),
      (page) => pathIn(pageMerchant, page),
    ),
    refunds,
    strays: strays.map(({ title, notes }) => [title, ...notes].join('. ')),
    facts: factsOf(order, transactionOf(paymentAttempts), words.facts, writing),
    samePhone: samePhone(order, latestAttempt, pathIn(pageMerchant, 'orders'), words.samePhone),
    story: storyItems(entries, writing),
    notices: noticesOf(story, webhooks, words.story),
    checkoutUrl,
    link: isLink(order) ? pathIn(pageMerchant, `links/${order.orderId}`) : undefined,
    ...actionsOn(order, request, {
      openAttempt: openAttempt(paymentAttempts),
      waitsForPerson: waitsForPerson(story, dashboard.now()),
      deliveries,
    }),
  };
}

/** The wallet's latest message about a payment that it has not decided, or about a refund or stray payment; for operators. */
const detailOf = ({ paymentAttempts, refunds, strayPayments }: GetOrderStoryResponse, id: string): string =>
  paymentAttempts.find(({ paymentAttempt }) => paymentAttempt?.paymentAttemptId === id)?.detail ??
  refunds.find(({ refundId }) => refundId === id)?.detail ??
  strayPayments.find(({ strayPaymentId }) => strayPaymentId === id)?.detail ??
  '';

/** The missing parts of the page. */
const noticesOf = (
  { incomplete }: GetOrderStoryResponse,
  webhooks: Panel<GetOrderDeliveriesResponse>,
  words: StoryWriting['story'],
): string[] => [
  ...(webhooks.isThere ? [] : [words.withoutWebhooks]),
  ...(incomplete || (webhooks.isThere && isCutShort(webhooks.value)) ? [words.incomplete] : []),
];

/** Polled by the open page while a refund is pending. */
function addState(app: FastifyInstance, { clients }: Dashboard): void {
  app.get(`${path}/state`, async (request, reply) => {
    const scope = scopeOf(request);
    const orderId = orderIdOf(request);
    const asked = { ...scope, orderId };
    const newest = await clients.refunds.listRefunds(asked, callOptions(request));
    // The page decides by all refunds. An older one than those of the first page can be open too.
    const needsOlder = newest.nextPageToken !== '' && !newest.refunds.some(isOpenRefund);
    const older = needsOlder
      ? await clients.refunds.listRefunds(
          { ...asked, statuses: [...openRefundStatuses] },
          callOptions(request),
        )
      : undefined;
    const refunds = [...newest.refunds, ...(older?.refunds ?? [])];
    // An open page has refunds. Without any, the order may not exist.
    if (refunds.length === 0)
      await clients.orders.getOrder(
        { ...scope, key: { case: 'orderId', value: orderId } },
        callOptions(request),
      );
    return reply.send({
      state: refunds.map(({ refundId, status }) => `${refundId}-${status}`).join(),
      isOver: !refunds.some(isOpenRefund),
    });
  });
}

function addActions(app: FastifyInstance, dashboard: Dashboard): void {
  const { clients } = dashboard;

  app.post(`${path}/cancel`, async (request, reply) => {
    const words = wordsFor(request, dictionary).actions;
    const orderId = orderIdOf(request);
    const answer = await tryCall(request, (options) =>
      clients.orders.cancelOrder({ ...scopeOf(request), orderId }, options),
    );
    if (answer.ok) flash(request, { tone: 'good', text: words.cancelled });
    else {
      const busy = answer.refusal.reason === 'PAYMENT_IN_PROGRESS';
      flash(request, { tone: 'warn', text: busy ? words.inProgress : words.ended });
    }
    return reply.redirect(pathIn(pageMerchantOf(request), `orders/${orderId}`), 303);
  });

  app.post(`${path}/query-wallet`, async (request, reply) => {
    const words = wordsFor(request, dictionary).actions;
    const orderId = orderIdOf(request);
    const open = openAttempt((await storyOf(dashboard, request, false)).paymentAttempts);
    if (open === undefined) flash(request, { tone: 'warn', text: words.nothingToQuery });
    else {
      const { paymentAttemptId } = open;
      const { merchantId } = scopeOf(request);
      await clients.payments.hastenPaymentAttempt({ merchantId, paymentAttemptId }, callOptions(request));
      flash(request, { tone: 'good', text: words.walletQueried });
    }
    return reply.redirect(pathIn(pageMerchantOf(request), `orders/${orderId}`), 303);
  });
}

export const isLink = ({ paymentType }: Order): boolean =>
  paymentType === PaymentType.LINK || paymentType === PaymentType.QR;

/** The search for all orders of the payer, or of the customer before a payment; undefined without a phone, also after its erasure. */
function samePhone(
  order: Order,
  attempt: PaymentAttempt | undefined,
  orders: string,
  text: (phone: string) => string,
) {
  const phone = (attempt && attemptPhone(attempt)) || order.customerPhone;
  if (!/^\+?\d/.test(phone)) return undefined;
  return { href: `${orders}?${new URLSearchParams({ phone }).toString()}`, text: text(phone) };
}

/** The order's values that are present. */
function factsOf(order: Order, transaction: string, words: (typeof english)['facts'], writing: StoryWriting) {
  const { language, words: named } = writing;
  const moment = (time: Order['createTime']) => momentOf(time, language, writing.timeZone);
  const deducted =
    order.status === OrderStatus.COMPLETED ? amountText(order.deducted, order.currency, language) : '';
  const texts: readonly (readonly [string, string])[] = [
    [words.id, order.orderId],
    [words.deducted, deducted],
    [words.type, typeText(order.paymentType, named)],
    [words.option, order.paymentOption === '' ? '' : optionText(order.paymentOption, writing)],
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
      // An order that has ended cannot expire any more.
      ...(order.status === OrderStatus.PENDING
        ? [{ label: words.expires, moment: moment(order.expireTime) }]
        : []),
    ],
  };
}
