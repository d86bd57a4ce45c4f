import type { InvariantResult } from '../../cli/prove/report.ts';
import type { Evidence } from './evidence.ts';
import { moneyInvariants } from './judge-money.ts';
import type { Finding, Invariant } from './invariant.ts';
import { ends, webhookEvents } from './invariant.ts';
import { findChanged, findInvented, findOutOfOrder, findUndelivered } from './webhook-faults.ts';

/** After the faults end, orders that their wallet has decided may stay PENDING this long. */
const decidedWithinMs = 60_000;
const servingWithinSeconds = 30;
const maxViolations = 20;

const recordsByNumber = ({ records }: Evidence) => new Map(records.map((each) => [each.orderNumber, each]));

const acknowledgedOrdersOf = ({ orders }: Evidence) =>
  orders.filter(({ acknowledgedAtMs }) => acknowledgedAtMs !== undefined);

const acknowledgedOrdersKept: Invariant = {
  name: 'acknowledged_orders_kept',
  promise: 'Every order and payment that was answered with 201 is stored, unchanged, and verify finds it.',
  judge: (evidence) => {
    const records = recordsByNumber(evidence);
    const kept = acknowledgedOrdersOf(evidence);
    return {
      compared: kept.length,
      of: 'acknowledged orders',
      violations: kept.flatMap(({ orderNumber, amount, phone, hasWebhook }): Finding[] => {
        const record = records.get(orderNumber);
        const reply = evidence.finals.get(orderNumber);
        if (record === undefined)
          return [
            {
              orderNumber,
              seen: `the database has no such order; verify answers ${reply?.status ?? 'nothing'}`,
            },
          ];
        const stored = `${record.amountText} ${record.currency}${record.hasWebhook ? ' with a webhook_url' : ''}`;
        const placed = `${amount} ETB${hasWebhook ? ' with a webhook_url' : ''}`;
        if (stored !== placed) return [{ orderNumber, seen: `placed: ${placed}; stored: ${stored}` }];
        const found = reply?.body.data;
        if (reply?.status !== 200 || found?.['amount'] !== amount || found['customer_phone'] !== phone)
          return [
            {
              orderNumber,
              seen: `verify answers ${reply?.status ?? 'nothing'} ${JSON.stringify(found ?? {})}`,
            },
          ];
        return [];
      }),
    };
  },
};

const repeatsAnsweredAlike: Invariant = {
  name: 'repeated_requests_answered_alike',
  promise:
    'A valid request is accepted, however often it is repeated, and every repeat has the first result.',
  judge: ({ orders, records }) => ({
    compared: orders.length,
    of: 'orders',
    violations: [
      ...orders.flatMap(({ orderNumber, contradictions }) =>
        contradictions.map((seen) => ({ orderNumber, seen })),
      ),
      ...[...Map.groupBy(records, ({ orderNumber }) => orderNumber)]
        .filter(([, all]) => all.length > 1)
        .map(([orderNumber, all]) => ({ orderNumber, seen: `it is stored ${all.length} times` })),
    ],
  }),
};

const endIsFinal: Invariant = {
  name: 'ended_orders_stay_ended',
  promise: 'An order ends at most once, and verify and the database agree on its end.',
  judge: (evidence) => {
    const records = recordsByNumber(evidence);
    return {
      compared: evidence.records.length,
      of: 'stored orders',
      violations: evidence.orders.flatMap(({ orderNumber, statuses }): Finding[] => {
        const record = records.get(orderNumber);
        if (record === undefined) return [];
        const terminal = record.events.filter(({ type }) => ends.has(type));
        const reported = [
          ...statuses,
          evidence.finals.get(orderNumber)?.body.data?.['status'] ?? record.status,
        ];
        const last = reported.filter((status) => ends.has(status));
        const faults: Finding[] = [];
        if (terminal.length > 1)
          faults.push({ orderNumber, seen: `its history ends ${terminal.length} times` });
        if (new Set([...last, ...(ends.has(record.status) ? [record.status] : [])]).size > 1)
          faults.push({
            orderNumber,
            seen: `verify said ${reported.join(', ')}; stored is ${record.status}`,
          });
        if (last.length > 0 && record.status === 'PENDING')
          faults.push({ orderNumber, seen: `verify said ${last.join(', ')}; stored is PENDING` });
        return faults;
      }),
    };
  },
};

const changesHaveEvents: Invariant = {
  name: 'changes_have_events',
  promise:
    'Each change of an order and its event are one: no event is missing, and the status is that of the events.',
  judge: ({ records }) => ({
    compared: records.reduce((sum, { events }) => sum + events.length, 0),
    of: 'events',
    violations: records.flatMap(({ orderNumber, events, lastSequence, status }): Finding[] => {
      const numbers = events.map(({ sequence }) => sequence);
      const isWhole = numbers.length === lastSequence && numbers.every((each, index) => each === index + 1);
      const end = events.find(({ type }) => ends.has(type))?.type ?? 'PENDING';
      return [
        ...(isWhole
          ? []
          : [{ orderNumber, seen: `its events are ${numbers.join(', ')} of ${lastSequence}` }]),
        ...(end === status ? [] : [{ orderNumber, seen: `its events say ${end}; its status is ${status}` }]),
      ];
    }),
  }),
};

/** The events that the receiver must have got, and the order of each. */
function dueEvents({ records }: Evidence) {
  const due = records
    .filter(({ hasWebhook }) => hasWebhook)
    .flatMap(({ orderId, orderNumber, events }) =>
      events
        .filter(({ type }) => webhookEvents.has(type))
        .map(({ eventId }) => ({ eventId, orderId, orderNumber })),
    );
  const numbers = new Map(due.map(({ eventId, orderNumber }) => [eventId, orderNumber]));
  const named = (faults: readonly { readonly eventId: string; readonly seen: string }[]): Finding[] =>
    faults.map(({ eventId, seen }) => ({ orderNumber: numbers.get(eventId) ?? '', seen }));
  return { due, named };
}

