import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '@bufbuild/protobuf';
import type { Command } from 'commander';
import type { Duration } from '@bufbuild/protobuf/wkt';
import { durationMs } from '@bufbuild/protobuf/wkt';
import { Environment } from '../gen/gatehouse/v1/order_pb.js';
import {
  DifferenceKindSchema,
  DifferenceSchema,
  ReconciliationSchema,
  ReconciliationStatus,
  ReconciliationStatusSchema,
} from '../gen/gatehouse/v1/reconciliation_service_pb.js';
import type { Difference, Reconciliation } from '../gen/gatehouse/v1/reconciliation_service_pb.js';
import { counted } from '../contract/counted.ts';
import { CliError, exitCodes } from './cli-error.ts';
import type { CoreClients } from './core-clients.ts';
import {
  dayOption,
  durationOption,
  environmentOption,
  environmentFilter,
  formerDayOption,
  limitOption,
  pageTokenOption,
  showEnvironment,
  walletOption,
} from './options.ts';
import { requireField } from './output.ts';
import type { Output, Runner } from './output.ts';
import { showMore } from './paging.ts';
import { collectKnown } from './require-known.ts';
import type { PageOptions } from './paging.ts';
import { plainJson, wordOf } from './plain-json.ts';
import { fields, table } from './table.ts';
import { showTime } from './time.ts';
import { addMoneyDaysCommand, withPayee } from './money-days-command.ts';

export interface ReconcileParts {
  readonly run: Runner;
  readonly now: () => Date;
  /** Receives a line about the progress. */
  readonly report: (line: string) => void;
  /** Receives a fact that a script needs when the command fails. */
  readonly note: (text: string, json: JsonObject) => void;
}

interface RunOptions {
  readonly wallet: string;
  readonly payee?: string;
  readonly environment: Environment;
  readonly day?: string;
  /** The former name of `day`. */
  readonly date?: string;
  readonly timeout?: Duration;
}

interface ListOptions extends PageOptions {
  readonly wallet?: string;
  readonly environment?: Environment;
}

type Reconciliations = CoreClients['reconciliations'];

const dayMs = 24 * 60 * 60_000;
const pollIntervalMs = 300;
const standardWaitMs = 60_000;
const largestPage = 500;

/** `reconcile …` */
export function addReconcileCommands(program: Command, parts: ReconcileParts): void {
  const { run } = parts;
  const reconcile = program
    .command('reconcile')
    .description("compare a day of a wallet's statement with the recorded payments, and list the differences")
    .addHelpText('after', '\nFor the options of a comparison, run gatehouse reconcile run --help.');

  reconcile
    .command('run', { isDefault: true })
    .description('compare a day, wait for the result, and list the differences (the default command)')
    .addOption(walletOption().makeOptionMandatory())
    .option(
      '--payee <account>',
      "a payee account of merchants, as `reconcile days` shows it, such as 'accountid 3001'; default: the operator's account",
    )
    .addOption(environmentOption().default(Environment.SANDBOX, 'sandbox'))
    .addOption(dayOption())
    .addOption(formerDayOption())
    .addOption(
      durationOption(
        '--timeout <time>',
        'how long to wait for a process that reads the statement (default: 1m)',
      ),
    )
    .action((options: RunOptions) =>
      run(({ reconciliations }) => runComparison(reconciliations, options, parts)),
    );

  addMoneyDaysCommand(reconcile, run, parts.now);

  reconcile
    .command('list')
    .description('list manual and automatic reconciliations, newest first')
    .addOption(walletOption())
    .addOption(environmentFilter())
    .addOption(limitOption())
    .addOption(pageTokenOption())
    .action((options: ListOptions) => run((clients) => listReconciliations(clients, options)));

  reconcile
    .command('show')
    .description('show a reconciliation and its differences')
    .argument('<reconciliation_id>', 'rec_…')
    .action((reconciliationId: string) =>
      run(async ({ reconciliations }) => {
        const reply = await reconciliations.getReconciliation({ reconciliationId });
        const found = requireField(reply.reconciliation);
        return describeReconciliation(found, await readDifferences(reconciliations, found));
      }),
    );
}

