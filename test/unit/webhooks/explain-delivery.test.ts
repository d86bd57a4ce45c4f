import { expect, test } from '@jest/globals';
import { explainDelivery } from '../../../src/webhooks/domain/explain-delivery.ts';
import type { DeliveryFacts, Explanation } from '../../../src/webhooks/domain/explain-delivery.ts';

const now = new Date('2026-11-21T03:00:00Z');
const minutes = (count: number): Date => new Date(now.getTime() + count * 60_000);
const seconds = (count: number): Date => new Date(now.getTime() + count * 1000);

type Own = {
  readonly delivery?: Partial<DeliveryFacts['delivery']>;
  readonly endpoint?: Partial<DeliveryFacts['endpoint']>;
} & Partial<Omit<DeliveryFacts, 'delivery' | 'endpoint'>>;

/** A delivery that is due now on a healthy endpoint; a test names what matters to it. */
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
    restingUntil: null,
    pausedAt: null,
    pausedByAnswer: false,
    isHeld: false,
    ...endpoint,
  },
  lastAttempt: undefined,
  earlier: undefined,
  dueBefore: 0,
  secretProblem: undefined,
  ...own,
});

const lostKey = { kind: 'KEY_MISSING', secretId: 'whs_1', keyName: 'k1' } as const;
const earlier = { id: 'whd_0', eventType: 'order.failed' };

type Reason = Pick<Explanation, 'cause' | 'nextSteps' | 'at' | 'nextAttemptAt'>;
const cases: readonly (readonly [
  name: string,
  own: Own,
  cause: Reason['cause'],
  nextSteps: Reason['nextSteps'],
  at: Date | undefined,
  next: Date | undefined,
])[] = [
  ['due now', {}, 'SENDING', ['WAIT'], now, now],
  [
    'in flight',
    { endpoint: { isHeld: true }, delivery: { dueAt: minutes(-5) } },
    'SENDING',
    ['WAIT'],
    minutes(-5),
    now,
  ],
  ['due later', { delivery: { dueAt: minutes(12) } }, 'NOT_DUE', ['REDELIVER'], minutes(12), minutes(12)],
  [
    'due and not sent',
    { delivery: { dueAt: minutes(-5) } },
    'NO_SENDER',
    ['CHECK_WEBHOOKS'],
    minutes(-5),
    now,
  ],
  ['due behind others', { dueBefore: 312 }, 'OTHERS_FIRST', ['WAIT'], now, now],
  [
    'behind an earlier event',
    { earlier },
    'EARLIER_EVENT_PENDING',
    ['EXPLAIN_EARLIER'],
    undefined,
    undefined,
  ],
  [
    'without a usable secret, which outweighs an earlier event',
    { secretProblem: lostKey, earlier },
    'SIGNING_SECRET_UNUSABLE',
    ['RESTORE_SIGNING_SECRET'],
    undefined,
    undefined,
  ],
  [
    'due, the circuit open',
    { delivery: { dueAt: seconds(-30) }, endpoint: { state: 'RESTING', restingUntil: seconds(160) } },
    'CIRCUIT_OPEN',
    ['RESUME_ENDPOINT'],
    seconds(160),
    seconds(160),
  ],
  [
    'due after the next probe of an open circuit',
    { delivery: { dueAt: minutes(60) }, endpoint: { state: 'RESTING', restingUntil: seconds(-1) } },
    'CIRCUIT_OPEN',
    ['REDELIVER'],
    seconds(-1),
    minutes(60),
  ],
  [
    'due later, with a probe before that',
    { delivery: { dueAt: minutes(60) }, endpoint: { state: 'RESTING', restingUntil: minutes(2) } },
    'CIRCUIT_OPEN',
    ['REDELIVER', 'RESUME_ENDPOINT'],
    minutes(2),
    minutes(60),
  ],
  [
    'the endpoint paused, which outweighs everything else',
    { endpoint: { state: 'PAUSED', pausedAt: minutes(-300) }, earlier, secretProblem: lostKey },
    'ENDPOINT_PAUSED',
    ['RESUME_ENDPOINT'],
    minutes(-300),
    undefined,
  ],
  [
    'the endpoint paused for its answer',
    { endpoint: { state: 'PAUSED', pausedAt: minutes(-3), pausedByAnswer: true } },
    'ENDPOINT_GONE',
    ['RESUME_ENDPOINT'],
    minutes(-3),
    undefined,
  ],
  [
    'delivered',
    { delivery: { state: 'DELIVERED', dueAt: null, deliveredAt: minutes(-1) } },
    'DELIVERED',
    ['REDELIVER'],
    minutes(-1),
    undefined,
  ],
  [
    'abandoned after its whole schedule',
    { delivery: { state: 'GIVEN_UP', dueAt: null, givenUpAt: minutes(-9), roundAttempts: 13 } },
    'ATTEMPTS_EXHAUSTED',
    ['REDELIVER'],
    minutes(-9),
    undefined,
  ],
  [
    'a test abandoned after its three attempts',
    { delivery: { eventType: 'webhook.test', state: 'GIVEN_UP', givenUpAt: minutes(-9), roundAttempts: 3 } },
    'ATTEMPTS_EXHAUSTED',
    ['REDELIVER'],
    minutes(-9),
    undefined,
  ],
  [
    'abandoned before, because time was over',
    { delivery: { state: 'GIVEN_UP', dueAt: null, givenUpAt: minutes(-9), roundAttempts: 4 } },
    'SCHEDULE_ENDED',
    ['REDELIVER'],
    minutes(-9),
    undefined,
  ],
];

test.each(cases)('the explanation of a delivery: %s', (_name, own, cause, nextSteps, at, nextAttemptAt) => {
  expect(explainDelivery(facts(own))).toMatchObject({
    cause,
    nextSteps,
    at,
    nextAttemptAt,
    explainedAt: now,
  });
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
