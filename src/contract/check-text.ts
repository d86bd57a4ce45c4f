import { durationMs, timestampDate } from '@bufbuild/protobuf/wkt';
import type { Duration } from '@bufbuild/protobuf/wkt';
import {
  CheckFinding,
  CheckResult,
  CheckSubject,
  MoneyFault,
} from '../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { Check } from '../gen/gatehouse/v1/diagnostics_service_pb.js';
import { Environment } from '../gen/gatehouse/v1/order_pb.js';
import { durationWords } from '../platform/time-words.ts';
import { counted } from './counted.ts';
import { disagreeingText } from './finding-text.ts';

export interface CheckText {
  /** The subject. */
  readonly name: string;
  /** The finding. */
  readonly detail: string;
  /** The recommended action; '' when none is needed. */
  readonly advice: string;
}

type Facts<Case extends NonNullable<Check['facts']['case']>> = Extract<
  Check['facts'],
  { case: Case }
>['value'];

const names: Readonly<Record<CheckSubject, string>> = {
  [CheckSubject.UNSPECIFIED]: 'unknown check',
  [CheckSubject.DATABASE]: 'database',
  [CheckSubject.DATABASE_POOL]: 'database pool',
  [CheckSubject.MIGRATIONS]: 'migrations',
  [CheckSubject.CLOCK]: 'clock',
  [CheckSubject.EVENT_ORDER]: 'event order',
  [CheckSubject.ORDER_HISTORIES]: 'order histories',
  [CheckSubject.EVENT_RELAY]: 'event relay',
  [CheckSubject.STRAY_PAYMENTS]: 'stray payments',
  [CheckSubject.RECONCILIATION]: 'reconciliation',
  [CheckSubject.BROKER]: 'broker',
  [CheckSubject.UNSETTLED]: 'unsettled money',
  [CheckSubject.MONEY]: 'money',
  [CheckSubject.RECOVERY]: 'recovery',
  [CheckSubject.MASTER_KEY]: 'master key',
  [CheckSubject.WALLETS]: 'wallets',
  [CheckSubject.WALLET_ACCOUNTS]: 'wallet accounts',
};

/**
 * A check in English for operators. The command line shows it. `Check.name`, `detail` and `advice` contain it, for
 * clients that do not interpret the data.
 */
export function checkText(check: Check): CheckText {
  const [detail, advice = ''] = textOf(check);
  return { name: names[check.subject], detail, advice: check.result === CheckResult.OK ? '' : advice };
}

type Text = readonly [detail: string, advice?: string];

function textOf(check: Check): Text {
  const { facts } = check;
  switch (facts.case) {
    case 'database':
      return databaseText(facts.value, check.finding);
    case 'databasePool':
      return poolText(facts.value, check.finding);
    case 'orderHistories':
      return historiesText(facts.value, check.finding);
    case 'eventRelay':
      return relayText(facts.value);
    case 'strayPayments':
      return strayPaymentsText(facts.value);
    case 'reconciliations':
      return reconciliationText(facts.value);
    case 'money':
      return moneyText(facts.value);
    case 'recovery':
      return recoveryText(facts.value);
    case 'unsettled':
      return unsettledText(facts.value);
    case 'wallets':
      return walletsText(facts.value);
    case 'walletAccounts':
      return walletAccountsText(facts.value);
    case 'clockSkew':
      return clockText(facts.value);
    case 'waited':
      return [`no answer within ${seconds(facts.value)} seconds`, checkFirst(check.subject)];
    case 'error':
      return [facts.value, checkFirst(check.subject)];
    case undefined:
      return plainText(check);
  }
}

function checkFirst(subject: CheckSubject): string {
  switch (subject) {
    case CheckSubject.DATABASE:
      return 'do what the finding says. If it names no remedy, check GATEHOUSE_DATABASE_URL, and that PostgreSQL is running';
    case CheckSubject.BROKER:
      return 'read the log of nats-server, and restart it. Payments continue, and events are late';
    default:
      return 'repair the database first';
  }
}

