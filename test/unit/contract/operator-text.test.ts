import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect, test } from '@jest/globals';
import { checkText } from '../../../src/contract/check-text.ts';
import { explanationText } from '../../../src/contract/explanation-text.ts';
import { findingText } from '../../../src/contract/finding-text.ts';
import {
  CheckFinding,
  CheckFindingSchema,
  CheckResult,
  CheckSchema,
  CheckSubject,
  CheckSubjectSchema,
} from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import {
  DeliveryAttemptResult,
  DeliveryCause,
  DeliveryCauseSchema,
  DeliveryExplanationSchema,
  DeliveryNextStep,
  DeliverySchema,
  EndpointSchema,
  ReconcilerFindingCode,
  ReconcilerFindingSchema,
  SigningSecretProblem,
} from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';

const now = new Date('2026-11-21T03:00:00Z');
const minutes = (count: number) => timestampFromDate(new Date(now.getTime() + count * 60_000));

type Own = MessageInitShape<typeof DeliveryExplanationSchema> & {
  readonly dueTime?: ReturnType<typeof minutes>;
};

function textsOf({ dueTime, ...own }: Own, endpoint = 'https://shop.example'): readonly string[] {
  const texts = explanationText({
    delivery: create(DeliverySchema, {
      deliveryId: 'whd_1',
      merchantId: 'mer_1',
      environment: Environment.PRODUCTION,
      endpoint,
      eventType: 'order.completed',
      orderNumber: 'A-1',
      createTime: minutes(-180),
      ...(dueTime && { dueTime }),
    }),
    endpoint: create(EndpointSchema, { consecutiveFailures: 7, pauseReason: 'a new server' }),
    explanation: create(DeliveryExplanationSchema, {
      explainTime: minutes(0),
      scheduleAttempts: 2,
      scheduleMaxAttempts: 13,
      scheduleDuration: durationFromMs(76 * 3_600_000),
      ...own,
    }),
  });
  return texts.map(({ text, command }) => (command === '' ? text : `${text} $ ${command}`));
}

const { REDELIVER, RESUME_ENDPOINT, RESTORE_SIGNING_SECRET, EXPLAIN_EARLIER, CHECK_WEBHOOKS } =
  DeliveryNextStep;

test('a command quotes a host that a shell would expand', () => {
  const own = { cause: DeliveryCause.ENDPOINT_PAUSED, nextSteps: [RESUME_ENDPOINT], at: minutes(-1) };

  expect(textsOf(own, 'https://[2001:db8::1]:8443').at(-1)).toMatch(
    /\$ gatehouse webhook resume mer_1 'https:\/\/\[2001:db8::1\]:8443' --environment production$/,
  );
});

test.each<[string, Own, readonly string[]]>([
  [
    'an open circuit',
    {
      cause: DeliveryCause.CIRCUIT_OPEN,
      nextSteps: [REDELIVER, RESUME_ENDPOINT],
      at: minutes(2),
      dueTime: minutes(60),
    },
    [
      'The circuit of its host is open after 7 failures in a row. One delivery probes the host in 2 minutes (2026-11-21 03:02:00 UTC). After a 2xx the others follow.',
      'The next attempt is due in 60 minutes (2026-11-21 04:00:00 UTC): attempt 3 of 13.',
      'If the receiver works again, send it now: $ gatehouse webhook redeliver mer_1 whd_1',
      'And close the circuit: $ gatehouse webhook resume mer_1 https://shop.example --environment production',
    ],
  ],
  [
    'a pause',
    { cause: DeliveryCause.ENDPOINT_PAUSED, nextSteps: [RESUME_ENDPOINT], at: minutes(-300) },
    [
      'Its host was paused 5 hours ago (2026-11-20 22:00:00 UTC). Reason: a new server',
      'It is kept, and its schedule stands still. Nothing is sent until the host is resumed.',
      'If the receiver works again, resume the host: $ gatehouse webhook resume mer_1 https://shop.example --environment production',
    ],
  ],
  [
    'a lost key',
    {
      cause: DeliveryCause.SIGNING_SECRET_UNUSABLE,
      nextSteps: [RESTORE_SIGNING_SECRET],
      signingSecretProblem: SigningSecretProblem.KEY_MISSING,
      signingSecretId: 'whs_1',
      encryptionKeyName: 'k1',
    },
    [
      'It is not sent, because it cannot be signed. The signing secret whs_1 is encrypted with the key "k1", which is missing in GATEHOUSE_WEBHOOK_SECRET_KEYS.',
      'Put the key back into GATEHOUSE_WEBHOOK_SECRET_KEYS, behind the others. If the key is lost, create a new secret and give it to the merchant: $ gatehouse webhook secret rotate mer_1 --environment production --promote-after 0s',
    ],
  ],
  [
    'an earlier event',
    {
      cause: DeliveryCause.EARLIER_EVENT_PENDING,
      nextSteps: [EXPLAIN_EARLIER],
      earlierDeliveryId: 'whd_0',
      earlierEventType: 'order.failed',
    },
    [
      'It waits for an earlier event of the same order: order.failed, delivery whd_0, is still pending.',
      'See why the earlier one waits: $ gatehouse webhook explain mer_1 whd_0',
    ],
  ],
  [
    'no webhooks process',
    { cause: DeliveryCause.NO_SENDER, nextSteps: [CHECK_WEBHOOKS], dueTime: minutes(-5) },
    [
      'It has been due for 5 minutes: attempt 3 of 13.',
      'No webhooks process sends it.',
      'Check that a webhooks process runs: $ gatehouse doctor',
    ],
  ],
  [
    'more deliveries before it than are counted',
    { cause: DeliveryCause.OTHERS_FIRST, dueBeforeCount: 1000, dueTime: minutes(0) },
    [
      'It is due now: attempt 3 of 13.',
      '1,000 or more deliveries to the same host were due earlier. They are sent first, a few at a time.',
    ],
  ],
  [
    'the end of its schedule',
    { cause: DeliveryCause.SCHEDULE_ENDED, nextSteps: [REDELIVER], at: minutes(-60 * 24 * 3) },
    [
      'It was abandoned 3 days ago (2026-11-18 03:00:00 UTC), after 2 of 13 attempts. The next one would have been after the 76 hours that its schedule lasts.',
      'Once the receiver works, send it again: $ gatehouse webhook redeliver mer_1 whd_1',
    ],
  ],
])('the text explains a delivery: %s', (_name, own, texts) => {
  const [event, attempt, ...others] = textsOf(own);

  expect(event).toBe(
    'It reports order.completed of order A-1 to https://shop.example. It was created 3 hours ago (2026-11-21 00:00:00 UTC).',
  );
  expect(attempt).toBe('It has not been sent yet.');
  expect(others).toEqual(texts);
});

