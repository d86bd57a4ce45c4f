import type { Command } from 'commander';
import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import {
  MissingMoneyDayReason,
  MissingMoneyDaySchema,
  MoneyDaySchema,
} from '../gen/gatehouse/v1/reconciliation_service_pb.js';
import type {
  MissingMoneyDay,
  MoneyDay,
  MoneyDayCorrection,
} from '../gen/gatehouse/v1/reconciliation_service_pb.js';
import { exitCodes } from './cli-error.ts';
import type { CoreClients } from './core-clients.ts';
import { onAnyMerchant } from './merchant-argument.ts';
import { environmentFilter, limitOption, pageTokenOption, showEnvironment, walletOption } from './options.ts';
import type { Output, Runner } from './output.ts';
import { collectPages, showMore } from './paging.ts';
import { requireKnown } from './require-known.ts';
import { plainJson } from './plain-json.ts';
import { table } from './table.ts';
import { showTime } from './time.ts';

interface DaysOptions {
  readonly wallet?: string;
  readonly environment?: Environment;
  readonly merchant?: string;
  readonly day?: string;
  readonly unbalanced?: true | undefined;
  readonly corrected?: true | undefined;
  readonly limit: number;
  readonly pageToken?: string;
}

/** `reconcile days` */
export function addMoneyDaysCommand(reconcile: Command, run: Runner, now: () => Date): void {
  onAnyMerchant(
    reconcile
      .command('days')
      .description('list the daily balance of each wallet, merchant and currency, and the days without one')
      .addOption(walletOption())
      .addOption(environmentFilter())
      .option('--day <day>', 'only this day (UTC), such as 2026-01-31')
      .option('--unbalanced', 'only days with a difference')
      .option('--corrected', 'only days whose balance was corrected later')
      .addOption(limitOption())
      .addOption(pageTokenOption()),
    'only this merchant: mer_…',
    (options: DaysOptions) => run((clients) => listDays(clients, options, now())),
  );
}

async function listDays(
  clients: CoreClients,
  { wallet = '', environment, merchant = '', day = '', unbalanced, corrected, ...paging }: DaysOptions,
  now: Date,
): Promise<Output> {
  const { reconciliations } = clients;
  const missing: MissingMoneyDay[] = [];
  const filter = {
    wallet,
    merchantId: merchant,
    date: day,
    onlyDifferent: unbalanced === true,
    onlyCorrected: corrected === true,
    ...(environment === undefined ? {} : { environment }),
  };
  const page = await collectPages(paging, async (request) => {
    const reply = await reconciliations.listMoneyDays({ ...request, ...filter });
    // Only the first page of the list has the days without a balance.
    missing.push(...reply.missing);
    return { items: reply.days, nextPageToken: reply.nextPageToken };
  });
  if (page.items.length + missing.length === 0 && paging.pageToken === undefined) {
    // The exit code 0 says that every day balances. A mistyped filter must not get it.
    await requireKnown(clients, { merchantId: merchant, wallet });
  }
  const none = noneText({ unbalanced, corrected });
  const output = showMoneyDays(page, missing, now, false, none);
  const isWhole = paging.pageToken === undefined && page.nextPageToken === '';
  if (isWhole || output.exitCode !== exitCodes.ok) return output;
  // A script that reads the exit code must learn of a difference on a page that is not listed.
  return (await isAnyUnlisted()) ? showMoneyDays(page, missing, now, true, none) : output;

  /** Whether an ended day of any page has a difference or an unreadable statement. */
  async function isAnyUnlisted(): Promise<boolean> {
    const first = await reconciliations.listMoneyDays({ ...filter, pageSize: 1 });
    if (first.missing.some(isUnreadable)) return true;
    let pageToken = '';
    do {
      const reply = await reconciliations.listMoneyDays({
        ...filter,
        onlyDifferent: true,
        pageSize: pageOfDifferences,
        pageToken,
      });
      if (!reply.days.every(isProvisionalAt(now))) return true;
      pageToken = reply.nextPageToken;
    } while (pageToken !== '');
    return false;
  }
}

const noBalances = 'No balances match. A reconciliation of a day creates its balances.';

/** The text if no balance passes the filter of differences or corrections. Other balances may exist. */
function noneText({ unbalanced, corrected }: Pick<DaysOptions, 'unbalanced' | 'corrected'>): string {
  if (corrected) return unbalanced ? 'No corrected balance has a difference.' : 'No balance was corrected.';
  return unbalanced ? 'No balance has a difference.' : noBalances;
}

/** The differences of the running day come first. They have no bearing on the exit code. */
const pageOfDifferences = 100;

const isProvisionalAt =
  (now: Date) =>
  ({ date }: MoneyDay): boolean =>
    date >= now.toISOString().slice(0, 10);

const isUnreadable = ({ reason }: MissingMoneyDay): boolean => reason === MissingMoneyDayReason.UNREADABLE;

/**
 * The balances as a table, and then the ended days without one. A day that has not ended is provisional: it has no bearing on the exit
 * code. Nor has a day that still waits, or one of a wallet without statements. `isUnlistedWrong`: whether an ended day of another page
 * does not balance, or has an unreadable statement. `none`: the text if no balance is listed.
 */
