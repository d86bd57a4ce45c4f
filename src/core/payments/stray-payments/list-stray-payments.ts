import { storedId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import type { Database } from '../../database/database.ts';
import { StrayPaymentRow } from '../../database/order-entities.ts';
import type { Environment, StrayPaymentStatus } from '../../domain/order.ts';
import type { StrayPayment } from './reversals.ts';

export interface StrayPaymentFilter {
  readonly merchantId: PublicId<'mer'> | undefined;
  readonly orderId: PublicId<'ord'> | undefined;
  readonly environment: Environment | undefined;
  readonly statuses: readonly StrayPaymentStatus[];
  readonly beforeId: PublicId<'stp'> | undefined;
  readonly limit: number;
}

const bothEnvironments = ['SANDBOX', 'PRODUCTION'] as const;

/** Stray payments, newest first: by the time at which their payments began. */
export type ListStrayPayments = (filter: StrayPaymentFilter) => Promise<StrayPayment[]>;

export const createListStrayPayments =
  (database: Database): ListStrayPayments =>
  async ({ merchantId, orderId, environment, statuses, beforeId, limit }) => {
    const where = {
      ...(merchantId === undefined ? {} : { merchantId: storedId('mer', merchantId) }),
      ...(orderId === undefined ? {} : { orderId: storedId('ord', orderId) }),
      ...(statuses.length === 0 ? {} : { status: { $in: [...statuses] } }),
      ...(beforeId === undefined ? {} : { id: { $lt: storedId('stp', beforeId) } }),
    };
    const em = database.fork();
    const found: StrayPayment[] = [];
    // One after the other, because the index has the newest first within an environment.
    for (const each of environment === undefined ? bothEnvironments : [environment])
      found.push(
        ...(await em.find(
          StrayPaymentRow,
          { ...where, environment: each },
          { orderBy: { id: 'desc' }, limit },
        )),
      );
    return found.toSorted((one, other) => (one.id < other.id ? 1 : -1)).slice(0, limit);
  };
