import { createHmac, hash, timingSafeEqual } from 'node:crypto';

/** The values of an event that its commitment covers. Stored ids. */
export interface CommittedEvent {
  readonly id: string;
  readonly merchantId: string;
  readonly environment: string;
  readonly orderId: string;
  readonly sequence: number;
  readonly type: string;
  readonly occurredAt: Date;
  readonly payload: Uint8Array;
}

export const saltBytes = 16;
export const hashBytes = 32;

/** The hash before the first block of a chain, and before the first root. */
export const noHash = Buffer.alloc(hashBytes);

const sha256 = (...parts: readonly Uint8Array[]): Buffer => hash('sha256', Buffer.concat(parts), 'buffer');

/** The hash of an event with its salt. Without the salt, nobody can find the event by trying values. */
export const commitmentOf = (salt: Uint8Array, event: CommittedEvent): Buffer => {
  const { id, merchantId, environment, orderId, sequence, type, occurredAt, payload } = event;
  const head = [id, merchantId, environment, orderId, sequence, type, occurredAt.getTime()].join(' ');
  return sha256(salt, Buffer.from(`${head}\n`), payload);
};

export interface BlockContent {
  readonly merchantId: string;
  readonly number: bigint;
  readonly previousHash: Uint8Array;
  readonly sealedAt: Date;
  readonly firstPosition: string;
  readonly lastPosition: string;
  /** The commitments, concatenated. */
  readonly commitments: Uint8Array;
}

/** The hash of a block, which the next block of the merchant contains. */
export const blockHashOf = (block: BlockContent): Buffer => {
  const { merchantId, number, previousHash, sealedAt, firstPosition, lastPosition, commitments } = block;
  const head = [
    'gatehouse-block v1',
    merchantId,
    number,
    sealedAt.getTime(),
    firstPosition,
    lastPosition,
    commitments.length / hashBytes,
  ].join(' ');
  return sha256(Buffer.from(`${head}\n`), previousHash, commitments);
};

export const blockSealOf = (key: Buffer, blockHash: Uint8Array): Buffer =>
  createHmac('sha256', key).update(blockHash).digest();

export const isSame = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && timingSafeEqual(a, b);