function plainText({ subject, finding, pendingMigrations }: Check): Text {
  switch (subject) {
    case CheckSubject.MIGRATIONS:
      return finding === CheckFinding.PENDING
        ? [
            `not applied: ${pendingMigrations.join(', ')}`,
            'restart a core: it applies migrations when it starts',
          ]
        : ['the schema is up to date'];
    case CheckSubject.EVENT_ORDER:
      return finding === CheckFinding.FOREIGN_EVENTS
        ? ['events were restored from another server and are not published', adoptEvents]
        : ['every event belongs to a transaction of this server'];
    case CheckSubject.BROKER:
      return finding === CheckFinding.DISCONNECTED
        ? [
            'not connected to NATS',
            'check GATEHOUSE_NATS_URL, and that nats-server runs with JetStream. Payments continue, and events are late',
          ]
        : ['connected to NATS'];
    case CheckSubject.MASTER_KEY:
      return finding === CheckFinding.FOREIGN_KEY
        ? [
            'the database was replaced by one that was used with another master key, so this gateway takes no payments',
            'set GATEHOUSE_MASTER_KEY to the key of this database, and restart core. See docs/operating/backup.md',
          ]
        : ['GATEHOUSE_MASTER_KEY is that of the database'];
    case CheckSubject.UNSPECIFIED:
    case CheckSubject.DATABASE:
    case CheckSubject.DATABASE_POOL:
    case CheckSubject.CLOCK:
    case CheckSubject.ORDER_HISTORIES:
    case CheckSubject.EVENT_RELAY:
    case CheckSubject.STRAY_PAYMENTS:
    case CheckSubject.RECONCILIATION:
    case CheckSubject.UNSETTLED:
    case CheckSubject.MONEY:
    case CheckSubject.RECOVERY:
    case CheckSubject.WALLETS:
    case CheckSubject.WALLET_ACCOUNTS:
      return finding === CheckFinding.HEALTHY
        ? ['in order']
        : ['a finding that this version does not know', 'upgrade Gatehouse, and check again'];
  }
}

const adoptEvents =
  "stop all cores and run: begin; alter table core.order_events disable trigger append_only; update core.order_events set xid = '1'; " +
  "alter table core.order_events enable trigger append_only; update core.event_seal set xid = '1', position = 0; " +
  "alter table core.erased_orders disable trigger append_only; update core.erased_orders set xid = '1'; " +
  'alter table core.erased_orders enable trigger append_only; delete from core.event_relay; commit';

function databaseText({ version, fsync, synchronousCommit }: Facts<'database'>, finding: CheckFinding): Text {
  switch (finding) {
    case CheckFinding.STANDBY:
      return [
        'this server is a standby, which accepts no orders',
        'point GATEHOUSE_DATABASE_URL at the primary',
      ];
    case CheckFinding.READ_ONLY:
      return [
        'default_transaction_read_only is on, so no order and no payment can be stored',
        'find out why, such as a full disk at a database provider, and turn it off for the server, the database and the role. ' +
          'All processes continue without a restart',
      ];
    case CheckFinding.WAITING:
      return [
        'statements have waited for more than 2 s for a lock of another session, or for a synchronous standby',
        'run: select pid, wait_event, pg_blocking_pids(pid), query from pg_stat_activity where wait_event in ' +
          "('relation', 'tuple', 'transactionid', 'SyncRep'). End a session that blocks others with pg_terminate_backend. " +
          'For SyncRep, start the standby or take it out of synchronous_standby_names',
      ];
    case CheckFinding.NOT_DURABLE:
      return [
        `fsync is ${fsync}, synchronous_commit is ${synchronousCommit}: a crash can lose acknowledged orders`,
        'turn both on in postgresql.conf',
      ];
    case CheckFinding.LOGS_VALUES:
      return [
        'PostgreSQL writes failed statements into its log, with the phones, emails and order numbers in them',
        `run as superuser, for Gatehouse's role: alter role "gatehouse" set log_min_error_statement = 'panic'; ` +
          `alter role "gatehouse" set log_error_verbosity = 'terse'. Then restart core and webhooks`,
      ];
    default:
      return [`PostgreSQL ${version} answers, fsync on`];
  }
}

function recoveryText({
  closedEnvironments,
  unclaimedPaymentCount,
  erasuresLostFromTime,
  accountsLostFromTime,
  merchantsLostFromTime,
  heldMerchantCount,
  heldMerchantIds,
}: Facts<'recovery'>): Text {
  const more = heldMerchantCount > BigInt(heldMerchantIds.length) ? ' and others' : '';
  const held =
    heldMerchantCount === 0n
      ? []
      : [
          `${counted(heldMerchantCount, 'merchant takes', 'merchants take')} no payments until their own wallet accounts have been compared: ${heldMerchantIds.join(', ')}${more}`,
        ];
  if (closedEnvironments.length > 0)
    return [
      `the database was restored, and ${closedEnvironments.length === 1 ? 'one environment takes' : 'both environments take'} no payments yet`,
      'see what Gatehouse waits for:\ngatehouse restore status',
    ];
  const since = merchantsLostFromTime ?? accountsLostFromTime;
  if (since !== undefined) {
    const lost = [
      ...(merchantsLostFromTime === undefined ? [] : ['merchants']),
      ...(accountsLostFromTime === undefined ? [] : ["merchants' wallet accounts"]),
    ];
    return [
      [
        `the database was restored, and ${lost.join(' and ')} that were added since ${timestampDate(since).toISOString()} may be missing. Their customers could be charged twice`,
        ...held,
      ].join('. '),
      'see which, and how to add them again:\ngatehouse restore status',
    ];
  }
  if (held.length > 0)
    return [
      `the database was restored, and ${held.join('')}`,
      'see what each of them waits for:\ngatehouse restore status',
    ];
  if (erasuresLostFromTime !== undefined)
    return [
      `the database was restored, and requests for erasure since ${timestampDate(erasuresLostFromTime).toISOString()} are lost`,
      'repeat them, and then record that you have repeated them:\ngatehouse personal-data erase --phone <number>\ngatehouse restore accept --erasures --reason <text>',
    ];
  return unclaimedPaymentCount === 0n
    ? ['no recovery holds back payments']
    : [
        `no recovery holds back payments; ${counted(unclaimedPaymentCount, 'payment of a lost order waits', 'payments of lost orders wait')} until the shops send those orders again`,
      ];
}

