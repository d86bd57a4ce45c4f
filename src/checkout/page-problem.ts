import type { Problem } from './problem-page.ts';

/** A request that is answered with a problem page. Only the log contains reason and cause. */
export class PageProblem extends Error {
  override readonly name = 'PageProblem';
  readonly problem: Problem;
  /** Core's UPPER_SNAKE reason, or one of our own. */
  readonly reason: string;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    problem: Problem,
    reason: string,
    { cause, retryAfterSeconds }: { cause?: unknown; retryAfterSeconds?: number } = {},
  ) {
    super(reason, { cause });
    this.problem = problem;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
