import { SnapshotError } from './manifest.ts';

const connect = 'Check the address of the database, and that PostgreSQL runs and can be reached from here.';
const lost =
  'Check that PostgreSQL runs, and that nothing between it and this machine ends long connections.';
const signIn = 'Check the user and the password in the URL of the database, and its pg_hba.conf.';
const tls = 'Check the TLS settings in the URL of the database, and the certificate of its server.';
const space = 'Free space on that disk or raise its limit, or use another folder.';
const serverSpace = "Free space on the database server's disk.";
const newServer = 'Use PostgreSQL 18 or newer.';
const permission = 'Check that your user may read and write there, or use another folder.';

/** The advice for an error, by its code: of Node (`errno`), or of PostgreSQL (SQLSTATE). */
const byCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: connect,
  ENOTFOUND: connect,
  EAI_AGAIN: connect,
  ETIMEDOUT: connect,
  EHOSTUNREACH: connect,
  ENETUNREACH: connect,
  ECONNRESET: lost,
  EPIPE: lost,
  '57P01': lost,
  '57P02': lost,
  '08006': lost,
  '08003': lost,
  '57P03': 'PostgreSQL is starting, stopping or recovering. Wait until it accepts connections.',
  '53300': 'The database has no free connection. Close other clients, or raise max_connections.',
  '28P01': signIn,
  '28000': signIn,
  '3D000': 'Check the name of the database in its URL. If it does not exist, create it.',
  '42501': "Use the database's owner, or grant its user what the message names.",
  // An old server knows neither uuidv7() nor transaction_timeout.
  '42883': newServer,
  '42704': newServer,
  '53100': serverSpace,
  '53200': "Free memory on the database server, or raise PostgreSQL's limits.",
  '55P03': 'Another client locks the tables. Wait until it ends.',
  '57014': 'An administrator or a program cancelled the statement. Run the command again.',
  ENOSPC: space,
  EDQUOT: space,
  EFBIG: space,
  EACCES: permission,
  EPERM: permission,
  EROFS: permission,
  ENOTDIR: 'Name a folder, not a file.',
  EEXIST: 'Name a folder, not a file.',
  TLS: tls,
  EIO: 'Check the disk. The log of the operating system may say more.',
  EMFILE: 'Raise the limit of open files: ulimit -n.',
  ERR_INVALID_URL:
    'Write the URL as postgres://user:password@host:port/name, with special characters in % form.',
};

const unreachable: ReadonlySet<string> = new Set(
  Object.entries(byCode).flatMap(([code, advice]) => (advice === connect || advice === lost ? [code] : [])),
);

const fallback = 'Correct what the message names. If you cannot, report it with the version of Gatehouse.';

/**
 * Runs a step of a backup or restore. Its errors become SnapshotErrors, which say what failed, why, and what to do.
 * @param what what the step does, as in "the backup could not be written"
 * @param leftover what to do with partly written data after a failure; '' for a step that changes nothing
 */
export async function withAdvice<Result>(
  what: string,
  leftover: string,
  step: () => Promise<Result>,
): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    throw error instanceof SnapshotError ? error : explainedError(error, what, leftover);
  }
}

/** The error of a step as a SnapshotError. */
export function explainedError(error: unknown, what: string, leftover: string): SnapshotError {
  const [code, message] = codeAndMessage(error);
  const cause = byCode[code] ?? fallback;
  return new SnapshotError(
    `${what}: ${message}`,
    leftover === '' ? cause : `${cause}\n${leftover}`,
    unreachable.has(code),
  );
}

/** The code of an error, '' when it has none that is known, and its message. The ORM wraps the errors of PostgreSQL. */
function codeAndMessage(error: unknown): readonly [code: string, message: string] {
  if (!(error instanceof Error)) return ['', String(error)];
  // Attempts at several addresses of one host fail together.
  if (error instanceof AggregateError && error.message === '') return codeAndMessage(error.errors[0]);
  const { message } = error;
  const code = 'code' in error ? String(error.code) : '';
  if (Object.hasOwn(byCode, code)) return [code, message];
  if (message === 'timeout expired') return ['ETIMEDOUT', 'the database did not answer within ten seconds'];
  if (/^Connection terminated|^Connection ended/i.test(message)) return ['08006', message];
  if (/SSL|TLS|CERT/i.test(`${code} ${message}`)) return ['TLS', message];
  const [found] = error.cause === undefined ? [''] : codeAndMessage(error.cause);
  return [found, message];
}
