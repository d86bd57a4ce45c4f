import type { Problem } from './problem-page.ts';

/** A request that ends in a page about what is wrong. Reason and cause are for the log alone. */
export class PageProblem extends Error {
  override readonly name = 'PageProblem';
  readonly problem: Problem;
  /** The UPPER_SNAKE reason core gave, or one of our own. */
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
