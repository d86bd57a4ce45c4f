import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Environment } from '../../gen/gatehouse/v1/order_pb.js';
import type { PayerPayment } from '../../gen/gatehouse/v1/payer_payment_service_pb.js';
import type { Wallet } from '../../gen/gatehouse/v1/wallet_service_pb.js';
import { WalletBreakerState, WalletHealth } from '../../gen/gatehouse/v1/wallet_status_service_pb.js';
import type { ReportedWalletStatus } from '../../gen/gatehouse/v1/wallet_status_service_pb.js';
import type { Finding } from './doctor-finding.ts';
import { environmentWord } from '../options.ts';
import { showTime } from '../time.ts';

const toleratedSkewMs = 2_000;
/** A report that takes longer is not stored. */
const longestReportMs = 4_000;

/**
 * One finding for each wallet whose statement is not compared. It names the environments, and the way in which Gatehouse decides payments instead. The
 * result is ok, because many providers have no statement.
 */
export function judgeStatements(subject: string, wallets: readonly Wallet[]): readonly Finding[] {
  return wallets.flatMap(({ wallet, environments, reconciledEnvironments }) => {
    const without = environments.filter((each) => !reconciledEnvironments.includes(each));
    if (without.length === 0) return [];
    return {
      subject,
      check: `${wallet} statement`,
      result: 'ok',
      code: 'healthy',
      advice: '',
      detail: `not compared in ${namesOf(without)}: ${wallet} offers no statement, or its setting reconcile is not true. ${instead}`,
    } as const;
  });
}

const namesOf = (environments: readonly Environment[]): string =>
  environments.map((each) => environmentWord(each)).join(' and ');

const instead =
  'Gatehouse queries each payment until the wallet decides it. ' +
  "Compare the totals of a day with the wallet's portal by hand";

/**
 * Checks in the latest reports of the `wallets` processes whether each wallet gets requests. Returns a finding for each wallet that gets
 * none, or one finding for all.
 */
export function judgeRequests(
  subject: string,
  wallets: readonly Wallet[],
  reports: readonly ReportedWalletStatus[],
): readonly Finding[] {
  const walletEnvironments = wallets.flatMap(({ wallet, environments }) =>
    environments.map((environment) => ({
      name: `${wallet} in ${environmentWord(environment)}`,
      reports: reports.filter(
        ({ status }) => status?.wallet === wallet && status.environment === environment,
      ),
    })),
  );
  if (walletEnvironments.length === 0) return [];
  const silent = walletEnvironments.filter((entry) => entry.reports.every(({ stale }) => stale));
  const findings = [
    ...judgeSilent(silent),
    ...walletEnvironments.flatMap((entry) =>
      judgeState(
        entry.name,
        entry.reports.filter(({ stale }) => !stale),
      ),
    ),
  ];
  const inOrder: FoundRequests = {
    result: 'ok',
    code: 'healthy',
    advice: '',
    detail: 'the wallets processes send requests to every wallet',
  };
  return (findings.length === 0 ? [inOrder] : findings).map((found) => ({
    subject,
    check: 'wallet requests',
    ...found,
  }));
}

type FoundRequests = Omit<Finding, 'subject' | 'check'>;

interface Silent {
  readonly name: string;
  readonly reports: readonly ReportedWalletStatus[];
}

/** After a first start, the first report arrives within seconds. So a wallet that no process ever reported is no failure. */
function judgeSilent(silent: readonly Silent[]): readonly FoundRequests[] {
  if (silent.length === 0) return [];
  const hadReports = silent.some(({ reports }) => reports.length > 0);
  return [
    {
      result: hadReports ? 'failed' : 'warning',
      code: 'silent',
      detail: `no wallets process reports about ${silent.map(({ name }) => name).join(', ')}: payments there wait`,
      advice:
        'start a wallets process with the same file of wallets as core. If one runs, its log says why it cannot reach core:\n' +
        'gatehouse wallet status',
    },
  ];
}

function judgeState(name: string, reports: readonly ReportedWalletStatus[]): readonly FoundRequests[] {
  const closed = reports.filter(({ status }) => status?.breaker === WalletBreakerState.CLOSED);
  const down = reports.find(({ status }) => status?.health === WalletHealth.DOWN);
  const reason = down?.status?.healthDetail ? ` (${down.status.healthDetail})` : '';
  if (closed.length < reports.length)
    return [
      {
        result: closed.length === 0 ? 'failed' : 'warning',
        code: 'circuit_open',
        detail:
          `${name} keeps failing${reason}, so its circuit is open in ` +
          `${closed.length === 0 ? 'every wallets process' : 'some wallets processes'}, and payments wait there`,
        advice:
          "check the provider's status page. Payments go on when the wallet works again. See its calls:\n" +
          'gatehouse wallet status',
      },
    ];
  if (reports.some(({ status }) => status?.credentialsRefused))
    return [
      {
        result: 'failed',
        code: 'credentials_refused',
        detail: `${name} refuses the operator's credentials, so payments with the operator's account are not made`,
        advice:
          "compare the credentials with the provider's portal, correct the secrets, and start wallets again. To test them, run with " +
          'the environment of a wallets process:\ngatehouse wallet check',
      },
    ];
  if (down === undefined) return [];
  return [
    {
      result: 'warning',
      code: 'down',
      detail: `${name} does not work${reason}`,
      advice: "check the provider's status page. See its calls:\ngatehouse wallet status",
    },
  ];
}

/**
 * The `wallets` processes whose clock is wrong. Core dates their reports by the clock of the database. No finding for a process whose clock is
 * right, and for one that stopped.
 */
export function judgeClocks(subject: string, reports: readonly ReportedWalletStatus[]): readonly Finding[] {
  const ofInstances = new Map(reports.filter(({ stale }) => !stale).map((each) => [each.instance, each]));
  return [...ofInstances.values()].flatMap(({ instance, reportTime, status }) => {
    if (reportTime === undefined || status?.clockTime === undefined) return [];
    const aheadMs = timestampMs(status.clockTime) - timestampMs(reportTime);
    if (aheadMs <= toleratedSkewMs && -aheadMs <= toleratedSkewMs + longestReportMs) return [];
    const seconds = Math.round(Math.abs(aheadMs) / 1000);
    return {
      subject,
      check: 'wallets clock',
      result: 'warning',
      code: 'skewed',
      detail: `the clock of ${instance} is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the database's`,
      advice:
        'Synchronise its machine with NTP. A wallet may refuse requests with a wrong time, and comparisons with statements may miss payments.',
    } as const;
  });
}

/** The payments that payers started and their wallet did not confirm in time, newest first. No finding without them. */
export function judgeAbandoned(
  subject: string,
  payments: readonly PayerPayment[],
  hasMore: boolean,
): readonly Finding[] {
  const oldest = payments.at(-1);
  if (oldest === undefined) return [];
  const count = `${hasMore ? 'more than ' : ''}${payments.length}`;
  const were = count === '1' ? 'payer-started payment was' : 'payer-started payments were';
  return [
    {
      subject,
      check: 'payer-started',
      result: 'warning',
      code: 'abandoned',
      detail:
        `${count} ${were} not confirmed by the wallet within three days; ` +
        `${oldest.payerPaymentId} at ${oldest.wallet} has waited since ${showTime(oldest.createTime)}`,
      advice:
        "look up each in the wallet's portal, because the payee's account may have the money. Then query the wallet again:\n" +
        'gatehouse payment payer-started --status abandoned\n' +
        'gatehouse payment confirm <payer_payment_id>',
    },
  ];
}