async function runComparison(
  reconciliations: Reconciliations,
  options: RunOptions,
  { now, report, note }: ReconcileParts,
): Promise<Output> {
  const { wallet, payee = '', environment, timeout } = options;
  const yesterday = new Date(now().getTime() - dayMs).toISOString().slice(0, 10);
  const started = await reconciliations.startReconciliation({
    wallet,
    payee,
    environment,
    date: options.day ?? options.date ?? yesterday,
  });
  const first = requireField(started.reconciliation);
  report(`Comparing ${statementTitle(first)} (${first.reconciliationId})`);
  const waitMs = timeout === undefined ? standardWaitMs : durationMs(timeout);
  try {
    const ended = await waitForEnd(reconciliations, first, waitMs, { now, report });
    const differences = await readDifferences(reconciliations, ended);
    return {
      ...describeReconciliation(ended, differences),
      exitCode: ended.differences > 0 ? exitCodes.differences : exitCodes.ok,
    };
  } catch (error) {
    // Core may still complete it. Without its id, a script cannot ask for the result.
    const { reconciliationId } = first;
    note(`The reconciliation_id is ${reconciliationId}`, { reconciliation_id: reconciliationId });
    throw error;
  }
}

/** Resolves with the completed reconciliation. @throws CliError when the statement is not read */
async function waitForEnd(
  reconciliations: Reconciliations,
  first: Reconciliation,
  waitMs: number,
  { now, report }: Pick<ReconcileParts, 'now' | 'report'>,
): Promise<Reconciliation> {
  const { reconciliationId } = first;
  const seeLater = `See its state: gatehouse reconcile show ${reconciliationId}`;
  let seen = first;
  let changedAt = now().getTime();
  for (;;) {
    const reply = await reconciliations.getReconciliation({ reconciliationId });
    const current = requireField(reply.reconciliation);
    if (current.status === ReconciliationStatus.COMPLETED) return current;
    const wasRead = current.tries > first.tries || first.status === ReconciliationStatus.RUNNING;
    if (current.status === ReconciliationStatus.FAILED || (wasRead && isWaitingAgain(current)))
      throw new CliError(
        exitCodes.unreachable,
        `the wallet's statement could not be read or compared: ${current.detail}`,
        [
          current.dueTime === undefined
            ? 'This reconciliation has failed. Start a new one when the wallet has recovered.'
            : `Gatehouse tries again at ${showTime(current.dueTime)}.`,
          seeLater,
        ].join('\n'),
      );
    if (current.entries !== seen.entries || current.status !== seen.status) {
      changedAt = now().getTime();
      if (current.status === ReconciliationStatus.RUNNING)
        report(`  reading the statement: ${current.entries} entries so far`);
    }
    seen = current;
    if (now().getTime() - changedAt > waitMs)
      throw new CliError(
        exitCodes.unreachable,
        `no process has read the statement for ${Math.round(waitMs / 1000)} s`,
        [
          `The reconciliation stays due. Start a wallets process with ${walletTitle(first)} in its GATEHOUSE_WALLETS_FILE.`,
          seeLater,
        ].join('\n'),
      );
    await delay(pollIntervalMs);
  }
}

const isWaitingAgain = ({ status, detail }: Reconciliation): boolean =>
  status === ReconciliationStatus.WAITING && detail !== '';

async function readDifferences(
  reconciliations: Reconciliations,
  { reconciliationId }: Reconciliation,
): Promise<readonly Difference[]> {
  const all: Difference[] = [];
  for (;;) {
    const afterNumber = all.at(-1)?.number ?? 0;
    const request = { reconciliationId, pageSize: largestPage, afterNumber };
    const { differences } = await reconciliations.listDifferences(request);
    all.push(...differences);
    if (differences.length < largestPage) return all;
  }
}

const showWallet = (wallet: string): string => (wallet === '' ? 'all wallets' : wallet);
const showStatus = ({ status }: Reconciliation): string => wordOf(ReconciliationStatusSchema, status) ?? '';
const walletTitle = ({ wallet, environment }: Reconciliation): string =>
  `${wallet} in ${showEnvironment(environment)}`;
