import type { Client } from '@connectrpc/connect';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { OrderService } from '../../gen/gatehouse/v1/order_service_pb.js';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { EventBus } from '../../platform/nats/nats-event-bus.ts';
import type { Database } from '../database/database.ts';
import { isWebhookEndpoint } from '../database/webhook-endpoint.sql.ts';
import type { StoredFinding } from './findings.sql.ts';
import { isFirstOfItsOrder, nextOf } from '../delivery/head-rows.sql.ts';
import { SecretUnusableError } from '../secrets/secret-cipher.ts';
import type { SealedSecret, SecretCipher, SecretName } from '../secrets/secret-cipher.ts';
import { intakeReader, reconcileReader } from '../intake/reader-position.ts';

/** The state of the pipeline from events to merchants, over all merchants and processes. Counts end at 10,000. */
export interface PipelineStatus {
  /** Whether any process ingests events now. */
  readonly isIngesting: boolean;
  /** When the latest event was ingested, or when core last reported no more events. */
  readonly intakeAt: Date | undefined;
  /** Committed events that are not ingested yet; undefined when core did not answer. */
  readonly eventLag: number | undefined;
  /** When the oldest of those happened. */
  readonly oldestEventAt: Date | undefined;
  /** Whether the broker is connected, and answers. */
  readonly isBrokerConnected: boolean;
  /** Pending deliveries that are due on open endpoints. */
  readonly dueCount: number;
  /** The due time of the oldest of those that no process is sending, or undefined. */
  readonly oldestDueAt: Date | undefined;
  readonly pendingCount: number;
  /** Open endpoints with pending deliveries. */
  readonly activeEndpoints: number;
  readonly restingEndpoints: number;
  readonly pausedEndpoints: number;
  /** Deliveries abandoned in the last 24 hours. */
  readonly givenUpCount: number;
  /** How many of those are tests. */
  readonly givenUpTestCount: number;
  /** For how long the others were tried, in whole milliseconds; undefined when there are none. */
  readonly triedMs: { readonly shortest: number; readonly longest: number } | undefined;
  /**
   * Signing secrets that the first key did not encrypt. A secret under the first key's name may have been encrypted with an earlier value of
   * that key. Only the oldest such secrets are tried, because a changed value opens none of them.
   */
  readonly secretsWithOldKey: number;
  /** Merchants' environments and webhook endpoints with deliveries that wait until a signing secret is shown. */
  readonly awaitedSecretCount: number;
  /** When the reconciler last completed. */
  readonly reconciledAt: Date | undefined;
  /** Until then: when this process began to watch for it. */
  readonly unreconciledSince: Date | undefined;
  /** Missing deliveries that the reconciler created in the last 24 hours. */
  readonly repairedCount: number;
  /** Its findings of that time that it could not repair; the latest 20. */
  readonly gaps: readonly StoredFinding[];
  /** The number of all those findings. */
  readonly gapCount: number;
}

export interface PipelineStatusParts {
  readonly database: Database;
  readonly orders: Pick<Client<typeof OrderService>, 'listOrderEvents'>;
  readonly cipher: Pick<SecretCipher, 'keyId' | 'open'>;
  readonly broker: Pick<EventBus, 'isAnswering'>;
  readonly now: () => Date;
}

/** The intake reads at least every ten seconds. When its process exits, another takes over within a few seconds. */
const intakeSilenceMs = 30_000;
const countLimit = 10_000;
const eventPageSize = 500;
/** The caller waits for core's events and for the broker no longer than this. */
const patienceMs = 2_000;

