import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@connectrpc/connect';
import pg from 'pg';
import { pino } from 'pino';
import { openEventBus } from '../../src/contract/event-bus.ts';
import type { EventBus } from '../../src/contract/event-bus.ts';
import { CheckoutService } from '../../src/gen/gatehouse/v1/checkout_service_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { publicId } from '../../test/support/ids.ts';
import type { GatehouseProcess } from '../../test/support/gatehouse-process.ts';
import { registration } from '../../test/support/order-requests.ts';
import { startStack } from '../../test/support/stack.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { startEmptyPostgres } from '../system/empty-postgres.ts';
import { clockMs } from './receiver-process.ts';

/** Core, broker, webhooks, and a durable PostgreSQL that records the time of each commit. */
export interface WholeSystem {
  readonly webhooks: GatehouseProcess;
  readonly database: pg.Pool;
  /** Registers orders of all merchants in turn, and returns the means to end each. */
  readonly register: (count: number) => Promise<OpenOrder[]>;
  /** Cancels orders as their customers, with one commit each. */
  readonly end: (order: OpenOrder) => Promise<unknown>;
  /** The commit time of each event that ended an order since the last call, by `clockMs`. */
  readonly commits: () => Promise<ReadonlyMap<string, number>>;
  /** When each of these events passed the stages between its commit and its arrival. Waits until all their attempts are stored. */
  readonly stages: (eventIds: readonly string[]) => Promise<ReadonlyMap<string, Stages>>;
  readonly stop: () => Promise<void>;
}

export interface OpenOrder {
  readonly token: string;
}

/** Times by `clockMs`. PostgreSQL stores those of deliveries and attempts in whole milliseconds. */
export interface Stages {
  /** When the broker stored the event. */
  readonly stored: number;
  /** When the statement that wrote the delivery began. */
  readonly created: number;
  /** When the attempt began, by the database's clock as the process knows it. */
  readonly started: number;
}

const registeredAtOnce = 32;
/** Enough for 500 a second when each takes 96 ms. Fewer would make the benchmark, and not core, end fewer. */
const endedAtOnce = 48;

/** @throws when a part does not start; nothing is left running then */
export async function startWholeSystem(receiverPort: number, merchants: number): Promise<WholeSystem> {
  const cleanUps: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
  };
  try {
    await startEmptyPostgres(({ remove }) => cleanUps.push(remove), ['track_commit_timestamp = on']);
    const stack = await startStack({ ownProcesses: true, facades: 0, webhooks: 1 });
    cleanUps.push(stack.stop);
    const [webhooks] = stack.webhooks;
    if (webhooks === undefined) throw new Error('a stack without a webhooks process');
    const database = new pg.Pool({ connectionString: stack.databaseUrl, max: 4 });
    cleanUps.push(() => database.end());
    const bus = openEventBus({
      url: stack.ground.natsUrl,
      name: 'benchmark',
      logger: pino({ level: 'warn' }),
    });
    cleanUps.push(bus.close);
    const orders = stack.client(OrderService, 'writer');
    const checkout = stack.client(CheckoutService, 'checkout');
    const merchantIds: string[] = [];
    for (let index = 0; index < merchants; index += 1)
      merchantIds.push((await stack.createMerchant({ signsWebhooks: true })).id);
    const webhookUrl = `http://127.0.0.1:${receiverPort}/hook`;
    let number = 0;
    const registerOne = async (): Promise<OpenOrder> => {
      number += 1;
      const merchantId = merchantIds[number % merchants] ?? '';
      return registerOrder(orders, { merchantId, orderNumber: `B-${number}`, webhookUrl });
    };
    return {
      webhooks,
      database,
      async register(count) {
        const open: OpenOrder[] = [];
        while (open.length < count) {
          const batch = Math.min(registeredAtOnce, count - open.length);
          open.push(...(await Promise.all(Array.from({ length: batch }, registerOne))));
        }
        return open;
      },
      end: ({ token }) => checkout.cancelCheckout({ token, browserSecret: 'b'.repeat(43) }),
      commits: commitsSince(database),
      stages: stagesSince(database, bus),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function registerOrder(
  orders: Client<typeof OrderService>,
  own: { readonly merchantId: string; readonly orderNumber: string; readonly webhookUrl: string },
): Promise<OpenOrder> {
  const { checkoutUrl } = await orders.registerOrder(registration(own));
  return { token: checkoutUrl.split('/').at(-1) ?? '' };
}

/** PostgreSQL reports commit times by the system clock. The difference to `clockMs` is measured at each call. */
function commitsSince(database: pg.Pool): WholeSystem['commits'] {
  let after = '0';
  return async () => {
    const wallToClock = clockMs() - wallMs();
    const { rows } = await database.query<{ id: string; position: string; at: number }>(
      `select id, position::text,
         extract(epoch from pg_xact_commit_timestamp(xid::xid))::float8 * 1000 as at
       from core.order_events where type = 'FAILED' and position > $1 order by position`,
      [after],
    );
    after = rows.at(-1)?.position ?? after;
    return new Map(rows.map(({ id, at }) => [publicId('evt', id), at + wallToClock]));
  };
}

/** The broker and PostgreSQL report times by the system clock too. */
function stagesSince(database: pg.Pool, bus: EventBus): WholeSystem['stages'] {
  let read = 0;
  return async (eventIds) => {
    const wallToClock = clockMs() - wallMs();
    const attempts = await waitUntil('all attempts are stored', async () => {
      const { rows } = await database.query<{ id: string; created: Date; started: Date }>(
        `select event_id as id, created_at as created, started_at as started
         from webhooks.deliveries d
         join webhooks.delivery_attempts a on a.merchant_id = d.merchant_id and a.delivery_id = d.id
         where event_id = any($1) and number = 1`,
        [eventIds],
      );
      return rows.length >= eventIds.length && rows;
    });
    const stream = await waitUntil('the broker is connected', bus.storedStream);
    const last = stream.range?.last ?? 0;
    const messages = await stream.read(read + 1, last);
    read = last;
    const stored = new Map(
      messages.map(({ header, storedAt }) => [header('Nats-Msg-Id'), storedAt.getTime() + wallToClock]),
    );
    return new Map(
      attempts.map(({ id, created, started }) => [
        id,
        {
          stored: stored.get(id) ?? Number.NaN,
          created: created.getTime() + wallToClock,
          started: started.getTime() + wallToClock,
        },
      ]),
    );
  };
}

const wallMs = (): number => performance.timeOrigin + performance.now();

/**
 * Ends orders at a steady rate. If core is slower, it ends so many at a time, because waiting for core is not the
 * measured time. Returns how many an overloaded core did not end.
 */
export async function endSteadily(
  system: WholeSystem,
  orders: readonly OpenOrder[],
  perSecond: number,
): Promise<number> {
  const begunMs = clockMs();
  let begun = 0;
  let refused = 0;
  const endOnes = async (): Promise<void> => {
    for (let order = orders[begun]; order !== undefined; order = orders[begun]) {
      const waitMs = begunMs + (begun * 1000) / perSecond - clockMs();
      begun += 1;
      if (waitMs > 1) await delay(waitMs);
      await system.end(order).catch(() => void (refused += 1));
    }
  };
  await Promise.all(Array.from({ length: endedAtOnce }, endOnes));
  return refused;
}
