/** The process's exit codes, for scripts. */
export const exitCodes = {
  ok: 0,
  unexpected: 1,
  differences: 1,
  notDelivered: 1,
  notCertified: 1,
  notCompleted: 1,
  notProven: 1,
  invalidInput: 2,
  notFound: 3,
  refused: 4,
  unreachable: 5,
} as const;

export const exitCodeHelp = `Exit codes:
  0  success; for doctor: no check failed
  1  an unexpected error; for doctor: a check failed; for reconcile: there are differences;
     for webhook test and webhook endpoint test: the test was not delivered;
     for refund create --wait: the refund did not complete;
     for certify: not certified;
     for audit verify: there is a finding, such as a changed row;
     for reconcile days: an ended day does not balance, or a statement could not be read;
     for rehearse: this version decides differently;
     for prove: an invariant is broken or was not tried; a report was changed
  2  the command, its input or a setting is invalid; nothing was changed
  3  the named object does not exist, such as a merchant, a key, an order or a delivery
  4  refused because of the token, its role, the state of an object, or a limit;
     for wallet check: a provider did not accept the credentials, or did not answer;
     for wallet register-urls: the provider refused;
     for backup and restore: the backup is damaged or incomplete, or the folder or database is not
     suitable;
     for prove: the campaign could not start
  5  core, webhooks or the database of a backup or restore is unreachable or does not answer in
     time; or core or webhooks cannot use its database;
     for reconcile: the statement could not be read;
     for wallet register-urls: the provider did not answer`;

/** The command cannot continue, for a reason that its user can correct. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;
  /** Advice for the user, one action per line. */
  readonly advice: string;

  constructor(exitCode: number, message: string, advice: string) {
    super(message);
    this.exitCode = exitCode;
    this.advice = advice;
  }
}
