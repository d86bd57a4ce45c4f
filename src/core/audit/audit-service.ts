import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { AuditService } from '../../gen/gatehouse/v1/audit_service_pb.js';
import { rpcService } from '../../runtime/rpc/rpc-service.ts';
import type { RpcService } from '../../runtime/rpc/rpc-service.ts';
import type { Database } from '../database/database.ts';
import { AuditEntryRow } from '../database/entities.ts';
import { pageOf } from '../../runtime/rpc/page-token.ts';
import { parsePageSize, parsePageToken } from '../rpc/page-token.ts';
import { publicId, storedId } from '../../runtime/public-id.ts';
import { combine } from '../domain/combine.ts';
import { parseOptionalId, valuesOrThrow } from '../rpc/request-fields.ts';

/** gatehouse.v1.AuditService. */
export function auditService(database: Database): RpcService {
  return rpcService(
    AuditService,
    {
      async listAuditEntries({ merchantId, pageSize, pageToken }) {
        const { merchant, limit, beforeId } = valuesOrThrow(
          combine({
            merchant: parseOptionalId('mer', merchantId, 'merchant_id'),
            limit: parsePageSize(pageSize),
            beforeId: parsePageToken(pageToken, 'aud', [merchantId]),
          }),
        );
        const rows = await database.fork().find(
          AuditEntryRow,
          {
            ...(merchant === undefined ? {} : { merchantId: storedId('mer', merchant) }),
            ...(beforeId === undefined ? {} : { id: { $lt: storedId('aud', beforeId) } }),
          },
          { orderBy: { id: 'desc' }, limit: limit + 1 },
        );
        const entries = rows.map((row) => ({
          id: publicId('aud', row.id),
          auditEntryId: publicId('aud', row.id),
          createTime: timestampFromDate(row.createdAt),
          actor: row.actor,
          action: row.action,
          merchantId: publicId('mer', row.merchantId),
          targetId: row.targetId,
          requestId: row.requestId,
          details: row.details,
        }));
        const page = pageOf(entries, limit, [merchantId]);
        return {
          entries: page.items.map(({ id: _id, ...entry }) => entry),
          nextPageToken: page.nextPageToken,
        };
      },
    },
    { listAuditEntries: ['operator', 'reader'] },
  );
}
