/** Jest's results of a run. The results of repeated files replace the earlier ones. */
export function mergeRuns(first, second) {
  const again = new Map(second.testResults.map((result) => [result.name, result]));
  const testResults = first.testResults.map((result) => again.get(result.name) ?? result);
  const count = (status) =>
    testResults.flatMap(({ assertionResults }) => assertionResults).filter((test) => test.status === status)
      .length;
  const failedFiles = testResults.filter(({ status }) => status === 'failed').length;
  return {
    testResults,
    numTotalTests: testResults.flatMap(({ assertionResults }) => assertionResults).length,
    numPassedTests: count('passed'),
    numFailedTests: count('failed'),
    numPendingTests: count('pending'),
    success: failedFiles === 0 && !second.wasInterrupted,
    flaky: [...again.values()].filter(({ status }) => status === 'passed').map(({ name }) => name),
  };
}
