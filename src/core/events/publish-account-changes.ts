import type { PoolClient } from 'pg';
import type { EventPublisher } from '../../platform/nats/nats-event-bus.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { accountChangeMessage } from './account-changes.ts';
import type { AccountChange } from './account-changes.ts';

const batchSize = 100;

/** Publishes the changes of accounts that the broker does not have yet, and forgets them once it has confirmed them. */
export async function publishAccountChanges(
  client: PoolClient,
  publisher: Pick<EventPublisher, 'publish'>,
  lineage: string,
): Promise<void> {
  for (;;) {
    const rows = await runStatement<AccountChange & { readonly id: string }>(client, {
      text: `
select id, merchant_id as "merchantId", environment, wallet, wallet_account_id as "walletAccountId", payee, changed_at as "changedAt"
from core.account_changes order by changed_at, id limit ${batchSize}`,
    });
    if (rows.length === 0) return;
    await publisher.publish(rows.map(({ id, ...change }) => accountChangeMessage(change, id, lineage)));
    await client.query('delete from core.account_changes where id = any ($1)', [rows.map(({ id }) => id)]);
    if (rows.length < batchSize) return;
  }
}
