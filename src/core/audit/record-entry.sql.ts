import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { StoredId } from '../../contract/public-id.ts';

/** A change that was made elsewhere; ids as they are stored. */
export interface AuditEntry {
  readonly id: StoredId<'aud'>;
  readonly createdAt: Date;
  readonly actor: string;
  readonly action: string;
  readonly merchantId: StoredId<'mer'>;
  readonly targetId: string;
  readonly requestId: string;
  readonly details: object;
}

// Who sends an entry does so until it is heard: it comes again when the answer to it was lost.
const text = `
insert into core.audit_entries (id, created_at, actor, action, merchant_id, target_id, request_id, details)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (id) do nothing`;

/** Puts an entry on record, once. */
export async function recordEntry(pool: Pool, entry: AuditEntry): Promise<void> {
  const { id, createdAt, actor, action, merchantId, targetId, requestId, details } = entry;
  await runStatement(pool, {
    text,
    values: [id, createdAt, actor, action, merchantId, targetId, requestId, details],
  });
}
