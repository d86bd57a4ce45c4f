import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredId } from '../../contract/public-id.ts';

/** Stores the merchants that rebuilt orders and lost accounts name, and that this database lacks. A repeat changes nothing. */
export const keepLostMerchants = (em: EntityManager, recoveryId: string): Promise<unknown> =>
  em.execute(
    `
insert into core.recovery_merchants (recovery_id, merchant_id, orders)
select ?::uuid, named.merchant_id, max(named.orders)
from (
  select merchant_id, count(*)::integer as orders from core.recovered_orders group by merchant_id
  union all
  select merchant_id, 0 from core.recovery_accounts where recovery_id = ?
) named
where not exists (select from core.merchants m where m.id = named.merchant_id)
group by named.merchant_id
on conflict (recovery_id, merchant_id) do update set orders = excluded.orders`,
    [recoveryId, recoveryId],
  );

/** A merchant that was created in the lost time, and that was not created again. */
export interface MissingMerchant {
  readonly merchantId: StoredId<'mer'>;
  readonly orders: number;
}

/** The oldest first. */
export const readMissingMerchants = (em: EntityManager, recoveryId: string): Promise<MissingMerchant[]> =>
  em.execute<MissingMerchant[]>(
    `
select l.merchant_id as "merchantId", l.orders
from core.recovery_merchants l
where l.recovery_id = ? and not exists (select from core.merchants m where m.id = l.merchant_id)
order by l.merchant_id`,
    [recoveryId],
  );
