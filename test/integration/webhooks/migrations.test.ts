import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { insertDeliveries } from '../../../src/webhooks/intake/insert-deliveries.sql.ts';
import { createSigningSecrets } from '../../../src/webhooks/secrets/signing-secrets.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import { newDelivery } from './dispatch-desk.ts';
import { openWebhooksDatabase } from './dispatcher.ts';

/** The schema as the version before webhook endpoints left it. */
const withoutEndpoints = `
drop table webhooks.webhook_endpoint_types, webhooks.webhook_endpoints;
drop index webhooks.signing_secrets_one_each;
alter table webhooks.signing_secrets drop column endpoint_id;
create unique index signing_secrets_one_each on webhooks.signing_secrets (merchant_id, environment, is_current);
alter table webhooks.lanes drop column awaits_secret_since;
drop index webhooks.deliveries_event_receiver, webhooks.deliveries_webhook_endpoint;
create unique index deliveries_event on webhooks.deliveries (merchant_id, event_id);
delete from webhooks.migrations where name = '005-webhook-endpoints'`;

test('after the migration to webhook endpoints, deliveries exist once, and a secret that was never shown still signs', async () => {
  const { url, drop } = await createTestDatabase({ migrated: false });
  const database = await openWebhooksDatabase(url);
  try {
    await database.migrate();
    const secrets = createSigningSecrets({
      ...{
        database,
        newId: newRandomId,
        randomBytes,
        now: () => new Date(),
        machineNow: () => new Date(),
        monotonicMs: () => performance.now(),
      },
      keys: [{ name: 'k1', key: randomBytes(32) }],
    });
    const delivery = newDelivery({ url: 'https://shop.example/hook' });
    const owner = { merchantId: delivery.merchantId, environment: delivery.environment, endpointId: '' };
    await insertDeliveries(database.pool, [delivery]);
    const { text } = await secrets.rotate(owner, 0, { actor: 'test', requestId: '' });
    await database.pool.query('update webhooks.signing_secrets set shown = false');
    await database.pool.query(withoutEndpoints);

    await database.migrate();

    expect(await secrets.live(owner)).toEqual({ current: text });
    const again = { ...delivery, id: newRandomId('whd', new Date()) };
    expect(await insertDeliveries(database.pool, [again])).toEqual([]);
  } finally {
    await database.close();
    await drop();
  }
});
