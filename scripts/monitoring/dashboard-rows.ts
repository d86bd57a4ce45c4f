/* The rows of Grafana's dashboard in deploy/monitoring/grafana. */
import { failed, merchantApi, shareOrZero } from './queries.ts';

export interface Panel {
  readonly title: string;
  /** The unit, as Grafana names it. */
  readonly unit: 's' | 'reqps' | 'short' | 'percentunit' | 'bytes';
  /** Each with the text of its legend. */
  readonly queries: readonly (readonly [expr: string, legend: string])[];
}

const p = (quantile: number, metric: string, by = 'le'): string =>
  `histogram_quantile(${quantile}, sum by (${by}) (rate(${metric}[5m])))`;
const httpBuckets =
  'gatehouse_http_request_duration_seconds_bucket{listener=~"sandbox|production",route!~".+waiting.+"}';

/** The rows of the dashboard. */
export const rows: readonly { readonly title: string; readonly panels: readonly Panel[] }[] = [
  {
    title: 'Merchant API',
    panels: [
      {
        title: 'Requests by route',
        unit: 'reqps',
        queries: [[`sum by (listener, route) (rate(${merchantApi}[5m]))`, '{{listener}} {{route}}']],
      },
      {
        title: 'Share of requests that fail (5xx)',
        unit: 'percentunit',
        queries: [[shareOrZero(failed(merchantApi), merchantApi), 'failed']],
      },
      {
        title: 'Duration, without waiting requests',
        unit: 's',
        queries: [
          [p(0.5, httpBuckets), 'p50'],
          [p(0.99, httpBuckets), 'p99'],
        ],
      },
      {
        title: 'Waiting requests',
        unit: 'short',
        queries: [
          ['sum(gatehouse_waiting_requests)', 'waiting'],
          ['sum(gatehouse_waiting_requests_limit)', 'limit'],
        ],
      },
    ],
  },
  {
    title: 'Core',
    panels: [
      {
        title: 'Calls by method',
        unit: 'reqps',
        queries: [
          [
            'sum by (service, method) (rate(gatehouse_rpc_duration_seconds_count{job="gatehouse-core"}[5m]))',
            '{{service}}/{{method}}',
          ],
        ],
      },
      {
        title: 'Duration of calls (p99)',
        unit: 's',
        queries: [
          [
            p(0.99, 'gatehouse_rpc_duration_seconds_bucket{job="gatehouse-core"}', 'le, service, method'),
            '{{service}}/{{method}}',
          ],
        ],
      },
      {
        title: 'Due work that no process has leased',
        unit: 'short',
        queries: [['max by (kind) (gatehouse_work_due)', '{{kind}}']],
      },
      {
        title: 'How long it has been due',
        unit: 's',
        queries: [['max by (kind) (gatehouse_work_oldest_due_seconds)', '{{kind}}']],
      },
      {
        title: 'Connections to PostgreSQL',
        unit: 'short',
        queries: [
          ['sum by (job, state) (gatehouse_database_pool_connections)', '{{job}} {{state}}'],
          ['sum by (job) (gatehouse_database_pool_waiting)', '{{job}} waiting'],
        ],
      },
      {
        title: 'Age of the oldest event that NATS has not confirmed',
        unit: 's',
        queries: [['max(gatehouse_events_relay_lag_seconds)', 'lag']],
      },
    ],
  },
  {
    title: 'Wallets',
    panels: [
      {
        title: 'Calls by result',
        unit: 'reqps',
        queries: [
          [
            'sum by (wallet, environment, result) (rate(gatehouse_wallet_call_duration_seconds_count[5m]))',
            '{{wallet}} {{environment}} {{result}}',
          ],
        ],
      },
      {
        title: 'Duration of calls (p99)',
        unit: 's',
        queries: [
          [
            p(0.99, 'gatehouse_wallet_call_duration_seconds_bucket', 'le, wallet, environment'),
            '{{wallet}} {{environment}}',
          ],
        ],
      },
      {
        title: 'Open circuits',
        unit: 'short',
        queries: [
          ['max by (wallet, environment) (gatehouse_wallet_circuit_open)', '{{wallet}} {{environment}}'],
        ],
      },
      {
        title: 'Work in progress, share of the limit of its kind',
        unit: 'percentunit',
        queries: [
          [
            'gatehouse_wallet_work_in_flight / gatehouse_wallet_work_in_flight_limit',
            '{{instance}} {{wallet}} {{environment}} {{work}}',
          ],
        ],
      },
    ],
  },
  {
    title: 'Webhooks',
    panels: [
      {
        title: 'Attempts by result',
        unit: 'reqps',
        queries: [['sum by (result) (rate(gatehouse_webhook_attempts_total[5m]))', '{{result}}']],
      },
      {
        title: 'From the event to the 2xx',
        unit: 's',
        queries: [
          [p(0.5, 'gatehouse_webhook_commit_to_delivery_seconds_bucket'), 'p50'],
          [p(0.99, 'gatehouse_webhook_commit_to_delivery_seconds_bucket'), 'p99'],
        ],
      },
      {
        title: 'How long the oldest due webhook has waited',
        unit: 's',
        queries: [['max(gatehouse_webhook_oldest_due_seconds)', 'due']],
      },
      {
        title: 'Endpoints',
        unit: 'short',
        queries: [['max by (state) (gatehouse_webhook_endpoints)', '{{state}}']],
      },
    ],
  },
  {
    title: 'Processes',
    panels: [
      {
        title: 'CPU',
        unit: 'percentunit',
        queries: [['rate(process_cpu_seconds_total{job=~"gatehouse-.+"}[5m])', '{{job}} {{instance}}']],
      },
      {
        title: 'Memory',
        unit: 'bytes',
        queries: [
          ['process_resident_memory_bytes{job=~"gatehouse-.+"}', '{{job}} {{instance}}'],
          ['nodejs_heap_size_used_bytes{job=~"gatehouse-.+"}', '{{job}} {{instance}}, heap'],
        ],
      },
      {
        title: 'Event loop lag (maximum)',
        unit: 's',
        queries: [['nodejs_eventloop_lag_max_seconds{job=~"gatehouse-.+"}', '{{job}} {{instance}}']],
      },
      {
        title: 'Checkout, dashboard and callbacks: requests',
        unit: 'reqps',
        queries: [
          [
            'sum by (listener, status) (rate(gatehouse_http_request_duration_seconds_count{listener!~"sandbox|production"}[5m]))',
            '{{listener}} {{status}}',
          ],
        ],
      },
    ],
  },
];
