import { expect, test } from '@jest/globals';
import { parseWords } from '../../../src/core/rpc/enum-words.ts';

test('a filter has each word once, and no unknown one', () => {
  const issue = { field: 'statuses', issue: 'must be PAID' };
  const parse = (given: readonly string[]) =>
    parseWords(given, (text) => (text === 'other' ? undefined : text), issue);

  expect(parse(['PAID', 'OPEN', 'PAID'])).toEqual({ ok: true, value: ['PAID', 'OPEN'] });
  expect(parse(['other', 'PAID', 'other'])).toEqual({ ok: false, error: issue });
});
