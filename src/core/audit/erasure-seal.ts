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
  const seal = beginSeal(key, range);
  seal.add(events);
  return seal.end();
}

function beginSeal(key: Buffer, range: ErasedRange) {
  const { merchantId, orderId, fromSequence, toSequence, erasedAt } = range;
  const head = ['gatehouse-erasure v1', merchantId, orderId, fromSequence, toSequence, erasedAt.getTime()];
  const mac = createHmac('sha256', key).update(`${head.join(' ')}\n`);
  return {
    add(events: readonly CommittedEvent[]): void {
      for (const event of events) mac.update(commitmentOf(noSalt, event));
    },
    end: (): Buffer => mac.digest(),
  };
}

/** An erasure as stored. Without core's key, anyone could have written it. */
export interface StoredErasure extends ErasedRange {
  readonly seal: Buffer;
}

interface ErasedRow {
  readonly order_id: string;
  readonly from_sequence: number;
  readonly to_sequence: number;
  readonly erased_at: Date;
  readonly seal: Buffer;
}

/** The erasures of some orders of a merchant, by order. */
export async function readErasures(
  client: PoolClient,
  merchantId: string,
  orderIds: readonly string[],
): Promise<ReadonlyMap<string, readonly StoredErasure[]>> {
  const rows = await runStatement<ErasedRow>(client, {
    text: `
select order_id, from_sequence, to_sequence, erased_at, seal from core.erased_orders
where merchant_id = $1 and order_id = any($2::uuid[])`,
    values: [merchantId, orderIds],
  });
  const erasures = rows.map((row) => ({
    merchantId,
    orderId: row.order_id,
    fromSequence: row.from_sequence,
    toSequence: row.to_sequence,
    erasedAt: row.erased_at,
    seal: row.seal,
  }));
  return Map.groupBy(erasures, ({ orderId }) => orderId);
}

/** Whether core erased an event, by its sequence. */
export type IsErased = (sequence: number) => boolean;

/** Compares all events of an order with the seals of its erasures. */
export function erasedAmong(
  key: Buffer,
  erasures: readonly StoredErasure[],
  events: readonly CommittedEvent[],
): IsErased {
  return isWithin(
    erasures.filter((erasure) => {
      const { fromSequence, toSequence } = erasure;
      const own = events.filter(({ sequence }) => sequence >= fromSequence && sequence <= toSequence);
      return isSame(erasureSealOf(key, erasure, own), erasure.seal);
    }),
  );
}

/** As `erasedAmong`, of an order whose events do not fit into memory. `read` returns pages of the events from one sequence to another. */
export async function erasedInPages(
  key: Buffer,
  erasures: readonly StoredErasure[],
  read: (from: number, to: number) => AsyncIterable<readonly CommittedEvent[]>,
): Promise<IsErased> {
  const proven: StoredErasure[] = [];
  for (const erasure of erasures) {
    const seal = beginSeal(key, erasure);
    for await (const events of read(erasure.fromSequence, erasure.toSequence)) seal.add(events);
    if (isSame(seal.end(), erasure.seal)) proven.push(erasure);
  }
  return isWithin(proven);
}

const isWithin =
  (ranges: readonly ErasedRange[]): IsErased =>
  (sequence) =>
    ranges.some(({ fromSequence, toSequence }) => sequence >= fromSequence && sequence <= toSequence);
