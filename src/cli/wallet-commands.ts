import { durationMs } from '@bufbuild/protobuf/wkt';
import type { Duration } from '@bufbuild/protobuf/wkt';
import type { Command } from 'commander';
import { Environment } from '../gen/gatehouse/v1/order_pb.js';
import { WalletSchema } from '../gen/gatehouse/v1/reconciliation_service_pb.js';
import {
  ReportedWalletStatusSchema,
  WalletBreakerState,
  WalletHealthSchema,
} from '../gen/gatehouse/v1/wallet_status_service_pb.js';
import type { ReportedWalletStatus } from '../gen/gatehouse/v1/wallet_status_service_pb.js';
import type { CoreClients } from './core-clients.ts';
import { environmentOption, showEnvironment } from './options.ts';
import type { Output, Runner } from './output.ts';
import { plainJson, wordOf } from './plain-json.ts';
import { table } from './table.ts';
import { showDuration, showTime } from './time.ts';

interface StatusOptions {
  readonly environment?: Environment;
}

/** `wallet …` */
export function addWalletCommands(program: Command, run: Runner): void {
  program
    .command('wallet')
    .description('show the health of the wallets')
    .command('status')
    .description('show the latest report about each wallet from the wallets processes')
    .addOption(environmentOption())
    .action((options: StatusOptions) => run(({ walletStatuses }) => list(walletStatuses, options)));
}

async function list(
  walletStatuses: CoreClients['walletStatuses'],
  { environment = Environment.UNSPECIFIED }: StatusOptions,
): Promise<Output> {
  const { statuses } = await walletStatuses.listWalletStatuses({ environment });
  const columns = [
    { head: 'WALLET' },
    { head: 'ENVIRONMENT' },
    { head: 'HEALTH' },
    { head: 'WORK' },
    { head: 'CALLS', right: true },
    { head: 'FAILED', right: true },
    { head: 'P50', right: true },
    { head: 'P99', right: true },
    { head: 'IN FLIGHT', right: true },
    { head: 'REPORTED', gives: true },
  ];
  const [first] = statuses;
  const noReports =
    'No wallets process has sent a report in the last 24 hours. Start one, or run: gatehouse doctor';
  return {
    json: { statuses: statuses.map((each) => plainJson(ReportedWalletStatusSchema, each)) },
    text: (width) =>
      first === undefined
        ? noReports
        : `${table(columns, statuses.flatMap(rowsOf), width)}\n\nCalls and durations are from the last ${showDuration(first.window)}.`,
  };
}

function rowsOf({ status, instance, reportTime, stale }: ReportedWalletStatus): string[][] {
  if (status === undefined) return [];
  const wallet = [wordOf(WalletSchema, status.wallet) ?? '', showEnvironment(status.environment)];
  // The process may have stopped. Its old report must not appear as the wallet's present state.
  if (stale)
    return [
      [...wallet, 'unknown', '', '', '', '', '', '', `${showTime(reportTime)}\nout of date\nby ${instance}`],
    ];
  return [
    [
      ...wallet,
      [wordOf(WalletHealthSchema, status.health) ?? 'not checked yet', status.healthDetail]
        .filter((part) => part !== '')
        .join(': '),
      workWords[status.breaker],
      String(status.calls),
      String(status.failures),
      showMs(status.latencyP50),
      showMs(status.latencyP99),
      `${status.inFlight} of ${status.places}`,
      `${showTime(reportTime)}\nby ${instance}`,
    ],
  ];
}

const workWords: Readonly<Record<WalletBreakerState, string>> = {
  [WalletBreakerState.UNSPECIFIED]: '',
  [WalletBreakerState.CLOSED]: 'all',
  [WalletBreakerState.OPEN]: 'none: circuit open',
  [WalletBreakerState.TRYING]: 'one trial request',
};

const showMs = (latency: Duration | undefined): string =>
  latency === undefined ? '' : `${Math.round(durationMs(latency))} ms`;
