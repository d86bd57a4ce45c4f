import { ReconcilerFindingCode } from '../gen/gatehouse/v1/webhook_service_pb.js';
import type { ReconcilerFinding } from '../gen/gatehouse/v1/webhook_service_pb.js';

/**
 * A finding of the reconciler in English for operators. The command line shows it. `ReconcilerFinding.detail` contains
 * it, for clients that do not interpret the data. A finding of a later version, whose code is unknown here, has only this text.
 */
export function findingText(finding: ReconcilerFinding): string {
  switch (finding.code) {
    case ReconcilerFindingCode.EVENTS_MISSING: {
      const { missingSequences, orderId, merchantId } = finding;
      const numbers = `${missingSequences.length === 1 ? 'event' : 'events'} ${missingSequences.join(', ')}`;
      return `core's list lacks ${numbers} of order ${orderId} of merchant ${merchantId}`;
    }
    case ReconcilerFindingCode.HISTORIES_DISAGREE: {
      const { orderHistories: found } = finding;
      return found === undefined
        ? 'in core, orders disagree with their events'
        : `in core, ${disagreeingText(found)}`;
    }
    case ReconcilerFindingCode.DELIVERY_CREATED:
      return `event ${finding.eventId} had no delivery, so the reconciler created one`;
    default:
      return finding.detail;
  }
}

/** As in "2 of the latest 10 orders disagree with their events: ord_1, ord_2". */
export function disagreeingText(facts: {
  readonly orderCount: bigint;
  readonly differingCount: bigint;
  readonly orderIds: readonly string[];
}): string {
  const { orderCount, differingCount, orderIds } = facts;
  const verb = differingCount === 1n ? 'disagrees with its events' : 'disagree with their events';
  const more = differingCount > BigInt(orderIds.length) ? ', …' : '';
  return `${differingCount} of the latest ${orderCount} orders ${verb}: ${orderIds.join(', ')}${more}`;
}
