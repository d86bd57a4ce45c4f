interface Results {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
  readonly wasInterrupted?: boolean;
}

/** Jest's results of a run, with those of the files that were run again in the place of the ones before. */
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
  readonly unsteady: readonly string[];
};
