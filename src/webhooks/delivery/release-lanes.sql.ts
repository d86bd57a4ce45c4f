import type { QueryResultRow } from 'pg';
import { bulkStatement, column, rowList } from '../../platform/database/bulk-statement.ts';
import type { Statement } from '../../platform/database/run-statement.ts';
import { isWebhookEndpoint } from '../database/webhook-endpoint.sql.ts';
import type { LaneKey } from '../domain/delivery.ts';
import { headsWithin, isFirstOfItsOrder, nextOf } from './head-rows.sql.ts';
import { laneColumns, laneOf, laneText } from './lane-arrays.ts';
import type { LaneRow } from './lane-arrays.ts';

/** A lane to release, and the minimum time before its next lease. */
export interface LaneRelease {
  readonly lane: LaneKey;
  /** No process leases the lane for at least this time. */
  readonly delayMs: number;
  /** No signing secret was found for its deliveries. The lane is not due until one is shown. */
  readonly awaitsSecret: boolean;
}

/**
 * The remaining deliveries are read by a separate statement, after another one has locked the lane. A delivery
 * committed earlier is visible to that statement. A delivery committed later wakes the lane after this transaction. A
 * lane whose first delivery is due already becomes due now, not at the earlier time of the delivery. So lanes that have waited longer come first.
 * A lane without a signing secret is not due until the first secret is shown. The transaction shares the lock of its secrets.
 * So a secret that was committed earlier is visible to this statement, and one that is created later wakes the lane.
 * If all examined deliveries wait for earlier ones of their orders, the lane is due now, and `postponeWaiting` shows what is behind them.
 */
const statement = bulkStatement(
  'release-lanes',
  {
    released: rowList<LaneRelease>({
      ...laneColumns<LaneRelease>(({ lane }) => lane),
      delay_ms: column('float8', ({ delayMs }) => delayMs),
      awaits_secret: column('boolean', ({ awaitsSecret }) => awaitsSecret),
    }),
  },
  (sql) => `
update webhooks.lanes l
set lease_id = null, leased_until = null,
    awaits_secret_since = case when secret.is_missing and left_over.due_at is not null
      then coalesce(l.awaits_secret_since, now()) end,
    next_due_at = case when left_over.due_at is not null and not secret.is_missing then greatest(
      left_over.due_at, l.resting_until,
      date_trunc('milliseconds', now() + released.delay_ms * interval '1 millisecond')
    ) end
from ${sql.released}
left join lateral (
  select d.due_at from (${nextOf('released')}
  ) d
  where ${isFirstOfItsOrder}
  order by d.due_at, d.id
  limit 1
) head on true
cross join lateral (
  select head.due_at is null and exists (${nextOf('released')} offset ${headsWithin - 1}) as is_hidden
  offset 0 -- so that it is evaluated once
) others
cross join lateral (
  select case when others.is_hidden then date_trunc('milliseconds', now()) else head.due_at end as due_at
) left_over
cross join lateral (
  select released.awaits_secret and not exists (
    select from webhooks.signing_secrets s
    where s.merchant_id = released.merchant_id and s.environment = released.environment
      and s.endpoint_id = case when ${isWebhookEndpoint('released.endpoint')} then released.endpoint else '' end
  ) as is_missing
) secret
where l.merchant_id = released.merchant_id and l.environment = released.environment and l.endpoint = released.endpoint
returning l.merchant_id, l.environment, l.endpoint, l.next_due_at <= now() and l.paused_at is null as is_due,
  others.is_hidden as are_heads_hidden`,
);

interface ReleasedRow extends LaneRow {
  readonly is_due: boolean | null;
  readonly are_heads_hidden: boolean;
}

/** Releases lanes that this transaction has locked and verified as its own. */
export const releasingLanes = (releases: readonly LaneRelease[]): Statement =>
  statement.with({ released: releases });

/** The released lanes that are due, and those whose heads are hidden, from the statement's rows (`laneText`). */
export const lanesAfter = (
  rows: readonly QueryResultRow[],
): { readonly due: ReadonlySet<string>; readonly hidden: ReadonlySet<string> } => {
  const textsOf = (is: (row: ReleasedRow) => boolean | null) =>
    new Set(
      (rows as readonly ReleasedRow[]).filter((row) => is(row) === true).map((row) => laneText(laneOf(row))),
    );
  return {
    due: textsOf((row) => row.is_due),
    hidden: textsOf((row) => row.are_heads_hidden),
  };
};
