interface Results {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
  readonly wasInterrupted?: boolean;
}

/** Jest's results of a run. The results of repeated files replace the earlier ones. */
export function mergeRuns(
  first: Results,
  second: Results,
): {
  readonly testResults: Results['testResults'];
  readonly numTotalTests: number;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly success: boolean;
  /** Files that failed the first time and passed the second. */
  readonly flaky: readonly string[];
};
