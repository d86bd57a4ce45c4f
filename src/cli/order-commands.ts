import { Argument } from 'commander';
import type { Command } from 'commander';
import {
  Environment,
  EnvironmentSchema,
  OrderEventSchema,
  OrderSchema,
  OrderStatus,
  OrderStatusSchema,
  PaymentAttemptSchema,
  PaymentTypeSchema,
  RefundSchema,
} from '../gen/gatehouse/v1/order_pb.js';
import type { Order, OrderEvent } from '../gen/gatehouse/v1/order_pb.js';
import type { PaymentAttemptStory } from '../gen/gatehouse/v1/order_story_service_pb.js';
import { StrayPaymentSchema, StrayPaymentStatus } from '../gen/gatehouse/v1/stray_payment_service_pb.js';
import type { StrayPayment } from '../gen/gatehouse/v1/stray_payment_service_pb.js';
import type { CoreClients } from './core-clients.ts';
import {
  environmentOption,
  environmentWord,
  limitOption,
  pageTokenOption,
  showEnvironment,
  statusOption,
} from './options.ts';
import { addOrderExplainCommand } from './order-explain-command.ts';
import type { ExplainParts } from './order-explain-command.ts';
import { addOrderFindCommand } from './order-find-command.ts';
import { showAttempts, showTimeline, unsentIn } from './order-history.ts';
import { requireField } from './output.ts';
import type { Output } from './output.ts';
import { showMore } from './paging.ts';
import type { PageOptions } from './paging.ts';
import { plainJson, wordOf } from './plain-json.ts';
import { collectKnown } from './require-known.ts';
import { showStrays, straysOf } from './stray-payment-commands.ts';
import { orderKey } from './order-key.ts';
import { refundsOf, showRefundsOf } from './show-refund.ts';
import type { RefundsOfOrder } from './show-refund.ts';
import { fields, table } from './table.ts';
import { showTime } from './time.ts';
import { onMerchant, onMerchantAnd } from './merchant-argument.ts';
import { addPeriod, periodOf } from './period.ts';
import type { PeriodOptions } from './period.ts';

type Orders = CoreClients['orders'];

interface ListOptions extends PageOptions, PeriodOptions {
  readonly environment: Environment;
  readonly status?: readonly OrderStatus[];
  readonly prefix?: string;
}

const showStatus = ({ status }: Order): string => wordOf(OrderStatusSchema, status) ?? '';

/** `order …` */
export function addOrderCommands(program: Command, parts: ExplainParts & { readonly now: () => Date }): void {
  const { run, findMerchant: find, now } = parts;
  const order = program.command('order').description("show, explain, find and list merchants' orders");
  const environment = () => environmentOption().default(Environment.SANDBOX, 'sandbox');

  onMerchantAnd(
    order
      .command('show')
      .description('show an order, its payment attempts and its history')
      .addOption(environment()),
    new Argument('<order>', "the merchant's order_number, or ord_…"),
    find,
    (merchantId: string, name: string, options: { environment: Environment }) =>
      run(async ({ orders, orderStories, strayPayments, refunds }) => {
        const key = orderKey(name);
        const order = requireField((await orders.getOrder({ merchantId, ...options, key })).order);
        const { environment, orderId } = order;
        const [events, { paymentAttempts }, strays, refunded] = await Promise.all([
          readEvents(orders, order),
          orderStories.getOrderStory({ merchantId, environment, orderId }),
          straysOf(strayPayments, order),
          refundsOf(refunds, order),
        ]);
        return showStory({
          order,
          events,
          attempts: paymentAttempts.toReversed(),
          strays,
          refunds: refunded,
        });
      }),
  );

  addOrderExplainCommand(order, parts);
  addOrderFindCommand(order, run);

  onMerchant(
    addPeriod(
      order
        .command('list')
        .description("list a merchant's orders, newest first")
        .addOption(environment())
        .addOption(statusOption()),
      'orders registered',
    )
      .option('--prefix <text>', 'only orders whose order_number starts with this')
      .addOption(limitOption())
      .addOption(pageTokenOption()),
    find,
    (merchantId: string, options: ListOptions) =>
      run((clients) => listOrders(clients, merchantId, options, now())),
  );
}

async function readEvents(orders: Orders, order: Order): Promise<readonly OrderEvent[]> {
  const { merchantId, environment, orderId } = order;
  const events: OrderEvent[] = [];
  let afterCursor = '';
  for (let more = true; more;) {
    const page = await orders.listOrderEvents({ merchantId, environment, orderId, afterCursor });
    events.push(...page.entries.flatMap(({ event }) => event ?? []));
    afterCursor = page.nextCursor;
    more = page.hasMore;
  }
  return events;
}

/** Explains why an open order accepts no payment. Only money of its own attempts prevents other payments. */
const explainHold = ({ status }: Order, strays: readonly StrayPayment[]): string =>
  status === OrderStatus.PENDING && strays.some(isHeldOfAttempt)
    ? '\nThe order accepts no other payment until this money is returned to the payer. It can still expire meanwhile.'
    : '';

const isHeldOfAttempt = ({ status, paymentAttemptId }: StrayPayment): boolean =>
  paymentAttemptId !== '' && status !== StrayPaymentStatus.REVERSED;

