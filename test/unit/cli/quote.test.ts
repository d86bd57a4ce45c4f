import { describe, expect, test } from '@jest/globals';
import { answerText } from '../../../src/cli/certify/receiver-answers.ts';
import { quote } from '../../../src/cli/quote.ts';

const refusal = 'The signature of this webhook does not match any secret that is configured';

describe('a quote of at most 60 characters', () => {
  test.each([
    ['is the whole text if it fits', 'no such secret', 'no such secret'],
    ['is on one line', ' no\n\tsuch  secret\n', 'no such secret'],
    [
      'ends after a whole word, with an ellipsis',
      refusal,
      'The signature of this webhook does not match any secret that…',
    ],
    [
      'keeps a last word that just fits',
      `${'a'.repeat(40)} ${'b'.repeat(19)} c`,
      `${'a'.repeat(40)} ${'b'.repeat(19)}…`,
    ],
    ['is cut within a word that is longer than half of it', `no ${'x'.repeat(90)}`, `no ${'x'.repeat(57)}…`],
  ])('%s', (_name, text, quoted) => {
    expect(quote(text, 60)).toBe(quoted);
  });
});

test('the answer of a receiver is quoted in whole words by certify', () => {
  const answer = { status: 400, durationMs: 1, problem: '', isLate: false, answer: refusal };

  expect(answerText(answer)).toBe(
    'answered 400 "The signature of this webhook does not match any secret that…"',
  );
});
