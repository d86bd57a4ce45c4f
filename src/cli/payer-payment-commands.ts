import type { Command } from 'commander';
import { Environment } from '../gen/gatehouse/v1/order_pb.js';
import {
  PayerPaymentSchema,
  PayerPaymentStatus,
  PayerPaymentStatusSchema,
} from '../gen/gatehouse/v1/payer_payment_service_pb.js';
import type { PayerPayment } from '../gen/gatehouse/v1/payer_payment_service_pb.js';
import type { CoreClients } from './core-clients.ts';
import {
  environmentFilter,
  limitOption,
  pageTokenOption,
  showEnvironment,
  statusesOption,
  walletOption,
} from './options.ts';
import { requireField } from './output.ts';
import type { Output, Runner } from './output.ts';
import { showMore } from './paging.ts';
import { collectKnown } from './require-known.ts';
import type { PageOptions } from './paging.ts';
import { plainJson, wordOf } from './plain-json.ts';
import { table } from './table.ts';
import { showTime } from './time.ts';

interface ListOptions extends PageOptions {
  readonly wallet?: string;
  readonly environment?: Environment;
  readonly status?: readonly PayerPaymentStatus[];
}

/** `payment payer-started` and `payment confirm` */
export function addPayerPaymentCommands(payment: Command, run: Runner): void {
  payment
    .command('payer-started')
    .description('list payer-started payments, made at a till or paybill, newest first')
    .addOption(walletOption())
    .addOption(environmentFilter())
    .addOption(statusesOption('payments', PayerPaymentStatusSchema))
    .addOption(limitOption())
    .addOption(pageTokenOption())
    .action((options: ListOptions) => run((clients) => listPayerPayments(clients, options)));
  payment
    .command('confirm')
    .description('query the wallet now about an open or abandoned payer-started payment')
    .argument('<payer_payment_id>', 'ppm_…')
    .action((payerPaymentId: string) =>
      run(async ({ payerPayments }) => {
        const { payerPayment } = await payerPayments.hastenPayerPayment({ payerPaymentId });
        return showConfirmation(requireField(payerPayment));
      }),
    );
}

async function listPayerPayments(clients: CoreClients, options: ListOptions): Promise<Output> {
  const { wallet = '', environment = Environment.UNSPECIFIED, status = [] } = options;
  const page = await collectKnown(clients, { wallet }, options, async (request) => {
    const filter = { wallet, environment, statuses: [...status] };
    const reply = await clients.payerPayments.listPayerPayments({ ...request, ...filter });
    return { items: reply.payerPayments, nextPageToken: reply.nextPageToken };
  });
  return {
    json: {
      payer_payments: page.items.map((item) => plainJson(PayerPaymentSchema, item)),
      next_page_token: page.nextPageToken,
    },
    text: (width) =>
      page.items.length === 0
        ? 'No payer-started payments match.'
        : `${paymentTable(page.items, width)}${adviseOn(page.items)}${showMore(page)}`,
  };
}

function paymentTable(payments: readonly PayerPayment[], width: number): string {
  const columns = [
    { head: 'PAYMENT, WALLET' },
    { head: 'STATUS' },
    { head: 'REFERENCE, TRANSACTION' },
    { head: 'AMOUNT', right: true },
    { head: 'REPORTED, RECORDED AS', wraps: true },
  ];
  const rows = payments.map((payment) => [
    `${payment.payerPaymentId}\n${payment.wallet} ${showEnvironment(payment.environment)}`,
    wordOf(PayerPaymentStatusSchema, payment.status) ?? '',
    `${payment.reference}\n${payment.providerTransactionId}`,
    `${payment.amount} ${payment.currency}`,
    [
      showTime(payment.createTime),
      payment.orderId,
      payment.paymentAttemptId,
      payment.strayPaymentId,
      payment.detail,
    ]
      .filter((text) => text !== '')
      .join('\n'),
  ]);
  return table(columns, rows, width);
}

/** The payment, and whether the wallet is asked. */
function showConfirmation(payment: PayerPayment): Output {
  const next =
    payment.status === PayerPaymentStatus.OPEN
      ? 'The wallet is queried now. To see its answer:\ngatehouse payment payer-started'
      : 'This payment is decided already, so the wallet is not queried.';
  return {
    json: plainJson(PayerPaymentSchema, payment),
    text: (width) => `${paymentTable([payment], width)}\n\n${next}`,
  };
}

function adviseOn(payments: readonly PayerPayment[]): string {
  const abandoned = payments.filter(({ status }) => status === PayerPaymentStatus.ABANDONED);
  if (abandoned.length === 0) return '';
  return [
    `\n\nThe wallet did not confirm ${abandoned.length} of them in time. Look up each in the wallet's portal, then query the wallet again:`,
    'gatehouse payment confirm <payer_payment_id>',
  ].join('\n');
}