export function showMoneyDays(
  page: Awaited<ReturnType<typeof collectPages<MoneyDay>>>,
  missing: readonly MissingMoneyDay[],
  now: Date,
  isUnlistedWrong = false,
  none = noBalances,
): Output {
  const { items: days, nextPageToken } = page;
  const isProvisional = isProvisionalAt(now);
  const different = days.filter(({ difference }) => difference !== '0');
  const corrected = days.flatMap((day) => day.corrections.map(correctionRow(day)));
  const unreadable = missing.filter(isUnreadable);
  return {
    json: {
      days: days.map((each) => ({ ...plainJson(MoneyDaySchema, each), provisional: isProvisional(each) })),
      missing: missing.map((each) => plainJson(MissingMoneyDaySchema, each)),
      next_page_token: nextPageToken,
    },
    text: (width) =>
      [
        ...(days.length === 0 ? [none] : [table(balanceColumns, days.map(balanceRow(isProvisional)), width)]),
        ...(different.length === 0
          ? []
          : ['To see the payments that explain a difference: gatehouse reconcile show <reconciliation_id>']),
        ...(isUnlistedWrong
          ? ['A day on another page does not balance, or its statement could not be read.']
          : []),
        ...(corrected.length === 0
          ? []
          : [`Corrections of ended days:\n${table(correctionColumns, corrected, width)}`]),
        ...(missing.length === 0
          ? []
          : [`Days without a balance:\n${table(missingColumns, missing.map(missingRow), width)}`]),
        ...(unreadable.length === 0
          ? []
          : [
              [
                'Core reads these statements again for a week. To do so at once: gatehouse reconcile --wallet <wallet> --environment <environment> --day <day>',
                ...(unreadable.some(({ payee }) => payee !== '')
                  ? ["For a merchant's account, add --payee <account>"]
                  : []),
              ].join('\n'),
            ]),
      ].join('\n\n') + showMore(page),
    exitCode:
      different.every(isProvisional) && unreadable.length === 0 && !isUnlistedWrong
        ? exitCodes.ok
        : exitCodes.differences,
  };
}

/** A wallet, with the payee account below it unless that is the operator's. */
export const withPayee = (wallet: string, { payee }: { readonly payee: string }): string =>
  payee === '' ? wallet : `${wallet}\n${payee}`;

const balanceColumns = [
  { head: 'DAY' },
  { head: 'WALLET' },
  { head: 'MERCHANT' },
  { head: 'CURRENCY' },
  { head: 'STATEMENT' },
  { head: 'RECORDS' },
  { head: 'DIFFERENCE' },
  { head: 'RECONCILIATION', wraps: true },
];

const balanceRow =
  (isProvisional: (day: MoneyDay) => boolean) =>
  (each: MoneyDay): string[] => [
    isProvisional(each) ? `${each.date}\nprovisional` : each.date,
    `${withPayee(each.wallet, each)}\n${showEnvironment(each.environment)}`,
    each.merchantId === '' ? 'none' : each.merchantId,
    each.currency,
    `in ${each.statementIn}\nout ${each.statementOut}`,
    `completed ${each.completed}\nstrays ${each.strays}\nreversals ${each.reversals}\nrefunds ${each.refunds}`,
    each.difference === '0' ? 'balances' : `${each.difference} ${each.currency}`,
    each.reconciliationId,
  ];

const correctionColumns = [
  { head: 'DAY' },
  { head: 'WALLET' },
  { head: 'MERCHANT' },
  { head: 'CURRENCY' },
  { head: 'CORRECTED' },
  { head: 'SUMS BEFORE', wraps: true },
  { head: 'RECONCILIATION' },
];

const correctionRow =
  (day: MoneyDay) =>
  (before: MoneyDayCorrection): string[] => [
    day.date,
    withPayee(day.wallet, day),
    day.merchantId === '' ? 'none' : day.merchantId,
    day.currency,
    showTime(before.correctTime),
    sumsBefore(before),
    before.reconciliationId,
  ];

const sumsBefore = (before: MoneyDayCorrection): string =>
  [
    `in ${before.statementIn}, out ${before.statementOut}, completed ${before.completed}, strays ${before.strays},`,
    `reversals ${before.reversals}, refunds ${before.refunds}, difference ${before.difference}`,
  ].join(' ');

const missingColumns = [
  { head: 'DAY' },
  { head: 'WALLET' },
  { head: 'REASON', wraps: true },
  { head: 'RECONCILIATION' },
];

const reasons: Readonly<Record<MissingMoneyDayReason, string>> = {
  [MissingMoneyDayReason.UNSPECIFIED]: 'unknown',
  [MissingMoneyDayReason.NO_STATEMENT]: 'Gatehouse cannot read statements of this wallet',
  [MissingMoneyDayReason.WAITING]: 'the statement was not read yet',
  [MissingMoneyDayReason.UNREADABLE]: 'the statement could not be read',
  [MissingMoneyDayReason.ACCOUNT_REMOVED]: "the merchant's own account was removed",
};

const missingRow = ({
  date,
  wallet,
  payee,
  environment,
  reason,
  detail,
  reconciliationId,
}: MissingMoneyDay) => [
  date,
  `${withPayee(wallet, { payee })}\n${showEnvironment(environment)}`,
  detail === '' ? reasons[reason] : `${reasons[reason]}: ${detail}`,
  reconciliationId === '' ? 'none' : reconciliationId,
];
