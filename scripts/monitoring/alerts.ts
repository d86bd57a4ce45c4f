import { failed, latest, merchantApi, share } from './queries.ts';

/*
 * The alerts of deploy/monitoring/alerts.yml. Metrics about shared state have the same value on every process, so they are read
 * with max, not sum. docs/operating/alerts.md has a section for each alert.
 */

export interface Alert {
  readonly name: string;
  readonly expr: string;
  /** How long it must be true. */
  readonly for: string;
  /** page: an operator must act now. ticket: an operator must act on a working day. */
  readonly severity: 'page' | 'ticket';
  /** One sentence for the person who is woken. */
  readonly summary: string;
}

/** The processes, as the jobs of Prometheus name them. */
const jobs = ['core', 'webhooks', 'rest-facade', 'checkout', 'dashboard', 'wallets'];

/** Three quarters of the limits in deploy/kubernetes. A process is ended at its limit, so a higher threshold would never be seen. */
export const memoryBytes: Readonly<Record<string, number>> = {
  core: 800e6,
  'rest-facade': 800e6,
  webhooks: 600e6,
  wallets: 600e6,
  checkout: 400e6,
  dashboard: 400e6,
};

const expiry = 'gatehouse_tls_certificate_expiry_timestamp_seconds';

const unexpected = 'gatehouse_rpc_duration_seconds_count{code=~"internal|unknown|data_loss"}';

