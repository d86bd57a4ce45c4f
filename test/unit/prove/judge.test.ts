import { describe, expect, test } from '@jest/globals';
import type { FaultResult } from '../../../src/cli/prove/report.ts';
import type { Evidence } from '../../../src/main/prove/evidence.ts';
import { invariants, judge } from '../../../src/main/prove/judge.ts';
import type { PlacedOrder } from '../../../src/main/prove/load.ts';
import type { Charge, OrderRecord } from '../../../src/main/prove/records.ts';

/* Evidence of a correct gateway: one order that was paid and half refunded, and one that was cancelled. */

const atMs = Date.UTC(2026, 10, 23);
const body = (eventId: string): Buffer => Buffer.from(`{"id":"${eventId}","type":"order"}`);

const placed = (orderNumber: string, phone: string, statuses: readonly string[]): PlacedOrder => ({
  ...{ orderNumber, phone, story: 'refund', amount: '20.00', hasWebhook: true, contradictions: [] },
  ...{
    beganAtMs: atMs,
    acknowledgedAtMs: atMs,
    checkoutUrl: 'http://127.0.0.1/c/1',
    statuses: [...statuses],
  },
  refund: statuses.includes('COMPLETED') ? { number: 'P-1-R', amount: '10.50', statuses: [] } : undefined,
});
const paid: OrderRecord = {
  ...{ orderId: 'one', orderNumber: 'P-1', status: 'COMPLETED', amountText: '20.00', amount: 2_000 },
  ...{ deducted: 2_000, refunded: 1_050, currency: 'ETB', hasWebhook: true, lastSequence: 5 },
  events: ['CREATED', 'PAYMENT_STARTED', 'COMPLETED', 'REFUND_REQUESTED', 'REFUND_COMPLETED'].map(
    (type, index) => ({ type, sequence: index + 1, eventId: `evt_${index + 1}` }),
  ),
  attempts: [{ reference: 'ref-1', phone: '251901000001', status: 'SUCCEEDED', createdAtMs: atMs }],
  strays: [],
  refunds: [{ number: 'P-1-R', status: 'REVERSED', amount: 1_050 }],
};
const cancelled: OrderRecord = {
  ...{ orderId: 'two', orderNumber: 'P-2', status: 'FAILED', amountText: '20.00', amount: 2_000 },
  ...{ deducted: 0, refunded: 0, currency: 'ETB', hasWebhook: true, lastSequence: 2 },
  events: [
    { type: 'CREATED', sequence: 1, eventId: 'evt_6' },
    { type: 'FAILED', sequence: 2, eventId: 'evt_7' },
  ],
  ...{ attempts: [], strays: [], refunds: [] },
};
const charge: Charge = {
  ...{ wallet: 'walleta', transaction: 'T1', reference: 'ref-1', payer: '251901000001' },
  ...{ amount: 2_000, reversed: 1_050, currency: 'ETB', chargedAtMs: atMs },
};
const fault: FaultResult = {
  ...{ round: 1, target: 'broker', fault: 'kill', tried: true, missed: false, detail: '' },
  ...{ began_at: '2026-11-23', lasted_seconds: 2, acknowledged_meanwhile: 3, serving_again_after_seconds: 1 },
};
const webhook = (eventId: string, arrival: number) => ({
  ...{ eventId, arrival, body: body(eventId), acceptedAt: arrival + 1, isSigned: true },
});
const unsigned = (each: Evidence['exchanges'][number]) => ({ ...each, isSigned: false });
const verified = (status: string, phone: string) => ({
  status: 200,
  body: { data: { status, amount: '20.00', customer_phone: phone } },
});
const good: Evidence = {
  orders: [
    placed('P-1', '251901000001', ['PENDING', 'COMPLETED']),
    placed('P-2', '251901000002', ['PENDING', 'FAILED']),
  ],
  finals: new Map([
    ['P-1', verified('COMPLETED', '251901000001')],
    ['P-2', verified('FAILED', '251901000002')],
  ]),
  records: [paid, cancelled],
  charges: [charge],
  exchanges: [webhook('evt_3', 1), webhook('evt_5', 3), webhook('evt_7', 5)],
  faults: [fault],
  exits: [],
  faultsEndedAtMs: atMs,
  decidedAtMs: new Map([['P-1', atMs + 59_000]]),
  ...{ leaks: [], logBytes: 1, turnedAway: 0, unanswered: 0 },
};

const withCharges = (...charges: readonly Charge[]): Evidence => ({ ...good, charges });
const withCharge = (change: Partial<Charge>): Evidence => withCharges({ ...charge, ...change });
const withWebhooks = (...exchanges: Evidence['exchanges']): Evidence => ({ ...good, exchanges });
const withFault = (change: Partial<FaultResult>): Evidence => ({
  ...good,
  faults: [{ ...fault, ...change }],
});
const decidedAfter = (ms: number): Evidence => ({ ...good, decidedAtMs: new Map([['P-1', atMs + ms]]) });
const unpaid = { ...charge, reference: 'other', payer: '251901000002', reversed: 0 };
const otherBytes = { ...webhook('evt_7', 7), body: body('evt_7x') };
const swapped = [webhook('evt_5', 1), webhook('evt_3', 3), webhook('evt_7', 5)];
const laterFailure = { type: 'FAILED', sequence: 6, eventId: 'evt_8' };

