import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@connectrpc/connect';
import pg from 'pg';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { publicId } from '../support/ids.ts';
import type { Receiver } from '../integration/webhooks/receivers.ts';
import { registration } from '../support/order-requests.ts';
import type { Stack } from '../support/stack.ts';
import { insist, waitUntil } from '../support/wait-until.ts';

/** Orders that are registered and end, all with a webhook_url, with a pause between them. */
export interface WebhookTraffic {
  /** Resolves when the receivers have got this many more events. */
  readonly untilMore: (count: number) => Promise<void>;
  /** Starts no more orders. Resolves when those in progress have ended. */
  readonly stop: () => Promise<void>;
  /** The ids of all events that end an order, as they are committed: evt_…. */
  readonly committed: () => Promise<ReadonlySet<string>>;
  /** Resolves when everything that is committed has been delivered and recorded as delivered. */
  readonly untilAllDelivered: () => Promise<void>;
  /** Wrong webhooks: another body on a repeat, or an event that was never committed. */
  readonly findContradictions: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

export interface WebhookTrafficOptions {
  readonly stack: Stack;
  /** One merchant for each receiver. */
  readonly receivers: readonly Receiver[];
  /** Orders that are registered at the same time, for each merchant. */
  readonly clients: number;
}

const pauseMs = 40;

/** Starts traffic. Close it at the end, also after a failure. */
export async function startWebhookTraffic(options: WebhookTrafficOptions): Promise<WebhookTraffic> {
  const { stack, receivers, clients } = options;
  const orders = stack.client(OrderService, 'writer');
  const database = new pg.Pool({ connectionString: stack.databaseUrl, max: 4 });
  // The database is dropped with the stack, and with it connections that are idle.
  database.on('error', () => undefined);
  const running: Promise<void>[] = [];
  const stopping = new AbortController();
  for (const { origin } of receivers) {
    const { id: merchantId } = await stack.createMerchant({ signsWebhooks: true });
    for (let client = 0; client < clients; client += 1)
      running.push(registerOrders({ orders, database, merchantId, origin, client }, stopping.signal));
  }

  const told = (): Map<string, Buffer[]> => {
    const bodies = new Map<string, Buffer[]>();
    for (const { headers, body } of receivers.flatMap(({ webhooks }) => webhooks)) {
      const id = String(headers['webhook-id']);
      bodies.set(id, [...(bodies.get(id) ?? []), body]);
    }
    return bodies;
  };
  const committed = async (): Promise<ReadonlySet<string>> => {
    const { rows } = await database.query<{ id: string }>(
      `select id from core.order_events where type in ('COMPLETED', 'FAILED', 'EXPIRED')`,
    );
    return new Set(rows.map(({ id }) => publicId('evt', id)));
  };
  const undelivered = async (): Promise<number> => {
    const { rows } = await database.query<{ count: string }>(`
select count(*) from core.order_events e where type in ('COMPLETED', 'FAILED', 'EXPIRED')`);
    const { rows: done } = await database.query<{ count: string }>(
      `select count(*) from webhooks.deliveries where state = 'DELIVERED'`,
    );
    return Number(rows[0]?.count) - Number(done[0]?.count);
  };
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all(running);
  };
  return {
    untilMore: async (count) => {
      const wanted = told().size + count;
      await waitUntil(
        `${count} more events have been received`,
        // Counting the webhooks first is cheap.
        () =>
          receivers.reduce((sum, { webhooks }) => sum + webhooks.length, 0) >= wanted &&
          told().size >= wanted,
      );
    },
    stop,
    committed,
    untilAllDelivered: async () => {
      await waitUntil('no order is pending', async () => {
        const { rows } = await database.query(`select from core.orders where status = 'PENDING' limit 1`);
        return rows.length === 0;
      });
      await waitUntil('every event is delivered', async () => (await undelivered()) === 0);
    },
    findContradictions: async () => {
      const known = await committed();
      return [...told()].flatMap(([id, bodies]) => [
        ...(known.has(id) ? [] : [`${id} was told and never committed`]),
        ...(bodies.every((body) => body.equals(bodies[0] ?? body)) ? [] : [`${id} had two bodies`]),
      ]);
    },
    close: async () => {
      await stop();
      await database.end();
    },
  };
}

interface Registering {
  readonly orders: Client<typeof OrderService>;
  readonly database: pg.Pool;
  readonly merchantId: string;
  readonly origin: string;
  readonly client: number;
}

/** One order after the other. Each ends at once because its session ends. A request without an answer is repeated. */
async function registerOrders(parts: Registering, stop: AbortSignal): Promise<void> {
  const { orders, database, merchantId, origin, client } = parts;
  for (let index = 0; !stop.aborted; index += 1) {
    const orderNumber = `T-${client}-${index}`;
    const order = registration({
      merchantId,
      orderNumber,
      environment: Environment.SANDBOX,
      webhookUrl: `${origin}/hook`,
    });
    await insist(`${orderNumber} is registered`, () => orders.registerOrder(order));
    await database.query(
      `update core.orders set expires_at = now(), sweep_at = now() where order_number = $1 and status = 'PENDING'`,
      [orderNumber],
    );
    await delay(pauseMs, undefined, { signal: stop }).catch(() => undefined);
  }
}
