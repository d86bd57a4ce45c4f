import { expect, test } from '@jest/globals';
import { explainDelivery } from '../../../src/webhooks/domain/explain-delivery.ts';
import type { DeliveryFacts, Explanation } from '../../../src/webhooks/domain/explain-delivery.ts';

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
    restingUntil: null,
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
const open = (count: number) => ({ state: 'RESTING', restingUntil: minutes(count) }) as const;
const abandoned = (roundAttempts: number) =>
  ({ state: 'GIVEN_UP', dueAt: null, givenUpAt: minutes(-9), roundAttempts }) as const;
const earlier = { id: 'whd_0', eventType: 'order.failed' };

type Reason = Pick<Explanation, 'cause' | 'nextSteps'>;
/** The last two columns: the minutes from now on of the time that the cause names, and of the next attempt. */
const cases: readonly (readonly [
  ...[name: string, own: Own, cause: Reason['cause'], nextSteps: Reason['nextSteps']],
  ...[at: number | undefined, next: number | undefined],
])[] = [
  ['due now', {}, 'SENDING', ['WAIT'], 0, 0],
  ['in flight', { endpoint: { isHeld: true }, delivery: due(-5) }, 'SENDING', ['WAIT'], -5, 0],
  ['due later', { delivery: due(12) }, 'NOT_DUE', ['REDELIVER'], 12, 12],
  [
    'due without a secret that was ever shown',
    { secretProblem: 'NOT_SHOWN', earlier },
    'SIGNING_SECRET_NOT_SHOWN',
    ['CREATE_SIGNING_SECRET'],
    undefined,
    undefined,
  ],
  [
    'to a deleted webhook endpoint',
    { endpoint: { isDeleted: true, state: 'PAUSED' }, secretProblem: 'NOT_SHOWN' },
    'WEBHOOK_ENDPOINT_DELETED',
    ['NONE'],
    undefined,
    undefined,
  ],
  [
    'abandoned with its webhook endpoint',
    { delivery: abandoned(3), endpoint: { isDeleted: true } },
    'WEBHOOK_ENDPOINT_DELETED',
    ['NONE'],
    -9,
    undefined,
  ],
  [
    'abandoned before its webhook endpoint was deleted',
    { delivery: abandoned(13), endpoint: { isDeleted: true } },
    'ATTEMPTS_EXHAUSTED',
    ['NONE'],
    -9,
    undefined,
  ],
  ['due while no process sends', { delivery: due(-5) }, 'NO_SENDER', ['CHECK_WEBHOOKS'], -5, 0],
  ['due after others', { dueBefore: 312 }, 'OTHERS_FIRST', ['WAIT'], 0, 0],
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
    ...(['SIGNING_SECRET_UNUSABLE', ['RESTORE_SIGNING_SECRET'], undefined, undefined] as const),
  ],
  [
    'due while the circuit is open',
    { delivery: due(-1), endpoint: open(3) },
    'CIRCUIT_OPEN',
    ['RESUME_ENDPOINT'],
    3,
    3,
  ],
  [
    'due after the next probe',
    { delivery: due(60), endpoint: open(-1) },
    'CIRCUIT_OPEN',
    ['REDELIVER'],
    -1,
    60,
  ],
  [
    'due later, with a probe before that',
    { delivery: due(60), endpoint: open(2) },
    ...(['CIRCUIT_OPEN', ['REDELIVER', 'RESUME_ENDPOINT'], 2, 60] as const),
  ],
  [
    'to a paused endpoint, which outweighs everything else',
    { endpoint: { state: 'PAUSED', pausedAt: minutes(-300) }, earlier, secretProblem: lostKey },
    ...(['ENDPOINT_PAUSED', ['RESUME_ENDPOINT'], -300, undefined] as const),
  ],
  [
    'to an endpoint that its own answer paused',
    { endpoint: { state: 'PAUSED', pausedAt: minutes(-3), pausedByAnswer: true } },
    ...(['ENDPOINT_GONE', ['RESUME_ENDPOINT'], -3, undefined] as const),
  ],
  [
    'delivered',
    { delivery: { state: 'DELIVERED', dueAt: null, deliveredAt: minutes(-1) } },
    ...(['DELIVERED', ['REDELIVER'], -1, undefined] as const),
  ],
  [
    'abandoned after 13 attempts',
    { delivery: abandoned(13) },
    'ATTEMPTS_EXHAUSTED',
    ['REDELIVER'],
    -9,
    undefined,
  ],
  [
    'a test abandoned after its three attempts',
    { delivery: { ...abandoned(3), eventType: 'webhook.test' } },
    ...(['ATTEMPTS_EXHAUSTED', ['REDELIVER'], -9, undefined] as const),
  ],
  [
    'abandoned at the end of its schedule',
    { delivery: abandoned(4) },
    'SCHEDULE_ENDED',
    ['REDELIVER'],
    -9,
    undefined,
  ],
];

test.each(cases)(
  'a delivery is explained with its cause and next steps: %s',
  (_name, own, cause, nextSteps, at, next) => {
    const [causeTime, nextAttemptAt] = [at, next].map((count) =>
      count === undefined ? count : minutes(count),
    );
    const expected = { cause, nextSteps, at: causeTime, nextAttemptAt, explainedAt: now };
    expect(explainDelivery(facts(own))).toMatchObject(expected);
  },
);

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
