import { Argument } from 'commander';
import type { Command } from 'commander';
import {
  Environment,
  EnvironmentSchema,
  OrderSchema,
  OrderStatusSchema,
  PaymentAttemptSchema,
  PaymentAttemptStatusSchema,
} from '../gen/gatehouse/v1/order_pb.js';
import type { PaymentAttemptStatus } from '../gen/gatehouse/v1/order_pb.js';
import { WalletExchangeSchema } from '../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { GetPaymentAttemptResponse } from '../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { CoreClients } from './core-clients.ts';
import {
  environmentOption,
  limitOption,
  pageTokenOption,
  showEnvironment,
  statusesOption,
} from './options.ts';
import { notAtWallet, showAttempts, showAttemptStatus, unsentIn } from './order-history.ts';
import { requireField } from './output.ts';
import type { Output, Runner } from './output.ts';
import { showMore } from './paging.ts';
import type { PageOptions } from './paging.ts';
import { plainJson, wordOf } from './plain-json.ts';
import { addPayerPaymentCommands } from './payer-payment-commands.ts';
import { collectKnown } from './require-known.ts';
import { addStrayPaymentCommands } from './stray-payment-commands.ts';
import { fields } from './table.ts';
import { showInstant, showTime } from './time.ts';
import { exchangesOption, showExchanges } from './wallet-exchanges.ts';
import type { ShownExchanges } from './wallet-exchanges.ts';
import { onMerchant, onMerchantAnd } from './merchant-argument.ts';
import type { FindMerchant } from './merchant-argument.ts';

interface ListOptions extends PageOptions {
  readonly environment: Environment;
  readonly status?: readonly PaymentAttemptStatus[];
}

/** `payment …` */
export function addPaymentCommands(program: Command, run: Runner, find: FindMerchant): void {
  const payment = program
    .command('payment')
    .description('show payments, their exchanges with wallets, and stray payments');

  onMerchant(
    payment
      .command('list')
      .description("list a merchant's payment attempts, newest first")
      .addOption(environmentOption().default(Environment.SANDBOX, 'sandbox'))
      .addOption(statusesOption('attempts', PaymentAttemptStatusSchema))
      .addOption(limitOption())
      .addOption(pageTokenOption()),
    find,
    (merchantId: string, options: ListOptions) =>
      run((clients) => listPayments(clients, merchantId, options)),
  );

  onMerchantAnd(
    payment
      .command('show')
      .description('show a payment attempt, its order, and its exchanges with the wallet')
      .addOption(exchangesOption()),
    new Argument('<payment_attempt_id>', 'pat_…'),
    find,
    (merchantId: string, paymentAttemptId: string, options: { exchanges: ShownExchanges }) =>
      run(async ({ payments, orderStories }) => {
        const story = await payments.getPaymentAttempt({ merchantId, paymentAttemptId });
        const { environment, orderId } = requireField(story.order);
        const { paymentAttempts } = await orderStories.getOrderStory({ merchantId, environment, orderId });
        return showAttempt(story, unsentIn(paymentAttempts).has(paymentAttemptId), options.exchanges);
      }),
  );

  addStrayPaymentCommands(payment, run, find);
  addPayerPaymentCommands(payment, run);
}

async function listPayments(clients: CoreClients, merchantId: string, options: ListOptions): Promise<Output> {
  const { environment, status = [] } = options;
  const page = await collectKnown(clients, { merchantId }, options, async (request) => {
    const reply = await clients.payments.listPaymentAttempts({
      ...request,
      merchantId,
      environment,
      statuses: [...status],
    });
    return { items: reply.paymentAttempts, nextPageToken: reply.nextPageToken };
  });
  const where = `${showEnvironment(environment)}, merchant ${merchantId}`;
  return {
    json: {
      environment: wordOf(EnvironmentSchema, environment) ?? null,
      payment_attempts: page.items.map((attempt) => plainJson(PaymentAttemptSchema, attempt)),
      next_page_token: page.nextPageToken,
    },
    text: (width) =>
      page.items.length === 0
        ? `No payment attempts match in ${where}`
        : `Payment attempts in ${where}\n\n${showAttempts(page.items, width)}${showMore(page)}`,
  };
}

const howToRead = {
  ends: 'Exchanges with the wallet: > request, < answer, … left out (for all: --exchanges all)',
  all: 'Exchanges with the wallet: > request, < answer',
} as const satisfies Record<ShownExchanges, string>;

function showAttempt(story: GetPaymentAttemptResponse, unsent: boolean, shown: ShownExchanges): Output {
  const attempt = requireField(story.paymentAttempt);
  const order = requireField(story.order);
  const due = showTime(story.dueTime);
  const sections = (width: number): string[] => [
    `Payment attempt ${attempt.paymentAttemptId} in ${showEnvironment(order.environment)}`,
    fields(
      [
        ['Status', unsent ? `${showAttemptStatus(attempt)}: ${notAtWallet}` : showAttemptStatus(attempt)],
        ['Option', attempt.paymentOption],
        ['Phone', attempt.phone],
        ['Started', showTime(attempt.createTime)],
        ['Changed', showTime(attempt.updateTime)],
        ["Wallet's reference", story.providerReference],
        ["Wallet's transaction", story.providerTransactionId],
        ['Undecided because', story.detail],
        ['Next query', due === '' ? 'none' : due],
        ['Merchant', order.merchantId],
        ['Order number', order.orderNumber],
        ['Order', order.orderId],
        ['Order status', wordOf(OrderStatusSchema, order.status) ?? ''],
        ['Amount', `${order.amount} ${order.currency}`],
        ['Deducted', `${order.deducted} ${order.currency}`],
      ],
      width,
    ),
    story.exchanges.length === 0
      ? 'No exchanges with the wallet yet'
      : `${howToRead[shown]}\n${showExchanges(story.exchanges, shown, width)}`,
  ];
  return {
    json: {
      ...plainJson(PaymentAttemptSchema, attempt),
      unsent,
      provider_reference: story.providerReference,
      provider_transaction_id: story.providerTransactionId,
      detail: story.detail || null,
      due_time: story.dueTime === undefined ? null : showInstant(story.dueTime),
      order: plainJson(OrderSchema, order),
      exchanges: story.exchanges.map((exchange) => plainJson(WalletExchangeSchema, exchange)),
    },
    text: (width) => sections(width).join('\n\n'),
  };
}
