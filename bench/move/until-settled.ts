import type { Stack } from '../../test/support/stack.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { withClient } from '../system/servers.ts';
import { isNotParked } from './moved-tables.ts';

/** Waits until a shard has no payment, refund, event or webhook under way. Parked work is that of another shard. */
export const untilSettled = (stack: Stack): Promise<void> =>
  withClient(stack.databaseUrl, async (client) => {
    await waitUntil('nothing is under way', async () => {
      const { rows } = await client.query<{ settled: boolean }>(
        `select not exists (select from core.payment_attempts where due_at is not null and ${isNotParked('due_at')})
           and not exists (select from core.refunds where due_at is not null and ${isNotParked('due_at')})
           and not exists (select from webhooks.deliveries where state = 'PENDING')
           and latest.at <= (select (xid, position) from core.event_relay limit 1)
           and latest.at <= (select (xid, position) from core.event_seal)
           as settled
         from (select (xid, position) as at from core.order_events order by xid desc, position desc limit 1) latest`,
      );
      return rows[0]?.settled === true;
    });
  });
