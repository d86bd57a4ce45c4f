import type { PoolClient } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { NewId } from '../../contract/public-id.ts';
import type { Actor } from '../../platform/rpc/actor.ts';

export interface AuditedChange {
  /** The action, such as "endpoint.pause". */
  readonly action: string;
  readonly merchantId: string;
  readonly targetId: string;
  /** The details for a reader. Never a secret, and only the endpoint of a URL. */
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
}

const insertEntry = `
insert into webhooks.audit_outbox (id, created_at, actor, action, merchant_id, target_id, request_id, details)
values ($1, $2, $3, $4, $5, $6, $7, $8)`;

/**
 * Adds the entry in the transaction of the change, so that both are committed or neither. Later it is sent to core, which
 * stores the audit log. So changes are possible, and recorded, while core is unavailable.
 */
export async function recordAudit(
  client: PoolClient,
  newId: NewId,
  at: Date,
  by: Actor,
  { action, merchantId, targetId, details }: AuditedChange,
): Promise<void> {
  await runStatement(client, {
    text: insertEntry,
    values: [newId('aud', at), at, by.actor, action, merchantId, targetId, by.requestId, { ...details }],
  });
}
