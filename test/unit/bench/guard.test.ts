import { describe, expect, test } from '@jest/globals';
import { judgeCosts, judgeRatios } from '../../../bench/judgement/guard.ts';

const expected = { 'register / pgbench @ 64': 1.2, 'verify / bare Fastify @ 64': 0.6 };

describe('the result of the short benchmark', () => {
  test('accepts a ratio just above half of the expected one, because that may be noise', () => {
    const verdicts = judgeRatios({ 'register / pgbench @ 64': 1.2 }, [
      { name: 'register / pgbench @ 64', value: 0.61 },
    ]);
    expect(verdicts).toEqual([
      { name: 'register / pgbench @ 64', expected: 1.2, measured: 0.61, verdict: 'as expected' },
    ]);
  });

  test('reports a ratio below half of the expected one as halved, whatever the others are', () => {
    const verdicts = judgeRatios(expected, [
      { name: 'register / pgbench @ 64', value: 0.59 },
      { name: 'verify / bare Fastify @ 64', value: 0.6 },
    ]);
    expect(verdicts.map(({ verdict }) => verdict)).toEqual(['halved', 'as expected']);
  });

  test('reports a better ratio than expected as expected', () => {
    const verdicts = judgeRatios({ a: 1 }, [{ name: 'a', value: 5 }]);
    expect(verdicts.map(({ verdict }) => verdict)).toEqual(['as expected']);
  });

  test('never passes without a measured ratio', () => {
    const verdicts = judgeRatios(expected, [{ name: 'register / pgbench @ 64', value: Number.NaN }]);
    expect(verdicts.map(({ verdict }) => verdict)).toEqual(['not measured', 'not measured']);
  });
});

test.each([
  [24, 'as expected'],
  [24.1, 'doubled'],
  [1, 'as expected'],
  [Number.NaN, 'not measured'],
])('a request that is expected to cost 12 times bare Fastify and costs %p times is %s', (value, verdict) => {
  expect(judgeCosts({ register: 12 }, [{ name: 'register', value }])).toMatchObject([{ verdict }]);
});
