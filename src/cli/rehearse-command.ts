import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { Command } from 'commander';
import { counted } from '../contract/counted.ts';
import type { OrderEvent } from '../gen/gatehouse/v1/order_pb.js';
import { exitCodes } from './cli-error.ts';
import type { CoreClients } from './core-clients.ts';
import { timeOption } from './options.ts';
import type { Output, Runner } from './output.ts';
import { gatehouseVersion } from './version.ts';

interface Difference {
  readonly orderId: string;
  readonly merchantId: string;
  readonly sequence: number;
  readonly time: Date | undefined;
  readonly command: string;
  readonly recorded: string;
  readonly candidate: string;
  readonly fields: readonly {
    readonly field: string;
    readonly recorded: string;
    readonly candidate: string;
  }[];
}

interface Counts {
  readonly events: number;
  readonly orders: number;
  readonly decisions: number;
  readonly differing: number;
  readonly derived: number;
  readonly commandUnknown: number;
  readonly otherRules: number;
  readonly incompleteOrders: number;
}

/** Starts a rehearsal with the rules of this version. It gets all events of its orders, in the order of their list. */
export type BeginRehearsal = () => Promise<{
  readonly replay: (event: OrderEvent) => readonly Difference[];
  readonly counts: () => Counts;
}>;

interface RehearseParts {
  readonly run: Runner;
  readonly begin: BeginRehearsal;
  readonly report: (line: string) => void;
}

interface RehearseOptions {
  readonly merchant?: string;
  readonly since?: Timestamp;
}

const help = `
Run the command line of the version that you want to install, against the core that runs now. A
rehearsal only reads.
docs/operating/upgrades.md says what a rehearsal shows and what it cannot show.
`;

/** `rehearse` */
export function addRehearseCommand(program: Command, { run, begin, report }: RehearseParts): void {
  program
    .command('rehearse')
    .description(
      'repeat the recorded decisions about orders with the rules of this version, and list those that differ',
    )
    .option('--merchant <merchant_id>', 'only orders of this merchant: mer_…')
    .addOption(
      timeOption('--since <time>', 'only orders registered at this time (UTC) or later, such as 2026-01-31'),
    )
    .addHelpText('after', help)
    .action((options: RehearseOptions) =>
      run(async ({ orders, merchants }) => {
        const { merchant: merchantId } = options;
        // The exit code 0 says that no decision differs. A mistyped merchant must not get it.
        if (merchantId !== undefined) await merchants.getMerchant({ merchantId });
        return rehearseOrders(orders, options, { begin, report });
      }),
    );
}

const pageSize = 500;
const eventsPerReport = 20_000;
/** More are counted, but not listed. */
const maxDifferences = 1_000;

async function rehearseOrders(
  orders: CoreClients['orders'],
  { merchant = '', since }: RehearseOptions,
  { begin, report }: Omit<RehearseParts, 'run'>,
): Promise<Output> {
  const rehearsal = await begin();
  const differences: Difference[] = [];
  const isSelected = ({ order }: OrderEvent): boolean =>
    since === undefined ||
    (order?.createTime !== undefined && timestampMs(order.createTime) >= timestampMs(since));
  let read = 0;
  let afterCursor = '';
  for (let more = true; more;) {
    const page = await orders.listOrderEvents({ merchantId: merchant, afterCursor, pageSize });
    for (const { event } of page.entries) {
      if (event === undefined || !isSelected(event)) continue;
      differences.push(...rehearsal.replay(event).slice(0, maxDifferences - differences.length));
    }
    const before = read;
    read += page.entries.length;
    if (Math.floor(read / eventsPerReport) > Math.floor(before / eventsPerReport))
      report(`${read} events read, ${rehearsal.counts().differing} differences`);
    afterCursor = page.nextCursor;
    more = page.hasMore;
  }
  const counts = rehearsal.counts();
  return {
    json: {
      version: gatehouseVersion,
      differences: differences.map(differenceJson),
      summary: {
        order_count: counts.orders,
        event_count: counts.events,
        decision_count: counts.decisions,
        equal_count: counts.decisions - counts.differing,
        difference_count: counts.differing,
        derived_count: counts.derived,
        unknown_command_count: counts.commandUnknown,
        other_event_count: counts.otherRules,
        incomplete_order_count: counts.incompleteOrders,
      },
    },
    text: [...differences.map(differenceText), summaryText(counts, differences.length)].join('\n'),
    exitCode: counts.differing === 0 ? exitCodes.ok : exitCodes.differences,
  };
}

const differenceJson = ({ orderId, merchantId, sequence, time, fields, ...rest }: Difference) => ({
  order_id: orderId,
  merchant_id: merchantId,
  sequence,
  time: time?.toISOString() ?? '',
  ...rest,
  fields: fields.map((field) => ({ ...field })),
});

function differenceText(difference: Difference): string {
  const { orderId, merchantId, sequence, time, command, recorded, candidate, fields } = difference;
  return [
    `${orderId} of ${merchantId}, event ${sequence} at ${time?.toISOString() ?? 'an unknown time'}`,
    `  Command    ${command === '' ? 'unknown' : command}`,
    `  Recorded   ${recorded}`,
    `  Candidate  ${candidate}`,
    ...fields.map(
      ({ field, ...values }) =>
        `  ${field}: ${JSON.stringify(values.recorded)} would be ${JSON.stringify(values.candidate)}`,
    ),
  ].join('\n');
}

function summaryText(counts: Counts, listed: number): string {
  const { orders, decisions, differing } = counts;
  const result =
    decisions === 0
      ? 'There is nothing to repeat: no matching order has a decision that can be repeated.'
      : differing === 0
        ? 'No decision would differ.'
        : `${counted(differing, 'decision')} would differ.`;
  const notes: [count: number, text: string][] = [
    [differing > listed ? differing : 0, `Only the first ${listed} differences are listed.`],
    [
      counts.derived,
      `${counted(counts.derived, 'command was derived from its event', 'commands were derived from their events')}, because an earlier version recorded only the event.`,
    ],
    [
      counts.commandUnknown,
      `${counted(counts.commandUnknown, 'decision')} of an earlier version could not be repeated, because the event does not contain the command.`,
    ],
    [
      counts.otherRules,
      `${counted(counts.otherRules, 'event')} of refunds and settlements: read, but not repeated.`,
    ],
    [
      counts.incompleteOrders,
      `${counted(counts.incompleteOrders, 'order lacks', 'orders lack')} an event, so the decisions after it were not repeated. Run: gatehouse audit verify`,
    ],
  ];
  return [
    `${result} Repeated with version ${gatehouseVersion}: ${counted(decisions, 'decision')} about ${counted(orders, 'order')}, ${decisions - differing} equal.`,
    ...notes.flatMap(([count, text]) => (count === 0 ? [] : [text])),
    'Commands that core rejected are not recorded, so they are not repeated.',
  ].join('\n');
}
