import {
  CheckResult,
  CheckSubject,
  DiagnosticsService,
} from '../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { AuditService } from '../../src/gen/gatehouse/v1/audit_service_pb.js';
import { publicId } from '../../test/support/ids.ts';
import type { Stack } from '../../test/support/stack.ts';
import { withClient } from '../system/servers.ts';
import { isNotParked, merchantColumn, merchantIn, tablesWithWork } from './moved-tables.ts';
import type { Shards } from './shards.ts';

/** One condition of a good move. */
export interface Check {
  readonly name: string;
  readonly found: string;
  readonly isGood: boolean;
}

const none = (name: string, found: readonly string[]): Check => ({
  name,
  found: found.length === 0 ? 'none' : `${found.length}, such as ${found.slice(0, 3).join('; ')}`,
  isGood: found.length === 0,
});

interface StoredEvent {
  readonly id: string;
  readonly orderId: string;
  readonly sequence: number;
  readonly type: string;
  /** A hash of all values that a move must keep. */
  readonly digest: string;
}

const eventsOf = (stack: Stack, merchantId: string): Promise<StoredEvent[]> =>
  withClient(stack.databaseUrl, async (client) => {
    const { rows } = await client.query<StoredEvent>(
      `select id, order_id as "orderId", sequence, type,
         md5(row(id, environment, order_id, sequence, type, occurred_at, payload)::text) as digest
       from core.order_events where merchant_id = $1`,
      [merchantId],
    );
    return rows.map((event) => ({ ...event, id: publicId('evt', event.id) }));
  });

const withWebhook = new Set(['COMPLETED', 'FAILED', 'EXPIRED', 'REFUND_COMPLETED', 'REFUND_FAILED']);

/** How a list of event ids, in the order of their arrival, differs from what it must be: each once, and each order in sequence. */
function faultsOf(expected: readonly StoredEvent[], ids: readonly string[]) {
  const known = new Map(expected.map((event) => [event.id, event]));
  const seen = new Set<string>();
  const latest = new Map<string, number>();
  const twice: string[] = [];
  const outOfSequence: string[] = [];
  for (const id of ids) {
    const event = known.get(id);
    if (event === undefined) continue;
    if (seen.has(id)) twice.push(id);
    else if ((latest.get(event.orderId) ?? 0) > event.sequence) outOfSequence.push(id);
    seen.add(id);
    latest.set(event.orderId, Math.max(latest.get(event.orderId) ?? 0, event.sequence));
  }
  return { lost: expected.filter(({ id }) => !seen.has(id)).map(({ id }) => id), twice, outOfSequence };
}

/** @param merchantId - the stored id of a merchant whose work has ended @param published - the ids of all published events, in order */
export async function checkEvents(
  { source, target }: Shards,
  merchantId: string,
  published: readonly string[],
): Promise<Check[]> {
  const [before, after] = await Promise.all([eventsOf(source, merchantId), eventsOf(target, merchantId)]);
  const digests = new Set(after.map(({ digest }) => digest));
  const faults = faultsOf(after, published);
  const gaps = [...Map.groupBy(after, ({ orderId }) => orderId)]
    .filter(([, events]) => events.length !== Math.max(...events.map(({ sequence }) => sequence)))
    .map(([orderId]) => orderId);
  return [
    none(
      `events of the source that the target lacks, of ${before.length}`,
      before.filter(({ digest }) => !digests.has(digest)).map(({ id }) => id),
    ),
    none(`orders with a gap between their events, of ${after.length} events`, gaps),
    none('events that neither broker has', faults.lost),
    none('events that were published twice', faults.twice),
    none('events that were published out of sequence', faults.outOfSequence),
  ];
}

/** @param arrived - the ids of webhooks in the order of their arrival, @param repeats - those that came again */
export async function checkWebhooks(
  { target }: Shards,
  merchantId: string,
  arrived: readonly string[],
  repeats: readonly string[],
): Promise<Check[]> {
  const expected = (await eventsOf(target, merchantId)).filter(({ type }) => withWebhook.has(type));
  const faults = faultsOf(expected, arrived);
  const ids = new Set(expected.map(({ id }) => id));
  return [
    none(`webhooks that did not arrive, of ${expected.length}`, faults.lost),
    none(
      'webhooks that arrived twice',
      repeats.filter((id) => ids.has(id)),
    ),
    none('webhooks that arrived out of sequence', faults.outOfSequence),
  ];
}

export async function checkOrders(
  { target }: Shards,
  merchantId: string,
  acknowledged: readonly string[],
): Promise<Check> {
  const rows = await withClient(target.databaseUrl, (client) =>
    client.query<{ number: string }>(
      'select order_number as number from core.orders where merchant_id = $1',
      [merchantId],
    ),
  );
  const stored = new Set(rows.rows.map(({ number }) => number));
  return none(
    `acknowledged orders that the target lacks, of ${acknowledged.length}`,
    acknowledged.filter((number) => !stored.has(number)),
  );
}

/** Whether only the target has work of the merchant. */
export async function checkWork({ source, target }: Shards, merchantId: string): Promise<Check> {
  const wrong = async (stack: Stack, name: string, condition: (due: string) => string): Promise<string[]> =>
    withClient(stack.databaseUrl, async (client) => {
      const found: string[] = [];
      for (const table of tablesWithWork) {
        const { due = '' } = table;
        const { rows } = await client.query<{ count: string }>(
          `select count(*) as count from ${table.name}
           where ${merchantColumn(table)} = $1 and ${due} is not null and ${condition(due)}`,
          [merchantIn(table, merchantId)],
        );
        if (rows[0]?.count !== '0') found.push(`${rows[0]?.count} rows of ${table.name} in the ${name}`);
      }
      return found;
    });
  return none('rows that are work in the wrong database', [
    ...(await wrong(source, 'source', isNotParked)),
    ...(await wrong(target, 'target', (due) => `not (${isNotParked(due)})`)),
  ]);
}

const judgedSubjects = new Set([CheckSubject.MONEY, CheckSubject.ORDER_HISTORIES]);

/** Core's own checks: the money of the latest orders, their histories, and all events against their seals. */
export async function checkShard(name: string, stack: Stack): Promise<Check[]> {
  const { checks } = await stack.client(DiagnosticsService, 'operator').diagnose({});
  const judged = checks.filter(({ subject }) => judgedSubjects.has(subject));
  let audit = 'no summary';
  let isSealed = false;
  for await (const { message } of stack.client(AuditService, 'operator').verifyEvents({})) {
    if (message.case !== 'summary') continue;
    const { eventCount, waitingEventCount, orderCount, findingCount, incomparableOrderCount } = message.value;
    audit = `${findingCount} findings in ${eventCount} events of ${orderCount} orders, ${waitingEventCount} not sealed yet`;
    isSealed = findingCount === 0n && incomparableOrderCount === 0n;
  }
  return [
    ...judged.map((check) => ({
      name: `${name}: ${check.name}`,
      found: check.detail,
      isGood: check.result === CheckResult.OK,
    })),
    { name: `${name}: audit verify`, found: audit, isGood: isSealed },
  ];
}
