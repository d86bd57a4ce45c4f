import { create } from '@bufbuild/protobuf';
import { expect, test } from '@jest/globals';
import { messagesIn } from '../../../src/checkout/language/dictionary.ts';
import { refusalCauseOf } from '../../../src/checkout/refusal-cause.ts';
import { PaymentAttemptSchema } from '../../../src/gen/gatehouse/v1/order_pb.js';

/** All texts of a language by their path. Functions get a placeholder. */
function textsOf(value: unknown, path = ''): [string, string][] {
  if (typeof value === 'string') return [[path, value]];
  if (typeof value === 'function')
    return [[path, String((value as (...names: string[]) => unknown)('[1]', '[2]'))]];
  return Object.entries(value as object).flatMap(([key, inner]) => textsOf(inner, `${path}.${key}`));
}

const [english, amharic] = [textsOf(messagesIn('en')), textsOf(messagesIn('am'))];

test('every text exists in both languages', () => {
  expect(amharic.map(([path]) => path)).toEqual(english.map(([path]) => path));
  expect([...english, ...amharic].filter(([, text]) => text.trim() === '')).toEqual([]);
});

test('a text has the same placeholders in both languages', () => {
  const placeholders = (text: string) => [...text.matchAll(/\[[12]\]/g)].map(([found]) => found).sort();

  for (const [index, [path, text]] of english.entries()) {
    expect([path, placeholders(amharic[index]![1])]).toEqual([path, placeholders(text)]);
  }
});

test('Amharic is written in Ethiopic script, except for names', () => {
  const names = /English|Gatehouse|Wallet [AB]|USSD|QR|Pay Bill|cookie|\[[12]\]/g;

  expect(amharic.filter(([, text]) => /[a-z]{2}/i.test(text.replace(names, '')))).toEqual([]);
});

test('each reason that a customer can resolve has its own text, and any other reason has one text', () => {
  const causeOf = (declineReason: string) => refusalCauseOf(create(PaymentAttemptSchema, { declineReason }));
  const { timed_out: _late, other, ...resolvable } = messagesIn('en').refused.why;

  expect(Object.keys(resolvable).map(causeOf)).toEqual(Object.keys(resolvable));
  expect(['merchant_config', 'provider_error', 'timed_out', ''].map(causeOf)).toEqual(Array(4).fill('other'));
  expect(new Set([...Object.values(resolvable), other]).size).toBe(9);
});
