import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { Command } from 'commander';
import { counted } from '../contract/counted.ts';
import {
  RecoveredOrderSchema,
  RecoveredOrderState,
  RecoveredOrderStateSchema,
  RecoveredStatementState,
  RecoveredWalletProblem,
  RecoveredWalletState,
  RecoveredWalletStateSchema,
  RecoveryCause,
  RecoverySchema,
  RecoveryStream,
} from '../gen/gatehouse/v1/recovery_service_pb.js';
import type {
  MissingAccount,
  RecoveredOrder,
  RecoveredWallet,
  Recovery,
} from '../gen/gatehouse/v1/recovery_service_pb.js';
import { onAnyMerchant } from './merchant-argument.ts';
import {
  environmentOption,
  environmentWord,
  limitOption,
  pageTokenOption,
  showEnvironment,
  timeOption,
  walletOption,
} from './options.ts';
import type { Output, Runner } from './output.ts';
import { collectPages, showMore } from './paging.ts';
import type { PageOptions } from './paging.ts';
import { plainJson, wordOf } from './plain-json.ts';
import { readDecision } from './recovery-decision.ts';
import type { DecisionOptions } from './recovery-decision.ts';
import { fields, table } from './table.ts';
import { showTime } from './time.ts';

/** A decision locks tables. Core waits for each lock for at most ten seconds, which is longer than a command usually waits. */
const patient = { timeoutMs: 30_000 };

/** `restore status`, `restore report`, `restore accept`, `restore begin` */
export function addRecoveryCommands(restore: Command, run: Runner): void {
  restore
    .command('status')
    .description('show the progress of a recovery: what it rebuilt, and which decisions it waits for')
    .action(() => run(async ({ recoveries }) => showRecovery((await recoveries.getRecovery({})).recovery)));

  onAnyMerchant(
    restore
      .command('report')
      .description('list the orders that were rebuilt after a restore, and those that you must resolve')
      .option('--conflicts', 'only orders that cannot be rebuilt')
      .addOption(limitOption())
      .addOption(pageTokenOption()),
    'only orders of this merchant: mer_…',
    ({ merchant, conflicts, ...options }: ReportOptions) =>
      run(async ({ recoveries }) =>
        showOrders(
          await collectPages(options, async (page) => {
            const request = { merchantId: merchant ?? '', onlyConflicts: conflicts === true, ...page };
            const { orders, nextPageToken } = await recoveries.listRecoveredOrders(request);
            return { items: orders, nextPageToken };
          }),
        ),
      ),
  );

  restore
    .command('accept')
    .description(
      'record what you did for a recovery: compared a wallet, resolved orders, added merchants or accounts again, or repeated erasures. The lost time is the time between the backup and the loss',
    )
    .addOption(walletOption('record that you have compared the payments of the lost time with this wallet'))
    .addOption(environmentOption('; with --wallet'))
    .option(
      '--conflicts',
      'record that you have resolved the orders that cannot be rebuilt, which restore report --conflicts lists',
    )
    .option(
      '--erasures',
      'record that you have repeated the requests for erasure of the lost time, or that there were none',
    )
    .option(
      '--accounts',
      'record that every wallet account that a merchant added or changed in the lost time was added again, or that there was none',
    )
    .option(
      '--despite-unaccepted',
      'with --accounts: continue although the provider has not accepted the credentials of an account that was added again. Its payments of the lost time are then not found, so a payer may be charged twice',
    )
    .option(
      '--merchants',
      'record that every merchant that was created in the lost time was created again under its id, or that there was none',
    )
    .requiredOption(
      '--reason <text>',
      'what you have compared, resolved, added or repeated, for the audit log',
    )
    .action((options: DecisionOptions & { readonly reason: string }) => {
      const subject = readDecision(options);
      const despiteUnacceptedAccounts = options.despiteUnaccepted === true;
      const request = { subject, reason: options.reason, despiteUnacceptedAccounts };
      return run(async ({ recoveries }) =>
        showRecovery((await recoveries.acceptRecovery(request, patient)).recovery),
      );
    });

  restore
    .command('begin')
    .description('begin a recovery after a restore that core cannot detect, such as a copied folder or disk')
    .addOption(
      timeOption(
        '--backup-time <time>',
        'the time (UTC) of the backup, such as 2026-01-31T02:00:00Z',
      ).makeOptionMandatory(),
    )
    .action(({ backupTime }: { backupTime: Timestamp }) =>
      run(async ({ recoveries }) =>
        showRecovery((await recoveries.beginRecovery({ backupTime }, patient)).recovery),
      ),
    );
}

