import { describe, expect, test } from '@jest/globals';
import { mergeRuns } from '../../../tools/merge-runs.mjs';

const file = (name: string, ...statuses: string[]) => ({
  name,
  status: statuses.every((status) => status !== 'failed') ? 'passed' : 'failed',
  assertionResults: statuses.map((status) => ({ status })),
});

describe('the results of two runs', () => {
  test('count what passed the second time, and name its file as flaky', () => {
    const first = { testResults: [file('a', 'passed', 'passed'), file('b', 'passed', 'failed')] };

    const merged = mergeRuns(first, { testResults: [file('b', 'passed', 'passed')] });

    expect(merged).toMatchObject({ success: true, numPassedTests: 4, numFailedTests: 0, flaky: ['b'] });
  });

  test('are a failure when a file fails both times', () => {
    const first = { testResults: [file('a', 'failed', 'passed'), file('b', 'failed', 'pending')] };

    const merged = mergeRuns(first, {
      testResults: [file('a', 'failed', 'passed'), file('b', 'passed', 'pending')],
    });

    expect(merged).toMatchObject({
      success: false,
      numPassedTests: 2,
      numFailedTests: 1,
      numPendingTests: 1,
      flaky: ['b'],
    });
  });

  test('are a failure when a file that could not run is missing the second time', () => {
    const unable = { name: 'a', status: 'failed', assertionResults: [] };

    expect(mergeRuns({ testResults: [unable] }, { testResults: [] })).toMatchObject({
      success: false,
      numTotalTests: 0,
    });
  });
});
