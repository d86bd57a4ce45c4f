import { Argument } from 'commander';
import type { Command } from 'commander';
import { Environment } from '../gen/gatehouse/v1/order_pb.js';
import type { Order } from '../gen/gatehouse/v1/order_pb.js';
import {
  StrayPaymentKindSchema,
  StrayPaymentSchema,
  StrayPaymentStatus,
  StrayPaymentStatusSchema,
} from '../gen/gatehouse/v1/stray_payment_service_pb.js';
import type { StrayPayment } from '../gen/gatehouse/v1/stray_payment_service_pb.js';
import type { CoreClients } from './core-clients.ts';
import {
  environmentFilter,
  limitOption,
  pageTokenOption,
  showEnvironment,
  statusesOption,
} from './options.ts';
import { requireField } from './output.ts';
import type { Output, Runner } from './output.ts';
import { showMore } from './paging.ts';
import type { PageOptions } from './paging.ts';
import { plainJson, wordOf } from './plain-json.ts';
import { collectKnown } from './require-known.ts';
import { fields, table } from './table.ts';
import { showTime } from './time.ts';
import { onAnyMerchant, onMerchantAnd, showMerchant } from './merchant-argument.ts';
import type { FindMerchant } from './merchant-argument.ts';

interface ListOptions extends PageOptions {
  readonly merchant?: string;
  readonly order?: string;
  readonly environment?: Environment;
  readonly status?: readonly StrayPaymentStatus[];
}

const showStatus = ({ status }: StrayPayment): string => wordOf(StrayPaymentStatusSchema, status) ?? '';
const showKind = ({ kind }: StrayPayment): string => wordOf(StrayPaymentKindSchema, kind) ?? '';
const showAmount = ({ amount, currency }: StrayPayment): string => `${amount} ${currency}`;

/** `payment strays` and `payment retry-reversal` */
export function addStrayPaymentCommands(payment: Command, run: Runner, find: FindMerchant): void {
  onAnyMerchant(
    payment
      .command('strays')
      .description(
        'list stray payments (money that a wallet took and that no order could accept) and their reversals, newest first',
      )
      .option('--order <order_id>', 'only stray payments of this order: ord_…')
      .addOption(environmentFilter())
      .addOption(statusesOption('stray payments', StrayPaymentStatusSchema))
      .addOption(limitOption())
      .addOption(pageTokenOption()),
    'only stray payments of this merchant: mer_…',
    (options: ListOptions) => run((clients) => listStrayPayments(clients, options)),
  );

  onMerchantAnd(
    payment.command('retry-reversal').description('request a refused reversal again'),
    new Argument('<stray_payment_id>', 'stp_…'),
    find,
    (merchantId: string, strayPaymentId: string) =>
      run(async ({ strayPayments }) => {
        const reply = await strayPayments.retryReversal({ merchantId, strayPaymentId });
        return describeStrayPayment(requireField(reply.strayPayment));
      }),
  );
}

/** The stray payments of an order, newest first. */
export async function straysOf(
  strayPayments: CoreClients['strayPayments'],
  { merchantId, orderId }: Order,
): Promise<readonly StrayPayment[]> {
  return (await strayPayments.listStrayPayments({ merchantId, orderId })).strayPayments;
}

/** Lists the stray payments of an order, and the command that shows the details. The payer started those without an attempt. */
export function showStrays(strays: readonly StrayPayment[], { orderId }: Order, width: number): string {
  const columns = [
    { head: 'STRAY PAYMENT, ATTEMPT', wraps: true },
    { head: 'STATUS' },
    { head: 'REASON' },
    { head: 'AMOUNT', right: true },
    { head: 'FOUND' },
  ];
  const rows = strays.map((stray) => [
    `${stray.strayPaymentId}\n${stray.paymentAttemptId}`,
    showStatus(stray),
    showKind(stray),
    showAmount(stray),
    showTime(stray.createTime),
  ]);
  return `${table(columns, rows, width)}\nFor details: gatehouse payment strays --order ${orderId}`;
}

async function listStrayPayments(clients: CoreClients, options: ListOptions): Promise<Output> {
  const { merchant = '', order = '', environment = Environment.UNSPECIFIED, status = [] } = options;
  const page = await collectKnown(clients, { merchantId: merchant }, options, async (request) => {
    const filter = { merchantId: merchant, orderId: order, environment, statuses: [...status] };
    const reply = await clients.strayPayments.listStrayPayments({ ...request, ...filter });
    return { items: reply.strayPayments, nextPageToken: reply.nextPageToken };
  });
  const columns = [
    { head: 'STRAY PAYMENT, MERCHANT' },
    { head: 'STATUS' },
    { head: 'REASON' },
    { head: 'AMOUNT', right: true },
    { head: 'FOUND, ANSWER', wraps: true },
  ];
  const rows = page.items.map((stray) => [
    `${stray.strayPaymentId}\n${showMerchant(stray)}`,
    showStatus(stray),
    showKind(stray),
    showAmount(stray),
    [showTime(stray.createTime), showEnvironment(stray.environment), showRefusal(stray)]
      .filter(Boolean)
      .join('\n'),
  ]);
  return {
    json: {
      stray_payments: page.items.map((stray) => plainJson(StrayPaymentSchema, stray)),
      next_page_token: page.nextPageToken,
    },
    text: (width) =>
      rows.length === 0
        ? 'No stray payments match.'
        : `${table(columns, rows, width)}${adviseOn(page.items)}${showMore(page)}`,
  };
}

function adviseOn(strays: readonly StrayPayment[]): string {
  const refused = strays.filter(({ status }) => status === StrayPaymentStatus.REVERSAL_REFUSED);
  if (refused.length === 0) return '';
  return [
    `\n\nThe wallet refused to reverse ${refused.length} of them. Resolve each with the wallet, then request it again:`,
    `gatehouse payment retry-reversal <merchant_id> <stray_payment_id>`,
  ].join('\n');
}

/** Why the wallet refused, as a word, and its own words. */
const showRefusal = ({ refusalReason, detail }: StrayPayment): string =>
  [refusalReason, detail].filter((text) => text !== '').join(': ');

const describeStrayPayment = (stray: StrayPayment): Output => ({
  json: plainJson(StrayPaymentSchema, stray),
  text: (width) =>
    fields(
      [
        ['Stray payment', stray.strayPaymentId],
        ['Merchant', showMerchant(stray)],
        ['Environment', showEnvironment(stray.environment)],
        ['Status', showStatus(stray)],
        ['Reason', showKind(stray)],
        ['Amount', showAmount(stray)],
        ['Option', stray.paymentOption],
        ["Wallet's transaction", stray.providerTransactionId],
        ['Payment attempt', stray.paymentAttemptId],
        ['Order', stray.orderId],
        ["Wallet's answer", showRefusal(stray)],
        ['Requests to wallet', String(stray.tries)],
        ['Found', showTime(stray.createTime)],
        ['Changed', showTime(stray.updateTime)],
      ],
      width,
    ),
});
