import type pg from 'pg';
import { intakeReader, reconcileReader } from '../../src/webhooks/intake/reader-position.ts';
import { publicId } from '../../test/support/ids.ts';
import { copiedXid, differingTables } from './copy-rows.ts';
import type { Databases } from './copy-rows.ts';

type Reason = { readonly reason: string };

/** The reasons why a merchant cannot move now; empty when it can. */
export async function obstaclesOf(databases: Databases, merchantId: string): Promise<string[]> {
  const { source, target } = databases;
  const inSource = await source.query<Reason>(
    `select reason from (values
       ('the merchant does not exist', not exists (select from core.merchants where id = $1)),
       ('a recovery is open', exists (select from core.recoveries where finished_at is null)),
       ('it has payments that payers started', exists (select from core.payer_payments where merchant_id = $1)),
       ('it has stray payments that are not decided',
         exists (select from core.stray_payments where merchant_id = $1 and status = 'REVERSAL_DUE')),
       ('its personal data is to be erased', exists (select from core.erasures_due where merchant_id = $1)),
       ('its personal data was erased', exists (select from core.erased_orders where merchant_id = $1)),
       ('a redelivery runs', exists (select from webhooks.redeliveries where merchant_id = $2 and ended_at is null))
     ) as each (reason, holds) where holds`,
    [merchantId, publicId('mer', merchantId)],
  );
  const inTarget = await target.query<Reason>(
    `select reason from (values
       ('a recovery of the target is open', exists (select from core.recoveries where finished_at is null)),
       ('the relay of the target has published no event', not exists (select from core.event_relay where xid > $1::xid8)),
       ('the target has sealed no event', not exists (select from core.event_seal where xid > $1::xid8)),
       ('the target has counted no event', not exists (select from core.order_counts_cursor where xid > $1::xid8)),
       ('webhooks of the target has read no event',
         not exists (select from webhooks.event_readers where reader = $2 and cursor <> ''))
     ) as each (reason, holds) where holds`,
    [copiedXid, intakeReader],
  );
  const tables = await differingTables(databases);
  return [
    ...[...inSource.rows, ...inTarget.rows].map(({ reason }) => reason),
    ...tables.map((table) => `${table} has other columns in the target`),
  ];
}

/** The lock of the round that compares events with deliveries. */
const reconcileLock = 7_142_103;

/**
 * Puts the reader that looks for missing deliveries behind the copied events. A reader that begins at the first event would send the
 * webhooks of the whole history again. Waits for its running round.
 */
export async function passCopies(target: pg.ClientBase): Promise<void> {
  await target.query('begin');
  try {
    await target.query('select pg_advisory_xact_lock($1::bigint)', [reconcileLock]);
    await target.query(
      `insert into webhooks.event_readers (reader, cursor, read_at)
       select $1, cursor, now() from webhooks.event_readers where reader = $2
       on conflict (reader) do update set cursor = excluded.cursor where event_readers.cursor = ''`,
      [reconcileReader, intakeReader],
    );
    await target.query('commit');
  } catch (error) {
    await target.query('rollback');
    throw error;
  }
}
