import type { EntityManager } from '@mikro-orm/postgresql';
import { DashboardSessionRow } from '../database/account-entities.ts';
import type { StoredId } from '../../contract/public-id.ts';

/** Ends all sessions of a user, by stored id, except the one to keep. Returns their number. */
export async function endUserSessions(
  em: EntityManager,
  userId: StoredId<'usr'>,
  keepHash: Uint8Array | undefined,
  at: Date,
): Promise<number> {
  const others =
    keepHash === undefined || keepHash.length === 0 ? {} : { hash: { $ne: Buffer.from(keepHash) } };
  return em.nativeUpdate(
    DashboardSessionRow,
    { userId, endedAt: null, ...others },
    { endedAt: at, data: Buffer.alloc(0) },
  );
}
