import { createTestDatabase } from '../../support/test-database.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { inTransaction } from '../../../src/platform/database/in-transaction.ts';
import { runStatement } from '../../../src/platform/database/run-statement.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { endpointOf } from '../../../src/webhooks/domain/delivery.ts';
import type { LaneKey } from '../../../src/webhooks/domain/delivery.ts';
import { insertDeliveries } from '../../../src/webhooks/intake/insert-deliveries.sql.ts';
import type { NewDelivery } from '../../../src/webhooks/intake/insert-deliveries.sql.ts';
import { insertWithLease } from '../../../src/webhooks/intake/insert-with-lease.ts';
import { openWebhooksDatabase, startDispatcher } from './dispatcher.ts';
import type { DispatcherOptions, RunningDispatcher } from './dispatcher.ts';
import { answer, startReceiver } from './receivers.ts';
import type { Receiver } from './receivers.ts';

interface StoredDelivery {
  readonly merchant_id: string;
  readonly id: string;
  readonly order_id: string;
  readonly sequence: string;
  readonly state: string;
  readonly due_at: Date | null;
  readonly attempt_count: number;
  readonly round_attempts: number;
  readonly last_result: string;
}

interface StoredLane {
  readonly merchant_id: string;
  readonly endpoint: string;
  readonly next_due_at: Date | null;
  readonly lease_id: string | null;
  readonly leased_until: Date | null;
  readonly consecutive_failures: number;
  readonly resting_until: Date | null;
  readonly paused_at: Date | null;
  readonly pause_reason: string;
  readonly paused_by_answer: boolean;
  readonly failing_since: Date | null;
  readonly last_failure_at: Date | null;
  readonly last_result: string;
  readonly last_attempt_result: string | null;
}

/** The merchant of deliveries that name none. */
const theMerchant = 'mer_01jd4s6w3hfk0a8m2x7v5n9q1r';

export const laneOf = (endpoint: string, merchantId = theMerchant): LaneKey => ({
  merchantId,
  environment: 'SANDBOX',
  endpoint,
});

/** How far ahead it is; minus infinity for never. */
export const inMs = (at: Date | null | undefined): number => (at?.getTime() ?? -Infinity) - Date.now();

export const merchant = (): string => newRandomId('mer', new Date());

export function newDelivery(over: Partial<NewDelivery> & { readonly url: string }): NewDelivery {
  const id = newRandomId('whd', new Date());
  const eventId = newRandomId('evt', new Date());
  return {
    id,
    eventId,
    merchantId: theMerchant,
    environment: 'SANDBOX',
    endpoint: endpointOf(over.url),
    eventType: 'order.completed',
    orderId: newRandomId('ord', new Date()),
    orderNumber: 'INV-1',
    sequence: 1n,
    body: Buffer.from(JSON.stringify({ id: eventId, created_at: new Date().toISOString() })),
    ...over,
  };
}

type GivenDelivery = Partial<NewDelivery> & { readonly url: string };

/**
 * A database with deliveries in it, and dispatchers that send them. The database is an empty one of its own, or the one that is
 * given.
 */
