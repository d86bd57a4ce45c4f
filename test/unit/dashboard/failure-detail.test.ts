import { expect, test } from '@jest/globals';
import { failureDetail } from '../../../src/dashboard/developers/failure-detail.ts';
import {
  DeliveryAttemptResult,
  DeliveryAttemptResultSchema,
} from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';

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