const statementTitle = ({ wallet, payee, environment, date }: Reconciliation): string =>
  `${showWallet(wallet)}${payee === '' ? '' : `, account ${payee},`} in ${showEnvironment(environment)} on ${date}`;

function describeReconciliation(reconciliation: Reconciliation, differences: readonly Difference[]): Output {
  const { otherEntries, entries, status } = reconciliation;
  const isOver = status === ReconciliationStatus.COMPLETED;
  const summary = (width: number): string =>
    fields(
      [
        ['Reconciliation', reconciliation.reconciliationId],
        ['Statement', statementTitle(reconciliation)],
        ['Status', showStatus(reconciliation)],
        ['Started', `${showTime(reconciliation.createTime)} by ${reconciliation.startedBy}`],
        [
          'Entries',
          otherEntries === 0 ? String(entries) : `${entries}, of which ${otherEntries} are not payments`,
        ],
        ['Differences', isOver ? String(reconciliation.differences) : ''],
        [isOver ? 'Note' : 'Last problem', reconciliation.detail],
        ['Due', showTime(reconciliation.dueTime)],
      ],
      width,
    );
  const more = reconciliation.differences - differences.length;
  const sections = (width: number): string[] => [
    summary(width),
    ...(differences.length === 0 ? [] : [showDifferences(differences, width)]),
    ...(isOver && reconciliation.differences === 0 ? ['The statement and the records agree.'] : []),
    ...(isOver && more > 0
      ? [
          `${counted(more, 'more difference is', 'more differences are')} not stored. Check that the statement is of the right account.`,
        ]
      : []),
  ];
  return {
    json: {
      ...plainJson(ReconciliationSchema, reconciliation),
      difference_list: differences.map((difference) => plainJson(DifferenceSchema, difference)),
    },
    text: (width) => sections(width).join('\n\n'),
  };
}

function showDifferences(differences: readonly Difference[], width: number): string {
  const columns = [
    { head: '#', right: true },
    { head: 'STATEMENT' },
    { head: 'OUR RECORDS' },
    { head: 'DIFFERENCE AND ACTION', wraps: true },
  ];
  const side = (amount: string, currency: string, status: string): string =>
    amount === '' && status === '' ? 'nothing' : `${amount} ${currency}\n${status}`;
  const rows = differences.map((difference) => [
    String(difference.number),
    side(difference.walletAmount, difference.walletCurrency, difference.walletStatus),
    side(difference.ourAmount, difference.ourCurrency, difference.ourStatus),
    [
      [wordOf(DifferenceKindSchema, difference.kind) ?? '', difference.providerTransactionId]
        .filter((part) => part !== '')
        .join(': transaction '),
      `> ${difference.advice}`,
    ].join('\n'),
  ]);
  return table(columns, rows, width);
}

async function listReconciliations(clients: CoreClients, options: ListOptions): Promise<Output> {
  const { wallet = '', environment = Environment.UNSPECIFIED } = options;
  const page = await collectKnown(clients, { wallet }, options, async (request) => {
    const reply = await clients.reconciliations.listReconciliations({ ...request, wallet, environment });
    return { items: reply.reconciliations, nextPageToken: reply.nextPageToken };
  });
  const columns = [
    { head: 'RECONCILIATION' },
    { head: 'DAY' },
    { head: 'WALLET' },
    { head: 'ENVIRONMENT' },
    { head: 'STATUS' },
    { head: 'DIFFERENCES', right: true },
    { head: 'BY', wraps: true },
  ];
  const rows = page.items.map((reconciliation) => [
    reconciliation.reconciliationId,
    reconciliation.date,
    withPayee(showWallet(reconciliation.wallet), reconciliation),
    showEnvironment(reconciliation.environment),
    showStatus(reconciliation),
    reconciliation.status === ReconciliationStatus.COMPLETED ? String(reconciliation.differences) : '',
    reconciliation.startedBy,
  ]);
  return {
    json: {
      reconciliations: page.items.map((each) => plainJson(ReconciliationSchema, each)),
      next_page_token: page.nextPageToken,
    },
    text: (width) =>
      rows.length === 0 ? 'No reconciliations match.' : `${table(columns, rows, width)}${showMore(page)}`,
  };
}
