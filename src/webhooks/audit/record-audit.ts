import type { PoolClient } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { NewId } from '../../contract/public-id.ts';
import type { Actor } from '../../platform/rpc/actor.ts';

export interface AuditedChange {
  /** What is done, such as "endpoint.pause". */
  readonly action: string;
  readonly merchantId: string;
  readonly targetId: string;
  /** What a reader needs to understand it. Never a secret, and no more of a URL than its endpoint. */
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
}

const insertEntry = `
insert into webhooks.audit_outbox (id, created_at, actor, action, merchant_id, target_id, request_id, details)
values ($1, $2, $3, $4, $5, $6, $7, $8)`;

/**
 * Adds the entry to the transaction that makes the change, so that neither is ever there without the other; from there
 * it is carried to core, which keeps the audit log. A change can be made, and is on record, while core is away.
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
