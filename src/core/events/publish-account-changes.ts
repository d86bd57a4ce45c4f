import type { PoolClient } from 'pg';
import type { EventPublisher } from '../../platform/nats-event-bus.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { StoredId } from '../../contract/public-id.ts';
import type { Environment } from '../domain/order.ts';
import { accountChangeMessage } from './account-changes.ts';

interface Row {
  readonly id: string;
  readonly merchant_id: StoredId<'mer'>;
  readonly environment: Environment;
  readonly wallet: string;
  readonly wallet_account_id: StoredId<'wac'> | null;
  readonly payee: string | null;
  readonly changed_at: Date;
}

const batchSize = 100;

/** Publishes the changes of accounts that the broker does not have yet, and forgets them once it has confirmed them. */
export async function publishAccountChanges(
  client: PoolClient,
  publisher: Pick<EventPublisher, 'publish'>,
  lineage: string,
): Promise<void> {
  for (;;) {
    const rows = await runStatement<Row>(client, {
      text: `
select id, merchant_id, environment, wallet, wallet_account_id, payee, changed_at
from core.account_changes order by changed_at, id limit ${batchSize}`,
    });
    if (rows.length === 0) return;
    await publisher.publish(
      rows.map(({ id, ...row }) =>
        accountChangeMessage(
          {
            merchantId: row.merchant_id,
            environment: row.environment,
            wallet: row.wallet,
            walletAccountId: row.wallet_account_id,
            payee: row.payee,
            changedAt: row.changed_at,
          },
          id,
          lineage,
        ),
      ),
    );
    await client.query('delete from core.account_changes where id = any ($1)', [rows.map(({ id }) => id)]);
    if (rows.length < batchSize) return;
  }
}
