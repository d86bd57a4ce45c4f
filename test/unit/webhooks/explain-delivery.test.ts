import { expect, test } from '@jest/globals';
import { explainDelivery } from '../../../src/webhooks/domain/explain-delivery.ts';
import type { DeliveryFacts } from '../../../src/webhooks/domain/explain-delivery.ts';
import { explainForOrder } from '../../../src/webhooks/domain/explain-order-deliveries.ts';

const now = new Date('2026-11-21T03:00:00Z');
const minutes = (count: number): Date => new Date(now.getTime() + count * 60_000);

type Own = {
  readonly delivery?: Partial<DeliveryFacts['delivery']>;
  readonly endpoint?: Partial<DeliveryFacts['endpoint']>;
} & Partial<Omit<DeliveryFacts, 'delivery' | 'endpoint'>>;

/** A delivery that is due now on a healthy endpoint. A test names the values that matter to it. */
const facts = ({ delivery, endpoint, ...own }: Own): DeliveryFacts => ({
  now,
  delivery: {
    merchantId: 'mer_1',
    environment: 'SANDBOX',
    endpoint: 'https://shop.example',
    eventType: 'order.completed',
    state: 'PENDING',
    dueAt: now,
    roundAttempts: 0,
    deliveredAt: null,
    givenUpAt: null,
    ...delivery,
  },
  endpoint: {
    state: 'OPEN',
    probeAt: null,
    pausedAt: null,
    pausedByAnswer: false,
    isHeld: false,
    isDeleted: false,
    ...endpoint,
  },
  lastAttempt: undefined,
  earlier: undefined,
  dueBefore: 0,
  secretProblem: undefined,
  ...own,
});

const lostKey = { kind: 'KEY_MISSING', secretId: 'whs_1', keyName: 'k1' } as const;
const due = (count: number) => ({ dueAt: minutes(count) });
const open = (count: number) => ({ state: 'RESTING', probeAt: minutes(count) }) as const;
const abandoned = (roundAttempts: number) =>
  ({ state: 'GIVEN_UP', dueAt: null, givenUpAt: minutes(-9), roundAttempts }) as const;
const abandonedTest = { ...abandoned(3), eventType: 'webhook.test' };
const delivered = (count: number) =>
  ({ state: 'DELIVERED', dueAt: null, deliveredAt: minutes(count) }) as const;
const paused = (count: number) => ({ state: 'PAUSED', pausedAt: minutes(count) }) as const;
const gone = (count: number) => ({ ...paused(count), pausedByAnswer: true });
const deleted = { isDeleted: true };
const deletedInPause = { ...deleted, state: 'PAUSED' } as const;
const secretProblem = 'NOT_SHOWN';
const earlier = { id: 'whd_0', eventType: 'order.failed' };

/**
 * The third column: the cause and the next step. The last ones: the minutes from now on of the time that the cause
 * names, and of the next attempt.
 */
const cases: readonly (readonly [name: string, own: Own, explained: string, at?: number, next?: number])[] = [
  ['due now', {}, 'SENDING WAIT', 0, 0],
  ['in flight', { endpoint: { isHeld: true }, delivery: due(-5) }, 'SENDING WAIT', -5, 0],
  ['due later', { delivery: due(12) }, 'NOT_DUE REDELIVER', 12, 12],
  ['without a shown secret', { secretProblem, earlier }, 'SIGNING_SECRET_NOT_SHOWN CREATE_SIGNING_SECRET'],
  ['to a deleted endpoint', { endpoint: deletedInPause, secretProblem }, 'WEBHOOK_ENDPOINT_DELETED NONE'],
  [
    'abandoned with its endpoint',
    { delivery: abandoned(3), endpoint: deleted },
    'WEBHOOK_ENDPOINT_DELETED NONE',
    -9,
  ],
  [
    'abandoned before its endpoint',
    { delivery: abandoned(13), endpoint: deleted },
    'ATTEMPTS_EXHAUSTED NONE',
    -9,
  ],
  ['due while no process sends', { delivery: due(-5) }, 'NO_SENDER CHECK_WEBHOOKS', -5, 0],
  ['due after others', { dueBefore: 312 }, 'OTHERS_FIRST WAIT', 0, 0],
  ['behind an earlier event', { earlier }, 'EARLIER_EVENT_PENDING EXPLAIN_EARLIER'],
  [
    'with an unusable secret',
    { secretProblem: lostKey, earlier },
    'SIGNING_SECRET_UNUSABLE RESTORE_SIGNING_SECRET',
  ],
  ['due in an open circuit', { delivery: due(-1), endpoint: open(3) }, 'CIRCUIT_OPEN RESUME_ENDPOINT', 3, 3],
  ['due after the next probe', { delivery: due(60), endpoint: open(-1) }, 'CIRCUIT_OPEN REDELIVER', -1, 60],
  [
    'to a paused endpoint',
    { endpoint: paused(-300), earlier, secretProblem: lostKey },
    'ENDPOINT_PAUSED RESUME_ENDPOINT',
    -300,
  ],
  ['to an endpoint paused by its answer', { endpoint: gone(-3) }, 'ENDPOINT_GONE RESUME_ENDPOINT', -3],
  ['delivered', { delivery: delivered(-1) }, 'DELIVERED REDELIVER', -1],
  ['abandoned after 13 attempts', { delivery: abandoned(13) }, 'ATTEMPTS_EXHAUSTED REDELIVER', -9],
  ['a test abandoned after three attempts', { delivery: abandonedTest }, 'ATTEMPTS_EXHAUSTED REDELIVER', -9],
  ['abandoned at the end of its schedule', { delivery: abandoned(4) }, 'SCHEDULE_ENDED REDELIVER', -9],
];
const minutesOrNone = (count: number | undefined) => (count === undefined ? undefined : minutes(count));

