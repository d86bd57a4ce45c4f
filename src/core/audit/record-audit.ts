import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../../platform/rpc/actor.ts';
import { AuditEntryRow } from '../database/audit-entities.ts';
import { storedId } from '../../contract/public-id.ts';
import type { NewId, PublicId } from '../../contract/public-id.ts';

export interface AuditedChange {
  /** The action, such as "merchant.suspend". */
  readonly action: string;
  /** Undefined when it concerns no merchant. */
  readonly merchantId: PublicId<'mer'> | undefined;
  readonly targetId: string;
  /** The details for a reader. They never contain a secret. */
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
}

/** Adds the entry to the unit of work of the change, so that both are committed together. */
export function recordAudit(
  em: EntityManager,
  newId: NewId,
  at: Date,
  by: Actor,
  change: AuditedChange,
): void {
  em.create(AuditEntryRow, {
    id: storedId('aud', newId('aud', at)),
    createdAt: at,
    actor: by.actor,
    action: change.action,
    merchantId: change.merchantId === undefined ? null : storedId('mer', change.merchantId),
    targetId: change.targetId,
    requestId: by.requestId,
    details: { ...change.details },
  });
}
