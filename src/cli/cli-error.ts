/** The process's exit codes, for scripts. */
export const exitCodes = {
  ok: 0,
  unexpected: 1,
  differences: 1,
  notDelivered: 1,
  invalidInput: 2,
  notFound: 3,
  refused: 4,
  unreachable: 5,
} as const;

export const exitCodeHelp = `Exit codes:
  0  done; for doctor: nothing has failed
  1  an unexpected error; for doctor: something has failed; for reconcile: there are differences;
     for webhook test: it was not delivered
  2  the command or its input is not right; nothing was done
  3  there is no such merchant, key, user, order, payment, reconciliation, delivery or endpoint
  4  refused: not permitted, not possible in this state, or too much
  5  the core or the webhooks process cannot be reached, or cannot reach its database;
     for reconcile: nobody could read the statement`;

/** The command cannot continue, for a reason that its user can correct. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;
  /** What the user can do, one action per line. */
  readonly advice: string;

  constructor(exitCode: number, message: string, advice: string) {
    super(message);
    this.exitCode = exitCode;
    this.advice = advice;
  }
}
