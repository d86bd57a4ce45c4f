import type { HandlerContext } from '@connectrpc/connect';
import type { PoolClient } from 'pg';
import { runStatement } from '../../runtime/database/run-statement.ts';
import type { NewId } from '../../runtime/public-id.ts';
import { callerOf } from '../../runtime/rpc/call-context.ts';

/** Who does something, under which request. */
export interface Actor {
  readonly actor: string;
  readonly requestId: string;
}

export interface AuditedChange {
  /** What is done, such as "endpoint.pause". */
  readonly action: string;
  readonly merchantId: string;
  readonly targetId: string;
  /** What a reader needs to understand it. Never a secret, and no more of a URL than its endpoint. */
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
}

/** The role of the caller and, where the client names one, the person behind it. */
export function actorOf(context: HandlerContext): Actor {
  const { role, actor, requestId } = callerOf(context);
  return { actor: actor === '' ? role : `${role}:${actor}`, requestId };
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