interface OrderStory {
  readonly order: Order;
  readonly events: readonly OrderEvent[];
  /** Oldest first, as they are now. Events do not tell that an attempt was sent. */
  readonly attempts: readonly PaymentAttemptStory[];
  readonly strays: readonly StrayPayment[];
  readonly refunds: RefundsOfOrder;
}

function showStory({
  order,
  events,
  attempts: stories,
  strays,
  refunds: { latest: refunds, hasMore },
}: OrderStory): Output {
  const attempts = stories.flatMap(({ paymentAttempt }) => paymentAttempt ?? []);
  const unsent = unsentIn(stories);
  const details = new Map(
    stories.map(({ paymentAttempt, detail }) => [paymentAttempt?.paymentAttemptId ?? '', detail]),
  );
  const sections = (width: number): string[] => [
    `Order ${order.orderNumber} in ${showEnvironment(order.environment)}`,
    fields(
      [
        ['Order', order.orderId],
        ['Merchant', order.merchantId],
        ['Status', showStatus(order)],
        ['Amount', `${order.amount} ${order.currency}`],
        ['Deducted', `${order.deducted} ${order.currency}`],
        ['Refunded', refunds.length === 0 ? '' : `${order.refunded} ${order.currency}`],
        ['Payment type', wordOf(PaymentTypeSchema, order.paymentType) ?? ''],
        ['Payment option', order.paymentOption || 'none yet'],
        ['Customer phone', order.customerPhone],
        ['Reason', order.reason],
        ['Business name', order.businessName],
        ['Return URL', order.returnUrl],
        ['Webhook URL', order.webhookUrl],
        ['Created', showTime(order.createTime)],
        ['Changed', showTime(order.updateTime)],
        ['To be paid by', showTime(order.expireTime)],
      ],
      width,
    ),
    attempts.length === 0
      ? 'No payment attempts'
      : `Payment attempts\n${showAttempts(attempts, width, unsent, details)}`,
    ...(strays.length === 0
      ? []
      : [`Stray payments of the order\n${showStrays(strays, order, width)}${explainHold(order, strays)}`]),
    ...(refunds.length === 0 ? [] : [showRefundsOf(order, { latest: refunds, hasMore }, width)]),
    `History\n${showTimeline(order, events, width)}`,
    ...(order.webhookUrl === '' || order.status === OrderStatus.PENDING
      ? []
      : [`Webhooks\n${showDeliveriesOf(order)}`]),
  ];
  return {
    json: {
      ...plainJson(OrderSchema, order),
      payment_attempts: attempts.map((attempt) => ({
        ...plainJson(PaymentAttemptSchema, attempt),
        unsent: unsent.has(attempt.paymentAttemptId),
        detail: details.get(attempt.paymentAttemptId) || null,
      })),
      stray_payments: strays.map((stray) => plainJson(StrayPaymentSchema, stray)),
      refunds: refunds.map((refund) => plainJson(RefundSchema, refund)),
      has_more_refunds: hasMore,
      events: events.map((event) => plainJson(OrderEventSchema, event)),
    },
    text: (width) => sections(width).join('\n\n'),
  };
}

/** By the order's id: its number may contain characters that a shell executes. */
const showDeliveriesOf = ({ merchantId, orderId, environment }: Order): string =>
  `gatehouse webhook deliveries ${merchantId} --order ${orderId} --environment ${environmentWord(environment)}`;

async function listOrders(
  clients: CoreClients,
  merchantId: string,
  options: ListOptions,
  now: Date,
): Promise<Output> {
  const { environment, status, prefix = '' } = options;
  const { since, until, ofNextPage } = periodOf(options, now);
  const page = await collectKnown(clients, { merchantId }, options, async (request) => {
    const reply = await clients.orders.listOrders({
      ...request,
      merchantId,
      environment,
      orderNumberPrefix: prefix,
      ...(status === undefined ? {} : { statuses: [...status] }),
      ...(since && { createTimeFrom: since }),
      ...(until && { createTimeTo: until }),
    });
    return { items: reply.orders, nextPageToken: reply.nextPageToken };
  });
  const columns = [
    { head: 'ORDER NUMBER', wraps: true },
    { head: 'STATUS' },
    { head: 'AMOUNT', right: true },
    { head: 'TYPE' },
    { head: 'OPTION' },
    { head: 'CREATED' },
  ];
  const rows = page.items.map((order) => [
    order.orderNumber,
    showStatus(order),
    `${order.amount} ${order.currency}`,
    wordOf(PaymentTypeSchema, order.paymentType) ?? '',
    order.paymentOption,
    showTime(order.createTime),
  ]);
  const where = `${showEnvironment(environment)}, merchant ${merchantId}`;
  return {
    json: {
      environment: wordOf(EnvironmentSchema, environment) ?? null,
      orders: page.items.map((order) => plainJson(OrderSchema, order)),
      next_page_token: page.nextPageToken,
    },
    text: (width) =>
      rows.length === 0
        ? `No orders match in ${where}`
        : `Orders in ${where}\n\n${table(columns, rows, width)}${showMore(page, ofNextPage)}`,
  };
}
