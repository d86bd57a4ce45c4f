import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import {
  blockHashOf,
  blockSealOf,
  commitmentOf,
  noHash,
  saltBytes,
} from '../../src/core/audit/event-commitment.ts';
import type { CommittedEvent } from '../../src/core/audit/event-commitment.ts';
import { copiedXid } from './copy-rows.ts';

const eventsOfBlock = 500;

type CopiedEvent = CommittedEvent & { readonly position: string };

interface ChainHead {
  readonly number: string;
  readonly hash: Buffer;
  readonly sealedAt: Date;
}

/**
 * Seals copied events in the target, as core seals its own, in a chain that begins there. The blocks of the source cannot be used. A stored
 * root of a day that has ended covers all blocks of that day, and core would report that the root differs. Core continues the chain.
 */
export async function sealCopies(target: pg.ClientBase, merchantId: string, sealKey: Buffer): Promise<void> {
  for (;;) {
    const { rows: events } = await target.query<CopiedEvent>(
      `select e.position::text as position, e.id, e.merchant_id as "merchantId", e.environment, e.order_id as "orderId",
         e.sequence, e.type, e.occurred_at as "occurredAt", e.payload
       from core.order_events e join move.owners o using (merchant_id)
       where e.xid = '${copiedXid}' and e.position > o.sealed_until and e.merchant_id = $1
       order by e.position limit ${eventsOfBlock}`,
      [merchantId],
    );
    if (events.length === 0) return;
    await addBlock(target, merchantId, events, sealKey);
  }
}

async function addBlock(
  target: pg.ClientBase,
  merchantId: string,
  events: readonly CopiedEvent[],
  sealKey: Buffer,
): Promise<void> {
  const { rows } = await target.query<ChainHead>(
    `select coalesce(c.number, 0)::text as number, coalesce(c.hash, $2) as hash,
       greatest(now()::timestamptz(3), (select sealed_at from core.event_seal)) as "sealedAt"
     from (select) one left join core.event_chains c on c.merchant_id = $1`,
    [merchantId, noHash],
  );
  const [head] = rows;
  if (head === undefined) throw new Error('the chain of the merchant cannot be read');
  const salts = events.map(() => randomBytes(saltBytes));
  const commitments = Buffer.concat(
    events.map((event, index) => commitmentOf(salts[index] ?? Buffer.alloc(0), event)),
  );
  const positions = { first: events[0]?.position ?? '', last: events.at(-1)?.position ?? '' };
  const number = BigInt(head.number) + 1n;
  const hash = blockHashOf({
    merchantId,
    number,
    previousHash: head.hash,
    sealedAt: head.sealedAt,
    firstPosition: positions.first,
    lastPosition: positions.last,
    commitments,
  });
  // One statement, so that a crash leaves the whole block or nothing of it.
  await target.query(
    `with block as (
       insert into core.event_blocks
         (merchant_id, number, previous_hash, hash, seal, sealed_at, first_position, last_position, order_ids, sequences, salts, commitments)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
     ), chain as (
       insert into core.event_chains (merchant_id, number, hash) values ($1, $2, $4)
       on conflict (merchant_id) do update set number = excluded.number, hash = excluded.hash
     )
     update move.owners set sealed_until = $8 where merchant_id = $1`,
    [
      merchantId,
      String(number),
      head.hash,
      hash,
      blockSealOf(sealKey, hash),
      head.sealedAt.toISOString(),
      positions.first,
      positions.last,
      events.map(({ orderId }) => orderId),
      events.map(({ sequence }) => sequence),
      Buffer.concat(salts),
      commitments,
    ],
  );
}
