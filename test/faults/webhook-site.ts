import type pg from 'pg';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { openPool } from '../support/shared-stack.ts';
import { storedId } from '../support/ids.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { sql } from '../support/sql.ts';
import { startLoggingReceiver } from './logging-receiver.ts';
import type { Exchange, LoggingReceiver } from './logging-receiver.ts';
import { ownNats } from './stoppable-servers.ts';
import type { StoppableServer } from './stoppable-servers.ts';
import { openWebhookShops } from './webhook-shops.ts';
import type { Shop, WebhookShops } from './webhook-shops.ts';
import { describeStandstill } from './webhook-standstill.ts';
import { committedEnds, findContradictions, findLeftOvers } from './webhook-verdict.ts';

/** Cores, webhooks processes and a broker that can be killed, and are started again as by a supervisor. */
export interface WebhookSite {
  readonly stack: Stack;
  readonly broker: StoppableServer;
  readonly database: pg.Pool;
  readonly cores: readonly GatehouseProcess[];
  readonly webhooks: readonly GatehouseProcess[];
  /** The number of killed processes. */
  readonly kills: () => number;
  readonly killCore: (core: GatehouseProcess) => Promise<void>;
  readonly killWebhooks: (webhooks: GatehouseProcess) => Promise<void>;
  readonly killBroker: () => void;
  /** Starts another core at the address of an earlier one. */
  readonly replaceCore: (core: GatehouseProcess) => Promise<GatehouseProcess>;
  readonly replaceWebhooks: (webhooks: GatehouseProcess) => Promise<GatehouseProcess>;
  /**
   * Opens shops with one receiver for every two of them, because lanes of different merchants may have the same
   * address.
   */
  readonly openTrade: (options: { readonly shops: number; readonly customers: number }) => Promise<Trade>;
  /** Ends every lease by then at the latest, also those of running processes. The default is now. */
  readonly endLeases: (inMs?: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The traffic between shops, their customers and their servers. */
export interface Trade extends WebhookShops {
  readonly receivers: readonly LoggingReceiver[];
  /** The n-th webhook from now, at any receiver. */
  readonly arrival: (n?: number) => Promise<Exchange>;
  /** The number of webhooks that have arrived, with repeats. */
  readonly arrivals: () => number;
  /**
   * Resolves when everything that is committed has been delivered and recorded as delivered. `impatient`: retries do
   * not wait.
   */
  readonly untilDelivered: (options?: { readonly impatient?: boolean }) => Promise<void>;
  /** All faults, after everything has been delivered. */
  readonly findFaults: () => Promise<readonly string[]>;
  /** The number of events that had to be sent. */
  readonly committed: () => Promise<number>;
}

export interface WebhookSiteOptions {
  readonly cores?: number;
  readonly webhooks?: number;
  /** The processes that are killed or frozen, by default all. The others run within the test's process. */
  readonly ownProcesses?: readonly ('core' | 'webhooks')[];
  /** A database of the caller. */
  readonly databaseUrl?: string;
}

/** Starts it. Close it at the end, even after a failure. */
export async function openWebhookSite(options: WebhookSiteOptions = {}): Promise<WebhookSite> {
  const cleanUps: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  };
  try {
    const broker = await ownNats();
    cleanUps.push(broker.remove);
    await broker.start();
    const { cores: coreCount = 2, webhooks: webhooksCount = 2, databaseUrl } = options;
    const stack = await startStack({
      ownProcesses: options.ownProcesses ?? ['core', 'webhooks'],
      cores: coreCount,
      facades: 0,
      webhooks: webhooksCount,
      settings: {
        GATEHOUSE_NATS_URL: broker.url,
        ...(databaseUrl === undefined ? {} : { GATEHOUSE_DATABASE_URL: databaseUrl }),
      },
    });
    cleanUps.push(stack.stop);
    const database = openPool({ connectionString: databaseUrl ?? stack.databaseUrl, max: 6 });
    cleanUps.push(() => database.end());

    const cores = [...stack.cores];
    const webhooks = [...stack.webhooks];
    let kills = 0;
    const kill = async (process: GatehouseProcess): Promise<void> => {
      kills += 1;
      await process.stop('SIGKILL');
    };
    const replace = async (
      all: GatehouseProcess[],
      old: GatehouseProcess,
      next: Promise<GatehouseProcess>,
    ) => {
      const started = await next;
      all[all.indexOf(old)] = started;
      return started;
    };
    return {
      stack,
      broker,
      database,
      cores,
      webhooks,
      kills: () => kills,
      killCore: kill,
      killWebhooks: kill,
      killBroker: () => {
        kills += 1;
        broker.kill();
      },
      replaceCore: (old) => replace(cores, old, stack.replaceCore({}, String(old.ready['grpc']))),
      replaceWebhooks: (old) => replace(webhooks, old, stack.startWebhooks()),
      openTrade: async ({ shops, customers }) => {
        const receivers: LoggingReceiver[] = [];
        for (let each = 0; each < shops; each += 2) {
          const receiver = await startLoggingReceiver();
          receivers.push(receiver);
          cleanUps.push(receiver.close);
        }
        const trade = await openTrade({
          stack,
          // The first connections may have ended.
          operator: stack.webhookClient('operator', webhooks[0]),
          webhookEndpoints: stack.webhookEndpointClient('operator', webhooks[0]),
          database,
          processes: () => [...cores, ...webhooks],
          receivers,
          shops,
          customers,
        });
        cleanUps.push(trade.stop);
        return trade;
      },
      endLeases: async (inMs = 0) => {
        await database.query(sql`with held as (
            select ctid from webhooks.lanes where lease_id is not null
            order by merchant_id, environment, endpoint for no key update
          )
          update webhooks.lanes l set leased_until = least(leased_until, now() + ${inMs}::float8 * interval '1 ms')
          from held where l.ctid = held.ctid`);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface TradeParts {
  readonly stack: Stack;
  readonly operator: ReturnType<Stack['webhookClient']>;
  readonly webhookEndpoints: ReturnType<Stack['webhookEndpointClient']>;
  readonly database: pg.Pool;
  readonly processes: () => readonly GatehouseProcess[];
  readonly receivers: readonly LoggingReceiver[];
  readonly shops: number;
  readonly customers: number;
}

async function openTrade(parts: TradeParts): Promise<Trade> {
  const {
    stack,
    operator,
    webhookEndpoints,
    database,
    processes,
    receivers,
    shops: count,
    customers,
  } = parts;
  const reader = stack.client(OrderService, 'reader');
  const receiverOf = (index: number): LoggingReceiver | undefined => receivers[Math.floor(index / 2)];
  const origins = Array.from({ length: count }, (_, index) => receiverOf(index)?.origin ?? '');
  const open = await openWebhookShops({
    ...{ stack, webhooks: operator, webhookEndpoints, database, origins, customers },
  });
  const { shops } = open;
  const exchangesOf = (shop: Shop, index: number): readonly Exchange[] =>
    (receiverOf(index)?.exchanges ?? []).filter(({ target }) => target.endsWith(shop.merchantId));
  const arrivals = (): number => receivers.reduce((sum, { exchanges }) => sum + exchanges.length, 0);
  const isAllDelivered = async (expected: number): Promise<boolean> => {
    const { rows } = await database.query<{ delivered: number; left: number }>(
      `select
         (select count(*)::int from webhooks.deliveries where merchant_id = any ($1) and state = 'DELIVERED') as delivered,
         (select count(*)::int from webhooks.lanes
          where merchant_id = any ($1) and (lease_id is not null or next_due_at is not null)) as left`,
      [shops.map(({ merchantId }) => merchantId)],
    );
    return rows[0]?.delivered === expected && rows[0].left === 0;
  };
  return {
    ...open,
    receivers,
    arrivals,
    arrival: (n = 1) => arrivalAtAny(receivers, n),
    async untilDelivered({ impatient = false } = {}) {
      // The latest commits are listed only when no older transaction is in progress in the whole server, where other
      // tests have theirs.
      const events = await waitUntil('core lists all that is committed', async () => {
        const count = await countEnds(database, shops).catch(() => undefined);
        if (count === undefined) return false;
        const listed = await committedEnds(reader, shops).catch(() => undefined);
        return listed?.length === count && listed;
      });
      try {
        await waitUntil(`all of ${events.length} events are delivered`, async () => {
          if (impatient) await hurryRetries(database);
          return isAllDelivered(events.length).catch(() => false);
        });
      } catch (error) {
        const found = await describeStandstill({ database, shops, events, processes: processes() });
        throw new Error(`${String(error)}\n${found}`, { cause: error });
      }
    },
    async findFaults() {
      const events = await committedEnds(reader, shops);
      const exchanges = new Map(shops.map((shop, index) => [shop, exchangesOf(shop, index)]));
      return [...findContradictions({ events, exchanges }), ...(await findLeftOvers(database, shops))];
    },
    committed: async () => (await committedEnds(reader, shops)).length,
  };
}

async function countEnds(database: pg.Pool, shops: readonly Shop[]): Promise<number> {
  const { rows } = await database.query<{ count: number }>(sql`
    select count(*)::int as count from core.order_events
    where merchant_id = any (${shops.map(({ merchantId }) => storedId('mer', merchantId))}::uuid[])
    and type in ('COMPLETED', 'FAILED', 'EXPIRED')`);
  return rows[0]?.count ?? 0;
}

/** Every receiver counts separately, so each arrival computes the sum. */
async function arrivalAtAny(receivers: readonly LoggingReceiver[], n: number): Promise<Exchange> {
  let left = n;
  return new Promise((found) => {
    const follow = (receiver: LoggingReceiver): void => {
      void receiver.arrival().then((exchange) => {
        left -= 1;
        if (left === 0) found(exchange);
        if (left > 0) follow(receiver);
      });
    };
    receivers.forEach(follow);
  });
}

/** Deliveries that wait for their next attempt, or for their circuit to close, wait no longer. */
async function hurryRetries(database: pg.Pool): Promise<void> {
  await database.query(`with waiting as (
      select merchant_id, id from webhooks.deliveries where state = 'PENDING' and due_at > now()
      for no key update skip locked
    )
    update webhooks.deliveries d set due_at = now() from waiting
    where d.merchant_id = waiting.merchant_id and d.id = waiting.id`);
  await database.query(`with waiting as (
      select ctid from webhooks.lanes where lease_id is null and next_due_at > now()
      for no key update skip locked
    )
    update webhooks.lanes l set next_due_at = now(), resting_until = null from waiting where l.ctid = waiting.ctid`);
}