test.each(cases)(
  'a delivery is explained with its cause and next steps: %s',
  (_name, own, expected, ...[at, next]) => {
    const explained = explainDelivery(facts(own));

    expect([explained.cause, ...explained.nextSteps].join(' ')).toBe(expected);
    const times = { at: minutesOrNone(at), nextAttemptAt: minutesOrNone(next), explainedAt: now };
    expect(explained).toMatchObject(times);
  },
);

test('a delivery that is due after the next probe can be sent now, and its circuit closed', () => {
  const explained = explainDelivery(facts({ delivery: due(60), endpoint: open(2) }));
  const steps = { nextSteps: ['REDELIVER', 'RESUME_ENDPOINT'], at: minutes(2), nextAttemptAt: minutes(60) };
  expect(explained).toMatchObject({ cause: 'CIRCUIT_OPEN', ...steps });
});

test('the explanation has the facts of its cause, and no others', () => {
  const paused = explainDelivery(facts({ endpoint: { state: 'PAUSED' }, earlier, secretProblem: lostKey }));
  const unsigned = explainDelivery(facts({ secretProblem: lostKey, delivery: { roundAttempts: 2 } }));
  const behind = explainDelivery(facts({ earlier, dueBefore: 7 }));

  expect(paused).toMatchObject({ earlier: undefined, secretProblem: undefined });
  expect(unsigned).toMatchObject({
    secretProblem: lostKey,
    schedule: { attempts: 2, maxAttempts: 13, lastsMs: 76 * 60 * 60_000 },
  });
  expect(behind).toMatchObject({ earlier, dueBefore: 7 });
});

test.each<[string, Own, string, number | null]>([
  ['due now', {}, 'WEBHOOK_SENT by WEBHOOKS_PROCESS', null],
  ['due later', { delivery: due(12) }, 'WEBHOOK_SENT by WEBHOOKS_PROCESS', 12],
  ['behind an open circuit', { endpoint: open(7) }, 'WEBHOOK_ACCEPTED by MERCHANT', 7],
  ['on a paused endpoint', { endpoint: paused(-4) }, 'WEBHOOK_ENDPOINT_RESUMED by MERCHANT', null],
  ['abandoned', { delivery: abandoned(13) }, 'WEBHOOK_REDELIVERY by MERCHANT', null],
  ['without a shown secret', { secretProblem }, 'WEBHOOK_SECRET by MERCHANT', null],
  ['to a deleted endpoint', { endpoint: deletedInPause }, 'NOTHING by NOBODY', null],
])('the order of a delivery that is %s waits for what the delivery waits for', (_name, own, waits, next) => {
  const { waitingFor, heldBy, nextAt } = explainForOrder(
    { id: 'whd_1', createdAt: now },
    explainDelivery(facts(own)),
  );

  expect(`${waitingFor} by ${heldBy}`).toBe(waits);
  expect(nextAt).toEqual(next === null ? undefined : minutes(next));
});
