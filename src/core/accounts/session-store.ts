import { DashboardSessionRow, UserRow } from '../database/account-entities.ts';
import { publicId, storedId } from '../../contract/public-id.ts';
import type { PublicId } from '../../contract/public-id.ts';
import { rpcError } from '../../contract/error-reason.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import type { AccountParts } from './account-parts.ts';
import { countTry } from './count-try.sql.ts';
import { endUserSessions } from './end-user-sessions.ts';
import { requireUser, userNotFound } from './find-user.ts';
import { actingAsUser, recordUserAudit } from './record-user-audit.ts';
import { readUser } from './user-reader.ts';
import type { User } from './user-reader.ts';

/** A session of a dashboard visitor. */
export interface Session {
  /** Undefined before the sign-in. */
  readonly userId: PublicId<'usr'> | undefined;
  readonly data: Uint8Array;
  readonly expiresAt: Date;
}

export interface SessionStore {
  /** Undefined for a session that does not exist or has ended, and for a disabled user. */
  readonly read: (hash: Buffer) => Promise<{ session: Session; user: User | undefined } | undefined>;
  /**
   * An ended session stays ended. A session that is new to its user is refused if the user's credentials have another version than the
   * given one, which may be empty. Errors: NOT_FOUND USER_NOT_FOUND; ABORTED CHANGED_MEANWHILE.
   */
  readonly write: (hash: Buffer, session: Session, passwordVersion: string) => Promise<void>;
  readonly end: (hash: Buffer) => Promise<void>;
  /** Ends the session at its user's request, and records that. */
  readonly signOut: (hash: Buffer, by: Actor) => Promise<void>;
  /** Errors: NOT_FOUND USER_NOT_FOUND. */
  readonly endAllBut: (userId: PublicId<'usr'>, keepHash: Buffer, by: Actor) => Promise<void>;
  /** Records that the user has sent a form. Returns whether that was recorded within the last day. */
  readonly useForm: (userId: PublicId<'usr'>, form: string) => Promise<boolean>;
}

/** The longest time from the writing of a session until it expires. */
export const longestSessionMs = 60 * 60_000;

const formSeconds = 24 * 60 * 60;

// A change of the password ends the user's sessions, as does turning one-time codes on. Such a change and a new session lock the user's
// row. If the change comes first, the session waits and is refused, because the version differs. If the session comes first, the change
// waits and ends it.
const writeText = `
with proved as (
  select from core.users u
  where u.id = $2::uuid and u.disabled_at is null
    and $5::text in ('', encode(sha256(convert_to(
      concat(u.password_hash, '/', (extract(epoch from u.totp_enabled_at) * 1000)::bigint), 'UTF8')), 'hex'))
  for share
)
insert into core.dashboard_sessions as s (hash, user_id, data, expires_at)
select $1::bytea, $2::uuid, $3::bytea, $4::timestamptz
where $2::uuid is null or exists (select from core.dashboard_sessions where hash = $1::bytea and user_id = $2::uuid)
  or exists (select from proved)
on conflict (hash) do update set user_id = excluded.user_id, data = excluded.data, expires_at = excluded.expires_at
  where s.ended_at is null
returning hash`;

export function createSessionStore({
  database,
  newId,
  now,
}: Pick<AccountParts, 'database' | 'newId' | 'now'>): SessionStore {
  return {
    async read(hash) {
      const em = database.fork();
      const row = await em.findOne(DashboardSessionRow, { hash, endedAt: null, expiresAt: { $gt: now() } });
      if (row === null) return undefined;
      const { data, expiresAt } = row;
      if (row.userId == null) return { session: { userId: undefined, data, expiresAt }, user: undefined };
      const userRow = await em.findOne(UserRow, { id: row.userId });
      if (userRow === null || userRow.disabledAt != null) return undefined;
      const userId = publicId('usr', row.userId);
      return { session: { userId, data, expiresAt }, user: await readUser(em, userRow) };
    },
    async write(hash, { userId, data, expiresAt }, passwordVersion) {
      const em = database.fork();
      if (userId !== undefined) {
        const user = await requireUser(em, userId);
        if (user.disabledAt != null) throw userNotFound(userId);
      }
      const storedUser = userId === undefined ? null : storedId('usr', userId);
      const values = [hash, storedUser, data, expiresAt, passwordVersion];
      const written = await runStatement(database.pool, { text: writeText, values });
      const isEnded =
        written.length === 0 && (await em.count(DashboardSessionRow, { hash, endedAt: { $ne: null } })) > 0;
      if (written.length === 0 && !isEnded)
        throw rpcError(
          'CHANGED_MEANWHILE',
          'the password or the one-time codes were changed in the meantime; sign in again',
        );
    },
    async end(hash) {
      const ended = { endedAt: now(), data: Buffer.alloc(0) };
      await database.fork().nativeUpdate(DashboardSessionRow, { hash, endedAt: null }, ended);
    },
    signOut: (hash, by) =>
      database.fork().transactional(async (em) => {
        const at = now();
        const session = await em.findOne(DashboardSessionRow, { hash });
        const ended = { endedAt: at, data: Buffer.alloc(0) };
        const isEnded = (await em.nativeUpdate(DashboardSessionRow, { hash, endedAt: null }, ended)) === 1;
        if (!isEnded || session?.userId == null) return;
        const user = await em.findOneOrFail(UserRow, { id: session.userId });
        const themselves = actingAsUser(by, user.id);
        await recordUserAudit(em, newId, at, themselves, user, { action: 'session.end' });
      }),
    endAllBut: (userId, keepHash, by) =>
      database.fork().transactional(async (em) => {
        const at = now();
        const user = await requireUser(em, userId);
        const sessions = await endUserSessions(em, user.id, keepHash, at);
        if (sessions === 0) return;
        await recordUserAudit(em, newId, at, by, user, {
          action: 'session.end_others',
          details: { sessions },
        });
      }),
    async useForm(userId, form) {
      const limit = { counter: `form/${userId}/${form}`, max: 1, windowSeconds: formSeconds };
      return (await countTry(database.pool, limit)) !== undefined;
    },
  };
}
