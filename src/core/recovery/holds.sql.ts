import type { EntityManager } from '@mikro-orm/postgresql';
import { lowestStoredIdAt } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import type { RecoveryRow } from '../database/recovery-entities.ts';
import type { Environment } from '../domain/order.ts';
import { mayHavePayments } from './recovery-statements.sql.ts';

/** A merchant that takes no payments in an environment yet, because the payments of its own accounts are not known. */
export interface Hold {
  readonly environment: Environment;
  readonly merchantId: StoredId<'mer'>;
}

export const readHolds = (em: EntityManager, recoveryId: string): Promise<Hold[]> =>
  em.execute<Hold[]>(
    `
select environment, merchant_id as "merchantId" from core.recovery_holds
where recovery_id = ? order by environment desc, merchant_id`,
    [recoveryId],
  );

/**
 * The merchants that must wait: the statement of one of their payee accounts was not read, or one of their accounts is missing. A wallet
 * that an operator has accepted holds no merchant.
 */
export const findHolds = (
  em: EntityManager,
  { id, lostUntil }: Pick<RecoveryRow, 'id' | 'lostUntil'>,
): Promise<Hold[]> => {
  const addedSince = lowestStoredIdAt(lostUntil);
  return em.execute<Hold[]>(
    `
select s.environment, p.merchant_id as "merchantId"
from core.recovery_statements s
join core.recovery_wallets w using (recovery_id, environment, wallet)
join core.payee_accounts p on p.environment = s.environment and p.wallet = s.wallet and p.payee = s.payee
left join core.wallet_accounts a on a.merchant_id = p.merchant_id and a.id = p.wallet_account_id
where s.recovery_id = ? and s.payee <> '' and s.state <> 'READ' and w.state <> 'ACCEPTED'
  and (p.wallet_account_id < ?::uuid or a.id is not null and ${mayHavePayments})
union
select r.environment, r.merchant_id
from core.recovery_accounts r
join core.recovery_wallets w using (recovery_id, environment, wallet)
where r.recovery_id = ? and w.state <> 'ACCEPTED' and not exists (
  select from core.wallet_accounts a where a.merchant_id = r.merchant_id and a.id = r.wallet_account_id
)`,
    [id, addedSince, addedSince, id],
  );
};

const isSame = (one: Hold, other: Hold): boolean =>
  one.environment === other.environment && one.merchantId === other.merchantId;

/** The holds of `some` that `others` does not have. */
export const holdsWithout = (some: readonly Hold[], others: readonly Hold[]): readonly Hold[] =>
  some.filter((each) => !others.some((other) => isSame(each, other)));

export async function addHolds(em: EntityManager, recoveryId: string, holds: readonly Hold[]): Promise<void> {
  for (const { environment, merchantId } of holds)
    await em.execute(
      'insert into core.recovery_holds values (?, ?::core.environment, ?) on conflict do nothing',
      [recoveryId, environment, merchantId],
    );
}

export async function endHolds(em: EntityManager, recoveryId: string, holds: readonly Hold[]): Promise<void> {
  for (const { environment, merchantId } of holds)
    await em.execute(
      'delete from core.recovery_holds where recovery_id = ? and environment = ?::core.environment and merchant_id = ?',
      [recoveryId, environment, merchantId],
    );
}
