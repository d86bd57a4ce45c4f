import type { Command } from 'commander';
import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import { MoneyDaySchema } from '../gen/gatehouse/v1/reconciliation_service_pb.js';
import type { MoneyDay } from '../gen/gatehouse/v1/reconciliation_service_pb.js';
import { exitCodes } from './cli-error.ts';
import type { CoreClients } from './core-clients.ts';
import { environmentOption, limitOption, showEnvironment, walletOption } from './options.ts';
import type { Output, Runner } from './output.ts';
import { plainJson } from './plain-json.ts';
import { table } from './table.ts';

interface DaysOptions {
  readonly wallet?: string;
  readonly environment?: Environment;
  readonly merchant?: string;
  readonly day?: string;
  readonly unbalanced?: true;
  readonly limit?: number;
}

/** `reconcile days` */
export function addMoneyDaysCommand(reconcile: Command, run: Runner, now: () => Date): void {
  reconcile
    .command('days')
    .description(
      "list, for each wallet, merchant and day, whether the wallet's statement and the records agree",
    )
    .addOption(walletOption())
    .addOption(environmentOption())
    .option('--merchant <merchant_id>', 'only this merchant')
    .option('--day <day>', 'only this day (UTC), such as 2026-01-31')
    .option('--unbalanced', 'only days with a difference')
    .addOption(limitOption())
    .action((options: DaysOptions) =>
      run(({ reconciliations }) => listDays(reconciliations, options, now())),
    );
}

async function listDays(
  reconciliations: CoreClients['reconciliations'],
  { wallet = '', environment, merchant = '', day = '', unbalanced, limit = 50 }: DaysOptions,
  now: Date,
): Promise<Output> {
  const { days } = await reconciliations.listMoneyDays({
    wallet,
    merchantId: merchant,
    date: day,
    onlyDifferent: unbalanced === true,
    pageSize: Math.min(limit, 500),
    ...(environment === undefined ? {} : { environment }),
  });
  return showMoneyDays(days, now);
}

/** The balances as a table. A day that has not ended is provisional: it has no bearing on the exit code. */
export function showMoneyDays(days: readonly MoneyDay[], now: Date): Output {
  const today = now.toISOString().slice(0, 10);
  const isProvisional = ({ date }: MoneyDay): boolean => date >= today;
  const columns = [
    { head: 'DAY' },
    { head: 'WALLET' },
    { head: 'MERCHANT' },
    { head: 'STATEMENT' },
    { head: 'RECORDS' },
    { head: 'DIFFERENCE' },
    { head: 'RECONCILIATION', gives: true },
  ];
  const rows = days.map((each) => [
    isProvisional(each) ? `${each.date}\nprovisional` : each.date,
    `${each.wallet}\n${showEnvironment(each.environment)}`,
    each.merchantId === '' ? 'none' : each.merchantId,
    `in ${each.statementIn}\nout ${each.statementOut}`,
    `completed ${each.completed}\nstrays ${each.strays}\nreversals ${each.reversals}\nrefunds ${each.refunds}`,
    each.difference === '0' ? 'balances' : `${each.difference} ${each.currency}`,
    each.reconciliationId,
  ]);
  const different = days.filter(({ difference }) => difference !== '0');
  const advice =
    different.length === 0
      ? ''
      : '\n\nTo see the payments that explain a difference: gatehouse reconcile show <reconciliation_id>';
  return {
    json: {
      days: days.map((each) => ({ ...plainJson(MoneyDaySchema, each), provisional: isProvisional(each) })),
    },
    text: (width) =>
      rows.length === 0
        ? 'No balances match. A reconciliation of a day creates its balances.'
        : `${table(columns, rows, width)}${advice}`,
    exitCode: different.every(isProvisional) ? exitCodes.ok : exitCodes.differences,
  };
}
