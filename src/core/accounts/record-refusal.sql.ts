import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import { publicId } from '../../contract/public-id.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import type { UserRow } from '../database/account-entities.ts';

/** Why a sign-in was refused. */
export type RefusalReason = 'WRONG_PASSWORD' | 'WRONG_CODE' | 'KEPT_OUT' | 'TOO_MANY_TRIES';

export interface Refusal {
  readonly reason: RefusalReason;
  /** The tried address in lower case, whether or not it has an account. */
  readonly emailKey: string;
  /** The account of the address; null when there is none. */
  readonly user: Pick<UserRow, 'id'> | null;
  /** Other details, such as the origin. */
  readonly details: Readonly<Record<string, string>>;
}

// A count that ends later than a new one was begun before the database's clock was set back. It would keep refusals out of the log until then.
const isPresent = "t.ends_at > now() and t.ends_at <= now() + interval '1 hour 1 minute'";

// One statement, which always counts and commits. So the duration of a refusal does not reveal whether an account
// exists. The times of the id and of the hour are the database's.
const text = `
with counted as (
  insert into core.account_tries as t (key, tries, ends_at) values ($1, 1, now() + interval '1 hour')
  on conflict (key) do update set
    tries = case when ${isPresent} then t.tries + 1 else 1 end,
    ends_at = case when ${isPresent} then t.ends_at else excluded.ends_at end
  returning tries
)
insert into core.audit_entries (id, created_at, actor, action, merchant_id, target_id, request_id, details)
select uuidv7(), $2, $3, 'session.refuse', m.merchant_id, $4, $5, jsonb_build_object('email', u.email) || $6::jsonb
from counted, core.users u left join core.memberships m on m.user_id = u.id
where counted.tries = 1 and u.id = $7`;

/**
 * Records a refused sign-in with every merchant of the user, for its owners. Does nothing for an address without an
 * account. The log is permanent, and anyone who knows an address can fail without end. So only the first refusal per
 * user, reason and hour is recorded, at most four an hour. The others are lines in core's own log. The first one shows
 * the start of an attack, and TOO_MANY_TRIES shows that it continued.
 */
export async function recordRefusal(
  pool: Pool,
  at: Date,
  by: Actor,
  { reason, emailKey, user, details }: Refusal,
): Promise<void> {
  const key = createHash('sha256').update(`refused/${reason}/${emailKey}`).digest();
  const targetId = user === null ? '' : publicId('usr', user.id);
  const entryDetails = JSON.stringify({ reason, ...details });
  const values = [key, at, by.actor, targetId, by.requestId, entryDetails, user?.id ?? null];
  await runStatement(pool, { text, values });
}
