import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { maskBody, maskPhones, maskProviderText } from '../../../src/wallets/connector/mask-text.ts';

describe('maskPhones', () => {
  test.each([
    ['{"value":"+251911223344"}', '{"value":"+2519*****344"}'],
    ['{"value":"251911223344"}', '{"value":"25191****344"}'],
    ['{"msisdn":251911223344}', '{"msisdn":25191****344}'],
    ['tel:+251911223344', 'tel:+2519*****344'],
    ['the subscriber 0911223344 is barred.', 'the subscriber 09112**344 is barred.'],
    ['/accounts/msisdn/251911223344/transactions', '/accounts/msisdn/25191****344/transactions'],
  ])('of %s returns %s', (text, masked) => {
    expect(maskPhones(text)).toBe(masked);
  });

  test.each([
    ['{"transactionReference":"202601011200"}'],
    ['{"serverCorrelationId":"6f1f6a10-3a1c-4c53-9d5a-446655440000"}'],
    ['{"amount":"123456789012"}'],
    ['{"link": "/transactions/202601011200"}'],
    ['{"requestDate":"2026-01-01T08:00:00.000Z"}'],
    ['{"amount":"12345678"}'],
  ])('leaves %s unchanged', (text) => {
    expect(maskPhones(text)).toBe(text);
  });
});

describe('maskBody', () => {
  test('replaces the given secrets at any position', () => {
    expect(maskBody('a=s3cret; echo {"x":"Bearer s3cret"}', ['s3cret', ''])).toBe(
      'a=[masked]; echo {"x":"Bearer [masked]"}',
    );
  });

  test.each([
    ['{"access_token":"abc","expires_in":3600}', '{"access_token":"[masked]","expires_in":3600}'],
    ['{"client_secret" : "a\\"b", "x":1}', '{"client_secret" : "[masked]", "x":1}'],
    ['{"apiKey":"abc"}', '{"apiKey":"[masked]"}'],
    ['{"refreshToken":"cut off', '{"refreshToken":"[masked]'],
  ])('replaces the values of secret names: %s', (body, masked) => {
    expect(maskBody(body, [])).toBe(masked);
  });

  test.each([
    [
      '{"OrgAccountBalance":"49197.00","BillRefNumber":"A"}',
      '{"OrgAccountBalance":"[masked]","BillRefNumber":"A"}',
    ],
    ['{"availableBalance": 12.5}', '{"availableBalance": "[masked]"}'],
    [
      '[{"Key":"DebitAccountBalance","Value":"Utility Account|KES|51.00"},{"Key":"Amount","Value":1}]',
      '[{"Key":"DebitAccountBalance","Value":"[masked]"},{"Key":"Amount","Value":1}]',
    ],
    [
      '[{"Name":"Balance","Value":3.5},{"Name":"Balance"}]',
      '[{"Name":"Balance","Value":"[masked]"},{"Name":"Balance"}]',
    ],
    ['{"balance":"cut off', '{"balance":"[masked]"'],
    ['{"errorCode":"maxBalanceExceeded"}', '{"errorCode":"maxBalanceExceeded"}'],
  ])('replaces balances: %s', (body, masked) => {
    expect(maskBody(body, [])).toBe(masked);
  });

  test('keeps 16 kB, and no part of a secret or a phone number at the cut', () => {
    const before = 'x '.repeat(8 * 1024 - 4);

    const kept = maskBody(`${before}+251911223344 s3cret-s3cret`, ['s3cret-s3cret']);

    expect(kept).toHaveLength(16 * 1024);
    expect(kept.endsWith(' +2519***')).toBe(true);
    expect(maskBody(`${before}s3cret-s3cret`, ['s3cret-s3cret']).endsWith(' [masked]')).toBe(true);
  });

  test('ends and keeps no more than 16 kB for any input', () => {
    const pieces = fc.constantFrom('"', '\\', 'pin', 'token', '1', ':', ' ', '":"', '{', '251911223344');
    fc.assert(
      fc.property(fc.array(pieces, { minLength: 0, maxLength: 5_000, size: 'max' }), (parts) => {
        expect(maskBody(parts.join(''), ['1pin']).length).toBeLessThanOrEqual(16 * 1024);
      }),
      { numRuns: 50 },
    );
  });
});

test('a text of a wallet becomes one line, masked and cut', () => {
  expect(maskProviderText(' Payer\r\n+251911223344\u2028said\u0000 no ')).toBe('Payer +2519*****344 said no');
  expect(maskProviderText('x'.repeat(100_000))).toHaveLength(256);
});