export async function openDispatchDesk(given?: string) {
  const testDatabase =
    given === undefined
      ? await createTestDatabase({ migrated: false })
      : { url: given, drop: async () => {} };
  const database = await openWebhooksDatabase(testDatabase.url);
  await database.migrate();
  const dispatchers = new Set<RunningDispatcher>();
  const { pool } = database;
  const rows = <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
    runStatement<Row & Record<string, unknown>>(pool, { text, values });
  const ring = (): void => dispatchers.forEach((each) => each.ring());

  const delivery = async (id: string): Promise<StoredDelivery> => {
    const [row] = await rows<StoredDelivery>('select * from webhooks.deliveries where id = $1', [id]);
    if (row === undefined) throw new Error(`no delivery ${id}`);
    return row;
  };
  const deliveries = (): Promise<StoredDelivery[]> => rows('select * from webhooks.deliveries order by id');
  const lanes = (): Promise<StoredLane[]> =>
    rows('select * from webhooks.lanes order by merchant_id, endpoint');
  const until = (id: string, what: string, isSo: (found: StoredDelivery) => boolean) =>
    waitUntil(`${id} ${what}`, async () => {
      const found = await delivery(id);
      return isSo(found) && found;
    });
  const receivers: Receiver[] = [];
  const stopAll = async (): Promise<void> => {
    for (const each of [...dispatchers]) await each.stop();
    for (const receiver of receivers.splice(0)) await receiver.close();
  };

  return {
    ...{ database, url: testDatabase.url, delivery, deliveries, lanes },
    /** Creates deliveries as the intake does, wakes every dispatcher, and returns the deliveries. */
    add: async (...given: readonly GivenDelivery[]): Promise<NewDelivery[]> => {
      const made = given.map(newDelivery);
      await insertDeliveries(pool, made);
      ring();
      return made;
    },
    /** Creates deliveries as an intake does that runs in the process of this dispatcher, and wakes none. */
    addBeside: ({ leases }: Pick<RunningDispatcher, 'leases'>, ...given: readonly GivenDelivery[]) =>
      leases.writeWithLease((lease) => insertWithLease(pool, given.map(newDelivery), undefined, lease)),
    /** Starts a dispatcher with database connections of its own. */
    startDispatcher: async (options?: DispatcherOptions): Promise<RunningDispatcher> => {
      const started = await startDispatcher(testDatabase.url, options);
      const stop = async (): Promise<void> => {
        if (dispatchers.delete(dispatcher)) await started.stop();
      };
      const dispatcher: RunningDispatcher = { ...started, stop };
      dispatchers.add(dispatcher);
      return dispatcher;
    },
    /** A merchant's server, which accepts everything by default. */
    receive: async (behaviour = answer(204)): Promise<Receiver> => {
      const receiver = await startReceiver(behaviour);
      receivers.push(receiver);
      return receiver;
    },
    untilState: (id: string, state: string) => until(id, `is ${state}`, (found) => found.state === state),
    untilAttempts: (id: string, count: number) =>
      until(id, `was tried ${count} times`, (found) => found.attempt_count >= count),
    untilAllDelivered: () =>
      waitUntil('all are delivered', async () =>
        (await deliveries()).every(({ state }) => state === 'DELIVERED'),
      ),
    /** Waits until no lane is leased. */
    untilIdle: () =>
      waitUntil('no lane is held', async () =>
        (await lanes()).every(({ lease_id: lease }) => lease === null),
      ),
    /** Makes everything in the database older by this time, except leases, and wakes the dispatchers. */
    letTimePass: async (ms: number): Promise<void> => {
      const by = `$1::float8 * interval '1 millisecond'`;
      await inTransaction(pool, [], async (client) => {
        // The sequence in which every caller locks several lanes.
        await client.query(`
          select from webhooks.lanes order by merchant_id, environment, endpoint for no key update`);
        await client.query(
          `update webhooks.lanes set next_due_at = next_due_at - ${by}, resting_until = resting_until - ${by},
             paused_at = paused_at - ${by}, resumed_at = resumed_at - ${by},
             last_failure_at = last_failure_at - ${by}`,
          [ms],
        );
        await client.query(
          `update webhooks.deliveries set due_at = due_at - ${by}, round_started_at = round_started_at - ${by}`,
          [ms],
        );
      });
      ring();
    },
    /** Stops what was started, and empties the database for the next test. */
    reset: async (): Promise<void> => {
      await stopAll();
      await pool.query('truncate webhooks.lanes, webhooks.webhook_endpoints cascade');
    },
    close: async (): Promise<void> => {
      await stopAll();
      await database.close();
      await testDatabase.drop();
    },
  };
}
export type DispatchDesk = Awaited<ReturnType<typeof openDispatchDesk>>;