const brokenBy = (evidence: Evidence): readonly string[] =>
  judge([evidence])
    .filter(({ result }) => result === 'broken')
    .map(({ name }) => name);
const withRecord = (change: Partial<OrderRecord>): Evidence => ({
  ...good,
  records: [{ ...paid, ...change }, cancelled],
});
const withOrder = (change: Partial<PlacedOrder>): Evidence => ({
  ...good,
  orders: good.orders.map((order) => (order.orderNumber === 'P-1' ? { ...order, ...change } : order)),
});

describe('the judge of a campaign', () => {
  test('finds nothing in correct evidence, and reports nothing as tried without evidence', () => {
    expect(judge([good, good]).map(({ result }) => result)).toEqual(invariants.map(() => 'held'));
    expect(judge([]).map(({ result }) => result)).toEqual(invariants.map(() => 'not_tried'));
  });

  test('accepts an event after its predecessor was accepted from one sender and before another one got its answer', () => {
    const [first, ...others] = good.exchanges;
    const slowly = { ...webhook('evt_3', 0), acceptedAt: 9 };
    expect(brokenBy(withWebhooks(slowly, ...(first === undefined ? [] : [first]), ...others))).toEqual([]);
  });

  test.each<[string, string, Evidence]>([
    ['a lost order', 'acknowledged_orders_kept', { ...good, records: [paid] }],
    ['an order that verify does not find', 'acknowledged_orders_kept', { ...good, finals: new Map() }],
    ['another amount', 'acknowledged_orders_kept', withRecord({ amountText: '20.01' })],
    ['two answers', 'repeated_requests_answered_alike', withOrder({ contradictions: ['two checkout URLs'] })],
    ['a double order', 'repeated_requests_answered_alike', { ...good, records: [paid, paid, cancelled] }],
    ['an announced end that is not stored', 'ended_orders_stay_ended', withOrder({ statuses: ['FAILED'] })],
    [
      'two ends',
      'ended_orders_stay_ended',
      withRecord({ lastSequence: 6, events: [...paid.events, laterFailure] }),
    ],
    [
      'a second charge of a payer',
      'charged_at_most_once',
      withCharges(charge, { ...charge, transaction: 'T2' }),
    ],
    ['a charge without an attempt', 'charges_recorded_first', withRecord({ attempts: [] })],
    ['a charge before its attempt', 'charges_recorded_first', withCharge({ chargedAtMs: atMs - 2_000 })],
    ['a charge of an order that ended unpaid', 'no_charge_without_completion', withCharges(charge, unpaid)],
    ['a completed order without a charge', 'completed_means_charged', withCharges()],
    ['a charge of another amount', 'completed_means_charged', withCharge({ amount: 2_001 })],
    ['a refund paid twice', 'refunds_paid_once', withCharge({ reversed: 2_100 })],
    ['an accepted refund that is lost', 'refunds_paid_once', withRecord({ refunds: [], refunded: 0 })],
    ['a cent that does not add up', 'money_adds_up', withCharge({ amount: 2_001 })],
    ['a missing event', 'changes_have_events', withRecord({ events: paid.events.slice(1) })],
    ['a status without its event', 'changes_have_events', withRecord({ status: 'FAILED' })],
    ['a webhook that never arrived', 'webhooks_delivered', withWebhooks(...good.exchanges.slice(1))],
    ['a wrong signature', 'webhooks_delivered', withWebhooks(...good.exchanges.map(unsigned))],
    ['a webhook of no event', 'webhooks_delivered', withWebhooks(...good.exchanges, webhook('evt_9', 7))],
    ['a repeat with other bytes', 'webhooks_delivered', withWebhooks(...good.exchanges, otherBytes)],
    ['a webhook before its predecessor', 'webhooks_in_order', withWebhooks(...swapped)],
    ['no orders without the broker', 'broker_loss_harmless', withFault({ acknowledged_meanwhile: 0 })],
    ['an order that ends late', 'decided_orders_end_in_time', decidedAfter(61_000)],
    ['an order that never ends', 'decided_orders_end_in_time', { ...good, decidedAtMs: new Map() }],
    ['a process that serves again late', 'serves_again', withFault({ serving_again_after_seconds: 31 })],
    ['a process that never serves', 'serves_again', withFault({ serving_again_after_seconds: null })],
    ['a process that exits by itself', 'serves_again', { ...good, exits: ['core ended (exit code 1)'] }],
    ['a secret in a log', 'logs_keep_secrets', { ...good, leaks: ['line 1 of core.log contains a secret'] }],
  ])('reports that %s breaks %s', (_what, name, evidence) => {
    expect(brokenBy(evidence)).toContain(name);
  });
});
