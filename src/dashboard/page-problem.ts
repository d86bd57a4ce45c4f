/** The kinds of error pages, with their status codes. */
export const problems = {
  badRequest: 400,
  forbidden: 403,
  foreignForm: 403,
  notFound: 404,
  changedMeanwhile: 409,
  refused: 409,
  sentBefore: 409,
  tooManyRequests: 429,
  unexpected: 500,
  insecureConnection: 500,
  recovering: 503,
  unavailable: 503,
} as const;

export type Problem = keyof typeof problems;

/** An error that is answered with an error page. Reason and cause are only for the log. */
export class PageProblem extends Error {
  override readonly name = 'PageProblem';
  readonly problem: Problem;
  /** The reason from core, or one of the dashboard, in UPPER_SNAKE_CASE. */
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

/** Not found, or not visible to this user. Both look the same. */
export const notFound = (reason: string): PageProblem => new PageProblem('notFound', reason);
