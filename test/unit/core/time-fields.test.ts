import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect, test } from '@jest/globals';
import { parseEnd } from '../../../src/core/rpc/time-fields.ts';

const at = (text: string | undefined) => (text === undefined ? undefined : timestampFromDate(new Date(text)));
const [noon, later] = ['2026-11-28T12:00:00Z', '2026-11-28T12:00:00.001Z'];

test.each([
  ['after its beginning', noon, later, undefined],
  ['without a beginning', undefined, noon, undefined],
  ['at its beginning', noon, noon, 'must be later than from_time'],
  ['before its beginning', later, noon, 'must be later than from_time'],
  ['that is absent', noon, undefined, undefined],
])('the end of a span %s', (_name, from, to, issue) => {
  const parsed = parseEnd(at(to), 'to_time', { from: at(from), fromField: 'from_time' });

  expect(parsed).toEqual(
    issue === undefined
      ? { ok: true, value: to === undefined ? undefined : new Date(to) }
      : { ok: false, error: { field: 'to_time', issue } },
  );
});

test('an impossible beginning is no issue of the end', () => {
  const from = { ...timestampFromDate(new Date(noon)), seconds: 10n ** 15n };

  expect(parseEnd(at(noon), 'to_time', { from, fromField: 'from_time' }).ok).toBe(true);
});
