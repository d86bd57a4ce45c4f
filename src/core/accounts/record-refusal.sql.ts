import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import { publicId } from '../../contract/public-id.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import type { UserRow } from '../database/account-entities.ts';

/** Why somebody was not let in. */
export type RefusalReason = 'WRONG_PASSWORD' | 'WRONG_CODE' | 'KEPT_OUT' | 'TOO_MANY_TRIES';

export interface Refusal {
  readonly reason: RefusalReason;
  /** The address that was tried without regard to case, whether or not anybody has it. */
  readonly emailKey: string;
  /** Who has it; null when nobody does. */
  readonly user: Pick<UserRow, 'id'> | null;
  /** What else is known, such as where it came from. */
  readonly details: Readonly<Record<string, string>>;
}

// One statement, which counts and commits whether or not anybody has the address: who measures how long a refusal takes
// learns nothing of who has an account. The id's time is the database's, as is the hour's.
const text = `
with counted as (
  insert into core.account_tries as t (key, tries, ends_at) values ($1, 1, now() + interval '1 hour')
  on conflict (key) do update set
    tries = case when t.ends_at <= now() then 1 else t.tries + 1 end,
    ends_at = case when t.ends_at <= now() then excluded.ends_at else t.ends_at end
  returning tries
)
insert into core.audit_entries (id, created_at, actor, action, merchant_id, target_id, request_id, details)
select uuidv7(), $2, $3, 'session.refuse', m.merchant_id, $4, $5, jsonb_build_object('email', u.email) || $6::jsonb
from counted, core.users u left join core.memberships m on m.user_id = u.id
where counted.tries = 1 and u.id = $7`;

/**
 * Puts on record that somebody was not let in as a user, with every merchant of the user, for its owners to see; nothing
 * when nobody has the address. The log is for ever, and anybody who knows an address can fail without end: so the first
 * refusal of an hour for each user and reason is recorded, at most four an hour, and the others are lines in core's own
 * log. That one is the one to see: it says that it began, and TOO_MANY_TRIES that it went on.
 */
export async function recordRefusal(
  pool: Pool,
  at: Date,
  by: Actor,
  { reason, emailKey, user, details }: Refusal,
): Promise<void> {
  const key = createHash('sha256').update(`refused/${reason}/${emailKey}`).digest();
  const targetId = user === null ? '' : publicId('usr', user.id);
  const said = JSON.stringify({ reason, ...details });
  const values = [key, at, by.actor, targetId, by.requestId, said, user?.id ?? null];
  await runStatement(pool, { text, values });
}
