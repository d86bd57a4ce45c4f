import type { EntityManager } from '@mikro-orm/postgresql';
import { lowestStoredIdAt } from '../../contract/public-id.ts';
import type { RecoveryRow } from '../database/recovery-entities.ts';
import type { Environment } from '../domain/order.ts';

/** A recovery, and the end of its lost time. */
type Lost = Pick<RecoveryRow, 'id' | 'lostUntil'>;

/**
 * Whether an account may have taken a payment in the lost time. An account that was added after the restore can be a lost account that was
 * added again. The provider had accepted the credentials of a lost account. So an added account counts once the provider has accepted its
 * credentials, which a promotion requires too. Otherwise any merchant could keep a wallet waiting with made-up credentials.
 */
export const mayHavePayments = "(a.id < ?::uuid or a.state <> 'NEXT' or a.check_result = 'ACCEPTED')";

/**
 * Adds the statements that a recovery reads at each wallet that offers statements: the operator's, and those of merchants' payee accounts
 * whose credentials are stored. An account that was removed before the backup took no payment in the lost time. An account that was added
 * after the backup and removed again does not count.
 */
export async function addStatements(em: EntityManager, { id, lostUntil }: Lost): Promise<void> {
  const addedSince = lowestStoredIdAt(lostUntil);
  await em.execute(
    `
delete from core.recovery_statements s
where s.recovery_id = ? and s.payee <> '' and s.state <> 'READ' and not exists (
  select from core.payee_accounts p
  left join core.wallet_accounts a on a.merchant_id = p.merchant_id and a.id = p.wallet_account_id
  where p.environment = s.environment and p.wallet = s.wallet and p.payee = s.payee
    and (p.wallet_account_id < ?::uuid or a.id is not null)
)`,
    [id, addedSince],
  );
  await em.execute(
    `
insert into core.recovery_statements (recovery_id, environment, wallet, payee, state)
select w.recovery_id, w.environment, w.wallet, known.payee, 'READING'
from core.recovery_wallets w
cross join lateral (
  select '' as payee
  union
  select p.payee from core.payee_accounts p
  join core.wallet_accounts a on a.merchant_id = p.merchant_id and a.id = p.wallet_account_id
  where p.environment = w.environment and p.wallet = w.wallet and ${mayHavePayments}
) known
where w.recovery_id = ? and w.obstacle in ('', 'own_accounts')
on conflict do nothing`,
    [addedSince, id],
  );
}

interface StatementName {
  readonly environment: Environment;
  readonly wallet: string;
  readonly payee: string;
}

/** One day of a statement that still has to be read, with the results of its readings. */
export interface ReadDay extends StatementName {
  /** As 2026-01-31, UTC. */
  readonly day: string;
  /** Whether a completed reading covers the day as far as the recovery needs it. */
  readonly isDone: boolean;
  /** Whether a reading is under way, or waits for its next try. */
  readonly isOpen: boolean;
  /** Whether two readings or more have failed. */
  readonly isFailing: boolean;
  /** Why the latest failed reading failed; '' without one. */
  readonly detail: string;
  /** Whether no account with the payee has credentials any more. */
  readonly isRemoved: boolean;
}

/** The days of statements that still have to be read. A reading counts if it began after `since` and reaches to `until`. */
export const readStatementDays = (
  em: EntityManager,
  recoveryId: string,
  dates: readonly string[],
  { since, until }: { readonly since: Date; readonly until: Date },
): Promise<ReadDay[]> =>
  em.execute<ReadDay[]>(
    `
select s.environment, s.wallet, s.payee, asked.day::text as day,
  coalesce(bool_or(r.status = 'COMPLETED' and r.period_to >= least(asked.day + interval '1 day', ?::timestamptz)), false) as "isDone",
  coalesce(bool_or(r.status in ('WAITING', 'RUNNING')), false) as "isOpen",
  coalesce(bool_or(r.detail <> '' and (r.status = 'FAILED' or r.tries - (r.status = 'RUNNING')::integer >= 2)), false) as "isFailing",
  coalesce((array_agg(r.detail order by r.updated_at desc) filter (where r.detail <> ''))[1], '') as detail,
  s.payee <> '' and not exists (
    select from core.payee_accounts p
    join core.wallet_accounts a on a.merchant_id = p.merchant_id and a.id = p.wallet_account_id
    where p.environment = s.environment and p.wallet = s.wallet and p.payee = s.payee
  ) as "isRemoved"
from core.recovery_statements s
cross join unnest(?::date[]) as asked (day)
left join core.reconciliations r
  on r.wallet = s.wallet || case when s.payee = '' then '' else '/' || s.payee end
  and r.environment = s.environment and r.day = asked.day and r.created_at >= ?::timestamptz
where s.recovery_id = ? and s.state <> 'READ'
group by s.environment, s.wallet, s.payee, asked.day
order by s.environment, s.wallet, s.payee, asked.day`,
    [until, `{${dates.join(',')}}`, since, recoveryId],
  );

/** When the next reading of a statement's day is due. */
export interface NextReading extends StatementName {
  readonly dueAt: Date;
}

/** The statements of a recovery that have readings which wait for their time. */
export async function readNextReadings(em: EntityManager, { id, lostUntil }: Lost): Promise<NextReading[]> {
  const rows = await em.execute<(StatementName & { readonly dueAt: string | Date })[]>(
    `
select s.environment, s.wallet, s.payee, min(r.due_at) as "dueAt"
from core.recovery_statements s
join core.reconciliations r
  on r.wallet = s.wallet || case when s.payee = '' then '' else '/' || s.payee end
  and r.environment = s.environment and r.due_at is not null and r.status = 'WAITING' and r.created_at >= ?::timestamptz
where s.recovery_id = ? and s.state <> 'READ'
group by s.environment, s.wallet, s.payee`,
    [lostUntil, id],
  );
  return rows.map((row) => ({ ...row, dueAt: new Date(row.dueAt) }));
}

/** A wallet at which merchants have accounts of their own. */
export interface OwnAccounts {
  readonly environment: Environment;
  readonly wallet: string;
  /** Whether the payee of one of them is not recorded yet. Core records it within a minute. */
  readonly hasUnnamed: boolean;
}

export const readOwnAccounts = (em: EntityManager, { lostUntil }: Lost): Promise<OwnAccounts[]> =>
  em.execute<OwnAccounts[]>(
    `
select a.environment, a.wallet, bool_or(p.payee is null) as "hasUnnamed"
from core.wallet_accounts a
left join core.payee_accounts p on p.merchant_id = a.merchant_id and p.wallet_account_id = a.id
where ${mayHavePayments}
group by a.environment, a.wallet`,
    [lowestStoredIdAt(lostUntil)],
  );

/**
 * Whether merchants of this gateway have ever had accounts of their own. The payees of removed ones remain. An account that was added since the
 * restore does not count. Otherwise any merchant could make all wallets wait.
 */
export async function haveMerchantsHadAccounts(
  em: EntityManager,
  { lostUntil }: Pick<Lost, 'lostUntil'>,
): Promise<boolean> {
  const addedSince = lowestStoredIdAt(lostUntil);
  const [row] = await em.execute<{ used: boolean }[]>(
    `
select exists (select from core.payee_accounts where wallet_account_id < ?::uuid)
  or exists (select from core.wallet_accounts where id < ?::uuid) as used`,
    [addedSince, addedSince],
  );
  return row?.used === true;
}
