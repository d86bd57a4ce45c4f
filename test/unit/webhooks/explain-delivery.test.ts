import { describe, expect, test } from '@jest/globals';
import { explainDelivery } from '../../../src/webhooks/domain/explain-delivery.ts';
import type { DeliveryFacts } from '../../../src/webhooks/domain/explain-delivery.ts';

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
    id: 'whd_1',
    merchantId: 'mer_1',
    environment: 'SANDBOX',
    endpoint: 'https://shop.example',
    eventType: 'order.completed',
    orderNumber: 'A-1',
    state: 'PENDING',
    dueAt: now,
    roundAttempts: 0,
    createdAt: minutes(-180),
    deliveredAt: null,
    givenUpAt: null,
    ...delivery,
  },
  endpoint: {
    state: 'OPEN',
    consecutiveFailures: 0,
    restingUntil: null,
    pausedAt: null,
    pauseReason: '',
    isHeld: false,
    ...endpoint,
  },
  lastAttempt: undefined,
  earlier: undefined,
  dueBefore: 0,
  secretProblem: undefined,
  ...own,
});

const attempt = (own: Partial<NonNullable<DeliveryFacts['lastAttempt']>> = {}) => ({
  number: 3,
  startedAt: minutes(-12),
  durationMs: 15_000,
  result: 'TIMED_OUT' as const,
  statusCode: 0,
  detail: 'no whole answer within 15 s',
  remoteAddress: '203.0.113.7',
  responseBody: Buffer.alloc(0),
  retryAfter: '',
  ...own,
});

const head =
  'It tells https://shop.example of order.completed of order A-1, and was created 3 hours ago (2026-11-21 00:00:00 UTC).';