export const alerts: readonly Alert[] = [
  {
    name: 'GatehouseProcessDown',
    expr: 'up{job=~"gatehouse-.+"} == 0',
    for: '1m',
    severity: 'page',
    summary: 'The process {{ $labels.instance }} of {{ $labels.job }} does not answer.',
  },
  {
    name: 'GatehouseProcessMissing',
    // A container without an address is no target of Prometheus any more, and its series with `up` ends.
    expr: jobs.map((job) => `absent(up{job="gatehouse-${job}"})`).join(' or '),
    for: '1m',
    severity: 'page',
    summary: 'Prometheus finds no process of {{ $labels.job }}.',
  },
  {
    name: 'GatehouseRecovering',
    expr: 'max by (environment) (gatehouse_recovery_closed) == 1',
    for: '1m',
    severity: 'page',
    summary: 'The database was restored, and {{ $labels.environment }} takes no payments yet.',
  },
  {
    name: 'GatehouseErasuresLost',
    expr: `max(${latest('gatehouse_recovery_erasures_lost')}) == 1`,
    for: '1h',
    severity: 'ticket',
    summary: 'The database was restored, and requests for erasure since its backup must be repeated.',
  },
  {
    name: 'GatehouseRestoreUnanswered',
    expr: `max by (question) (${latest('gatehouse_recovery_unanswered')}) == 1`,
    for: '10m',
    severity: 'page',
    summary:
      'The database was restored, and {{ $labels.question }} of the lost time may be missing. Their customers could be charged twice.',
  },
  {
    name: 'GatehouseMerchantsHeld',
    expr: `max by (environment) (${latest('gatehouse_recovery_held_merchants')}) > 0`,
    for: '10m',
    severity: 'page',
    summary:
      'The database was restored, and merchants take no payments in {{ $labels.environment }} until their own wallet accounts were compared: {{ $value }}.',
  },
  {
    name: 'GatehouseCertificateExpires',
    expr: 'gatehouse_tls_certificate_expiry_timestamp_seconds - time() < 900',
    for: '1m',
    severity: 'page',
    summary:
      'The TLS certificate of {{ $labels.instance }} ({{ $labels.certificate }}) expires in {{ $value | humanizeDuration }}.',
  },
  {
    name: 'GatehouseCertificateNotRenewed',
    // A certificate that lives for hours is renewed all the time, and always expires soon. A new process has the certificate that others of
    // its job had a week ago, or a new one.
    expr: `(${expiry} - time() < 7 * 86400) and (${expiry} == (${expiry} offset 7d) or ${expiry} == on (job, certificate) group_left () max by (job, certificate) (${expiry} offset 7d))`,
    for: '1h',
    severity: 'ticket',
    summary:
      'The TLS certificate of {{ $labels.instance }} ({{ $labels.certificate }}) expires in {{ $value | humanizeDuration }}, and was not renewed this week.',
  },
  {
    name: 'GatehouseMerchantApiFails',
    expr: `${share(failed(merchantApi), merchantApi)} > 0.01`,
    for: '5m',
    severity: 'page',
    summary: '{{ $value | humanizePercentage }} of the requests of merchants fail with 5xx.',
  },
  {
    name: 'GatehouseMerchantApiSlow',
    expr: 'histogram_quantile(0.99, sum by (le) (rate(gatehouse_http_request_duration_seconds_bucket{listener=~"sandbox|production",route=~"/api/v1/(register|direct|verify)"}[5m]))) > 1',
    for: '10m',
    severity: 'page',
    summary: 'One of a hundred requests of merchants takes {{ $value | humanizeDuration }} or longer.',
  },
  {
    name: 'GatehouseUnexpectedErrors',
    expr: `sum by (job, service, method) (rate(${unexpected}[5m])) > 0`,
    for: '5m',
    severity: 'page',
    summary: '{{ $labels.service }}/{{ $labels.method }} fails with unexpected errors.',
  },
  {
    name: 'GatehouseSingleUnexpectedError',
    // A series begins with its first error, and Prometheus sees no increase then.
    expr: `sum by (job, service, method) (increase(${unexpected}[15m]) > 0 or (${unexpected} unless ${unexpected} offset 15m)) > 0`,
    for: '0m',
    severity: 'ticket',
    summary: '{{ $labels.service }}/{{ $labels.method }} failed with an unexpected error.',
  },
  {
    name: 'GatehouseDatabaseSilent',
    expr: 'gatehouse_database_pool_silence_seconds > 10',
    for: '1m',
    severity: 'page',
    summary: '{{ $labels.instance }} gets no connection to PostgreSQL.',
  },
  {
    name: 'GatehouseDatabasePoolFull',
    // Under load the queue is empty between two bursts, so a quarter of the readings decides.
    expr: 'quantile_over_time(0.75, gatehouse_database_pool_waiting[5m]) > 0',
    for: '5m',
    severity: 'ticket',
    summary: 'Work of {{ $labels.instance }} waits for a connection to PostgreSQL.',
  },
  {
    name: 'GatehouseBrokerDisconnected',
    expr: 'gatehouse_broker_connected == 0',
    for: '5m',
    severity: 'ticket',
    summary: '{{ $labels.instance }} is not connected to NATS. Orders continue, and webhooks are late.',
  },
  {
    name: 'GatehouseEventsNotRelayed',
    expr: 'max(gatehouse_events_relay_lag_seconds) > 60',
    for: '5m',
    severity: 'page',
    summary: 'The oldest event that NATS has not confirmed is {{ $value | humanizeDuration }} old.',
  },
  {
    name: 'GatehouseEventsNotSealed',
    expr: 'max(gatehouse_events_seal_lag_seconds) > 300',
    for: '10m',
    severity: 'ticket',
    summary:
      'The oldest unsealed event is {{ $value | humanizeDuration }} old. A change of an unsealed event is not detected.',
  },
  {
    name: 'GatehouseMoneyDayUnbalanced',
    expr: `max by (environment, wallet) (${latest('gatehouse_money_days_unbalanced')}) > 0`,
    for: '15m',
    severity: 'ticket',
    summary:
      'Daily balances of merchants at {{ $labels.wallet }} ({{ $labels.environment }}) differ from the statement of the wallet: {{ $value }}.',
  },
  {
    name: 'GatehouseMoneyDayMissing',
    expr: `max by (environment, wallet) (${latest('gatehouse_money_days_missing')}) > 0`,
    for: '3h',
    severity: 'ticket',
    summary:
      'Days at {{ $labels.wallet }} ({{ $labels.environment }}) whose statements could not be compared: {{ $value }}.',
  },
  {
    name: 'GatehousePaymentsOverdue',
    expr: 'max(gatehouse_work_oldest_due_seconds{kind=~"payment|payer_payment"}) > 60',
    for: '2m',
    severity: 'page',
    summary: 'A payment has waited for a wallets process for {{ $value | humanizeDuration }}.',
  },
  {
    name: 'GatehouseMoneyBackOverdue',
    expr: 'max by (kind) (gatehouse_work_oldest_due_seconds{kind=~"refund|reversal"}) > 900',
    for: '5m',
    severity: 'ticket',
    summary: 'A {{ $labels.kind }} has waited for a wallets process for {{ $value | humanizeDuration }}.',
  },
  {
    name: 'GatehouseMoneyUnsettled',
    expr: `max by (kind) (${latest('gatehouse_money_unsettled')}) > 0`,
    for: '15m',
    severity: 'ticket',
    summary: 'Money of kind {{ $labels.kind }} waits for a person to settle it: {{ $value }}.',
  },
  {
    name: 'GatehouseExpiryOverdue',
    expr: 'max(gatehouse_work_oldest_due_seconds{kind="expiry"}) > 120',
    for: '5m',
    severity: 'ticket',
    summary: 'An order should have been checked for its expiry {{ $value | humanizeDuration }} ago.',
  },
  {
    name: 'GatehouseWalletCircuitOpen',
    expr: 'max by (wallet, environment) (gatehouse_wallet_circuit_open) == 1',
    for: '2m',
    severity: 'page',
    summary:
      '{{ $labels.wallet }} ({{ $labels.environment }}) keeps failing, so its payments wait: its circuit is open.',
  },
  {
    name: 'GatehouseWalletCredentialsRefused',
    expr: 'max by (wallet, environment) (gatehouse_wallet_credentials_refused) == 1',
    for: '2m',
    severity: 'page',
    summary: "{{ $labels.wallet }} ({{ $labels.environment }}) refuses the operator's credentials.",
  },
  {
    name: 'GatehouseWalletFails',
    expr: 'sum by (wallet, environment) (rate(gatehouse_wallet_call_duration_seconds_count{result="failed"}[10m])) / sum by (wallet, environment) (rate(gatehouse_wallet_call_duration_seconds_count[10m])) > 0.2',
    for: '10m',
    severity: 'ticket',
    summary:
      '{{ $value | humanizePercentage }} of the calls to {{ $labels.wallet }} ({{ $labels.environment }}) fail.',
  },
  {
    name: 'GatehouseWalletBusy',
    // One merchant gets three quarters of the payments, and of the reversals: src/wallets/merchant-share.ts. Between the end of one item
    // and the beginning of the next, a reading is below the limit, so a quarter of the readings decides.
    expr: 'quantile_over_time(0.75, gatehouse_wallet_work_in_flight{work!="payer_payments"}[5m]) >= clamp_min(floor(gatehouse_wallet_work_in_flight_limit * 0.75), 1) or quantile_over_time(0.75, gatehouse_wallet_work_in_flight{work="payer_payments"}[5m]) / gatehouse_wallet_work_in_flight_limit > 0.9',
    for: '10m',
    severity: 'ticket',
    summary:
      '{{ $labels.instance }} is close to its limit of {{ $labels.work }} in progress at {{ $labels.wallet }}.',
  },
  {
    name: 'GatehouseCallbacksRefused',
    // A callback with a wrong token or from an address that no source allows is answered 404, as an unknown path is.
    expr: 'sum(rate(gatehouse_http_request_duration_seconds_count{listener="callbacks",route=~"/callbacks/.+",status=~"401|404"}[15m])) > 0',
    for: '15m',
    severity: 'ticket',
    summary: 'Callbacks of wallets are refused. Their payments are found by queries, and later.',
  },
  {
    name: 'GatehouseWaitingRequestsNearLimit',
    // A merchant is refused long before all slots are taken: src/rest-facade/waiting-slots.ts.
    expr: 'increase(gatehouse_waiting_requests_refused_total[10m]) > 0 or gatehouse_waiting_requests / gatehouse_waiting_requests_limit > 0.9',
    for: '5m',
    severity: 'ticket',
    summary: '{{ $labels.instance }} refuses waiting requests, or is close to its limit of them.',
  },
  {
    name: 'GatehouseWebhooksNotIngested',
    expr: 'max(gatehouse_webhook_ingestion_active) == 0 or max(gatehouse_webhook_events_lag_seconds) > 30',
    for: '5m',
    severity: 'page',
    summary: 'No webhooks process ingests events, or the one that does is far behind.',
  },
  {
    name: 'GatehouseWebhooksOverdue',
    expr: 'max(gatehouse_webhook_oldest_due_seconds) > 60',
    for: '5m',
    severity: 'page',
    summary: 'A webhook has been due for {{ $value | humanizeDuration }} and was not sent.',
  },
  {
    name: 'GatehouseWebhooksSlow',
    expr: 'histogram_quantile(0.99, sum by (le) (rate(gatehouse_webhook_commit_to_delivery_seconds_bucket[10m]))) > 5',
    for: '10m',
    severity: 'ticket',
    summary: 'One of a hundred webhooks arrives {{ $value | humanizeDuration }} after its event, or later.',
  },
  {
    name: 'GatehouseWebhooksAbandoned',
    expr: 'max(gatehouse_webhook_deliveries_abandoned_24h) > 0',
    for: '5m',
    severity: 'ticket',
    summary: 'Webhooks that were abandoned in the last 24 hours: {{ $value }}.',
  },
  {
    name: 'GatehouseWebhooksMissing',
    expr: 'max(gatehouse_webhook_gaps_24h) > 0 or max(gatehouse_webhook_deliveries_repaired_24h) > 0',
    for: '5m',
    severity: 'ticket',
    summary: 'The reconciler found events without a webhook.',
  },
  {
    name: 'GatehouseWebhooksUnreconciled',
    expr: 'max(gatehouse_webhook_reconciled_seconds_ago) > 3600',
    for: '5m',
    severity: 'ticket',
    summary: 'The reconciler of webhooks has not finished for {{ $value | humanizeDuration }}.',
  },
  {
    name: 'GatehouseWebhookSecretsAwaited',
    expr: `max(${latest('gatehouse_webhook_awaited_secrets')}) > 0`,
    for: '1d',
    severity: 'ticket',
    summary: 'Webhooks have waited for a day until a signing secret is shown.',
  },
  {
    name: 'GatehouseWebhookEndpointsPaused',
    expr: `max(${latest('gatehouse_webhook_endpoints{state="paused"}')}) > 0`,
    for: '1d',
    severity: 'ticket',
    summary: 'Endpoints of webhooks that have been paused for a day: {{ $value }}.',
  },
  {
    name: 'GatehouseSecretsWithOldKey',
    expr: `max(${latest('gatehouse_webhook_secrets_with_old_key')}) > 0`,
    for: '1h',
    severity: 'ticket',
    summary: 'Signing secrets that are still encrypted with an older key: {{ $value }}.',
  },
  {
    name: 'GatehouseWalletAccountsWithOldKey',
    expr: `max(${latest('gatehouse_wallet_accounts_with_old_key')}) > 0`,
    for: '1h',
    severity: 'ticket',
    summary: 'Own wallet accounts of merchants that are still encrypted with an older key: {{ $value }}.',
  },
  {
    name: 'GatehouseEventLoopBlocked',
    // A block of seconds is one of a thousand measurements between two readings, so only the maximum shows it.
    expr: 'quantile_over_time(0.9, nodejs_eventloop_lag_max_seconds{job=~"gatehouse-.+"}[10m]) > 0.5',
    for: '5m',
    severity: 'ticket',
    summary: '{{ $labels.instance }} of {{ $labels.job }} has too little CPU, or work that blocks it.',
  },
  {
    name: 'GatehouseMemoryHigh',
    expr: [...Map.groupBy(Object.entries(memoryBytes), ([, bytes]) => bytes)]
      .map(([bytes, own]) => {
        const names = own.map(([job]) => job).join('|');
        const of = `{job=~"gatehouse-(${names})"}`;
        // Node limits its heap to half of a container's memory. A process that leaks into its heap ends before its whole memory is high.
        return `process_resident_memory_bytes${of} > ${bytes / 1e6}e6 or nodejs_heap_size_used_bytes${of} > ${bytes / 2e6}e6`;
      })
      .join(' or '),
    for: '15m',
    severity: 'ticket',
    summary: '{{ $labels.instance }} of {{ $labels.job }} uses {{ $value | humanize1024 }}B of memory.',
  },
  {
    name: 'GatehouseFilesNearLimit',
    expr: 'process_open_fds{job=~"gatehouse-.+"} / process_max_fds > 0.8',
    for: '5m',
    severity: 'ticket',
    summary:
      '{{ $labels.instance }} of {{ $labels.job }} uses {{ $value | humanizePercentage }} of its open files.',
  },
  {
    name: 'GatehouseMetricsIncomplete',
    // Without a database, most readings of all processes fail. GatehouseDatabaseSilent reports that.
    expr:
      'count by (job) (count by (job, reading) (increase(gatehouse_metrics_readings_failed_total[5m]) > 0 ' +
      'unless on (job, instance) max_over_time(gatehouse_database_pool_silence_seconds[15m]) > 10))',
    // Longer than the five minutes for which one failure counts, so that a short outage fires nothing.
    for: '10m',
    severity: 'ticket',
    summary: 'Metrics of {{ $labels.job }} are missing: {{ $value }} of its readings failed.',
  },
];
