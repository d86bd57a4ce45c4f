export type Result = 'ok' | 'warning' | 'failed';

/** The result of one check. */
export interface Finding {
  /** The process with its address, or this machine. */
  readonly subject: string;
  readonly check: string;
  readonly result: Result;
  /**
   * The code of the finding, for programs. `healthy` for every `ok`. The code of a core's check is its CheckFinding in lower case. The code of a
   * failed call is its error reason in lower case. docs/operating/doctor.md lists the others.
   */
  readonly code: string;
  /** The finding in English. */
  readonly detail: string;
  /** The advice; empty when no action is needed. */
  readonly advice: string;
  /** The codes of the reconciler's findings, with the ids that they concern. */
  readonly findings?: Record<string, string>[];
}
