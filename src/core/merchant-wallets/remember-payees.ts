import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Environment } from '../domain/order.ts';
import type { AccountForms } from './account-form.ts';

interface Unnamed {
  readonly merchant_id: string;
  readonly id: string;
  readonly environment: Environment;
  readonly wallet: string;
  readonly open_values: Readonly<Record<string, string>>;
}

/**
 * Records the payee accounts of own accounts that have none yet: those that a core of release 0.1.0 added. The payee of an account whose
 * wallet is not configured is unknown, so it waits. Returns how many were recorded.
 */
export async function rememberPayees(pool: Pool, forms: AccountForms): Promise<number> {
  const unnamed = await runStatement<Unnamed>(pool, {
    text: `
select a.merchant_id, a.id, a.environment, a.wallet, a.open_values from core.wallet_accounts a
where not exists (
  select from core.payee_accounts p where p.merchant_id = a.merchant_id and p.wallet_account_id = a.id
)`,
    values: [],
  });
  let recorded = 0;
  for (const { merchant_id: merchantId, id, environment, wallet, open_values: openValues } of unnamed) {
    const form = forms.get(wallet);
    if (form === undefined) continue;
    await runStatement(pool, {
      text: insertPayee,
      values: [merchantId, id, environment, wallet, form.payee(environment, openValues)],
    });
    recorded += 1;
  }
  return recorded;
}

const insertPayee = `
insert into core.payee_accounts (merchant_id, wallet_account_id, environment, wallet, payee)
values ($1, $2, $3, $4, $5) on conflict do nothing`;