interface ReportOptions extends PageOptions {
  readonly merchant?: string;
  readonly conflicts?: true;
}

const orderTexts: Readonly<Record<RecoveredOrderState, string>> = {
  [RecoveredOrderState.UNSPECIFIED]: 'unknown',
  [RecoveredOrderState.REBUILT]: 'rebuilt as it was before the loss; its webhooks are sent again',
  [RecoveredOrderState.CHANGED_OTHERWISE]:
    'not rebuilt, because its lost events contradict the database, which is kept; the log of core names the reason',
  [RecoveredOrderState.NUMBER_TAKEN]:
    'not rebuilt, because a new order has taken its order_number since the restore',
  [RecoveredOrderState.UNREADABLE]:
    'not rebuilt, because its events cannot be read; the log of core names the reason',
};

function showOrders(page: {
  readonly items: readonly RecoveredOrder[];
  readonly nextPageToken: string;
}): Output {
  const columns = [
    { head: 'MERCHANT' },
    { head: 'ENVIRONMENT' },
    { head: 'ORDER NUMBER' },
    { head: 'ORDER' },
    { head: 'STATE' },
    { head: 'RESULT', wraps: true },
  ];
  const rows = page.items.map((order) => [
    order.merchantId,
    showEnvironment(order.environment),
    order.orderNumber,
    order.orderId,
    wordOf(RecoveredOrderStateSchema, order.state) ?? '',
    orderTexts[order.state],
  ]);
  return {
    json: {
      orders: page.items.map((order) => plainJson(RecoveredOrderSchema, order)),
      next_page_token: page.nextPageToken,
    },
    text: (width) =>
      rows.length === 0
        ? 'No recovery has found such orders.'
        : `${table(columns, rows, width)}${showMore(page)}`,
  };
}

const causes: Readonly<Record<RecoveryCause, string>> = {
  [RecoveryCause.UNSPECIFIED]: 'unknown',
  [RecoveryCause.NEW_HOME]:
    'the database runs on another server or timeline than before, or another database has replaced it on the same server',
  [RecoveryCause.STREAM_AHEAD]: 'the broker has an event that the database does not have',
  [RecoveryCause.OPERATOR]: 'an operator began it',
};

function streamText({ stream, streamUntilTime }: Recovery): string {
  const until = streamUntilTime === undefined ? '' : `, up to ${showTime(streamUntilTime)}`;
  switch (stream) {
    case RecoveryStream.WAITING:
      return 'not read to the end yet; if this lasts for minutes, see whether the broker is available: gatehouse doctor';
    case RecoveryStream.COMPLETE:
      return `without a gap${until}`;
    case RecoveryStream.PARTIAL:
      return `with gaps${until}`;
    default:
      return 'none: the broker has no events of the lost time, stayed unavailable, or could not be read to the end';
  }
}

const problems: Readonly<Partial<Record<RecoveredWalletProblem, string>>> = {
  [RecoveredWalletProblem.NO_STATEMENT]: 'this wallet offers no statement',
  [RecoveredWalletProblem.TOO_LONG]:
    'the lost time is longer than the period for which Gatehouse reads statements',
};

/** Why the recovery waits for an operator, and what to do; empty while core reads the wallet's statements without failures. */
function reasonsOf(wallet: RecoveredWallet, recovery: Recovery): string[] {
  const general = problems[wallet.problem];
  if (general !== undefined) return [general];
  const unread = wallet.unreadStatements.flatMap(({ payee, state, detail, nextReadTime }) => {
    const statement = payee === '' ? 'your statement' : `the statement of the merchants' account ${payee}`;
    if (state === RecoveredStatementState.FAILING)
      return [`${statement} cannot be read, and Gatehouse tries again${showAt(nextReadTime)}: ${detail}`];
    if (
      payee !== '' &&
      state === RecoveredStatementState.READING &&
      wallet.state === RecoveredWalletState.READ
    )
      return [`Gatehouse reads ${statement}${showAt(nextReadTime)}`];
    return state === RecoveredStatementState.REMOVED
      ? [
          `${statement} cannot be read, because its account was removed; to have it read, add the account again`,
        ]
      : [];
  });
  const isQuestionOpen =
    wallet.problem === RecoveredWalletProblem.OWN_ACCOUNTS && lacksAccounts(recovery) === 'not answered';
  return isQuestionOpen
    ? [...unread, `merchants may have added accounts that the backup lacks; ${answerAccounts}`]
    : unread;
}

