import type { Pool, PoolClient } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { StoredId } from '../../contract/public-id.ts';

/** A change that is not made through entities, such as one in another process. Stored ids. */
export interface AuditEntry {
  readonly id: StoredId<'aud'>;
  readonly createdAt: Date;
  readonly actor: string;
  readonly action: string;
  /** Null when it concerns no merchant. */
  readonly merchantId: StoredId<'mer'> | null;
  readonly targetId: string;
  readonly requestId: string;
  readonly details: object;
}

// The sender repeats an entry until it is acknowledged. So an entry arrives again after a lost answer.
const text = `
insert into core.audit_entries (id, created_at, actor, action, merchant_id, target_id, request_id, details)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (id) do nothing`;

/** Records an entry once. */
export async function recordEntry(pool: Pool | PoolClient, entry: AuditEntry): Promise<void> {
  const { id, createdAt, actor, action, merchantId, targetId, requestId, details } = entry;
  await runStatement(pool, {
    text,
    values: [id, createdAt, actor, action, merchantId, targetId, requestId, details],
  });
}
