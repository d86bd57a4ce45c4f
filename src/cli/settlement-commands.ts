import { Argument, InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import {
  SettlementOutcomeSchema,
  SettlementSchema,
  SettlementStatus,
  SettlementStatusSchema,
  UnsettledSchema,
} from '../gen/gatehouse/v1/settlement_service_pb.js';
import type { Settlement, SettlementOutcome, Unsettled } from '../gen/gatehouse/v1/settlement_service_pb.js';
import type { CoreClients } from './core-clients.ts';
import { onAnyMerchant, onMerchantAnd, showMerchant } from './merchant-argument.ts';
import type { FindMerchant } from './merchant-argument.ts';
import { limitOption, pageTokenOption, showEnvironment, statusesOption } from './options.ts';
import { requireField } from './output.ts';
import type { Output, Runner } from './output.ts';
import { showMore } from './paging.ts';
import { collectKnown, requireKnown } from './require-known.ts';
import type { PageOptions } from './paging.ts';
import { plainJson, valueOf, wordOf, wordsOf } from './plain-json.ts';
import { fields, table } from './table.ts';
import { showTime } from './time.ts';

type Subject = { readonly case: 'paymentAttemptId' | 'strayPaymentId' | 'refundId'; readonly value: string };

interface ProposeOptions {
  readonly outcome: SettlementOutcome;
  readonly reason: string;
  readonly providerReference: string;
}

interface ListOptions extends PageOptions {
  readonly merchant?: string;
  readonly order?: string;
  readonly status?: readonly SettlementStatus[];
}

const subjects = { pat: 'paymentAttemptId', stp: 'strayPaymentId', rfd: 'refundId' } as const;

function readSubject(text: string): Subject {
  const found = Object.entries(subjects).find(([prefix]) => text.startsWith(`${prefix}_`));
  if (found === undefined)
    throw new InvalidArgumentError(
      'Use a payment attempt (pat_…), a stray payment (stp_…) or a refund (rfd_…).',
    );
  return { case: found[1], value: text };
}

function readOutcome(word: string): SettlementOutcome {
  const outcome = valueOf(SettlementOutcomeSchema, word);
  if (outcome === undefined)
    throw new InvalidArgumentError(`Use one of: ${wordsOf(SettlementOutcomeSchema).join(', ')}.`);
  return outcome;
}

/** Core lists at most so many at once, and the list has no further pages. */
const largestPage = 500;

/** `settlement …` */
export function addSettlementCommands(program: Command, run: Runner, find: FindMerchant): void {
  const settlement = program
    .command('settlement')
    .description(
      'settle a payment or refund that a wallet does not decide, or an unreturned stray payment; two operators must agree',
    );

  onAnyMerchant(
    settlement
      .command('waiting')
      .description('list the money that waits for a person, the longest waiting first')
      .addOption(limitOption()),
    'only money of this merchant: mer_…',
    ({ merchant = '', limit }: { merchant?: string; limit: number }) =>
      run(async (clients) => {
        const pageSize = Math.min(limit, largestPage);
        const reply = await clients.settlements.listUnsettled({ merchantId: merchant, pageSize });
        if (reply.unsettled.length === 0) await requireKnown(clients, { merchantId: merchant });
        return showWaiting(reply.unsettled, reply.totalCount);
      }),
  );

  onMerchantAnd(
    settlement
      .command('propose')
      .description('propose an outcome, which another operator must confirm within 24 hours')
      .addOption(
        new Option(
          '--outcome <outcome>',
          'of a payment attempt: paid, not_paid; of a stray payment: returned; of a refund: returned, not_returned',
        )
          .argParser(readOutcome)
          .makeOptionMandatory(),
      )
      .requiredOption('--reason <text>', 'how you know this outcome, at most 500 characters')
      .requiredOption(
        '--provider-reference <text>',
        "the evidence: the id of the provider's transaction or support case",
      ),
    new Argument('<id>', 'pat_…, stp_… or rfd_…').argParser(readSubject),
    find,
    (merchantId: string, subject: Subject, options: ProposeOptions) =>
      run(async ({ settlements }) =>
        describeSettlement(
          requireField((await settlements.proposeSettlement({ merchantId, subject, ...options })).settlement),
        ),
      ),
  );

  settlement
    .command('confirm')
    .description("confirm and carry out another operator's proposal, which cannot be undone")
    .argument('<settlement_id>', 'stl_…')
    .action((settlementId: string) =>
      run(async ({ settlements }) =>
        describeSettlement(requireField((await settlements.confirmSettlement({ settlementId })).settlement)),
      ),
    );

  settlement
    .command('withdraw')
    .description('withdraw a proposal')
    .argument('<settlement_id>', 'stl_…')
    .action((settlementId: string) =>
      run(async ({ settlements }) =>
        describeSettlement(requireField((await settlements.withdrawSettlement({ settlementId })).settlement)),
      ),
    );

  onAnyMerchant(
    settlement
      .command('list')
      .description('list settlements, newest first')
      .option('--order <order_id>', 'only settlements of this order: ord_…')
      .addOption(statusesOption('settlements', SettlementStatusSchema))
      .addOption(limitOption())
      .addOption(pageTokenOption()),
    'only settlements of this merchant: mer_…',
    (options: ListOptions) => run((clients) => listSettlements(clients, options)),
  );
}

const showStatus = ({ status }: Settlement): string => wordOf(SettlementStatusSchema, status) ?? '';
const howToSeeMore = (listed: number): string =>
  listed < largestPage
    ? `To see more, raise --limit, up to ${largestPage}.`
    : 'To see those of one merchant, add --merchant.';
const showOutcome = ({ outcome }: Settlement): string => wordOf(SettlementOutcomeSchema, outcome) ?? '';

function showWaiting(unsettled: readonly Unsettled[], total: bigint): Output {
  const columns = [
    { head: 'ID, ORDER, MERCHANT', wraps: true },
    { head: 'AMOUNT, OPTION', right: true },
    { head: 'WAITING SINCE' },
    { head: 'PROPOSAL' },
  ];
  const rows = unsettled.map((each) => [
    [
      each.subject.value ?? '',
      each.orderId === '' ? 'no order' : each.orderId,
      showMerchant(each),
      ...(each.detail === '' ? [] : [`latest answer: ${each.detail}`]),
    ].join('\n'),
    `${each.amount} ${each.currency}\n${each.paymentOption}`,
    `${showTime(each.sinceTime)}\n${showEnvironment(each.environment)}`,
    each.proposal === undefined ? 'none' : `${each.proposal.settlementId}\n${showOutcome(each.proposal)}`,
  ]);
  const howTo = [
    'Ask the wallet what happened to each.',
    'Then one operator proposes the outcome, and another confirms it:',
    'gatehouse settlement propose <merchant_id> <id> --outcome <outcome> --reason <text> --provider-reference <text>',
    'gatehouse settlement confirm <settlement_id>',
  ].join('\n');
  const more =
    total > BigInt(unsettled.length)
      ? `\n\nThese are ${unsettled.length} of ${total}. ${howToSeeMore(unsettled.length)}`
      : '';
  return {
    json: {
      unsettled: unsettled.map((each) => plainJson(UnsettledSchema, each)),
      total_count: String(total),
    },
    text: (width) =>
      rows.length === 0
        ? 'No money waits for a person.'
        : `${table(columns, rows, width)}${more}\n\n${howTo}`,
  };
}

const describeSettlement = (settlement: Settlement): Output => ({
  json: plainJson(SettlementSchema, settlement),
  text: (width) =>
    [
      fields(
        [
          ['Settlement', settlement.settlementId],
          ['Merchant', showMerchant(settlement)],
          ['Environment', showEnvironment(settlement.environment)],
          ['Order', settlement.orderId === '' ? 'none' : settlement.orderId],
          ['Settles', settlement.subject.value ?? ''],
          ['Outcome', showOutcome(settlement)],
          ['Status', showStatus(settlement)],
          ['Reason', settlement.reason],
          ["Provider's reference", settlement.providerReference],
          ['Proposed by', settlement.proposedBy],
          ['Decided by', settlement.decidedBy],
          ['Proposed', showTime(settlement.createTime)],
          ['Decided', showTime(settlement.decideTime)],
        ],
        width,
      ),
      ...(settlement.status === SettlementStatus.PROPOSED
        ? [
            [
              `It takes effect when another operator confirms it by ${showTime(settlement.expireTime)}.`,
              'All users of one service token count as one operator. The second one uses the dashboard, or this command',
              'if the first one used the dashboard:',
              `gatehouse settlement confirm ${settlement.settlementId}`,
            ].join('\n'),
          ]
        : []),
    ].join('\n\n'),
});

async function listSettlements(clients: CoreClients, options: ListOptions): Promise<Output> {
  const { merchant = '', order = '', status = [] } = options;
  const page = await collectKnown(clients, { merchantId: merchant }, options, async (request) => {
    const filter = { merchantId: merchant, orderId: order, statuses: [...status] };
    const reply = await clients.settlements.listSettlements({ ...request, ...filter });
    return { items: reply.settlements, nextPageToken: reply.nextPageToken };
  });
  const columns = [
    { head: 'SETTLEMENT, SETTLES' },
    { head: 'OUTCOME, STATUS' },
    { head: 'BY' },
    { head: 'PROPOSED, REFERENCE', wraps: true },
  ];
  const rows = page.items.map((each) => [
    `${each.settlementId}\n${each.subject.value ?? ''}`,
    `${showOutcome(each)}\n${showStatus(each)}`,
    [each.proposedBy, each.decidedBy].filter(Boolean).join('\n'),
    `${showTime(each.createTime)}\n${each.providerReference}`,
  ]);
  return {
    json: {
      settlements: page.items.map((each) => plainJson(SettlementSchema, each)),
      next_page_token: page.nextPageToken,
    },
    text: (width) =>
      rows.length === 0 ? 'No settlements match.' : `${table(columns, rows, width)}${showMore(page)}`,
  };
}