/** Reads the status. @throws the database's errors. While core is unavailable, `eventLag` is undefined. */
export function createPipelineStatus(parts: PipelineStatusParts): () => Promise<PipelineStatus> {
  const startedAt = parts.now();
  return async () => {
    const now = parts.now();
    const [isBrokerConnected, readers, lanes, deliveries, others] = await Promise.all([
      parts.broker.isAnswering(patienceMs),
      readReaders(parts.database),
      countLanes(parts.database),
      countDeliveries(parts.database, now),
      readOthers(parts, now),
    ]);
    const intake = readers.get(intakeReader);
    const reconciler = readers.get(reconcileReader);
    const lag = await countEvents(parts, intake?.cursor ?? '');
    return {
      isIngesting: intake !== undefined && now.getTime() - intake.readAt.getTime() < intakeSilenceMs,
      intakeAt: intake?.readAt,
      eventLag: lag?.count,
      oldestEventAt: lag?.oldestAt,
      isBrokerConnected,
      reconciledAt: reconciler?.readAt,
      unreconciledSince: reconciler === undefined ? startedAt : undefined,
      ...lanes,
      ...deliveries,
      ...others,
    };
  };
}

async function readReaders({ pool }: Database) {
  const rows = await runStatement<{ reader: string; cursor: string; read_at: Date }>(pool, {
    text: 'select reader, cursor, read_at from webhooks.event_readers',
  });
  return new Map(rows.map(({ reader, cursor, read_at: readAt }) => [reader, { cursor, readAt }]));
}

/** When the reconciler last completed; undefined before its first run. */
export async function readReconciledAt(database: Database): Promise<Date | undefined> {
  return (await readReaders(database)).get(reconcileReader)?.readAt;
}

async function countLanes({ pool }: Database) {
  const [row] = await runStatement<{ active: string; resting: string; paused: string; awaited: string }>(
    pool,
    {
      text: `
select
  (select count(*) from webhooks.lanes
   where next_due_at is not null and paused_at is null and resting_until is null)::text as active,
  (select count(*) from webhooks.lanes
   where resting_until is not null and paused_at is null)::text as resting,
  (select count(*) from webhooks.lanes where paused_at is not null)::text as paused,
  (select count(distinct (merchant_id, environment, case when ${isWebhookEndpoint('endpoint')} then endpoint end))
   from webhooks.lanes where awaits_secret_since is not null)::text as awaited`,
    },
  );
  return {
    activeEndpoints: Number(row?.active ?? 0),
    restingEndpoints: Number(row?.resting ?? 0),
    pausedEndpoints: Number(row?.paused ?? 0),
    awaitedSecretCount: Number(row?.awaited ?? 0),
  };
}

const deliveryCounts = `
with due as (
  -- A receiver that is slow, or gets many webhooks again, has as many in flight as its merchant may have. The rest of its webhooks is
  -- late, although processes send as they should.
  select head.due_at, coalesce(l.leased_until > $1
    and greatest(l.last_success_at, l.last_failure_at) > $1::timestamptz - interval '1 minute', false) as is_served
  from webhooks.lanes l
  cross join lateral (
    select d.due_at from (${nextOf('l', { which: 'd.due_at <= $1', within: '$2' })}
    ) d
    where ${isFirstOfItsOrder}
  ) head
  where l.next_due_at <= $1 and l.paused_at is null and l.resting_until is null
  limit $2
), given_up as (
  select event_type = 'webhook.test' as is_test,
    extract(epoch from given_up_at - round_started_at) * 1000 as tried_ms
  from webhooks.deliveries d
  where given_up_at > $1::timestamptz - interval '24 hours'
    -- Nobody needs to act on what a merchant no longer wants.
    and not exists (
      select from webhooks.webhook_endpoints e
      where e.merchant_id = d.merchant_id and e.id = d.endpoint and e.deleted_at is not null
    )
  limit $2
)
select count(*)::text as due, min(due_at) filter (where not is_served) as oldest,
  (select count(*) from (
    select from webhooks.deliveries where state = 'PENDING' limit $2) p)::text as pending,
  (select count(*) from given_up)::text as given_up,
  (select count(*) from given_up where is_test)::text as given_up_tests,
  (select round(min(tried_ms)) from given_up where not is_test)::text as shortest,
  (select round(max(tried_ms)) from given_up where not is_test)::text as longest
from due`;

