import { randomBytes } from 'node:crypto';
import type { EventChainParts } from '../core/audit/event-chain-methods.ts';
import { createRootSigner } from '../core/audit/day-root.ts';
import { sealEvents } from '../core/audit/seal-events.ts';
import { deriveKey } from './derive-key.ts';

/** The chains of events. Their keys are derived from the master key, so that access to the database alone does not suffice to forge a chain. */
export function createEventChain({
  database,
  masterKey,
}: Pick<EventChainParts, 'database'> & { readonly masterKey: Buffer }) {
  const parts = {
    database,
    sealKey: deriveKey(masterKey, 'event-seal'),
    erasureKey: deriveKey(masterKey, 'erasure-seal'),
    signer: createRootSigner(deriveKey(masterKey, 'audit-root')),
  };
  return {
    ...parts,
    sealEvents: (stop: AbortSignal) => sealEvents({ ...parts, randomBytes, now: () => new Date() }, stop),
  };
}
