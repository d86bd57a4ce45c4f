import type { EntityManager } from '@mikro-orm/postgresql';
import { publicId, storedId } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import { mixedCapitals, mixedCapitalsIndex } from '../../database/large-indexes.ts';
import type { Environment, MerchantId, Order } from '../../domain/order.ts';
import { orderNamed, spellingsOf } from '../../domain/payer-payment.ts';

/** The order that a reference names. */
export type NamedOrder = Pick<Order, 'merchantId' | 'environment' | 'id' | 'orderNumber'>;

/**
 * An order_number is unique for a merchant only, so each merchant's indexes are searched (docs/adr/0021). Ended orders count too,
 * because they also make a reference ambiguous. Numbers with mixed capitals have an index of their own. Until it is there, they are
 * found only as typed.
 *
 * Two orders of a merchant are enough to know that it has several. So a merchant with many spellings cannot hide another merchant's order
 * behind the limit.
 */
const statement = `
select found.* from core.merchants m
cross join lateral (
  select o.merchant_id, o.id, o.order_number from (
    select merchant_id, id, order_number from core.orders
    where merchant_id = m.id and environment = ?::core.environment and order_number = any(?::text[])
    union
    select merchant_id, id, order_number from core.orders
    where merchant_id = m.id and environment = ?::core.environment and lower(order_number) = ?::text and ${mixedCapitals}
      and exists (select from pg_index where indexrelid = to_regclass('core.${mixedCapitalsIndex}') and indisvalid)
  ) o
  order by o.order_number = ?::text desc
  limit 2
) found
where ?::uuid is null or m.id = ?::uuid
limit 20`;

/** The order with this reference. Of one merchant if `only` is given, and else the only one among all merchants. */
export async function findNamedOrder(
  em: EntityManager,
  environment: Environment,
  reference: string,
  only: MerchantId | null,
): Promise<NamedOrder | undefined> {
  const spellings = spellingsOf(reference);
  if (spellings.length === 0) return undefined;
  const merchant = only === null ? null : storedId('mer', only);
  const rows = await em.execute<
    { merchant_id: StoredId<'mer'>; id: StoredId<'ord'>; order_number: string }[]
  >(statement, [
    environment,
    textArray(spellings),
    environment,
    reference.toLowerCase(),
    reference,
    merchant,
    merchant,
  ]);
  const orders = rows.map((row) => ({
    merchantId: publicId('mer', row.merchant_id),
    environment,
    id: publicId('ord', row.id),
    orderNumber: row.order_number,
  }));
  return orderNamed(orders, reference);
}

/** A PostgreSQL array literal. */
const textArray = (texts: readonly string[]): string =>
  `{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
