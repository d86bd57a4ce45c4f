import type { Command } from 'commander';
import { counted } from '../contract/counted.ts';
import { ErasureObstacle, ErasureRequestSchema } from '../gen/gatehouse/v1/personal_data_service_pb.js';
import type { ErasureRequest, WaitingErasure } from '../gen/gatehouse/v1/personal_data_service_pb.js';
import type { CoreClients } from './core-clients.ts';
import { limitOption, pageTokenOption, showEnvironment } from './options.ts';
import { requireField } from './output.ts';
import type { Output, Runner } from './output.ts';
import { collectPages, showMore } from './paging.ts';
import type { PageOptions } from './paging.ts';
import { plainJson } from './plain-json.ts';
import { shellWord } from '../contract/shell-word.ts';
import { table } from './table.ts';
import { showTime } from './time.ts';

interface EraseOptions {
  readonly phone: string;
  readonly merchant?: string;
  readonly dryRun?: boolean;
}

interface ListOptions extends PageOptions {
  readonly phone?: string;
}

/** `personal-data erase` and `personal-data requests` */
export function addPersonalDataCommands(program: Command, run: Runner): void {
  const personalData = program
    .command('personal-data')
    .description('erase the personal data of a customer, and list the requests for erasure');
  personalData
    .command('erase')
    .description(
      'erase a phone number, and the reasons and wallet answers of its orders; this cannot be undone',
    )
    .requiredOption('--phone <number>', "the customer's phone number")
    .option('--merchant <merchant_id>', 'only in orders of this merchant: mer_…; default: of all merchants')
    .option('--dry-run', 'only count what would be erased')
    .action(({ phone, merchant = '', dryRun = false }: EraseOptions) =>
      run(async ({ personalData: client }) => {
        const reply = await client.erasePersonalData({ phone, merchantId: merchant, validateOnly: dryRun });
        return (dryRun ? dryRunOutput : showRecorded)(requireField(reply.erasureRequest), phone);
      }),
    );
  personalData
    .command('requests')
    .description('list requests for erasure, newest first, with what is not erased yet')
    .option('--phone <number>', 'only requests for this phone number')
    .addOption(limitOption())
    .addOption(pageTokenOption())
    .action((options: ListOptions) => run(({ personalData: client }) => listRequests(client, options)));
}

/** The reason why an order waits, and the event that ends the wait. */
const obstacleTexts: Readonly<Record<ErasureObstacle, string>> = {
  [ErasureObstacle.UNSPECIFIED]: 'erased in a few seconds',
  [ErasureObstacle.ORDER_OPEN]: 'erased when it has ended',
  [ErasureObstacle.PAYMENT_OPEN]: 'erased when the wallet has decided its payment',
  [ErasureObstacle.REFUND_OPEN]: 'erased when its refund has ended',
  [ErasureObstacle.STRAY_PAYMENT_OPEN]: 'erased when its stray payment is returned',
  [ErasureObstacle.SETTLEMENT_OPEN]: 'erased when its settlement is decided',
  [ErasureObstacle.NOT_SEALED]: 'erased when its events are sealed, in a few seconds',
  [ErasureObstacle.EVENT_CHANGED]:
    'not erased, because an event differs from its seal; see: gatehouse audit verify',
  [ErasureObstacle.BROKER_UNAVAILABLE]:
    'erased in the database, and in the broker when it is available again',
  [ErasureObstacle.LATE_COPIES]: 'erased; copies that were in transit are erased in two minutes',
  [ErasureObstacle.FAILED]: 'failed, and is tried again; the log of core names the reason',
};

const waitingText = ({ merchantId, environment, orderId, obstacle }: WaitingErasure): string =>
  `${orderId} of ${merchantId}, ${showEnvironment(environment)}: ${obstacleTexts[obstacle]}`;

const paymentsText = ({ waitingPayerPaymentCount: count }: ErasureRequest): readonly string[] =>
  count === 0n
    ? []
    : [
        `${counted(count, 'payment')} without an order: erased when the wallet has decided each payment, and has returned the money that is due`,
      ];

const foundText = ({ orderCount, payerPaymentCount }: ErasureRequest): string =>
  `${counted(orderCount, 'order')}, and ${counted(payerPaymentCount, 'payment')} without an order`;

const dryRunOutput = (request: ErasureRequest): Output => ({
  json: plainJson(ErasureRequestSchema, request),
  text: `Would erase: ${foundText(request)}. Nothing was changed.`,
});

function showRecorded(request: ErasureRequest, phone: string): Output {
  const { erasureRequestId, orderCount, payerPaymentCount, waiting, waitingCount, waitingPayerPaymentCount } =
    request;
  const found = orderCount + payerPaymentCount;
  const more = waitingCount - BigInt(waiting.length);
  return {
    json: plainJson(ErasureRequestSchema, request),
    text: [
      `Request ${erasureRequestId}: ${foundText(request)}.`,
      ...(found === 0n ? ['Nothing is stored about this number. It may have been erased before.'] : []),
      ...waiting.map(waitingText),
      ...(more > 0n ? [`And ${counted(more, 'more order')}.`] : []),
      ...paymentsText(request),
      ...(waitingCount + waitingPayerPaymentCount > 0n
        ? [`To see what is left: gatehouse personal-data requests --phone ${shellWord(phone)}`]
        : []),
      'Backups still contain the data. Keep this request outside the gateway, because a restore may lose it. After a restore, this command shows whether requests were lost: gatehouse restore status',
    ].join('\n'),
  };
}

function notErasedText(request: ErasureRequest): string {
  const { waiting, waitingCount } = request;
  const orders = waitingCount === 0n ? [] : [String(waitingCount), ...waiting.map(waitingText)];
  return [...orders, ...paymentsText(request)].join('\n') || 'none';
}

async function listRequests(client: CoreClients['personalData'], options: ListOptions): Promise<Output> {
  const { phone = '' } = options;
  const page = await collectPages(options, async (request) => {
    const reply = await client.listErasureRequests({ ...request, phone });
    return { items: reply.erasureRequests, nextPageToken: reply.nextPageToken };
  });
  const columns = [
    { head: 'REQUEST' },
    { head: 'TIME, BY' },
    { head: 'ORDERS', right: true },
    { head: 'NOT ERASED YET', wraps: true },
  ];
  const rows = page.items.map((request) => [
    [request.erasureRequestId, request.merchantId].filter((text) => text !== '').join('\n'),
    `${showTime(request.createTime)}\n${request.requestedByEmail || request.requestedBy}`,
    String(request.orderCount),
    notErasedText(request),
  ]);
  return {
    json: {
      erasure_requests: page.items.map((request) => plainJson(ErasureRequestSchema, request)),
      next_page_token: page.nextPageToken,
    },
    text: (width) =>
      rows.length === 0
        ? 'No requests for erasure match.'
        : `${table(columns, rows, width)}${showMore(page)}`,
  };
}
