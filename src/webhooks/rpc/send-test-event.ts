import type { Pool } from 'pg';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import type { NewId } from '../../contract/public-id.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { endpointOf } from '../domain/delivery.ts';
import type { Environment } from '../domain/delivery.ts';
import { testEventBody } from '../intake/event-body.ts';
import { insertDeliveries } from '../intake/insert-deliveries.sql.ts';

export interface TestEvent {
  readonly merchantId: string;
  readonly environment: Environment;
  readonly url: string;
  /** The webhook endpoint of the URL, `whe_…`; '' if the URL belongs to none. */
  readonly endpointId: string;
}

export interface SendTestEventParts {
  readonly pool: Pool;
  readonly newId: NewId;
  readonly now: () => Date;
}

/** Creates a delivery of a test event, due now. Returns its id. */
export async function sendTestEvent(
  { pool, newId, now }: SendTestEventParts,
  { merchantId, environment, url, endpointId }: TestEvent,
  by: Actor,
): Promise<string> {
  const at = now();
  const [deliveryId, eventId] = [newId('whd', at), newId('evt', at)];
  const endpoint = endpointId === '' ? endpointOf(url) : endpointId;
  await inTransaction(pool, [], async (client) => {
    await insertDeliveries(client, [
      {
        id: deliveryId,
        merchantId,
        environment,
        endpoint,
        url,
        eventId,
        eventType: 'webhook.test',
        orderId: '',
        orderNumber: '',
        sequence: 1n,
        body: testEventBody({ eventId, environment, at }),
      },
    ]);
    await recordAudit(client, newId, at, by, {
      action: 'test_event.send',
      merchantId,
      targetId: deliveryId,
      details: {
        environment,
        endpoint: endpointOf(url),
        ...(endpointId && { webhook_endpoint: endpointId }),
      },
    });
  });
  return deliveryId;
}
