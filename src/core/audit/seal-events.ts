import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import {
  bulkStatement,
  plainColumn,
  rowList,
  scalar,
  textColumn,
} from '../../platform/database/bulk-statement.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { withAdvisoryLock } from '../../platform/database/advisory-lock.ts';
import { pause } from '../../platform/pause.ts';
import type { Database } from '../database/database.ts';
import { blockHashOf, blockSealOf, commitmentOf, noHash, saltBytes } from './event-commitment.ts';
import type { CommittedEvent } from './event-commitment.ts';
import { closeDays } from './close-days.ts';
import type { RootSigner } from './day-root.ts';

export interface SealParts {
  readonly database: Pick<Database, 'pool'>;
  /** The key of the blocks' seals, which is not in the database. */
  readonly sealKey: Buffer;
  readonly signer: RootSigner;
  readonly randomBytes: (size: number) => Buffer;
  /**
   * Core's own clock. A block gets the earlier time of this clock and the database's, and a day is closed when both have ended it. If one
   * of them is ahead for a while, no day is closed before its events exist.
   */
  readonly now: () => Date;
}

const batchSize = 500;
/** Requests wait while events are hashed: some 15 ms for a whole batch. */
const hashedPerTurn = 50;
/** One core seals at a time. */
const sealLock = { key: 7_142_008, silenceMs: 30_000 };

/**
 * Puts committed events into the chains of their merchants, in the order of the relay, until all are sealed or `stop` aborts.
 * Then it closes the days that have ended. Does nothing while another core seals.
 */
export async function sealEvents(parts: SealParts, stop: AbortSignal): Promise<void> {
  await withAdvisoryLock(parts.database.pool, sealLock, async (client, lost) => {
    await client.query('set enable_sort = off');
    try {
      const ended = AbortSignal.any([stop, lost]);
      while (!ended.aborted) {
        const begun = performance.now();
        if ((await sealBatch(client, parts)) < batchSize) break;
        // A backlog, as after an upgrade from a version without seals, takes half of a CPU at most, so that payments go on.
        await pause(performance.now() - begun, ended);
      }
      if (!stop.aborted) await closeDays(client, parts);
    } finally {
      if (!lost.aborted) await client.query('reset enable_sort');
    }
  });
}

interface SealedUntil {
  readonly xid: string;
  readonly position: string;
  readonly sealed_at: Date;
}

interface EventRow {
  readonly xid: string;
  readonly position: string;
  readonly id: string;
  readonly merchant_id: string;
  readonly environment: string;
  readonly order_id: string;
  readonly sequence: number;
  readonly type: string;
  readonly occurred_at: Date;
  readonly payload: Buffer;
}

/**
 * Seals up to one batch. Returns the number of its events. Everything is read and computed before the first write, and written by one
 * statement. A transaction that has written and waits for the next statement would hold back the events of all orders (ADR 4).
 */
async function sealBatch(client: PoolClient, { sealKey, randomBytes, now }: SealParts): Promise<number> {
  const until = await readSealedUntil(client, now());
  const events = await readNextEvents(client, until);
  const last = events.at(-1);
  if (last === undefined) return 0;
  const byMerchant = Map.groupBy(events, ({ merchant_id: merchantId }) => merchantId);
  const heads = await runStatement<{ merchant_id: string; number: string; hash: Buffer }>(client, {
    name: 'seal-heads',
    text: 'select merchant_id, number::text as number, hash from core.event_chains where merchant_id = any($1::uuid[])',
    values: [[...byMerchant.keys()]],
  });
  const headOf = new Map(heads.map((head) => [head.merchant_id, head]));
  const blocks: Block[] = [];
  for (const [merchantId, eventsOfMerchant] of byMerchant) {
    const head = headOf.get(merchantId);
    const previous = { number: BigInt(head?.number ?? 0), hash: head?.hash ?? noHash };
    const salts = randomBytes(saltBytes * eventsOfMerchant.length);
    blocks.push(
      await blockOf({
        merchantId,
        events: eventsOfMerchant,
        previous,
        salts,
        sealedAt: until.sealed_at,
        sealKey,
      }),
    );
    await nextTurn();
  }
  const { xid, position } = last;
  await runStatement(
    client,
    addBlocks.with({ block: blocks, sealed_at: until.sealed_at.toISOString(), xid, position }),
  );
  return events.length;
}

/** The end of the sealed events, and the time of the next block, which never precedes an earlier block or belongs to a closed day. */
async function readSealedUntil(client: PoolClient, now: Date): Promise<SealedUntil> {
  const [until] = await runStatement<SealedUntil>(client, {
    name: 'seal-from',
    text: `
select coalesce(s.xid, '0'::xid8)::text as xid, coalesce(s.position, 0)::text as position,
  greatest(least(now(), $1::timestamptz)::timestamptz(3), s.sealed_at, (select max(day) + 1 from core.audit_roots)::timestamp at time zone 'UTC') as sealed_at
from (select) one left join core.event_seal s on true`,
    values: [now.toISOString()],
  });
  if (until === undefined) throw new Error('the position of the seal cannot be read');
  return until;
}

