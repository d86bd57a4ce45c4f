import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import type { AuditService } from '../../gen/gatehouse/v1/audit_service_pb.js';
import { limitFailures } from '../../platform/line-limit.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Database } from '../database/database.ts';
import { AuditOutboxRow } from '../database/entities.ts';

export interface SendAuditParts {
  readonly database: Database;
  readonly audit: Client<typeof AuditService>;
  readonly logger: Logger;
}

const batchSize = 100;

/**
 * Sends operators' changes to core's audit log, oldest first. An entry is deleted after core has stored it. So it may be
 * sent twice, by two processes or after a lost answer; core stores it once. An entry that core refuses is kept and logged,
 * and the others continue. @throws core's error while core is unavailable.
 */
export function createSendAuditEntries(parts: SendAuditParts): () => Promise<void> {
  const logRefused = limitFailures(
    (error, id: string) =>
      parts.logger.error(
        { err: error, audit_entry_id: id },
        'core refused an audit entry, so the audit log lacks it; it is kept and sent again. Compare the versions of core and webhooks',
      ),
    (id) => id,
  );
  return async () => {
    let lastId: string | undefined = '';
    while (lastId !== undefined) lastId = await sendBatch(parts, logRefused, lastId);
  };
}

/** Returns the id after which the next call continues; undefined after the last entry. */
async function sendBatch(
  { database, audit }: SendAuditParts,
  logRefused: (error: unknown, id: string) => void,
  afterId: string,
): Promise<string | undefined> {
  const em = database.fork();
  const rows = await em.find(
    AuditOutboxRow,
    { id: { $gt: afterId } },
    { orderBy: { id: 'asc' }, limit: batchSize },
  );
  for (const { id, createdAt, ...row } of rows) {
    try {
      await audit.recordAuditEntry({
        entry: { ...row, auditEntryId: id, createTime: timestampFromDate(createdAt) },
      });
    } catch (error) {
      if (!(error instanceof ConnectError) || error.code !== Code.InvalidArgument) throw error;
      logRefused(error, id);
      continue;
    }
    await em.nativeDelete(AuditOutboxRow, { id });
  }
  return rows.length < batchSize ? undefined : rows.at(-1)?.id;
}