/** ` at 2026-01-31T08:30:00Z`; '' without a time. */
const showAt = (time: Timestamp | undefined): string => (time === undefined ? '' : ` at ${showTime(time)}`);

/** When Gatehouse reads the statements of a wallet of which none has failed yet. */
function readingText({ wallet, unreadStatements }: RecoveredWallet, recovery: Recovery): string {
  const from = showTime(recovery.statementsFromTime, 'the time');
  if (recovery.stream === RecoveryStream.WAITING)
    return `Gatehouse reads its statements after the events of the broker, and not before ${from}`;
  if (unreadStatements.length === 0)
    return `Gatehouse reads its statements at ${from}, when the last prompts of the lost time have ended`;
  const [next] = unreadStatements
    .flatMap(({ nextReadTime }) => nextReadTime ?? [])
    .toSorted((one, other) => timestampMs(one) - timestampMs(other));
  return `Gatehouse reads its statements${showAt(next)}. To see why one fails:\ngatehouse reconcile list --wallet ${wallet}`;
}

/** Whether accounts that merchants added or changed in the lost time may be unknown, and whether an operator has answered for them. */
function lacksAccounts(recovery: Recovery): 'no' | 'not answered' | 'answered' {
  if (recovery.accountsLostFromTime !== undefined) return 'not answered';
  return recovery.accountsAcceptedBy === '' ? 'no' : 'answered';
}

const answerAccounts =
  'ask the merchants which accounts they added or changed, have each added again, wait until its credentials are accepted, then:\ngatehouse restore accept --accounts --reason <text>';

function accountsText(recovery: Recovery): string {
  switch (lacksAccounts(recovery)) {
    case 'no':
      return '';
    case 'answered':
      return `an operator says that those of the lost time were added again: ${recovery.accountsAcceptedBy}`;
    case 'not answered':
      return `those that merchants added or changed since ${showTime(recovery.accountsLostFromTime)} are not known; ${answerAccounts}`;
  }
}

const createAgain = (merchantId: string): string =>
  `gatehouse merchant create --merchant ${merchantId} --name <name>`;
const answerMerchants = 'gatehouse restore accept --merchants --reason <text>';

/** Which merchants the backup lacks, and what to do about them. */
function merchantsText(recovery: Recovery): string {
  const { stream, missingMerchants, merchantsLostFromTime, merchantsAcceptedBy } = recovery;
  const missing = missingMerchants.map(
    ({ merchantId, orderCount }) =>
      `the backup lacks ${merchantId}, which has ${counted(orderCount, 'rebuilt order')}; create it again under its id:\n${createAgain(merchantId)}`,
  );
  if (merchantsLostFromTime === undefined)
    return [
      ...missing,
      ...(merchantsAcceptedBy === '' ? [] : [`an operator has answered for them: ${merchantsAcceptedBy}`]),
    ].join('\n');
  const unknown =
    stream === RecoveryStream.COMPLETE && missing.length > 0
      ? `if none of them is to come back, resolve their payments with the wallets, then:\n${answerMerchants}`
      : stream === RecoveryStream.WAITING
        ? `those that were created since ${showTime(merchantsLostFromTime)} are not known yet`
        : `those that were created since ${showTime(merchantsLostFromTime)} are not known; create each again under its old id, because its customers could be charged twice under another id:\n${createAgain('<merchant_id>')}\nWhen all of them are created again, or if there were none:\n${answerMerchants}`;
  return [...missing, unknown].join('\n');
}

/** Advice about an account that the backup lacks, and that payments of the lost time may have used. */
function missingText({ environment, wallet }: RecoveredWallet, account: MissingAccount): string {
  const { merchantId, walletAccountId, payee } = account;
  const name = payee === undefined ? '' : payee === '' ? ", the operator's account" : `, ${payee}`;
  return `the backup lacks the account ${walletAccountId} of the merchant ${merchantId}${name}; add it again, and then promote it if new payments use it:\ngatehouse merchant wallet add-account ${merchantId} ${wallet} --environment ${environmentWord(environment)} --account ${walletAccountId} --values <file>`;
}

function walletText(wallet: RecoveredWallet, recovery: Recovery): string {
  const missing = wallet.missingAccounts.map((account) => missingText(wallet, account));
  return [...missing, progressText(wallet, recovery)].join('\n');
}

const compareWallet = ({ wallet, environment }: RecoveredWallet): string =>
  `compare its payments of the lost time with the orders, then run:\ngatehouse restore accept --wallet ${wallet} --environment ${environmentWord(environment)} --reason <text>`;

