/** Why there is no page to show, and the status code it comes under. */
export const problems = {
  badRequest: 400,
  forbidden: 403,
  foreignForm: 403,
  notFound: 404,
  changedMeanwhile: 409,
  refused: 409,
  tooManyRequests: 429,
  unexpected: 500,
  insecureConnection: 500,
  unavailable: 503,
} as const;

export type Problem = keyof typeof problems;

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
    { cause, retryAfterSeconds }: { cause?: unknown; retryAfterSeconds?: number | undefined } = {},
  ) {
    super(reason, { cause });
    this.problem = problem;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** What is not there, or not for this person to know of: both look the same. */
export const notFound = (reason: string): PageProblem => new PageProblem('notFound', reason);
