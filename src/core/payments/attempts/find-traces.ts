import { fromBinary } from '@bufbuild/protobuf';
import type { Pool } from 'pg';
import { storedId } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import { OrderEventSchema } from '../../../gen/gatehouse/v1/order_pb.js';
import { runStatement } from '../../../platform/database/run-statement.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { LeasedAttempt } from './lease-attempts.ts';

/** The traceparent of a leased attempt's order; empty when none was recorded. */
export type TraceOf = (attempt: LeasedAttempt) => string;
export type FindTraces = (attempts: readonly LeasedAttempt[]) => Promise<TraceOf>;

/** Finds no trace, for a core without tracing. */
export const findNoTraces: FindTraces = () => Promise.resolve(() => '');

/**
 * Events of the orders whose stored form contains the tag, the length and the version of OrderEvent.traceparent. So only events of
 * recorded traces leave the database. Other texts may contain the same bytes, so the event is read before it is believed.
 */
const statement = `
select e.order_id as "orderId", e.payload
from unnest($1::uuid[], $2::uuid[]) as asked (merchant_id, order_id)
join core.order_events e on e.merchant_id = asked.merchant_id and e.order_id = asked.order_id
where position('\\x623730302d'::bytea in e.payload) > 0
order by e.order_id, e.sequence`;

/**
 * Finds the traces of leased attempts in the events of their orders, the latest of each. It never fails, because the attempts are
 * leased already and must reach their worker.
 */
export const createFindTraces =
  (pool: Pool, logger: Logger): FindTraces =>
  async (attempts) => {
    if (attempts.length === 0) return () => '';
    try {
      const rows = await runStatement<{ orderId: StoredId<'ord'>; payload: Buffer }>(pool, {
        name: 'find-traces',
        text: statement,
        values: [
          attempts.map(({ order }) => storedId('mer', order.merchantId)),
          attempts.map(({ order }) => storedId('ord', order.id)),
        ],
      });
      const found = new Map(
        rows
          .map(
            ({ orderId, payload }) => [orderId, fromBinary(OrderEventSchema, payload).traceparent] as const,
          )
          .filter(([, traceparent]) => traceparent !== ''),
      );
      return ({ order }) => found.get(storedId('ord', order.id)) ?? '';
    } catch (error) {
      logger.warn(
        { err: error },
        'the traces of leased attempts could not be read, so their work begins new traces',
      );
      return () => '';
    }
  };