/** The next events without a seal, in commit order. */
const readNextEvents = (client: PoolClient, until: SealedUntil): Promise<EventRow[]> =>
  runStatement<EventRow>(client, {
    name: 'seal-read',
    text: `
select e.xid::text as xid, e.position::text as position, e.id, e.merchant_id, e.environment, e.order_id, e.sequence, e.type,
  e.occurred_at, e.payload
from core.order_events e
where (e.xid, e.position) > ($1::xid8, $2::bigint) and e.xid < pg_snapshot_xmin(pg_current_snapshot())
order by e.xid, e.position limit $3`,
    values: [until.xid, until.position, batchSize],
  });

interface Block {
  readonly merchantId: string;
  readonly number: bigint;
  readonly previousHash: Buffer;
  readonly hash: Buffer;
  readonly seal: Buffer;
  readonly firstPosition: bigint;
  readonly lastPosition: bigint;
  readonly events: readonly EventRow[];
  readonly salts: Buffer;
  readonly commitments: Buffer;
}

interface BlockParts extends Pick<Block, 'merchantId' | 'events' | 'salts'> {
  readonly previous: { readonly number: bigint; readonly hash: Buffer };
  readonly sealedAt: Date;
  readonly sealKey: Buffer;
}

async function blockOf(parts: BlockParts): Promise<Block> {
  const { merchantId, events, previous, salts, sealedAt, sealKey } = parts;
  const each: Buffer[] = [];
  for (const [index, event] of events.entries()) {
    if (index > 0 && index % hashedPerTurn === 0) await nextTurn();
    each.push(
      commitmentOf(salts.subarray(index * saltBytes, (index + 1) * saltBytes), committedEventOf(event)),
    );
  }
  const commitments = Buffer.concat(each);
  const positions = events.map(({ position }) => BigInt(position));
  const firstPosition = positions.reduce((a, b) => (a < b ? a : b));
  const lastPosition = positions.reduce((a, b) => (a > b ? a : b));
  const content = { merchantId, number: previous.number + 1n, previousHash: previous.hash };
  const range = { firstPosition: String(firstPosition), lastPosition: String(lastPosition) };
  const hash = blockHashOf({ ...content, ...range, sealedAt, commitments });
  const seal = blockSealOf(sealKey, hash);
  return { ...content, hash, seal, firstPosition, lastPosition, events, salts, commitments };
}

/** An array as PostgreSQL writes it, because the arrays of several blocks have different lengths. */
const arrayText = (values: readonly (string | number)[]): string => `{${values.join(',')}}`;

const addBlocks = bulkStatement(
  'seal-blocks',
  {
    block: rowList<Block>({
      merchant_id: plainColumn('uuid', (block) => block.merchantId),
      number: plainColumn('bigint', (block) => block.number),
      previous_hash: textColumn('bytea', (block) => block.previousHash),
      hash: textColumn('bytea', (block) => block.hash),
      seal: textColumn('bytea', (block) => block.seal),
      first_position: plainColumn('bigint', (block) => block.firstPosition),
      last_position: plainColumn('bigint', (block) => block.lastPosition),
      order_ids: textColumn('text', ({ events }) => arrayText(events.map((event) => event.order_id))),
      sequences: textColumn('text', ({ events }) => arrayText(events.map((event) => event.sequence))),
      salts: textColumn('bytea', (block) => block.salts),
      commitments: textColumn('bytea', (block) => block.commitments),
    }),
    sealed_at: scalar<string>('timestamptz'),
    xid: scalar<string>('xid8'),
    position: scalar<string>('bigint'),
  },
  (sql) => `
with block as (
  insert into core.event_blocks
    (merchant_id, number, previous_hash, hash, seal, sealed_at, first_position, last_position, order_ids, sequences, salts, commitments)
  select merchant_id, number, previous_hash, hash, seal, ${sql.sealed_at}, first_position, last_position, order_ids::uuid[],
    sequences::integer[], salts, commitments
  from ${sql.block}
  returning merchant_id, number, hash
), chain as (
  insert into core.event_chains (merchant_id, number, hash) select merchant_id, number, hash from block
  on conflict (merchant_id) do update set number = excluded.number, hash = excluded.hash
)
insert into core.event_seal (xid, position, sealed_at) values (${sql.xid}, ${sql.position}, ${sql.sealed_at})
on conflict (id) do update set xid = excluded.xid, position = excluded.position, sealed_at = excluded.sealed_at`,
);

export const committedEventOf = (row: Omit<EventRow, 'xid' | 'position'>): CommittedEvent => ({
  id: row.id,
  merchantId: row.merchant_id,
  environment: row.environment,
  orderId: row.order_id,
  sequence: row.sequence,
  type: row.type,
  occurredAt: row.occurred_at,
  payload: row.payload,
});