test('the text of an explanation describes the latest attempt', () => {
  const [, attempt, due] = textsOf({
    cause: DeliveryCause.NOT_DUE,
    dueTime: minutes(2),
    lastAttempt: {
      number: 9,
      startTime: minutes(-12),
      duration: durationFromMs(15_000),
      result: DeliveryAttemptResult.REFUSED,
      statusCode: 429,
      detail: 'answered 429 Too Many Requests',
      retryAfter: '120',
    },
  });

  expect(attempt).toBe(
    'Attempt 9 began 12 minutes ago (2026-11-21 02:48:00 UTC) and failed after 15.0 s. The receiver asked Gatehouse to wait (Retry-After: 120). Reason: answered 429 Too Many Requests',
  );
  expect(due).toBe(
    'The next attempt is due in 2 minutes (2026-11-21 03:02:00 UTC): attempt 3 of 13 since it was sent again.',
  );
});

test('every cause has a text', () => {
  for (const { number } of DeliveryCauseSchema.values)
    expect(textsOf({ cause: number }).slice(2).join('')).toMatch(/\.$/);
});

test('texts of checks use the singular for one object, and a failure has advice', () => {
  const text = (init: MessageInitShape<typeof CheckSchema>) => checkText(create(CheckSchema, init));

  const strays = text({
    subject: CheckSubject.STRAY_PAYMENTS,
    finding: CheckFinding.REFUSED,
    result: CheckResult.WARNING,
    facts: { case: 'strayPayments', value: { refusedCount: 1n, dueCount: 2n, heldOrderCount: 1n } },
  });
  const clock = (skewMs: number) =>
    text({
      subject: CheckSubject.CLOCK,
      finding: CheckFinding.SKEWED,
      result: CheckResult.WARNING,
      facts: { case: 'clockSkew', value: durationFromMs(skewMs) },
    });
  const relay = text({
    subject: CheckSubject.EVENT_RELAY,
    finding: CheckFinding.HEALTHY,
    result: CheckResult.OK,
    facts: { case: 'eventRelay', value: { waitingCount: 1n, lag: durationFromMs(1400) } },
  });

  const reconciled = (completedCount: bigint) =>
    text({
      subject: CheckSubject.RECONCILIATION,
      finding: CheckFinding.HEALTHY,
      result: CheckResult.OK,
      facts: { case: 'reconciliations', value: { completedCount } },
    });

  expect(reconciled(0n).detail).toBe('none in the last 7 days');
  expect(reconciled(1n).detail).toBe('1 reconciliation in the last 7 days, without differences');
  expect(strays.detail).toBe(
    '1 refused reversal, 2 reversals under way; 1 open order accepts no payment until the money is back',
  );
  expect(strays.advice).toContain('gatehouse payment retry-reversal <merchant_id> <stray_payment_id>');
  expect(clock(0).detail).toBe("the database's clock agrees with this core's");
  expect(clock(-2500).detail).toBe("the database's clock is 2500 ms behind this core's");
  expect(clock(287_999_983).detail).toBe("the database's clock is 3 days ahead of this core's");
  expect(relay).toEqual({
    name: 'event relay',
    detail: '1 event not published yet, the oldest for 1 s',
    advice: '',
  });
  for (const { number: subject } of CheckSubjectSchema.values)
    for (const { number: finding } of CheckFindingSchema.values)
      expect(text({ subject, finding, result: CheckResult.FAILED }).detail).not.toBe('');
});

test('findings of the reconciler have texts', () => {
  const text = (init: MessageInitShape<typeof ReconcilerFindingSchema>) =>
    findingText(create(ReconcilerFindingSchema, init));

  expect([
    text({
      code: ReconcilerFindingCode.EVENTS_MISSING,
      merchantId: 'mer_1',
      orderId: 'ord_1',
      missingSequences: [2n, 4n],
    }),
    text({
      code: ReconcilerFindingCode.HISTORIES_DISAGREE,
      orderHistories: { orderCount: 9n, differingCount: 1n, orderIds: ['ord_1'] },
    }),
    text({ code: ReconcilerFindingCode.DELIVERY_CREATED, eventId: 'evt_1' }),
    text({ code: 99 as ReconcilerFindingCode, detail: 'as a later version words it' }),
  ]).toEqual([
    "core's list lacks events 2, 4 of order ord_1 of merchant mer_1",
    'in core, 1 of the latest 9 orders disagrees with its events: ord_1',
    'event evt_1 had no delivery, so the reconciler created one',
    'as a later version words it',
  ]);
});