const cases: readonly (readonly [name: string, Own, sentences: readonly string[], next: Date | undefined])[] =
  [
    [
      'due now',
      {},
      ['It has not been sent yet.', 'It is due now: attempt 1 of 13.', 'It goes out now.'],
      now,
    ],
    [
      'due later, after an attempt that failed',
      { delivery: { dueAt: minutes(12), roundAttempts: 3 }, lastAttempt: attempt() },
      [
        'Attempt 3 was made 12 minutes ago (2026-11-21 02:48:00 UTC) and failed after 15.0 s: no whole answer within 15 s.',
        'By its schedule it is due in 12 minutes (2026-11-21 03:12:00 UTC): attempt 4 of 13.',
        'To try it now: gatehouse webhook redeliver mer_1 whd_1',
      ],
      minutes(12),
    ],
    [
      'the receiver asked to wait',
      {
        delivery: { dueAt: minutes(2), roundAttempts: 1 },
        lastAttempt: attempt({
          number: 1,
          result: 'REFUSED',
          statusCode: 429,
          detail: 'answered 429',
          retryAfter: '120',
          durationMs: 40,
          startedAt: seconds(-1),
        }),
      },
      [
        'Attempt 1 was made 1 second ago (2026-11-21 02:59:59 UTC) and failed after 40 ms: answered 429. The receiver asked to wait (Retry-After: 120).',
        'By its schedule it is due in 2 minutes (2026-11-21 03:02:00 UTC): attempt 2 of 13.',
        'To try it now: gatehouse webhook redeliver mer_1 whd_1',
      ],
      minutes(2),
    ],
    [
      'behind an earlier event of its order',
      { earlier: { id: 'whd_0', eventType: 'order.failed' } },
      [
        'It has not been sent yet.',
        'It waits for its turn: order.failed of the same order, whd_0, is not delivered and not given up yet.',
        'See why: gatehouse webhook explain mer_1 whd_0',
      ],
      undefined,
    ],
    [
      'its endpoint rests',
      {
        delivery: { dueAt: seconds(-30) },
        endpoint: { state: 'RESTING', consecutiveFailures: 7, restingUntil: seconds(160) },
      },
      [
        'It has not been sent yet.',
        'Its endpoint rests after 7 failures in a row; one delivery probes it in 3 minutes (2026-11-21 03:02:40 UTC), and when that is answered 2xx the others follow as they are due.',
        'It has been due for 30 seconds: attempt 1 of 13.',
        'If the receiver is well, do not wait: gatehouse webhook resume mer_1 https://shop.example --environment sandbox',
      ],
      seconds(160),
    ],
    [
      'its endpoint rests, and it is due after the probe',
      {
        delivery: { dueAt: minutes(60), roundAttempts: 6 },
        endpoint: { state: 'RESTING', consecutiveFailures: 9, restingUntil: seconds(-1) },
      },
      [
        'It has not been sent yet.',
        'Its endpoint rests after 9 failures in a row; the first that is due probes it, and when that is answered 2xx the others follow as they are due.',
        'By its schedule it is due in 60 minutes (2026-11-21 04:00:00 UTC): attempt 7 of 13.',
        'If the receiver is well, do not wait: gatehouse webhook redeliver mer_1 whd_1',
      ],
      minutes(60),
    ],
    [
      'its endpoint still rests, and it is due later',
      {
        delivery: { dueAt: minutes(60), roundAttempts: 2 },
        endpoint: { state: 'RESTING', consecutiveFailures: 9, restingUntil: minutes(2) },
        lastAttempt: attempt(),
      },
      [
        'Attempt 3 was made 12 minutes ago (2026-11-21 02:48:00 UTC) and failed after 15.0 s: no whole answer within 15 s.',
        'Its endpoint rests after 9 failures in a row; one delivery probes it in 2 minutes (2026-11-21 03:02:00 UTC), and when that is answered 2xx the others follow as they are due.',
        'By its schedule it is due in 60 minutes (2026-11-21 04:00:00 UTC): attempt 3 of 13 since it was sent again.',
        'If the receiver is well, do not wait: gatehouse webhook redeliver mer_1 whd_1',
        'And end the rest: gatehouse webhook resume mer_1 https://shop.example --environment sandbox',
      ],
      minutes(60),
    ],
    [
      'its endpoint is paused, whatever else is wrong',
      {
        endpoint: { state: 'PAUSED', pausedAt: minutes(-300), pauseReason: 'answered 410 Gone to whd_9' },
        earlier: { id: 'whd_0', eventType: 'order.failed' },
        secretProblem: 'no key',
      },
      [
        'It has not been sent yet.',
        'Its endpoint was paused 5 hours ago (2026-11-20 22:00:00 UTC): answered 410 Gone to whd_9.',
        'It is kept, and the time does not count against it, but nothing is sent until somebody resumes the endpoint.',
        'When the receiver is ready: gatehouse webhook resume mer_1 https://shop.example --environment sandbox',
      ],
      undefined,
    ],
    [
      'the lane is busy with others',
      { dueBefore: 312, endpoint: { isHeld: true }, delivery: { dueAt: seconds(-40) } },
      [
        'It has not been sent yet.',
        'It has been due for 40 seconds: attempt 1 of 13.',
        '312 deliveries to the same endpoint go before it, a few at a time.',
      ],
      now,
    ],
    [
      'more are before it than are counted',
      { dueBefore: 1000 },
      [
        'It has not been sent yet.',
        'It is due now: attempt 1 of 13.',
        '1,000 or more deliveries to the same endpoint go before it, a few at a time.',
      ],
      now,
    ],
    [
      'it is in flight',
      { endpoint: { isHeld: true } },
      ['It has not been sent yet.', 'It is due now: attempt 1 of 13.', 'It is being sent now.'],
      now,
    ],
    [
      'nobody sends',
      { delivery: { dueAt: minutes(-5) } },
      [
        'It has not been sent yet.',
        'It has been due for 5 minutes: attempt 1 of 13.',
        'Nobody sends it: see whether a webhooks process runs: gatehouse doctor',
      ],
      now,
    ],
    [
      'its secret cannot be opened',
      {
        delivery: { environment: 'PRODUCTION' },
        secretProblem: 'the signing secret whs_1 is encrypted with the key "k1"',
      },
      [
        'It has not been sent yet.',
        'It cannot be signed, and so is not sent: the signing secret whs_1 is encrypted with the key "k1".',
        'If that key is lost, give the merchant a new secret at once: gatehouse webhook secret rotate mer_1 --environment production --promote-after 0s',
      ],
      undefined,
    ],
    [
      'it is delivered',
      {
        delivery: { state: 'DELIVERED', dueAt: null, deliveredAt: minutes(-1) },
        lastAttempt: attempt({ number: 1, result: 'DELIVERED', statusCode: 204, durationMs: 35, detail: '' }),
      },
      [
        'Attempt 1 was made 12 minutes ago (2026-11-21 02:48:00 UTC) and was answered 204, after 35 ms.',
        'It is delivered, and nothing more will be sent.',
        'To send it once more: gatehouse webhook redeliver mer_1 whd_1',
      ],
      undefined,
    ],
    [
      'it was given up after its whole schedule',
      {
        delivery: { state: 'GIVEN_UP', dueAt: null, givenUpAt: minutes(-60 * 24 * 3), roundAttempts: 13 },
        lastAttempt: attempt({ number: 26 }),
      },
      [
        'Attempt 26 was made 12 minutes ago (2026-11-21 02:48:00 UTC) and failed after 15.0 s: no whole answer within 15 s.',
        'It was given up 3 days ago (2026-11-18 03:00:00 UTC): all 13 attempts of its schedule have failed.',
        'Once the receiver works, send it again: gatehouse webhook redeliver mer_1 whd_1',
      ],
      undefined,
    ],
    [
      'it was given up for the time that had passed',
      { delivery: { state: 'GIVEN_UP', dueAt: null, givenUpAt: minutes(-1), roundAttempts: 0 } },
      [
        'It has not been sent yet.',
        'It was given up 60 seconds ago (2026-11-21 02:59:00 UTC), after 0 of 13 attempts, because the next would have been after the 76 hours that its schedule lasts.',
        'Once the receiver works, send it again: gatehouse webhook redeliver mer_1 whd_1',
      ],
      undefined,
    ],
  ];

describe('what is said of a delivery', () => {
  test.each(cases)('%s', (_name, own, sentences, next) => {
    expect(explainDelivery(facts(own))).toEqual({ sentences: [head, ...sentences], nextAttemptAt: next });
  });

  test('a test event has no order', () => {
    const { sentences } = explainDelivery(
      facts({ delivery: { eventType: 'webhook.test', orderNumber: '' } }),
    );
    expect(sentences[0]).toContain('of webhook.test, and was created');
  });
});
