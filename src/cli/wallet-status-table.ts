import { durationMs } from '@bufbuild/protobuf/wkt';
import type { Duration } from '@bufbuild/protobuf/wkt';
import {
  WalletBreakerState,
  WalletHealthSchema,
  WalletWorkKind,
} from '../gen/gatehouse/v1/wallet_status_service_pb.js';
import type { ReportedWalletStatus, WalletStatus } from '../gen/gatehouse/v1/wallet_status_service_pb.js';
import { showEnvironment } from './options.ts';
import { wordOf } from './plain-json.ts';
import { table } from './table.ts';
import { showDuration, showTime } from './time.ts';

const columns = [
  { head: 'WALLET' },
  { head: 'ENVIRONMENT' },
  { head: 'HEALTH' },
  { head: 'REQUESTS' },
  { head: 'CALLS', right: true },
  { head: 'FAILED', right: true },
  { head: 'P50', right: true },
  { head: 'P99', right: true },
  { head: 'IN FLIGHT', right: true },
  { head: 'REPORTED', wraps: true },
];

/** The latest reports about wallets. */
export function walletStatusTable(statuses: readonly ReportedWalletStatus[], width: number): string {
  const [first] = statuses;
  return first === undefined
    ? 'No wallets process has sent a report in the last 24 hours. Start one, or run: gatehouse doctor'
    : `${table(columns, statuses.flatMap(rowsOf), width)}\n\nCalls and durations are from the last ${showDuration(first.window)}.`;
}

/** A health in words. "untold" is the contract's name of a wallet without a health check. */
export const healthText = (health: string): string => (health === 'untold' ? 'not reported' : health);

function rowsOf({ status, instance, reportTime, stale }: ReportedWalletStatus): string[][] {
  if (status === undefined) return [];
  const wallet = [status.wallet, showEnvironment(status.environment)];
  // The process may have stopped. Its old report must not appear as the wallet's present state.
  if (stale)
    return [
      [...wallet, 'unknown', '', '', '', '', '', '', `${showTime(reportTime)}\nout of date\nby ${instance}`],
    ];
  return [
    [
      ...wallet,
      [healthText(wordOf(WalletHealthSchema, status.health) ?? 'not checked yet'), status.healthDetail]
        .filter((part) => part !== '')
        .join(': '),
      status.credentialsRefused ? 'credentials refused' : workWords[status.breaker],
      String(status.calls),
      String(status.failures),
      showMs(status.latencyP50),
      showMs(status.latencyP99),
      inFlightText(status),
      `${showTime(reportTime)}\nby ${instance}`,
    ],
  ];
}

/** One line for each kind of work. A process of release 0.1.0 reports only the sum. */
const inFlightText = ({ work, inFlight, places }: WalletStatus): string =>
  work.length === 0
    ? `${inFlight} of ${places}`
    : work.map((each) => `${kindWords[each.kind]}: ${each.inFlight} of ${each.maxInFlight}`).join('\n');

const kindWords: Readonly<Record<WalletWorkKind, string>> = {
  [WalletWorkKind.UNSPECIFIED]: 'other',
  [WalletWorkKind.PAYMENTS]: 'payments',
  [WalletWorkKind.REVERSALS]: 'reversals',
  [WalletWorkKind.PAYER_PAYMENTS]: 'payer-started',
};

const workWords: Readonly<Record<WalletBreakerState, string>> = {
  [WalletBreakerState.UNSPECIFIED]: '',
  [WalletBreakerState.CLOSED]: 'all',
  [WalletBreakerState.OPEN]: 'none sent: circuit open',
  [WalletBreakerState.TRYING]: 'one sent as a trial',
};

const showMs = (latency: Duration | undefined): string =>
  latency === undefined ? '' : `${Math.round(durationMs(latency))} ms`;
