import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import { isWebhookEndpoint } from '../database/webhook-endpoint.sql.ts';
import { statusOf } from '../delivery/after-attempt.ts';
import type { AttemptResult, Environment, LaneKey } from '../domain/delivery.ts';

/** The state of an endpoint, as `gatehouse.v1.EndpointState` names it. RESTING: its circuit is open. OPEN: it is active. */
export type EndpointState = 'PAUSED' | 'RESTING' | 'OPEN';

export interface StoredEndpoint extends LaneKey {
  readonly state: EndpointState;
  readonly consecutiveFailures: number;
  readonly probeAt: Date | null;
  readonly pausedAt: Date | null;
  readonly pauseReason: string;
  readonly lastSuccessAt: Date | null;
  readonly lastFailureAt: Date | null;
  readonly lastResult: string;
  /** The HTTP status of the latest attempt; 0 without an answer. */
  readonly lastStatusCode: number;
  /** How the latest attempt ended; null before the first. */
  readonly lastAttemptResult: AttemptResult | null;
  /** When the first of its consecutive failures ended. */
  readonly failingSince: Date | null;
  /** True when it is paused because it answered 410, and false when a user paused it. */
  readonly pausedByAnswer: boolean;
  /** Whether a process sends to it now. */
  readonly isHeld: boolean;
  /** Counted up to 10,000. */
  readonly pendingCount: bigint;
  /** The URL of a webhook endpoint; null for orders' webhook_urls. */
  readonly url: string | null;
  /** Whether it is a webhook endpoint that was deleted. */
  readonly isDeleted: boolean;
}

export interface EndpointFilter {
  readonly merchantId: string | undefined;
  readonly environment: Environment | undefined;
  readonly endpoint: string | undefined;
  readonly onlyInactive: boolean;
  /** Whether webhook endpoints are listed too. */
  readonly withWebhookEndpoints: boolean;
  /** Only endpoints after this position, as `positionOf` returns it. */
  readonly after: string | undefined;
  readonly limit: number;
}

export interface EndpointReader {
  /** Paused ones, then those with an open circuit, then the others; each by merchant, environment and endpoint. */
  readonly list: (filter: EndpointFilter) => Promise<StoredEndpoint[]>;
  /** Those of the lanes that exist, with one statement. */
  readonly find: (lanes: readonly LaneKey[]) => Promise<StoredEndpoint[]>;
}

const states = ['PAUSED', 'RESTING', 'OPEN'] as const satisfies EndpointState[];

/** The position of an endpoint in the list of all. */
export const positionOf = ({ state, merchantId, environment, endpoint }: StoredEndpoint): string =>
  `${states.indexOf(state)} ${merchantId} ${environment} ${endpoint}`;

export const isPosition = (text: string): boolean => /^[012] \S+ (?:SANDBOX|PRODUCTION) \S+$/.test(text);

const rank = `case when paused_at is not null then 0 when resting_until is not null then 1 else 2 end`;

/** The endpoints of one page. Only the deliveries of these are counted. */
const selectEndpoints = (conditions: string): string => `
select l.merchant_id as "merchantId", l.environment, l.endpoint, l.rank, l.consecutive_failures as "consecutiveFailures",
  l.resting_until as "probeAt", l.paused_at as "pausedAt", l.pause_reason as "pauseReason",
  l.last_success_at as "lastSuccessAt", l.last_failure_at as "lastFailureAt", l.last_result as "lastResult",
  l.last_attempt_result as "lastAttemptResult", l.failing_since as "failingSince", l.paused_by_answer as "pausedByAnswer",
  coalesce(l.leased_until > now(), false) as "isHeld", pending.count as "pendingCount",
  e.url, e.deleted_at is not null as "isDeleted"
from (
  select *, ${rank} as rank from webhooks.lanes where ${conditions}
) l
left join webhooks.webhook_endpoints e on e.merchant_id = l.merchant_id and e.id = l.endpoint
cross join lateral (
  select count(*) as count from (
    select from webhooks.deliveries d
    where d.merchant_id = l.merchant_id and d.environment = l.environment and d.endpoint = l.endpoint
      and d.state = 'PENDING'
    limit 10000
  ) counted
) pending
order by l.rank, l.merchant_id, l.environment, l.endpoint`;

const find = selectEndpoints(`(merchant_id, environment, endpoint) in (
  select merchant_id, environment, endpoint
  from unnest($1::text[], $2::webhooks.environment[], $3::text[]) as wanted (merchant_id, environment, endpoint)
)`);

const selectListed = (condition: string): string =>
  selectEndpoints(`(merchant_id, environment, endpoint) in (
    select merchant_id, environment, endpoint from webhooks.lanes
    where ($1::text is null or merchant_id = $1)
      and ($2::webhooks.environment is null or environment = $2)
      and ($9::text is null or endpoint = $9)
      and ${condition}
      and (not (${isWebhookEndpoint('endpoint')}) or ($8 and exists (
        select from webhooks.webhook_endpoints e
        where e.merchant_id = lanes.merchant_id and e.id = lanes.endpoint and e.deleted_at is null
      )))
      and ($3::int is null or (${rank}, merchant_id, environment, endpoint) > ($3, $4, $5::webhooks.environment, $6))
    order by ${rank}, merchant_id, environment, endpoint
    limit $7
  )`);

// The condition and the sort order match the partial index, so that a page reads only the rows that it returns.
const listAll = selectListed('true');
const listInactive = selectListed('(paused_at is not null or resting_until is not null)');

interface Row
  extends Omit<StoredEndpoint, 'state' | 'pendingCount' | 'lastStatusCode'>, Record<string, unknown> {
  readonly rank: number;
  readonly pendingCount: string;
}

/** The statement that reads one page. */
export function listStatement(filter: EndpointFilter) {
  const { merchantId, environment, endpoint, onlyInactive, withWebhookEndpoints, after, limit } = filter;
  const [rank = null, ...key] = after?.split(' ') ?? [];
  const [afterMerchant = null, afterEnvironment = null, afterEndpoint = null] = key;
  return {
    text: onlyInactive ? listInactive : listAll,
    values: [
      merchantId ?? null,
      environment ?? null,
      rank,
      afterMerchant,
      afterEnvironment,
      afterEndpoint,
      limit,
      withWebhookEndpoints,
      endpoint ?? null,
    ],
  };
}

export function createEndpointReader(pool: Pool): EndpointReader {
  return {
    async list(filter) {
      const rows = await runStatement<Row>(pool, listStatement(filter));
      return rows.map(endpointOf);
    },
    async find(lanes) {
      const rows = await runStatement<Row>(pool, {
        text: find,
        values: [
          lanes.map(({ merchantId }) => merchantId),
          lanes.map(({ environment }) => environment),
          lanes.map(({ endpoint }) => endpoint),
        ],
      });
      return rows.map(endpointOf);
    },
  };
}

const endpointOf = ({ rank, pendingCount, ...row }: Row): StoredEndpoint => ({
  ...row,
  state: states[rank] ?? 'OPEN',
  pendingCount: BigInt(pendingCount),
  lastStatusCode: statusOf(row.lastAttemptResult, row.lastResult),
});
