import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { describe, expect, test } from '@jest/globals';
import { deliveryExplanation } from '../../../src/dashboard/developers/delivery-explanation.ts';
import { webhooks as amharic } from '../../../src/dashboard/language/amharic/webhooks.ts';
import { webhooks as english } from '../../../src/dashboard/language/english/webhooks.ts';
import type { Language } from '../../../src/platform/language/language.ts';
import {
  DeliveryCause,
  DeliveryCauseSchema,
  DeliveryExplanationSchema,
  DeliveryNextStep,
  DeliveryNextStepSchema,
  ExplainDeliveryResponseSchema,
  DeliveryAttemptResult,
  DeliveryAttemptResultSchema,
} from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { failureDetail } from '../../../src/dashboard/developers/failure-detail.ts';

const path = '/m/mer_1/sandbox/webhooks';
const dictionaries = { en: english, am: amharic };

type Init = MessageInitShape<typeof ExplainDeliveryResponseSchema>;

const shown = (
  init: Init,
  { language = 'en', mayChange = true }: { readonly language?: Language; readonly mayChange?: boolean } = {},
) =>
  deliveryExplanation(
    create(ExplainDeliveryResponseSchema, init),
    { words: dictionaries[language], language, timeZone: 'Africa/Addis_Ababa' },
    { path, mayChange },
  );

const explained = (own: MessageInitShape<typeof DeliveryExplanationSchema>) => ({
  sentences: ['It waits: gatehouse webhook resume mer_1 https://shop.example'],
  explanation: create(DeliveryExplanationSchema, {
    scheduleAttempts: 2,
    scheduleMaxAttempts: 13,
    scheduleDuration: durationFromMs(76 * 3_600_000),
    ...own,
  }),
});

test('an explanation links an earlier delivery, and gives a viewer no advice that needs another role', () => {
  const answer = explained({
    cause: DeliveryCause.EARLIER_EVENT_PENDING,
    nextSteps: [DeliveryNextStep.EXPLAIN_EARLIER],
    earlierDeliveryId: 'whd_0',
    earlierEventType: 'order.failed',
  });

  expect(shown(answer)).toEqual({
    sentences: ['It waits for an earlier event of the same order: order.failed.'],
    steps: [{ text: 'See why the earlier delivery waits.', href: `${path}/deliveries/whd_0` }],
  });
  const paused = explained({
    cause: DeliveryCause.ENDPOINT_PAUSED,
    nextSteps: [DeliveryNextStep.RESUME_ENDPOINT],
  });
  expect(shown(answer, { mayChange: false }).steps).toHaveLength(1);
  expect(shown(paused, { mayChange: false }).steps).toEqual([]);
});

test('an open circuit is shown with the time of the next attempt and the way to close it', () => {
  const { sentences, steps } = shown({
    ...explained({
      cause: DeliveryCause.CIRCUIT_OPEN,
      nextSteps: [DeliveryNextStep.REDELIVER, DeliveryNextStep.RESUME_ENDPOINT],
    }),
    endpoint: { consecutiveFailures: 7 },
    nextAttemptTime: timestampFromDate(new Date('2026-11-21T03:02:00Z')),
  });

  expect(sentences[0]).toMatch(
    /^The circuit of its host or webhook endpoint is open after 7 failures in a row\./,
  );
  expect(sentences.slice(1)).toEqual([
    'The next attempt is number 3 of 13.',
    expect.stringMatching(/^It is sent next on .*6:02.*\.$/),
  ]);
  expect(steps.map(({ href }) => href)).toEqual([undefined, path]);
});

describe.each(['en', 'am'] as const)('in %s', (language) => {
  test('every cause has a sentence, and no page shows a command or the text of the server', () => {
    const nextSteps = DeliveryNextStepSchema.values.map(({ number }) => number as DeliveryNextStep);
    for (const { number } of DeliveryCauseSchema.values) {
      const { sentences, steps } = shown(explained({ cause: number, nextSteps }), { language });

      expect(sentences.join('')).not.toBe('');
      expect(JSON.stringify([sentences, steps])).not.toMatch(/gatehouse|It waits:/);
    }
  });
});

test.each([
  ['', path, `${path}/secrets`],
  ['whe_1', `${path}/endpoints/whe_1`, `${path}/endpoints/whe_1`],
])(
  'a delivery to the webhook endpoint "%s" leads to the page with its pause and its secrets',
  (id, resume, secrets) => {
    const { RESUME_ENDPOINT, CREATE_SIGNING_SECRET, RESTORE_SIGNING_SECRET } = DeliveryNextStep;
    const answer = explained({ nextSteps: [RESUME_ENDPOINT, CREATE_SIGNING_SECRET, RESTORE_SIGNING_SECRET] });

    const { steps } = shown({ ...answer, delivery: { webhookEndpointId: id } });

    expect(steps.map(({ href }) => href)).toEqual([resume, secrets, secrets]);
  },
);

test('on an Amharic page every failure is explained in Amharic, and on an English page in its exact words', () => {
  const failures = DeliveryAttemptResultSchema.values
    .map(({ number }) => number as DeliveryAttemptResult)
    .filter(
      (result) => result !== DeliveryAttemptResult.UNSPECIFIED && result !== DeliveryAttemptResult.DELIVERED,
    );
  const told = failures.map((result) => failureDetail(result, 'the host refused', 'am'));

  expect(failures).toHaveLength(8);
  for (const { text, language } of told) {
    expect(language).toBe('am');
    expect(text).toMatch(/\p{Script=Ethiopic}.*።$/u);
  }
  expect(new Set(told.map(({ text }) => text)).size).toBe(failures.length);
  expect(failureDetail(DeliveryAttemptResult.REFUSED, 'the host refused', 'en')).toEqual({
    text: 'the host refused',
    language: 'en',
  });
  // A delivered attempt has no detail, and a result of a later version keeps its English text.
  expect(failureDetail(DeliveryAttemptResult.DELIVERED, '', 'am').text).toBe('');
  expect(failureDetail(99 as DeliveryAttemptResult, 'new', 'am')).toEqual({ text: 'new', language: 'en' });
});
