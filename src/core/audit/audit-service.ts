import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { AuditEntrySchema, AuditService } from '../../gen/gatehouse/v1/audit_service_pb.js';
import type {
  ListAuditEntriesRequest,
  RecordAuditEntryRequest,
} from '../../gen/gatehouse/v1/audit_service_pb.js';
import type { FairCalls } from '../../platform/fair-calls.ts';
import { annotate } from '../../platform/rpc/call-context.ts';
import { rpcService } from '../../contract/rpc-service.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import type { Database } from '../database/database.ts';
import { AuditEntryRow } from '../database/audit-entities.ts';
import { pageOf } from '../../platform/rpc/page-token.ts';
import { parsePageSize, parsePageToken } from '../rpc/page-token.ts';
import { lowestStoredIdAt, publicId, storedId } from '../../contract/public-id.ts';
import { combine } from '../domain/combine.ts';
import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { parseText } from '../domain/text.ts';
import { parseId, parseOptionalId, valuesOrThrow } from '../rpc/request-fields.ts';
import { parseEnd, parseRequiredTime, parseTime, timeKey } from '../rpc/time-fields.ts';
import { eventChainMethods } from './event-chain-methods.ts';
import type { EventChainParts } from './event-chain-methods.ts';
import { findActorEmails } from './find-actor-emails.ts';
import { recordEntry } from './record-entry.sql.ts';
import type { AuditEntry } from './record-entry.sql.ts';

const maxText = 255;
/** The target may be an endpoint, which may be as long as a webhook_url. */
const maxTarget = 2048;

/** gatehouse.v1.AuditService. `searchFairly` limits the lists at a time, by merchant. */
export function auditService(
  database: Database,
  chain: EventChainParts,
  searchFairly: FairCalls,
): RpcService {
  return rpcService(
    AuditService,
    {
      async listAuditEntries(request, { signal }) {
        const { limit, ...filter } = parseFilter(request);
        const em = database.fork();
        const rows = await searchFairly({ owner: `audit ${request.merchantId}` }, signal, () =>
          em.find(AuditEntryRow, whereOf(filter), { orderBy: { id: 'desc' }, limit: limit + 1 }),
        );
        const emails = await findActorEmails(
          em,
          rows.map(({ actor }) => actor),
        );
        const entries = rows.map((row) => ({
          id: publicId('aud', row.id),
          auditEntryId: publicId('aud', row.id),
          createTime: timestampFromDate(row.createdAt),
          actor: row.actor,
          actorEmail: emails.get(row.actor) ?? '',
          action: row.action,
          merchantId: row.merchantId == null ? '' : publicId('mer', row.merchantId),
          targetId: row.targetId,
          requestId: row.requestId,
          details: row.details,
        }));
        const page = pageOf(entries, limit, filterKey(request));
        return {
          entries: page.items.map(({ id: _id, ...entry }) => entry),
          nextPageToken: page.nextPageToken,
        };
      },
      async recordAuditEntry(request, context) {
        const entry = parseEntry(request);
        annotate(context, { audit_entry_id: request.entry?.auditEntryId, action: entry.action });
        await recordEntry(database.pool, entry);
        return {};
      },
      ...eventChainMethods(chain),
    },
    {
      listAuditEntries: ['dashboard', 'operator', 'reader'],
      recordAuditEntry: ['webhooks'],
      verifyEvents: ['operator', 'reader'],
      getAuditRoot: ['operator', 'reader'],
    },
  );
}

/** The filter of a page token. */
const filterKey = ({ merchantId, actionKind, fromTime, toTime }: ListAuditEntriesRequest): unknown => [
  merchantId,
  actionKind,
  timeKey(fromTime),
  timeKey(toTime),
];

function parseFilter(request: ListAuditEntriesRequest) {
  const { merchantId, pageSize, pageToken, actionKind, fromTime, toTime } = request;
  return valuesOrThrow(
    combine({
      merchant: parseOptionalId('mer', merchantId, 'merchant_id'),
      limit: parsePageSize(pageSize),
      beforeId: parsePageToken(pageToken, 'aud', filterKey(request)),
      kind: parseKind(actionKind),
      from: parseTime(fromTime, 'from_time'),
      to: parseEnd(toTime, 'to_time', { from: fromTime, fromField: 'from_time' }),
    }),
  );
}

const parseKind = (kind: string): Result<string, Issue> =>
  /^[a-z_]{0,40}$/.test(kind)
    ? ok(kind)
    : err({ field: 'action_kind', issue: 'must be the part of an action before its dot, such as api_key' });

/** Ids sort by their creation time, so a filter by time needs no index. */
function whereOf({ merchant, beforeId, kind, from, to }: Omit<ReturnType<typeof parseFilter>, 'limit'>) {
  const before = [
    ...(beforeId === undefined ? [] : [storedId('aud', beforeId)]),
    ...(to === undefined ? [] : [lowestStoredIdAt(to)]),
  ];
  return {
    ...(merchant === undefined ? {} : { merchantId: storedId('mer', merchant) }),
    ...(kind === '' ? {} : { action: { $like: `${kind.replaceAll('_', '\\_')}.%` } }),
    $and: [
      ...before.map((id) => ({ id: { $lt: id } })),
      ...(from === undefined ? [] : [{ id: { $gte: lowestStoredIdAt(from) } }]),
    ],
  };
}

function parseEntry(request: RecordAuditEntryRequest): AuditEntry {
  const entry = request.entry ?? create(AuditEntrySchema);
  const text = (value: string, name: string, max = maxText) =>
    parseText(value, `entry.${name}`, { max, required: true });
  const values = valuesOrThrow(
    combine({
      id: parseId('aud', entry.auditEntryId, 'entry.audit_entry_id'),
      createdAt: parseRequiredTime(entry.createTime, 'entry.create_time'),
      actor: text(entry.actor, 'actor'),
      action: text(entry.action, 'action'),
      merchantId: parseId('mer', entry.merchantId, 'entry.merchant_id'),
      targetId: text(entry.targetId, 'target_id', maxTarget),
      requestId: text(entry.requestId, 'request_id'),
    }),
  );
  return {
    ...values,
    id: storedId('aud', values.id),
    merchantId: storedId('mer', values.merchantId),
    details: entry.details ?? {},
  };
}
