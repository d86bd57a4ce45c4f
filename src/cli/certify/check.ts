import type { CertificationPart, CheckName, CheckResult } from '../../contract/certification-checks.ts';

/** The result of a check. */
export type Verdict =
  | { readonly result: 'passed'; readonly seen: string }
  /** `fix` replaces the check's own advice. */
  | { readonly result: 'failed'; readonly seen: string; readonly fix?: string }
  | { readonly result: 'not_tested'; readonly seen: string };

export const passed = (seen: string): Verdict => ({ result: 'passed', seen });
export const failed = (seen: string, fix?: string): Verdict => ({
  result: 'failed',
  seen,
  ...(fix === undefined ? {} : { fix }),
});
export const notTested = (seen: string): Verdict => ({ result: 'not_tested', seen });

/** The verdict of a check that Ctrl-C prevented. */
export const interrupted = notTested('interrupted');

/** A check cannot be decided, for a reason that is not the fault that it looks for. */
export class Untestable extends Error {
  override readonly name = 'Untestable';
}

/** A check that is still to be run. */
export interface Check<Name extends CheckName> {
  readonly name: Name;
  /** Checks whose failure would make this one fail too. It is then not tested, so that each fault is named once. */
  readonly needs?: readonly Name[];
  /** The change that repairs a failure, for the merchant's developer. */
  readonly fix: string;
  readonly run: () => Promise<Verdict>;
}

/** The outcome of a check, as it is reported. */
export interface CheckReport {
  readonly part: CertificationPart;
  readonly name: CheckName;
  readonly result: CheckResult;
  /** The observation, or the reason why it was not tested. */
  readonly seen: string;
  /** The advice; empty unless the check failed. */
  readonly fix: string;
}

/** Runs the checks one after the other. After `stop`, the remaining ones are reported as not tested. Never rejects. */
export async function runChecks<Name extends CheckName>(
  part: CertificationPart,
  checks: readonly Check<Name>[],
  stop: AbortSignal,
  onCheck: (report: CheckReport) => void,
  onStart: (name: Name) => void = () => undefined,
): Promise<readonly CheckReport[]> {
  const reports: CheckReport[] = [];
  for (const check of checks) {
    onStart(check.name);
    const verdict = await runCheck(check, reports, stop);
    const fix = verdict.result === 'failed' ? (verdict.fix ?? check.fix) : '';
    const report = { part, name: check.name, result: verdict.result, seen: verdict.seen, fix };
    reports.push(report);
    onCheck(report);
  }
  return reports;
}

async function runCheck<Name extends CheckName>(
  check: Check<Name>,
  earlier: readonly CheckReport[],
  stop: AbortSignal,
): Promise<Verdict> {
  const missing = check.needs
    ?.map((name) => earlier.find((each) => each.name === name && each.result !== 'passed'))
    .find((each) => each !== undefined);
  // The cause is the first check of the chain.
  if (missing?.result === 'not_tested') return notTested(missing.seen);
  if (missing !== undefined) return notTested(`${missing.name} must pass first`);
  const isInterrupted = (): boolean => stop.aborted;
  if (isInterrupted()) return interrupted;
  try {
    const verdict = await check.run();
    // The result of an interrupted check says nothing about the receiver.
    return isInterrupted() ? interrupted : verdict;
  } catch (error) {
    if (isInterrupted()) return interrupted;
    if (error instanceof Untestable) return notTested(error.message);
    return failed(error instanceof Error ? error.message : String(error));
  }
}