function poolText(facts: Facts<'databasePool'>, finding: CheckFinding): Text {
  const { size, inUse, idle, ended, waiting, silence } = facts;
  const seen = `connections: ${size} at most, ${inUse} in use, ${idle} idle, ${ended} ended; requests waiting: ${waiting}`;
  if (finding === CheckFinding.ENDED_CONNECTIONS)
    return [
      `connections that ended are still counted: ${seen}`,
      'restart this process if that stays, and report it as a defect of Gatehouse',
    ];
  if (finding === CheckFinding.STARVED)
    return [
      `no connection became free for ${seconds(silence)} s: ${seen}`,
      'check that PostgreSQL is running and reachable at GATEHOUSE_DATABASE_URL. If it is, look in pg_stat_activity for ' +
        'waiting statements of this process. The pool recovers without a restart',
    ];
  return [seen];
}

function clockText(skew: Duration): Text {
  const ms = durationMs(skew);
  const distance = Math.abs(ms) < 10_000 ? `${Math.abs(ms)} ms` : durationWords(ms);
  if (ms === 0) return ["the database's clock agrees with this core's"];
  return [
    `the database's clock is ${distance} ${ms < 0 ? 'behind' : 'ahead of'} this core's`,
    'synchronise both machines with NTP. Orders follow the clock of the database, and logs do not',
  ];
}

const historiesText = (facts: Facts<'orderHistories'>, finding: CheckFinding): Text =>
  finding === CheckFinding.DISAGREE
    ? [
        disagreeingText(facts),
        'the tables were changed without Gatehouse. Compare each order with its events, and with the wallet. ' +
          'Merchants received what the events say. To see whether events were changed too:\ngatehouse audit verify',
      ]
    : [`the latest ${counted(facts.orderCount, 'order')} and their events agree`];

const moneyFaultTexts: Readonly<Record<MoneyFault, string>> = {
  [MoneyFault.UNSPECIFIED]: 'disagrees in a way that this version does not know',
  [MoneyFault.PAYMENT_DIFFERS]: 'its status does not fit its payment attempts',
  [MoneyFault.TRANSACTION_DIFFERS]: "the wallet's transaction is recorded for another payment or for none",
  [MoneyFault.DEBITED_DIFFERS]: 'its debited amount differs from its event',
  [MoneyFault.REFUNDED_DIFFERS]: 'its refunded amount is not the sum of its COMPLETED refunds',
  [MoneyFault.REFUNDS_EXCEED_DEBITED]: 'its refunds exceed its debited amount',
  [MoneyFault.REFUND_DIFFERS]: 'the refund differs from its event',
  [MoneyFault.REFUND_WITHOUT_EVENT]: 'the refund is COMPLETED without an event',
};

function moneyText({ orderCount, differingCount, differences }: Facts<'money'>): Text {
  if (differingCount === 0n)
    return [
      `the money of the latest ${counted(orderCount, 'order')} agrees with payments, refunds and events`,
    ];
  const named = differences.map(
    ({ merchantId, orderId, refundId, fault }) =>
      `${[merchantId, orderId, refundId].filter(Boolean).join(' ')}: ${moneyFaultTexts[fault]}`,
  );
  return [
    `the money of ${differingCount} of the latest ${counted(orderCount, 'order')} disagrees: ${named.join('; ')}`,
    'the tables were changed without Gatehouse. Compare each order with its events, and with the statement of the wallet:\n' +
      'gatehouse order show <merchant_id> <order_id> --environment <environment>\ngatehouse reconcile --wallet <wallet> --environment <environment> --day <day>',
  ];
}

