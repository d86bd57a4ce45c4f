import { create, toBinary } from '@bufbuild/protobuf';
import { v7 } from 'uuid';
import { publicId } from '../../support/ids.ts';
import { OrderEventSchema, OrderEventType } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { connectToDatabase } from '../../support/database-connections.ts';
import { sql } from '../../support/sql.ts';

/** A transaction of another writer that is still open. */
export interface LateEvent {
  readonly eventId: string;
  /** Adds the event. Its position was determined when the transaction began. */
  readonly insert: () => Promise<void>;
  readonly commit: () => Promise<unknown>;
  readonly rollback: () => Promise<unknown>;
  /** Ends the connection, and thereby a transaction that is not committed. */
  readonly end: () => Promise<void>;
}

/** Begins a transaction that already has its transaction id, and will add one event to a new order of no merchant. */
export async function beginLateEvent(databaseUrl: string): Promise<LateEvent> {
  const client = await connectToDatabase(databaseUrl);
  await client.query('begin');
  await client.query('select pg_current_xact_id()');
  const id = v7();
  const eventId = publicId('evt', id);
  const payload = toBinary(
    OrderEventSchema,
    create(OrderEventSchema, { eventId, type: OrderEventType.CREATED, sequence: 1n }),
  );
  return {
    eventId,
    insert: async () => {
      await client.query(sql`
        insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
        values (${v7()}, 'SANDBOX', ${v7()}, 1, ${id}, 'CREATED', now(), ${Buffer.from(payload)})`);
    },
    commit: () => client.query('commit'),
    rollback: () => client.query('rollback'),
    end: () => client.end(),
  };
}
