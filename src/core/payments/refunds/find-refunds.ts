import type { FilterQuery } from '@mikro-orm/core';
import { lowestStoredIdAt, storedId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import type { Database } from '../../database/database.ts';
import { OrderRow, PaymentAttemptRow, RefundRow } from '../../database/order-entities.ts';
import { orderOf } from '../../database/order-rows.ts';
import type { Environment, Order } from '../../domain/order.ts';
import { heldMinorUnits } from '../../domain/refund.ts';
import type { Refund } from '../../domain/refund-record.ts';
import type { RefundStatus } from '../../domain/refund.ts';
import { refundable } from '../../domain/refundable.ts';
import type { NotRefundable, Refundable } from '../../domain/refundable.ts';
import type { Result } from '../../domain/result.ts';
import type { Wallet } from '../../domain/wallet.ts';
import { refundOf } from '../changes/refund-row.ts';
import { paidWallet } from './start-refund.ts';
import { readRefundBasis } from './refund-basis.sql.ts';

/** The name of a refund: its id, or the merchant's own reference within an environment. */
export type RefundName = { readonly merchantId: PublicId<'mer'> } & (
  | { readonly by: 'id'; readonly value: PublicId<'rfd'>; readonly environment: Environment | undefined }
  | { readonly by: 'refund_number'; readonly value: string; readonly environment: Environment }
);

/** The filter of a list, with public ids. Undefined or an empty list means no filter. */
export interface RefundFilter {
  readonly merchantId: PublicId<'mer'> | undefined;
  readonly environment: Environment | undefined;
  readonly orderId: PublicId<'ord'> | undefined;
  readonly statuses: readonly RefundStatus[];
  readonly createdFrom: Date | undefined;
  readonly createdTo: Date | undefined;
  readonly beforeId: PublicId<'rfd'> | undefined;
  readonly limit: number;
}

/** How much of an order can be refunded, with the sums that led to it. */
export interface OrderRefundable {
  readonly order: Order;
  readonly possible: Result<Refundable, NotRefundable>;
  /** The sum of the refunds that have not ended, in minor units. */
  readonly pendingMinorUnits: bigint;
}

/** Refunds for display. */
export interface RefundReader {
  readonly find: (name: RefundName) => Promise<Refund | undefined>;
  /** Newest first. */
  readonly list: (filter: RefundFilter) => Promise<Refund[]>;
  /** Undefined when there is no such order. */
  readonly refundableOf: (key: {
    readonly merchantId: PublicId<'mer'>;
    readonly environment: Environment;
    readonly orderId: PublicId<'ord'>;
  }) => Promise<OrderRefundable | undefined>;
}

export function createRefundReader(database: Database, wallets: readonly Wallet[]): RefundReader {
  return {
    async find(name) {
      const owner = {
        merchantId: storedId('mer', name.merchantId),
        ...(name.environment === undefined ? {} : { environment: name.environment }),
      };
      const key = name.by === 'id' ? { id: storedId('rfd', name.value) } : { refundNumber: name.value };
      const row = await database.fork().findOne(RefundRow, { ...owner, ...key });
      return row === null ? undefined : refundOf(row);
    },
    async list({ merchantId, environment, orderId, statuses, createdFrom, createdTo, beforeId, limit }) {
      const where: FilterQuery<RefundRow> = {
        ...(merchantId === undefined ? {} : { merchantId: storedId('mer', merchantId) }),
        ...(environment === undefined ? {} : { environment }),
        ...(orderId === undefined ? {} : { orderId: storedId('ord', orderId) }),
        // Ids sort by creation time, so a time range is a range of ids.
        $and: [
          ...(createdFrom === undefined ? [] : [{ id: { $gte: lowestStoredIdAt(createdFrom) } }]),
          ...(createdTo === undefined ? [] : [{ id: { $lt: lowestStoredIdAt(createdTo) } }]),
          ...(beforeId === undefined ? [] : [{ id: { $lt: storedId('rfd', beforeId) } }]),
          ...(statuses.length === 0 ? [] : [{ $or: statuses.map((status) => rowsIn[status]) }]),
        ],
      };
      const rows = await database.fork().find(RefundRow, where, { orderBy: { id: 'desc' }, limit });
      return rows.map(refundOf);
    },
    async refundableOf({ merchantId, environment, orderId }) {
      const em = database.fork();
      const key = { merchantId: storedId('mer', merchantId), environment, id: storedId('ord', orderId) };
      const row = await em.findOne(OrderRow, key);
      if (row === null) return undefined;
      const latest =
        row.latestAttemptId == null
          ? null
          : await em.findOne(PaymentAttemptRow, { merchantId: key.merchantId, id: row.latestAttemptId });
      const order = orderOf(row, latest);
      const basis = await readRefundBasis(em, row);
      const possible = refundable({ ...basis, order, wallet: paidWallet(wallets, order) });
      const { refunds } = basis;
      return { order, possible, pendingMinorUnits: heldMinorUnits(refunds) - order.refundedMinorUnits };
    },
  };
}

/** The rows in each state, as `refundStatus` decides it. */
const rowsIn: Readonly<Record<RefundStatus, FilterQuery<RefundRow>>> = {
  AWAITING_APPROVAL: { status: 'AWAITING_APPROVAL' },
  REQUESTED: { status: 'REVERSAL_DUE', maybeSent: false },
  SENT: { status: 'REVERSAL_DUE', maybeSent: true, detail: '' },
  UNKNOWN: { status: 'REVERSAL_DUE', maybeSent: true, detail: { $ne: '' } },
  COMPLETED: { status: 'REVERSED' },
  FAILED: { status: { $in: ['APPROVAL_DECLINED', 'REVERSAL_REFUSED'] } },
};