/**
 * Reads only the deliveries of open lanes, so that a million rows behind an open circuit cost nothing. A delivery is not due
 * while an earlier one of its order is pending.
 */
async function countDeliveries({ pool }: Database, now: Date) {
  const [row] = await runStatement<{
    due: string;
    oldest: Date | null;
    pending: string;
    given_up: string;
    given_up_tests: string;
    shortest: string | null;
    longest: string | null;
  }>(pool, {
    text: deliveryCounts,
    values: [now, countLimit],
  });
  return {
    dueCount: Number(row?.due ?? 0),
    oldestDueAt: row?.oldest ?? undefined,
    pendingCount: Number(row?.pending ?? 0),
    givenUpCount: Number(row?.given_up ?? 0),
    givenUpTestCount: Number(row?.given_up_tests ?? 0),
    triedMs:
      row?.shortest == null ? undefined : { shortest: Number(row.shortest), longest: Number(row.longest) },
  };
}

const triedSecrets = 100;

async function readOthers({ database: { pool }, cipher }: PipelineStatusParts, now: Date) {
  const [[row], oldest, gaps] = await Promise.all([
    runStatement<{ old_key: string; repaired: string; gaps: string }>(pool, {
      text: `
with lately as (
  select is_repaired from webhooks.findings where found_at > $1::timestamptz - interval '24 hours'
)
select (select count(*) from webhooks.signing_secrets where key_id <> $2)::text as old_key,
  (select count(*) from lately where is_repaired)::text as repaired,
  (select count(*) from lately where not is_repaired)::text as gaps`,
      values: [now, cipher.keyId],
    }),
    runStatement<SealedSecret & SecretName & Record<string, unknown>>(pool, {
      text: `
select merchant_id as "merchantId", environment, id, key_id as "keyId", sealed
from webhooks.signing_secrets where key_id = $1 order by created_at limit ${triedSecrets}`,
      values: [cipher.keyId],
    }),
    runStatement<StoredFinding & Record<string, unknown>>(pool, {
      text: `
select code, merchant_id as "merchantId", order_id as "orderId", event_id as "eventId", facts, detail, found_at as "foundAt"
from webhooks.findings
where found_at > $1::timestamptz - interval '24 hours' and not is_repaired
order by found_at desc
limit 20`,
      values: [now],
    }),
  ]);
  return {
    secretsWithOldKey: Number(row?.old_key ?? 0) + oldest.filter((each) => !canOpen(cipher, each)).length,
    repairedCount: Number(row?.repaired ?? 0),
    gapCount: Number(row?.gaps ?? 0),
    gaps,
  };
}

function canOpen(cipher: Pick<SecretCipher, 'open'>, secret: SealedSecret & SecretName): boolean {
  try {
    cipher.open(secret, secret);
    return true;
  } catch (error) {
    if (error instanceof SecretUnusableError) return false;
    throw error;
  }
}

/** Counts the events after the intake's position. Usually that is one empty page. */
async function countEvents({ orders }: PipelineStatusParts, cursor: string) {
  const signal = AbortSignal.timeout(patienceMs);
  let counted: { readonly count: number; readonly oldestAt: Date | undefined } | undefined;
  let afterCursor = cursor;
  try {
    for (let hasMore = true; hasMore && (counted?.count ?? 0) < countLimit;) {
      const page = await orders.listOrderEvents({ afterCursor, pageSize: eventPageSize }, { signal });
      const occurredAt = page.entries[0]?.event?.occurTime;
      counted = {
        count: (counted?.count ?? 0) + page.entries.length,
        oldestAt: counted?.oldestAt ?? (occurredAt && timestampDate(occurredAt)),
      };
      afterCursor = page.nextCursor;
      hasMore = page.hasMore;
    }
  } catch {
    // Another check reports a core that does not answer. The rest of the status is still useful.
  }
  return counted;
}
