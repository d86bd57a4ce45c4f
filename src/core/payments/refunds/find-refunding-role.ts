import { isPublicId, storedId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import type { Actor } from '../../../platform/rpc/actor.ts';
import { MembershipRow } from '../../database/account-entities.ts';
import type { Database } from '../../database/database.ts';
import type { RefundingRole } from '../../domain/refund-limits.ts';

/** The role of a dashboard user at a merchant; undefined for any other caller, and for a role that cannot refund. */
export type FindRefundingRole = (
  merchantId: PublicId<'mer'>,
  by: Pick<Actor, 'actor'>,
) => Promise<RefundingRole | undefined>;

/** The prefix of an actor whose user is proven. Other programs choose the name that they send. */
const prefix = 'dashboard:';

export const createFindRefundingRole =
  (database: Database): FindRefundingRole =>
  async (merchantId, { actor }) => {
    const userId = actor.startsWith(prefix) ? actor.slice(prefix.length) : '';
    if (!isPublicId('usr', userId)) return undefined;
    const key = { merchantId: storedId('mer', merchantId), userId: storedId('usr', userId) };
    const membership = await database.fork().findOne(MembershipRow, key);
    return membership === null || membership.role === 'VIEWER' ? undefined : membership.role;
  };
