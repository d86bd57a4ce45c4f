import { fromBinary } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import { expect } from '@jest/globals';
import { OrderEventSchema, OrderEventType } from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { OrderEvent } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import type { Logger } from '../../../src/platform/logger.ts';
import { openEventBus } from '../../../src/contract/event-bus.ts';
import type { EventBus } from '../../../src/contract/event-bus.ts';
import type { EventConsumer } from '../../../src/platform/nats/event-consumer.ts';
import { storedId } from '../../support/ids.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { openDatabase } from '../../../src/webhooks/database/database.ts';
import type { Database } from '../../../src/webhooks/database/database.ts';
import { ingestEvents } from '../../../src/webhooks/intake/ingest-events.ts';
import { createDeliveryWriter } from '../../../src/webhooks/intake/write-deliveries.ts';
import { ownNats } from '../../faults/stoppable-servers.ts';
import { registration } from '../../support/order-requests.ts';
import { startStack } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openPaymentDesk } from '../core/payment-desk.ts';
import type { PaymentDesk } from '../core/payment-desk.ts';
import { keptLog } from '../../support/kept-log.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';

export interface DeliveryRow {
  readonly merchant_id: string;
  readonly id: string;
  readonly environment: string;
  readonly endpoint: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly order_id: string;
  readonly order_number: string;
  readonly sequence: string;
  readonly url: string;
  readonly body: Buffer;
  readonly state: string;
}

/** The shortest wait for the broker after which the intake reads core's list (ingest-events.ts). */
const withoutBrokerMs = 300;

const numbersOfEnds = new Set([
  OrderEventType.COMPLETED,
  OrderEventType.FAILED,
  OrderEventType.EXPIRED,
  OrderEventType.REFUND_COMPLETED,
  OrderEventType.REFUND_FAILED,
]);

const writing = { retentionDays: 90, newId: newRandomId };

/** Opens a desk for one test, which is closed after the test. */
export function deskOfEachTest(): (...options: Parameters<typeof openIntakeDesk>) => Promise<IntakeDesk> {
  const closers = closersOfEachTest();
  return async (...options) => {
    const desk = await openIntakeDesk(...options);
    closers.push(desk.close);
    return desk;
  };
}