const relayText = ({ waitingCount, lag }: Facts<'eventRelay'>): Text => [
  waitingCount === 0n
    ? 'every event has been published'
    : `${counted(waitingCount, 'event')} not published yet, the oldest for ${seconds(lag)} s`,
  "look for 'publishing events failed' in core's log: it says what the broker refuses, and what to do. Without such a line, look in " +
    'pg_stat_activity for a transaction left open. No event is lost',
];

function strayPaymentsText({ refusedCount, dueCount, heldOrderCount }: Facts<'strayPayments'>): Text {
  const reversals = `${counted(dueCount, 'reversal')} under way`;
  const held =
    heldOrderCount === 0n
      ? ''
      : `; ${counted(heldOrderCount, 'open order accepts', 'open orders accept')} no payment until the money is back`;
  if (refusedCount === 0n) return [`no refused reversals, ${reversals}${held}`];
  return [
    `${counted(refusedCount, 'refused reversal')}, ${reversals}${held}`,
    'resolve each refused one with the wallet, then request its reversal again:\n' +
      'gatehouse payment strays --status reversal_refused\ngatehouse payment retry-reversal <merchant_id> <stray_payment_id>',
  ];
}

function unsettledText(facts: Facts<'unsettled'>): Text {
  const { paymentAttemptCount, strayPaymentCount, refundCount, oldestTime, ids } = facts;
  const parts = [
    ...(paymentAttemptCount > 0n ? [counted(paymentAttemptCount, 'undecided payment')] : []),
    ...(strayPaymentCount > 0n ? [counted(strayPaymentCount, 'stray payment')] : []),
    ...(refundCount > 0n ? [counted(refundCount, 'undecided refund')] : []),
  ];
  if (parts.length === 0) return ['no money waits for a person'];
  const since =
    oldestTime === undefined ? '' : `, the oldest since ${timestampDate(oldestTime).toISOString()}`;
  return [
    `waiting for a person: ${parts.join(', ')}${since}: ${ids.join(', ')}`,
    'ask the wallet what happened to each, then settle it by hand with two operators:\ngatehouse settlement waiting',
  ];
}

function walletsText({ missing }: Facts<'wallets'>): Text {
  if (missing.length === 0) return ['the file of wallets has every wallet that work waits for'];
  const wallets = missing.map(
    ({ wallet, environment }) => `${wallet} in ${Environment[environment].toLowerCase()}`,
  );
  return [
    `payments, refunds or reversals wait for wallets that the file of wallets lacks: ${wallets.join(', ')}`,
    'put each of them back with its former settings, and restart core and wallets. To remove a wallet, see ' +
      'docs/operating/wallets.md#remove-a-wallet',
  ];
}

function walletAccountsText({ unreadableCount, unreadable }: Facts<'walletAccounts'>): Text {
  if (unreadableCount === 0n) return ["this core can decrypt merchants' own wallet accounts"];
  const accounts = unreadable.map(
    ({ merchantId, walletAccountId, wallet, environment, keyName }) =>
      `${walletAccountId} of ${merchantId} (${wallet} in ${Environment[environment].toLowerCase()}, key "${keyName}")`,
  );
  const more = unreadableCount > BigInt(unreadable.length) ? ' and others' : '';
  return [
    `payments, refunds and reversals wait, because this core cannot decrypt ${counted(unreadableCount, 'wallet account')}: ${accounts.join(', ')}${more}`,
    'put each named key back into GATEHOUSE_WALLET_ACCOUNT_KEYS with its former value, and restart core. If a key is lost, the merchant adds the ' +
      'account again. See docs/operating/wallets.md#merchants-own-accounts',
  ];
}

function reconciliationText(facts: Facts<'reconciliations'>): Text {
  const { completedCount, differingCount, failedCount, lateCount } = facts;
  const problems = [
    ...(differingCount > 0n ? [`${differingCount} with differences`] : []),
    ...(failedCount > 0n ? [`${failedCount} whose statement could not be read`] : []),
    ...(lateCount > 0n ? [`${lateCount} waiting for more than an hour`] : []),
  ];
  if (problems.length === 0)
    return [
      completedCount === 0n
        ? 'none in the last 7 days'
        : `${counted(completedCount, 'reconciliation')} in the last 7 days, without differences`,
    ];
  return [
    `in the last 7 days: ${problems.join(', ')}`,
    'a waiting reconciliation needs a running wallets process that serves its wallet. When the differences of a day are resolved, compare the day ' +
      'again: only its latest comparison counts. To see the differences and failures:\n' +
      'gatehouse reconcile list\ngatehouse reconcile show <reconciliation_id>',
  ];
}

const seconds = (duration: Duration | undefined): number =>
  duration === undefined ? 0 : Math.round(durationMs(duration) / 1000);
