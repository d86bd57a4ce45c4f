import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { StoredId } from '../../contract/public-id.ts';

/** The newest block of a merchant's chain at the end of a day. */
export interface ChainHead {
  readonly merchantId: StoredId<'mer'>;
  readonly number: bigint;
  readonly hash: Uint8Array;
}

/** The root of one UTC day. `add` gets the chains in the order of the merchants' stored ids, and `finish` returns the 32 bytes. */
export interface GrowingRoot {
  readonly add: (head: ChainHead) => void;
  readonly finish: () => Buffer;
}

export function growRoot(day: string, previousRoot: Uint8Array): GrowingRoot {
  const hash = createHash('sha256').update(`gatehouse-root v1 ${day}\n`).update(previousRoot);
  return {
    add: ({ merchantId, number, hash: head }) => void hash.update(`${merchantId} ${number}\n`).update(head),
    finish: () => hash.digest(),
  };
}

/** RFC 8410: the bytes before the 32 bytes of an Ed25519 key in PKCS #8. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Signs the roots of days with a key that is not in the database. */
export interface RootSigner {
  readonly sign: (day: string, root: Uint8Array) => Buffer;
  readonly isSigned: (day: string, root: Uint8Array, signature: Uint8Array) => boolean;
  /** The 32 bytes of the Ed25519 key. */
  readonly publicKey: Buffer;
}

/** The bytes that are signed: text, so that any tool can check a published root. */
const signedText = (day: string, root: Uint8Array): Buffer =>
  Buffer.from(`gatehouse-root v1 ${day} ${Buffer.from(root).toString('hex')}`);

/** `seed`: 32 bytes. */
export function createRootSigner(seed: Buffer): RootSigner {
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' });
  const verifier: KeyObject = createPublicKey(key);
  return {
    sign: (day, root) => sign(null, signedText(day, root), key),
    isSigned: (day, root, signature) => verify(null, signedText(day, root), verifier, signature),
    publicKey: verifier.export({ format: 'der', type: 'spki' }).subarray(-32),
  };
}
