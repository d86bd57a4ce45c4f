import type { HandlerContext } from '@connectrpc/connect';
import { rpcError } from '../../contract/error-reason.ts';
import { publicId, storedId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import { AuditFindingKind } from '../../gen/gatehouse/v1/audit_service_pb.js';
import type {
  AuditRoot,
  GetAuditRootRequest,
  VerifyEventsRequest,
} from '../../gen/gatehouse/v1/audit_service_pb.js';
import { callerOf } from '../../platform/rpc/call-context.ts';
import { combine } from '../domain/combine.ts';
import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { parseId, parseOptionalId, valuesOrThrow } from '../rpc/request-fields.ts';
import type { Finding, FindingKind, VerifySummary } from './audit-finding.ts';
import { hasMoreChains, headsOf, readRoots } from './close-days.ts';
import { hashBytes } from './event-commitment.ts';
import { comparedColumns } from './order-differences.ts';
import { verifyEvents } from './verify-events.ts';
import type { VerifyParts } from './verify-events.ts';
import type { KeptRoot } from './verify-roots.ts';

export type EventChainParts = VerifyParts;

const maxFindings = 1_000;
const maxKeptRoots = 4_000;
/**
 * The chains of a root are listed up to this number. More of them, at about 75 bytes each, do not fit into a message, and a search for them
 * takes seconds.
 */
const maxChains = 50_000;

/** VerifyEvents and GetAuditRoot of gatehouse.v1.AuditService. */
export function eventChainMethods(parts: EventChainParts) {
  const verifyingRoles = new Set<string>();
  return {
    async *verifyEvents(request: VerifyEventsRequest, context: HandlerContext) {
      const asked = parseVerify(request);
      const { role } = callerOf(context);
      // Each comparison keeps one connection to the database. One role cannot keep the other from comparing.
      if (verifyingRoles.has(role))
        throw rpcError(
          'OVERLOADED',
          `this core is already comparing the events for the role ${role}; try again when it has finished`,
        );
      verifyingRoles.add(role);
      try {
        const summary = { events: 0, erased: 0, waiting: 0, orders: 0, incomparable: 0, blocks: 0, roots: 0 };
        const counts = { found: 0, explained: 0 };
        for await (const finding of verifyEvents(parts, asked, summary)) {
          counts[finding.isExplained === true ? 'explained' : 'found'] += 1;
          if (counts.found + counts.explained <= maxFindings)
            yield { message: { case: 'finding' as const, value: findingMessage(finding) } };
        }
        yield { message: { case: 'summary' as const, value: summaryMessage(summary, counts) } };
      } finally {
        verifyingRoles.delete(role);
      }
    },
    async getAuditRoot(request: GetAuditRootRequest) {
      const { day } = valuesOrThrow(combine({ day: parseDay(request.day, 'day') }));
      const [root] = await readRoots(parts.database.pool, day);
      if (root === undefined)
        throw rpcError(
          'AUDIT_ROOT_NOT_FOUND',
          `there is no root of ${day}; name a day (UTC) that has ended and has events`,
        );
      const { pool } = parts.database;
      const chains = (await hasMoreChains(pool, maxChains)) ? [] : await headsOf(pool, day);
      return {
        root: {
          ...root,
          publicKey: parts.signer.publicKey,
          chains: chains.map(({ merchantId, number, hash }) => ({
            merchantId: publicId('mer', merchantId),
            blockNumber: number,
            blockHash: Uint8Array.from(hash),
          })),
        },
      };
    },
  };
}

function parseDay(text: string, field: string): Result<string, Issue> {
  const isDate = /^20\d{2}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`));
  return isDate && new Date(`${text}T00:00:00Z`).toISOString().startsWith(text)
    ? ok(text)
    : err({ field, issue: 'must be a day such as 2026-01-31' });
}

function parseVerify({ merchantId, keptRoots }: VerifyEventsRequest) {
  const tooMany: Result<null, Issue> =
    keptRoots.length > maxKeptRoots
      ? err({ field: 'kept_roots', issue: `must have at most ${maxKeptRoots} roots` })
      : ok(null);
  const { merchant } = valuesOrThrow(
    combine({ merchant: parseOptionalId('mer', merchantId, 'merchant_id'), tooMany }),
  );
  return {
    merchantId: merchant === undefined ? undefined : storedId('mer', merchant),
    keptRoots: keptRoots.map((root, index) => parseRoot(root, `kept_roots[${index}]`)),
  };
}

function parseRoot({ day, previousRoot, root, chains }: AuditRoot, field: string): KeptRoot {
  const hash = (value: Uint8Array, name: string): Result<Uint8Array, Issue> =>
    value.length === hashBytes ? ok(value) : err({ field: `${field}.${name}`, issue: 'must have 32 bytes' });
  const values = valuesOrThrow(
    combine({
      day: parseDay(day, `${field}.day`),
      previousRoot: hash(previousRoot, 'previous_root'),
      root: hash(root, 'root'),
    }),
  );
  const heads = chains.map(({ merchantId, blockNumber, blockHash }, index) => {
    const merchant = valuesOrThrow(parseId('mer', merchantId, `${field}.chains[${index}].merchant_id`));
    return [storedId('mer', merchant), { number: blockNumber, hash: blockHash }] as const;
  });
  return { ...values, chains: new Map(heads) };
}

const kinds = {
  EVENT_CHANGED: AuditFindingKind.EVENT_CHANGED,
  EVENT_DELETED: AuditFindingKind.EVENT_DELETED,
  EVENT_NOT_SEALED: AuditFindingKind.EVENT_NOT_SEALED,
  BLOCK_DELETED: AuditFindingKind.BLOCK_DELETED,
  BLOCK_CHANGED: AuditFindingKind.BLOCK_CHANGED,
  BLOCK_FORGED: AuditFindingKind.BLOCK_FORGED,
  ROOT_DIFFERS: AuditFindingKind.ROOT_DIFFERS,
  ROOT_FORGED: AuditFindingKind.ROOT_FORGED,
  ROOT_DELETED: AuditFindingKind.ROOT_DELETED,
  ROW_CHANGED: AuditFindingKind.ROW_CHANGED,
  ROW_DELETED: AuditFindingKind.ROW_DELETED,
  ROW_INSERTED: AuditFindingKind.ROW_INSERTED,
} as const satisfies Record<FindingKind, AuditFindingKind>;

const columnNames = new Map<string, string>(
  Object.values(comparedColumns).flatMap((columns) => Object.entries(columns)),
);

const findingMessage = (finding: Finding) => ({
  kind: kinds[finding.kind],
  merchantId: finding.merchantId === undefined ? '' : publicId('mer', finding.merchantId),
  orderId: finding.orderId === undefined ? '' : publicId('ord', finding.orderId),
  orderNumber: finding.orderNumber ?? '',
  objectId: objectIdOf(finding),
  sequence: BigInt(finding.sequence ?? 0),
  blockNumber: finding.block ?? 0n,
  day: finding.day ?? '',
  keptRoot: finding.isKeptRoot ?? false,
  fields: (finding.fields ?? []).map(({ field, ...values }) => ({
    field: columnNames.get(field) ?? field,
    ...values,
  })),
  explainedByRestore: finding.isExplained ?? false,
});

function objectIdOf({ object }: Finding): string {
  switch (object?.subject) {
    case 'ATTEMPT':
      return publicId('pat', object.id as StoredId<'pat'>);
    case 'REFUND':
      return publicId('rfd', object.id as StoredId<'rfd'>);
    default:
      return '';
  }
}

const summaryMessage = (
  summary: VerifySummary,
  counts: { readonly found: number; readonly explained: number },
) => ({
  eventCount: BigInt(summary.events),
  erasedEventCount: BigInt(summary.erased),
  waitingEventCount: BigInt(summary.waiting),
  orderCount: BigInt(summary.orders),
  incomparableOrderCount: BigInt(summary.incomparable),
  blockCount: BigInt(summary.blocks),
  findingCount: BigInt(counts.found),
  explainedCount: BigInt(counts.explained),
  rootCount: BigInt(summary.roots),
});
