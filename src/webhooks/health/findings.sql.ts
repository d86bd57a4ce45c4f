import { create } from '@bufbuild/protobuf';
import type { Pool, PoolClient } from 'pg';
import { findingText } from '../../contract/finding-text.ts';
import { ReconcilerFindingCode, ReconcilerFindingSchema } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { ReconcilerFinding } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { bulkStatement, column, rowList } from '../../platform/database/bulk-statement.ts';
import { runStatement } from '../../platform/database/run-statement.ts';

/** A gap between orders, events and deliveries. Its code, merchant, order and event are its identity. */
export interface Finding {
  /** "whf_…" */
  readonly id: string;
  readonly code: 'EVENTS_MISSING' | 'HISTORIES_DISAGREE' | 'DELIVERY_CREATED';
  /** Empty when the finding is not about a single merchant. */
  readonly merchantId: string;
  /** Empty when the finding is not about a single order. */
  readonly orderId: string;
  /** Empty when the finding is not about a single event. */
  readonly eventId: string;
  readonly isRepaired: boolean;
  readonly facts: FindingFacts;
}

/** The facts as stored. Numbers are decimal text, because JSON numbers lose digits. */
export interface FindingFacts {
  /** Of EVENTS_MISSING. */
  readonly missingSequences?: readonly string[];
  /** Of HISTORIES_DISAGREE. */
  readonly orderHistories?: {
    readonly orderCount: string;
    readonly differingCount: string;
    readonly orderIds: readonly string[];
  };
}

export interface StoredFinding extends Omit<Finding, 'id' | 'isRepaired'> {
  readonly foundAt: Date;
  readonly detail: string;
}

const codes = {
  EVENTS_MISSING: ReconcilerFindingCode.EVENTS_MISSING,
  HISTORIES_DISAGREE: ReconcilerFindingCode.HISTORIES_DISAGREE,
  DELIVERY_CREATED: ReconcilerFindingCode.DELIVERY_CREATED,
} as const;

/** A finding as a message of the contract. */
export function findingMessage(
  finding: Omit<StoredFinding, 'foundAt' | 'detail'> & Partial<StoredFinding>,
): ReconcilerFinding {
  const { missingSequences = [], orderHistories } = finding.facts;
  return create(ReconcilerFindingSchema, {
    code: codes[finding.code],
    ...(finding.foundAt && { findTime: timestampFromDate(finding.foundAt) }),
    merchantId: finding.merchantId,
    orderId: finding.orderId,
    eventId: finding.eventId,
    missingSequences: missingSequences.map(BigInt),
    ...(orderHistories && {
      orderHistories: {
        orderCount: BigInt(orderHistories.orderCount),
        differingCount: BigInt(orderHistories.differingCount),
        orderIds: [...orderHistories.orderIds],
      },
    }),
    detail: finding.detail ?? '',
  });
}

const finding = rowList<Finding>({
  id: column('text', ({ id }) => id),
  code: column('text', ({ code }) => code),
  merchant_id: column('text', ({ merchantId }) => merchantId),
  order_id: column('text', ({ orderId }) => orderId),
  event_id: column('text', ({ eventId }) => eventId),
  is_repaired: column('boolean', ({ isRepaired }) => isRepaired),
  facts: column('jsonb', ({ facts }) => JSON.stringify(facts)),
  detail: column('text', (found) => findingText(findingMessage(found))),
});

const recording = bulkStatement(
  undefined,
  { finding },
  (sql) => `
with finding as (select * from ${sql.finding}),
known as (
  update webhooks.findings f set facts = finding.facts, detail = finding.detail
  from finding
  where f.code = finding.code and f.merchant_id = finding.merchant_id and f.order_id = finding.order_id
    and f.event_id = finding.event_id and f.found_at >= clock_timestamp() - interval '1 hour'
  returning finding.id
)
insert into webhooks.findings (found_at, ${finding.columns})
select clock_timestamp(), ${finding.columns} from finding where id not in (select id from known)
returning id`,
);

/**
 * Stores findings with the database's time. A finding that was stored in the last hour only gets the new facts.
 * Returns the ids of new findings.
 */
export async function recordFindings(
  client: Pool | PoolClient,
  findings: readonly Finding[],
): Promise<ReadonlySet<string>> {
  if (findings.length === 0) return new Set();
  const rows = await runStatement<{ id: string }>(client, recording.with({ finding: findings }));
  return new Set(rows.map(({ id }) => id));
}

/** Deletes findings from before that time. */
export async function forgetFindings(client: Pool | PoolClient, before: Date): Promise<void> {
  await client.query('delete from webhooks.findings where found_at < $1', [before]);
}
