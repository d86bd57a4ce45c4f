import type { PoolClient } from 'pg';
import type { StoredId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { blockHashOf, blockSealOf, hashBytes, isSame, noHash, saltBytes } from './event-commitment.ts';
import type { Finding, VerifySummary } from './audit-finding.ts';
import type { RootCheck } from './verify-roots.ts';

interface BlockRow {
  readonly number: string;
  readonly previous_hash: Buffer;
  readonly hash: Buffer;
  readonly seal: Buffer;
  readonly sealed_at: Date;
  readonly first_position: string;
  readonly last_position: string;
  readonly commitments: Buffer;
  /** Whether the block has one order, sequence and salt for each commitment. The hash covers only the commitments. */
  readonly is_whole: boolean;
}

export interface BlocksParts {
  readonly merchantId: StoredId<'mer'>;
  readonly sealKey: Buffer;
  readonly roots: RootCheck;
  readonly summary: VerifySummary;
}

/** The blocks of one query. The commitments of a block have up to 16 kB (500 of 32 bytes). */
const pageSize = 100;

/**
 * Follows the chain of one merchant from its first block to its newest. A gap is one finding, which names its first block: someone who
 * changes a number could make a gap of any size.
 */
export async function* verifyBlocks(
  client: PoolClient,
  { merchantId, sealKey, roots, summary }: BlocksParts,
): AsyncGenerator<Finding> {
  const [head] = await runStatement<{ number: string }>(client, {
    text: 'select number::text as number from core.event_chains where merchant_id = $1',
    values: [merchantId],
  });
  let next = 1n;
  let previousHash: Uint8Array = noHash;
  for (;;) {
    const rows = await runStatement<BlockRow>(client, {
      text: `
select number::text as number, previous_hash, hash, seal, sealed_at, first_position::text as first_position,
  last_position::text as last_position, commitments,
  array_position(order_ids, null) is null and array_position(sequences, null) is null
    and cardinality(sequences) = cardinality(order_ids)
    and octet_length(commitments) = ${hashBytes} * cardinality(order_ids)
    and octet_length(salts) = ${saltBytes} * cardinality(order_ids) as is_whole
from core.event_blocks b where b.merchant_id = $1 and b.number >= $2 order by b.number limit ${pageSize}`,
      values: [merchantId, String(next)],
    });
    for (const row of rows) {
      const block = BigInt(row.number);
      const isGap = block !== next;
      if (isGap) yield { kind: 'BLOCK_DELETED', merchantId, block: next };
      const hash = blockHashOf({
        merchantId,
        number: block,
        previousHash: row.previous_hash,
        sealedAt: row.sealed_at,
        firstPosition: row.first_position,
        lastPosition: row.last_position,
        commitments: row.commitments,
      });
      if (!row.is_whole || !isSame(hash, row.hash) || (!isGap && !isSame(row.previous_hash, previousHash)))
        yield { kind: 'BLOCK_CHANGED', merchantId, block };
      else if (!isSame(row.seal, blockSealOf(sealKey, row.hash)))
        yield { kind: 'BLOCK_FORGED', merchantId, block };
      summary.blocks += 1;
      roots.addBlock({ merchantId, number: block, hash: row.hash }, row.sealed_at);
      previousHash = row.hash;
      next = block + 1n;
    }
    if (rows.length < pageSize) break;
  }
  if (next <= BigInt(head?.number ?? 0)) yield { kind: 'BLOCK_DELETED', merchantId, block: next };
  yield* roots.endChain(merchantId);
}
