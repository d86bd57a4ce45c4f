import type { PoolClient } from 'pg';
import { noMerchantId, storedId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { erasing, erasingReference } from './erase-rows.sql.ts';

/** Erases what payers typed and wallets answered. A payment of an order keeps its reference, which is the order's number. */
export async function erasePayerPayments(client: PoolClient, ids: readonly StoredId<'ppm'>[]): Promise<void> {
  if (ids.length === 0) return;
  const run = (text: string, values: unknown[]) => runStatement(client, { text, values });
  await run(
    `
update core.payer_payments
set ${erasing('detail')}, callback_notes = '{}', ${erasingReference}
where id = any($1::uuid[])`,
    [ids],
  );
  await run(
    'delete from core.wallet_exchanges where merchant_id = $1 and payment_attempt_id = any($2::uuid[])',
    [storedId('mer', noMerchantId), ids],
  );
  await run(
    `
update core.stray_payments set ${erasing('detail')}, callback_notes = '{}'
where payer_payment_id = any($1::uuid[]) and status <> 'REVERSAL_DUE'`,
    [ids],
  );
}