function progressText(wallet: RecoveredWallet, recovery: Recovery): string {
  switch (wallet.state) {
    case RecoveredWalletState.READ: {
      const reasons = reasonsOf(wallet, recovery);
      const isHolding = reasons.length > 0 || wallet.missingAccounts.length > 0;
      const read = isHolding ? 'your statement was read' : 'its statements were read';
      const unclaimed =
        wallet.unclaimedPaymentCount === 0
          ? read
          : `${read}; ${counted(wallet.unclaimedPaymentCount, 'payment of a lost order waits', 'payments of lost orders wait')} until the shops send those orders again`;
      return isHolding
        ? [unclaimed, ...reasons, `> otherwise, ${compareWallet(wallet)}`].join('\n')
        : unclaimed;
    }
    case RecoveredWalletState.ACCEPTED:
      return `accepted by ${wallet.decidedBy}`;
    default: {
      const reasons = reasonsOf(wallet, recovery);
      if (reasons.length === 0 && wallet.missingAccounts.length === 0) return readingText(wallet, recovery);
      const otherwise = wallet.problem === RecoveredWalletProblem.OWN_ACCOUNTS ? 'otherwise, ' : '';
      return [...reasons, `> ${otherwise}${compareWallet(wallet)}`].join('\n');
    }
  }
}

const noRecovery =
  'No recovery has begun in this database. To see whether payments are taken:\ngatehouse doctor';

export function showRecovery(recovery: Recovery | undefined): Output {
  if (recovery === undefined) return { json: { recovery: null }, text: noRecovery };
  const closed = recovery.closedEnvironments.map(showEnvironment).join(', ');
  const summary = (width: number): string =>
    fields(
      [
        ['Payments', closed === '' ? 'taken' : `not taken in ${closed}`],
        ['Held', heldText(recovery)],
        ['Cause', causes[recovery.cause]],
        ['Lost time', `${showTime(recovery.lostFromTime)} to ${showTime(recovery.lostUntilTime)}`],
        ['Events of the broker', streamText(recovery)],
        [
          'Rebuilt',
          `${counted(recovery.rebuiltOrderCount, 'order')}, ${counted(recovery.rebuiltEventCount, 'event')}`,
        ],
        ['Cannot be rebuilt', conflictText(recovery)],
        ['Merchants', merchantsText(recovery)],
        ["Merchants' accounts", accountsText(recovery)],
        ['Erasures', erasuresText(recovery)],
        ['Finished', showTime(recovery.finishTime)],
      ],
      width,
    );
  const rows = recovery.wallets.map((wallet) => [
    showEnvironment(wallet.environment),
    wallet.wallet,
    wordOf(RecoveredWalletStateSchema, wallet.state) ?? '',
    walletText(wallet, recovery),
  ]);
  const columns = [
    { head: 'ENVIRONMENT' },
    { head: 'WALLET' },
    { head: 'STATE' },
    { head: 'PROGRESS', wraps: true },
  ];
  return {
    json: { recovery: plainJson(RecoverySchema, recovery) },
    text: (width) =>
      [summary(width), ...(rows.length === 0 ? [] : [table(columns, rows, width)])].join('\n\n'),
  };
}

/** The merchants that wait while others take payments. In a closed environment all wait. */
const heldText = ({ closedEnvironments, heldMerchants }: Recovery): string =>
  heldMerchants
    .filter(({ environment }) => !closedEnvironments.includes(environment))
    .map(
      ({ environment, merchantId }) =>
        `${merchantId} takes no payments in ${showEnvironment(environment)}, because its own accounts were not compared yet`,
    )
    .join('\n');

const erasuresText = ({ erasuresLostFromTime }: Recovery): string =>
  erasuresLostFromTime === undefined
    ? 'an operator says that the requests of the lost time were repeated, or that there were none'
    : `requests since ${showTime(erasuresLostFromTime)} are lost; repeat them, and then record that you have repeated them:\ngatehouse personal-data erase --phone <number>\ngatehouse restore accept --erasures --reason <text>`;

function conflictText({ conflictingOrderCount, conflictsAcceptedBy, stream }: Recovery): string {
  if (conflictingOrderCount === 0) return '';
  const orders = counted(conflictingOrderCount, 'order');
  if (conflictsAcceptedBy !== '') return `${orders}, resolved by ${conflictsAcceptedBy}`;
  if (stream === RecoveryStream.WAITING) return `${orders} so far; core still reads the events`;
  return `${orders}; list and resolve them, and then record that you did:\ngatehouse restore report --conflicts\ngatehouse restore accept --conflicts --reason <text>`;
}