const webhooksDelivered: Invariant = {
  name: 'webhooks_delivered',
  promise:
    'Every event of an order with a webhook_url arrives at least once, signed, always with the same bytes.',
  judge: (evidence) => {
    const { due, named } = dueEvents(evidence);
    const { exchanges } = evidence;
    const unsigned = exchanges.filter(({ isSigned }) => !isSigned);
    return {
      compared: due.length,
      of: 'events',
      violations: named([
        ...findUndelivered(due, exchanges),
        ...findInvented(due, exchanges),
        ...findChanged(exchanges),
        ...unsigned.map(({ eventId }) => ({ eventId, seen: `${eventId} has a wrong signature` })),
      ]),
    };
  },
};

const webhooksInOrder: Invariant = {
  name: 'webhooks_in_order',
  promise: 'An event of an order is sent only after the event before it was accepted.',
  judge: (evidence) => {
    const { due, named } = dueEvents(evidence);
    const several = [...Map.groupBy(due, ({ orderId }) => orderId).values()].filter((all) => all.length > 1);
    return {
      compared: several.length,
      of: 'orders with several events',
      violations: named(findOutOfOrder(due, evidence.exchanges)),
    };
  },
};

const brokerLossHarmless: Invariant = {
  name: 'broker_loss_harmless',
  promise: 'While the broker is killed, frozen or unreachable, orders are taken as usual.',
  judge: ({ faults }) => {
    const tried = faults.filter(
      ({ target, tried, lasted_seconds: s }) => target === 'broker' && tried && s >= 1,
    );
    return {
      compared: tried.length,
      of: 'faults of the broker that lasted a second or more',
      violations: tried
        .filter(({ acknowledged_meanwhile: count }) => count === 0)
        .map(({ fault, began_at: at }) => ({
          orderNumber: '',
          seen: `no order was taken during ${fault} at ${at}`,
        })),
    };
  },
};

const decidedInTime: Invariant = {
  name: 'decided_orders_end_in_time',
  promise: 'An order that its wallet has decided ends within 60 seconds after the faults, without help.',
  judge: ({ charges, records, faultsEndedAtMs, decidedAtMs }) => {
    const charged = new Map(charges.map(({ reference, chargedAtMs }) => [reference, chargedAtMs]));
    const decided = records.flatMap(({ orderNumber, attempts }) => {
      const at = attempts.flatMap(({ reference }) => charged.get(reference) ?? []);
      return at.length === 0 ? [] : [{ orderNumber, fromMs: Math.max(faultsEndedAtMs, ...at) }];
    });
    return {
      compared: decided.length,
      of: 'orders that a wallet has charged',
      violations: decided.flatMap(({ orderNumber, fromMs }): Finding[] => {
        const endedAt = decidedAtMs.get(orderNumber);
        if (endedAt === undefined) return [{ orderNumber, seen: 'it is still PENDING' }];
        const seconds = Math.round((endedAt - fromMs) / 1_000);
        return endedAt - fromMs <= decidedWithinMs
          ? []
          : [{ orderNumber, seen: `it ended after ${seconds} s` }];
      }),
    };
  },
};

const servesAgain: Invariant = {
  name: 'serves_again',
  promise:
    'Within 30 seconds after each fault, every process is ready and a new order is paid, without a restart.',
  judge: ({ faults, exits }) => {
    const tried = faults.filter((fault) => fault.tried);
    return {
      compared: tried.length,
      of: 'faults',
      violations: [
        ...tried
          .filter(({ serving_again_after_seconds: after }) => after === null || after > servingWithinSeconds)
          .map(({ target, fault, began_at: at, serving_again_after_seconds: after }) => ({
            orderNumber: '',
            seen: `${target}:${fault} at ${at}: ${after === null ? 'not serving again' : `serving again after ${after} s`}`,
          })),
        ...exits.map((seen) => ({ orderNumber: '', seen })),
      ],
    };
  },
};

const logsKeepSecrets: Invariant = {
  name: 'logs_keep_secrets',
  promise: 'No API key, service token, signing secret or phone of a payer is in a log.',
  judge: ({ leaks, logBytes }) => ({
    compared: logBytes,
    of: 'bytes of logs',
    violations: leaks.map((seen) => ({ orderNumber: '', seen })),
  }),
};

/** The invariants of a campaign, in the order of its report. */
export const invariants: readonly Invariant[] = [
  acknowledgedOrdersKept,
  repeatsAnsweredAlike,
  endIsFinal,
  ...moneyInvariants,
  changesHaveEvents,
  webhooksDelivered,
  webhooksInOrder,
  brokerLossHarmless,
  decidedInTime,
  servesAgain,
  logsKeepSecrets,
];

/** Judges the observations of one or several gateways. */
export function judge(all: readonly Evidence[]): readonly InvariantResult[] {
  return invariants.map((invariant) => {
    const found = all.map((evidence) => invariant.judge(evidence));
    const compared = found.reduce((sum, each) => sum + each.compared, 0);
    const violations = found.flatMap((each) => each.violations);
    const of = found[0]?.of ?? '';
    return {
      name: invariant.name,
      promise: invariant.promise,
      result: violations.length > 0 ? 'broken' : compared === 0 ? 'not_tried' : 'held',
      seen: compared === 0 ? `there were no ${of}` : `${of}: ${compared.toLocaleString('en-US')} compared`,
      violation_count: violations.length,
      violations: violations
        .slice(0, maxViolations)
        .map(({ orderNumber, seen }) => ({ order_number: orderNumber, seen })),
    };
  });
}
