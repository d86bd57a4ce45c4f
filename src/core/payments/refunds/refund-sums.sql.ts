import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredId } from '../../../contract/public-id.ts';
import { runReading } from '../../../platform/database/transaction-statement.ts';
import type { RefundSum } from '../../domain/refund-record.ts';

/**
 * The refunds of an order, summed by status. An order can have any number of refunds, so core never reads all of them. When one order has most
 * refunds, the plan for any order would read the whole table. The range of one id makes it use the index.
 */
export async function readRefundSums(
  em: EntityManager,
  { merchantId, id }: { readonly merchantId: StoredId<'mer'>; readonly id: StoredId<'ord'> },
): Promise<RefundSum[]> {
  const rows = await runReading<{ status: RefundSum['progress']['status']; minor_units: string }>(em, {
    name: 'refund-sums',
    text: `
select status, sum(amount_minor_units)::text as minor_units
from core.refunds where merchant_id = $1 and order_id between $2 and $2 group by status`,
    values: [merchantId, id],
  });
  return rows.map(({ status, minor_units: sum }) => ({ progress: { status }, minorUnits: BigInt(sum) }));
}
