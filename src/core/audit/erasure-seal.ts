import { createHmac } from 'node:crypto';
import type { PoolClient } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import { commitmentOf, isSame } from './event-commitment.ts';
import type { CommittedEvent } from './event-commitment.ts';

/** Successive events of an order whose personal data core has erased. Both ids are stored ids. */
export interface ErasedRange {
  readonly merchantId: string;
  readonly orderId: string;
  readonly fromSequence: number;
  readonly toSequence: number;
  readonly erasedAt: Date;
}

const noSalt = Buffer.alloc(0);

/**
 * The seal of the events as the erasure left them, sorted by sequence. Only core has the key. So a change of the
 * database without that key cannot pass as an erasure.
 */
export function erasureSealOf(key: Buffer, range: ErasedRange, events: readonly CommittedEvent[]): Buffer {
  const { merchantId, orderId, fromSequence, toSequence, erasedAt } = range;
  const head = ['gatehouse-erasure v1', merchantId, orderId, fromSequence, toSequence, erasedAt.getTime()];
  const mac = createHmac('sha256', key).update(`${head.join(' ')}\n`);
  for (const event of events) mac.update(commitmentOf(noSalt, event));
  return mac.digest();
}

interface ErasedRow {
  readonly order_id: string;
  readonly from_sequence: number;
  readonly to_sequence: number;
  readonly erased_at: Date;
  readonly seal: Buffer;
}

/** The sequences of those events of an order that match the seal of an erasure. */
export type ErasedIn = (orderId: string, events: readonly CommittedEvent[]) => ReadonlySet<number>;

/** Reads the erasures of some orders of a merchant. */
export async function readErasures(
  client: PoolClient,
  key: Buffer,
  merchantId: string,
  orderIds: readonly string[],
): Promise<ErasedIn> {
  const rows = await runStatement<ErasedRow>(client, {
    text: `
select order_id, from_sequence, to_sequence, erased_at, seal from core.erased_orders
where merchant_id = $1 and order_id = any($2::uuid[])`,
    values: [merchantId, orderIds],
  });
  const byOrder = Map.groupBy(rows, ({ order_id: orderId }) => orderId);
  return (orderId, events) =>
    new Set(
      (byOrder.get(orderId) ?? []).flatMap((row) => {
        const range = {
          merchantId,
          orderId,
          fromSequence: row.from_sequence,
          toSequence: row.to_sequence,
          erasedAt: row.erased_at,
        };
        const eventsInRange = events.filter(
          ({ sequence }) => sequence >= range.fromSequence && sequence <= range.toSequence,
        );
        return isSame(erasureSealOf(key, range, eventsInRange), row.seal)
          ? eventsInRange.map(({ sequence }) => sequence)
          : [];
      }),
    );
}
