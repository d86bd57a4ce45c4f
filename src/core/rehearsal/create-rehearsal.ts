import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import { registerOrder } from '../domain/order.ts';
import { transition } from '../domain/transition.ts';
import { replayEvent } from './replay-event.ts';
import type { DifferentDecision, Past, Rules } from './replay-event.ts';

/** A decision that the candidate makes in another way. */
export interface RehearsalDifference extends DifferentDecision {
  readonly orderId: string;
  readonly merchantId: string;
  /** The event that records the decision, or the first one after it. */
  readonly sequence: number;
  readonly time: Date | undefined;
}

export interface RehearsalCounts {
  readonly events: number;
  readonly orders: number;
  readonly decisions: number;
  readonly differing: number;
  /** Decisions whose command was derived from the event, because an earlier release recorded it. */
  readonly derived: number;
  /** Events of an earlier release that more than one command can have caused. */
  readonly commandUnknown: number;
  /** Events of refunds and settlements of stray payments, which `transition` does not decide. */
  readonly otherRules: number;
  /** Orders of which an event is missing. */
  readonly incompleteOrders: number;
}

/**
 * Replays events in any order. Those of one order wait until the ones before them have come. Its memory grows with the number of
 * orders.
 */
export interface Rehearsal {
  /** Repeats the decisions that this event allows to repeat. Returns those that the candidate makes differently. */
  readonly replay: (event: OrderEvent) => readonly RehearsalDifference[];
  readonly counts: () => RehearsalCounts;
}

/** A rehearsal with the rules of this release, unless others are given. */
export function createRehearsal(rules: Rules = { registerOrder, transition }): Rehearsal {
  const pasts = new Map<string, Past>();
  // The list of all events is sorted by transaction. A transaction that began early may lock an order late.
  const early = new Map<string, OrderEvent[]>();
  const counts = { events: 0, decisions: 0, differing: 0, derived: 0, commandUnknown: 0, otherRules: 0 };
  let brokenOrders = 0;

  const replayNow = (event: OrderEvent): RehearsalDifference[] => {
    const { orderId = '', merchantId = '' } = event.order ?? {};
    const before = pasts.get(orderId);
    const { past, decisions, skipped } = replayEvent(before, event, rules);
    pasts.set(orderId, past);
    counts.decisions += decisions.length;
    counts.derived += decisions.filter(({ isDerived }) => isDerived).length;
    if (skipped === 'command_unknown') counts.commandUnknown += 1;
    if (skipped === 'other_rules') counts.otherRules += 1;
    if (past.type === 'incomplete' && before?.type !== 'incomplete') brokenOrders += 1;
    const differences = decisions.flatMap(({ difference }) => difference ?? []);
    counts.differing += differences.length;
    const time = event.occurTime && timestampDate(event.occurTime);
    return differences.map((difference) => ({
      ...difference,
      orderId,
      merchantId,
      sequence: Number(event.sequence),
      time,
    }));
  };

  const nextSequence = (orderId: string): number | undefined => {
    const past = pasts.get(orderId);
    return past?.type === 'incomplete' ? undefined : (past?.sequence ?? 0) + 1;
  };

  return {
    replay(event) {
      counts.events += 1;
      const orderId = event.order?.orderId ?? '';
      const next = nextSequence(orderId);
      if (next !== undefined && Number(event.sequence) > next) {
        early.set(orderId, [...(early.get(orderId) ?? []), event]);
        return [];
      }
      const differences = replayNow(event);
      for (let waiting = early.get(orderId); waiting !== undefined;) {
        const sequence = nextSequence(orderId);
        const following = waiting.find(
          (each) => sequence === undefined || Number(each.sequence) === sequence,
        );
        if (following === undefined) break;
        differences.push(...replayNow(following));
        const rest = waiting.filter((each) => each !== following);
        if (rest.length === 0) early.delete(orderId);
        else early.set(orderId, rest);
        waiting = early.get(orderId);
      }
      return differences;
    },
    counts: () => ({
      ...counts,
      orders: pasts.size + [...early.keys()].filter((orderId) => !pasts.has(orderId)).length,
      incompleteOrders: brokenOrders + early.size,
    }),
  };
}
