import type { EntityManager } from '@mikro-orm/postgresql';
import { optionsOfWallet } from '../../../contract/payment-option.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import { isSearchedByEnd, storedEnd, storedEndOf } from '../../database/attempt-id-end.sql.ts';
import type { Environment } from '../../domain/order.ts';

/** A reference that a wallet reports. `attemptIdEnd` is '' when it can name no attempt. */
export interface NamingReference {
  readonly wallet: string;
  readonly environment: Environment;
  readonly attemptIdEnd: string;
}

export interface NamedAttempt {
  readonly merchant_id: StoredId<'mer'>;
  readonly id: StoredId<'pat'>;
  readonly order_id: StoredId<'ord'>;
}

/** The attempt of ours that the reference names. Paid attempts are not looked for, because their receipt is known. */
export async function findNamedAttempt(
  em: EntityManager,
  { attemptIdEnd, environment, wallet }: NamingReference,
): Promise<NamedAttempt | undefined> {
  const end = storedEndOf(attemptIdEnd);
  if (end === undefined) return undefined;
  const [found] = await em.execute<NamedAttempt[]>(
    `
select a.merchant_id, a.id, a.order_id from core.payment_attempts a
where ${storedEnd('a')} = ? and ${isSearchedByEnd('a')}
  and a.environment = ?::core.environment and a.payment_option = any(?::text[])`,
    [end, environment, `{${optionsOfWallet(wallet).join(',')}}`],
  );
  return found;
}
