import { randomUUID } from 'node:crypto';
import type { Duration } from '@bufbuild/protobuf/wkt';
import { Argument, Option } from 'commander';
import type { Command } from 'commander';
import { Environment, RefundSchema, RefundStatusSchema } from '../gen/gatehouse/v1/order_pb.js';
import type { RefundStatus } from '../gen/gatehouse/v1/order_pb.js';
import type { CoreClients } from './core-clients.ts';
import { createAndFollow } from './create-refund.ts';
import type { CreateParts } from './create-refund.ts';
import { onAnyMerchant, onMerchantAnd } from './merchant-argument.ts';
import type { FindMerchant } from './merchant-argument.ts';
import {
  environmentOption,
  environmentFilter,
  limitOption,
  pageTokenOption,
  readDuration,
  statusesOption,
} from './options.ts';
import { orderKey } from './order-key.ts';
import { requireField } from './output.ts';
import type { Output, Runner } from './output.ts';
import { showMore } from './paging.ts';
import { collectKnown } from './require-known.ts';
import type { PageOptions } from './paging.ts';
import { plainJson } from './plain-json.ts';
import { describeRefund, showRefunds } from './show-refund.ts';
import { addPeriod, periodOf } from './period.ts';
import type { PeriodOptions } from './period.ts';

export interface RefundParts {
  readonly run: Runner;
  readonly findMerchant: FindMerchant;
  readonly now: () => Date;
  /** Receives a line about the progress. */
  readonly report: (line: string) => void;
  /** Receives a fact for stderr, as a line of text or of JSON. */
  readonly note: CreateParts['note'];
}

interface CreateOptions {
  readonly environment: Environment;
  readonly amount?: string;
  readonly reason: string;
  readonly refundNumber?: string;
  readonly wait?: Duration | true;
}

interface ListOptions extends PageOptions, PeriodOptions {
  readonly merchant?: string;
  readonly order?: string;
  readonly environment?: Environment;
  readonly status?: readonly RefundStatus[];
}

const isRefundId = (name: string): boolean => /^rfd_[0-9a-hjkmnp-tv-z]{26}$/.test(name);

/** `refund …` */
export function addRefundCommands(program: Command, parts: RefundParts): void {
  const { run, findMerchant, now, report, note } = parts;
  const refund = program.command('refund').description('return money of paid orders, and show refunds');
  const environment = () => environmentOption().default(Environment.SANDBOX, 'sandbox');

  onMerchantAnd(
    refund
      .command('create')
      .description('return money of a COMPLETED order to its payer, in whole or in part')
      .requiredOption('--reason <text>', 'why the money is returned, at most 255 characters')
      .option('--amount <amount>', 'a part, such as 40.50; default: all that is not refunded yet')
      .option(
        '--refund-number <text>',
        "the merchant's own reference; the same number never refunds twice; default: a new one",
      )
      .addOption(
        new Option(
          '--wait [time]',
          'wait for the outcome, for 1m by default; exit code 1 unless the refund completes',
        ).argParser(readDuration),
      )
      .addOption(environment()),
    new Argument('<order>', "the merchant's order_number, or ord_…"),
    findMerchant,
    (merchantId: string, name: string, options: CreateOptions) =>
      run(({ refunds }) =>
        createAndFollow(
          refunds,
          {
            merchantId,
            environment: options.environment,
            order: orderKey(name),
            amount: options.amount ?? '',
            reason: options.reason,
            refundNumber: options.refundNumber ?? `cli-${randomUUID()}`,
          },
          { isNewNumber: options.refundNumber === undefined, wait: options.wait, now, report, note },
        ),
      ),
  );

  onMerchantAnd(
    refund
      .command('show')
      .description("show a refund, the wallet's answer, and what to do")
      .addOption(environment()),
    new Argument('<refund>', "the merchant's refund_number, or rfd_…, which needs no environment"),
    findMerchant,
    (merchantId: string, text: string, { environment }: { environment: Environment }) =>
      run(async ({ refunds }) => {
        // An id is unique in both environments. A refund_number is not.
        const name = isRefundId(text)
          ? ({ name: { case: 'refundId', value: text } } as const)
          : ({ environment, name: { case: 'refundNumber', value: text } } as const);
        return describeRefund(requireField((await refunds.getRefund({ merchantId, ...name })).refund));
      }),
  );

  onAnyMerchant(
    addPeriod(
      refund
        .command('list')
        .description('list refunds, newest first')
        .option('--order <order_id>', 'only refunds of this order: ord_…')
        .addOption(environmentFilter())
        .addOption(statusesOption('refunds', RefundStatusSchema)),
      'refunds created',
    )
      .addOption(limitOption())
      .addOption(pageTokenOption()),
    'only refunds of this merchant: mer_…',
    (options: ListOptions) => run((clients) => listRefunds(clients, options, now())),
  );

  onMerchantAnd(
    refund.command('approve').description('approve, as a second person, a refund that awaits approval'),
    new Argument('<refund_id>', 'rfd_…'),
    findMerchant,
    (merchantId: string, refundId: string) =>
      run(async ({ refunds }) =>
        describeRefund(requireField((await refunds.approveRefund({ merchantId, refundId })).refund)),
      ),
  );

  onMerchantAnd(
    refund
      .command('decline')
      .description('decline a refund that awaits approval, so that no money is returned')
      .option('--reason <text>', 'the reason, for the audit log, at most 255 characters'),
    new Argument('<refund_id>', 'rfd_…'),
    findMerchant,
    (merchantId: string, refundId: string, { reason = '' }: { reason?: string }) =>
      run(async ({ refunds }) =>
        describeRefund(requireField((await refunds.declineRefund({ merchantId, refundId, reason })).refund)),
      ),
  );
}

async function listRefunds(clients: CoreClients, options: ListOptions, now: Date): Promise<Output> {
  const { merchant = '', order = '', environment = Environment.UNSPECIFIED, status = [] } = options;
  const { since, until, ofNextPage } = periodOf(options, now);
  const page = await collectKnown(clients, { merchantId: merchant }, options, async (request) => {
    const reply = await clients.refunds.listRefunds({
      ...request,
      merchantId: merchant,
      orderId: order,
      environment,
      statuses: [...status],
      ...(since && { createTimeFrom: since }),
      ...(until && { createTimeTo: until }),
    });
    return { items: reply.refunds, nextPageToken: reply.nextPageToken };
  });
  return {
    json: {
      refunds: page.items.map((each) => plainJson(RefundSchema, each)),
      next_page_token: page.nextPageToken,
    },
    text: (width) =>
      page.items.length === 0
        ? 'No refunds match.'
        : `${showRefunds(page.items, width, 'with their orders')}${showMore(page, ofNextPage)}`,
  };
}