/** Real cores, a real broker, a database and a merchant, and the intake between them. */
export async function openIntakeDesk({ cores = 1, ackWaitMs = 30_000, ownProcesses = false } = {}) {
  const cleanUps: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  };
  try {
    const broker = await ownNats();
    cleanUps.push(broker.remove);
    await broker.start();
    const stack = await startStack({
      ownProcesses,
      cores,
      facades: 0,
      settings: { GATEHOUSE_NATS_URL: broker.url },
    });
    cleanUps.push(stack.stop);
    const desk = await openPaymentDesk(stack);
    cleanUps.push(desk.close);
    const { logger } = keptLog();
    const database = await openWebhooksDatabase(stack.databaseUrl, logger);
    cleanUps.push(database.close);
    const orders = stack.client(OrderService, 'webhooks');
    const now = (): Date => new Date();
    const writer = createDeliveryWriter({ ...writing, database, now, machineNow: now });
    const { id: merchantId } = await stack.createMerchant();

    const deliveries = (): Promise<readonly DeliveryRow[]> =>
      desk.query<DeliveryRow & Record<string, unknown>>(`
        select * from webhooks.deliveries order by event_id`);
    /** The ids of all committed events that merchants must receive, in commit order. */
    const toldEvents = async (): Promise<readonly string[]> =>
      (await committedEvents(desk)).filter(mustBeTold).map(({ eventId }) => eventId);
    /** Waits until so many orders have ended and each of their events has its delivery, and returns the deliveries. */
    const untilAllTakenIn = (count: number) =>
      waitUntil(`the deliveries of ${count} events are there`, async () => {
        const told = await toldEvents();
        const rows = await deliveries();
        return told.length >= count && rows.length >= told.length && rows;
      });
    return {
      ...{ stack, desk, broker, database, orders, writer, merchantId },
      ...{ deliveries, toldEvents, untilAllTakenIn },
      /** Starts one more process's intake. */
      startIntake: (own: IntakeStart = {}): RunningIntake => {
        const bus = openEventBus({ url: broker.url, name: 'intake test', logger });
        // A connection that was never open cannot be closed, so the test waits until the broker is available again.
        cleanUps.push(async () => {
          await waitUntil('the broker is there', bus.isConnected).catch(() => undefined);
          await bus.close();
        });
        const intake = runIntake({ bus, ackWaitMs, databaseUrl: stack.databaseUrl, orders, ...own });
        cleanUps.push(intake.stop);
        return intake;
      },
      /** Registers orders with a webhook_url, and ends their payment sessions, so that core's sweep expires them. */
      expireOrders: async (orderNumbers: readonly string[], own = merchantId): Promise<void> => {
        const registered = await Promise.all(
          orderNumbers.map((orderNumber) =>
            desk.orders.registerOrder(registration({ merchantId: own, orderNumber })),
          ),
        );
        await desk.query(
          'update core.orders set expires_at = now(), sweep_at = now() where id = any ($1::uuid[])',
          [registered.map(({ order }) => storedId('ord', order?.orderId ?? ''))],
        );
      },
      /** The same as `untilAllTakenIn`, and expects that each event has one delivery. */
      expectEachTakenInOnce: async (count: number): Promise<readonly DeliveryRow[]> => {
        const rows = await untilAllTakenIn(count);
        expect(eventIdsOf(rows)).toEqual((await toldEvents()).toSorted());
        return rows;
      },
      /** Ends the database session of the process that ingests. */
      endIntakeSession: async (): Promise<void> => {
        await desk.query(`select pg_terminate_backend(pid) from pg_locks
          where locktype = 'advisory' and objid = 7142102
            and database = (select oid from pg_database where datname = current_database())`);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
export type IntakeDesk = Awaited<ReturnType<typeof openIntakeDesk>>;

const openWebhooksDatabase = (url: string, logger: Logger): Promise<Database> =>
  openDatabase({ url, poolSize: 4, applicationName: 'intake test', logger });

/** The differences of an intake from the usual one. */
interface IntakeStart {
  /** Called between the write and the acknowledgement. */
  readonly onDeliveries?: () => void;
  /** Replaces the clock. A clock that stands still makes no regular read of core's list due. */
  readonly now?: () => Date;
  /** Replaces the client of core, whose list it reads. */
  readonly orders?: Client<typeof OrderService>;
}

interface IntakeOptions extends IntakeStart {
  readonly bus: EventBus;
  readonly ackWaitMs: number;
  readonly databaseUrl: string;
  readonly orders: Client<typeof OrderService>;
}

/** One process's intake, with a database pool of its own. */
function runIntake({
  bus,
  ackWaitMs,
  databaseUrl,
  orders,
  onDeliveries = () => undefined,
  now = () => new Date(),
}: IntakeOptions) {
  const { logger, log } = keptLog();
  const stopping = new AbortController();
  let announced = 0;
  let looks = 0;
  let silences = 0;
  let isListening = (): boolean => false;
  const countedOrders: Client<typeof OrderService> = {
    ...orders,
    listOrderEvents: (...call) => {
      looks += 1;
      return orders.listOrderEvents(...call);
    },
  };
  const countSilences = (consumer: EventConsumer): EventConsumer => ({
    listen: (stop) => {
      const inbox = consumer.listen(stop);
      isListening = inbox.isOpen;
      return {
        ...inbox,
        async take(limit, waitMs) {
          const received = await inbox.take(limit, waitMs);
          // Shorter waits end when the position must be stored.
          if (received.events.length === 0 && waitMs >= withoutBrokerMs) silences += 1;
          return received;
        },
      };
    },
  });
  const running = (async () => {
    const database = await openWebhooksDatabase(databaseUrl, logger);
    const writer = createDeliveryWriter({ ...writing, database, now, machineNow: now });
    const consumer = countSilences(bus.eventConsumer({ name: 'webhooks', ackWaitMs }));
    const announce = (): void => {
      announced += 1;
      onDeliveries();
    };
    const parts = { database, writer, consumer, orders: countedOrders, onDeliveries: announce, logger, now };
    await ingestEvents(parts, stopping.signal);
    await database.close();
  })();
  return {
    log,
    /** The number of its notifications about new deliveries. */
    announced: () => announced,
    /** The number of events that it read from the broker. It reads the others from core. */
    brought: () =>
      log
        .filter(({ source }) => source === 'the broker')
        .reduce((sum, { events }) => sum + Number(events), 0),
    /** How often it has read, or tried to read, core's list. */
    looks: () => looks,
    /** How often it waited for the broker without receiving an event, so that it had to read core's list. */
    silences: () => silences,
    /** Whether the broker delivers events to it. */
    isListening: () => isListening(),
    isIngesting: () => log.some(({ msg }) => msg === 'ingesting events'),
    stop: async (): Promise<void> => {
      stopping.abort();
      await running;
    },
  };
}
export type RunningIntake = ReturnType<typeof runIntake>;

/** All events of core, in commit order. */
export async function committedEvents(desk: PaymentDesk): Promise<OrderEvent[]> {
  const rows = await desk.query<{ payload: Buffer }>(`
    select payload from core.order_events order by xid, position`);
  return rows.map(({ payload }) => fromBinary(OrderEventSchema, payload));
}

const mustBeTold = ({ type, order }: OrderEvent): boolean =>
  numbersOfEnds.has(type) && (order?.webhookUrl ?? '') !== '';

export const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

/** Event ids of deliveries, sorted, to compare with those of events. */
const eventIdsOf = (rows: readonly DeliveryRow[]): string[] =>
  rows.map(({ event_id: eventId }) => eventId).sort();
