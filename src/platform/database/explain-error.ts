import type { ConnectError } from '@connectrpc/connect';
import { rpcError } from '../rpc/rpc-error.ts';
import { isReadOnlyRefusal } from './read-only-connections.ts';

/** Node's error codes for a connection that failed or was lost. */
const connectionErrors = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOENT',
  // There is no way to the machine.
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENETDOWN',
  // The name cannot be resolved.
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_MEMORY',
  'EAI_SYSTEM',
  // This machine has no free port or no memory for another connection.
  'EADDRNOTAVAIL',
  'ENOBUFS',
  'ENOMEM',
]);

/** Node's error codes when a process, or its machine, has no file descriptor left. */
const descriptorErrors = new Set(['EMFILE', 'ENFILE']);

/** Node's and OpenSSL's error codes when a certificate is not accepted, for example because it has expired. */
const tlsErrors = /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_|ERR_SSL_)/;

/**
 * SQLSTATEs (PostgreSQL, appendix A) after which a retry may succeed: 08 connection exceptions,
 * 53 insufficient resources, 57 operator intervention (a shutdown, a statement timeout), 40 rolled back, 55P03 lock not available,
 * 25P03 and 25P04 transaction idle or open for too long. Refusals of a read-only server count too, such as a standby or a server whose
 * disk is full.
 */
const transient = /^(08|53|57|40)...$|^55P03$|^25P0[34]$/;

/**
 * SQLSTATEs with which PostgreSQL refuses a connection because of its user, password or database: class 28, and 3D000. The function
 * `CheckMyDatabase` refuses a database that does not allow connections, or not those of this user.
 */
const refused = /^28...$|^3D000$/;
const refusingRoutine = 'CheckMyDatabase';

/** Messages of such errors of pg and its pool, which have no code. */
const transientMessages =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Cannot use a pool after calling end/;

function* causes(error: unknown): Iterable<Error & { readonly code?: unknown; readonly routine?: unknown }> {
  for (let each = error; each instanceof Error; each = each.cause) yield each;
}

/** Whether PostgreSQL runs, and refuses the connection: after a change of the password, or of the name of the database. */
export function isConnectionRefused(error: unknown): boolean {
  for (const { code, routine } of causes(error))
    if ((typeof code === 'string' && refused.test(code)) || routine === refusingRoutine) return true;
  return false;
}

const hasCode = (error: unknown, isSought: (code: string) => boolean): boolean =>
  [...causes(error)].some(({ code }) => typeof code === 'string' && isSought(code));
const isWithoutDescriptors = (error: unknown): boolean =>
  hasCode(error, (code) => descriptorErrors.has(code));

/** Whether another row has the same key. If the row was added meanwhile, its transaction has committed. */
export const isUniqueViolation = (error: unknown): boolean => hasCode(error, (code) => code === '23505');

/** Whether PostgreSQL, or this process, does not accept the certificate of the other side. */
export const isCertificateRefused = (error: unknown): boolean =>
  hasCode(error, (code) => tlsErrors.test(code));

/** Whether the URL of the database demands TLS, and PostgreSQL has it off. pg gives this error no code. */
const isWithoutTls = (error: unknown): boolean =>
  [...causes(error)].some(({ message }) => message === 'The server does not support SSL connections');

/** Whether a pooler refuses a setting that the connections of Gatehouse ask for. These are the words of PgBouncer. */
export const isSettingRefused = (error: unknown): boolean =>
  [...causes(error)].some(({ message }) => message.startsWith('unsupported startup parameter'));

/** Whether a statement failed because of the database, not because of the statement. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (isConnectionRefused(error) || isCertificateRefused(error) || isWithoutDescriptors(error)) return true;
  if (isWithoutTls(error)) return true;
  for (const cause of causes(error)) {
    const { code, message } = cause;
    if (isReadOnlyRefusal(cause)) return true;
    if (typeof code === 'string' && (connectionErrors.has(code) || transient.test(code))) return true;
    if (transientMessages.test(message)) return true;
  }
  return false;
}

/** Whether the server has no space left for a write: SQLSTATE 53100. */
export const isDiskFull = ({ code }: { readonly code?: unknown }): boolean => code === '53100';

/** Whether a statement was cancelled after its time limit (SQLSTATE 57014), or gave up waiting for a lock (55P03). */
const isOutOfTime = ({ code }: { readonly code?: unknown }): boolean => code === '57014' || code === '55P03';

/** Whether the server rolled a transaction back because of another one, such as in a deadlock: SQLSTATE class 40. */
const isRolledBack = ({ code }: { readonly code?: unknown }): boolean =>
  typeof code === 'string' && /^40...$/.test(code);

/** Whether the server has no free connection: SQLSTATE 53300. */
export const isWithoutConnections = ({ code }: { readonly code?: unknown }): boolean => code === '53300';

/** Whether a statement gave up waiting for a lock: SQLSTATE 55P03. */
export function isLockTimeout(error: unknown): boolean {
  for (const { code } of causes(error)) if (code === '55P03') return true;
  return false;
}

/** Whether a statement names a table or schema that does not exist: SQLSTATEs 42P01 and 3F000. */
export function isTableMissing(error: unknown): boolean {
  for (const { code } of causes(error)) if (code === '42P01' || code === '3F000') return true;
  return false;
}

/** Whether a statement fails whatever its data are: SQLSTATE class 42 (a missing table, column or privilege), and 3F000. */
export function isStatementRefused(error: unknown): boolean {
  for (const { code } of causes(error))
    if (typeof code === 'string' && /^42...$|^3F000$/.test(code)) return true;
  return false;
}

/** Whether a statement was rejected because of its data: SQLSTATE classes 22 (data exception) and 23 (constraint violation). */
export function isDataRefused(error: unknown): boolean {
  for (const { code } of causes(error)) if (typeof code === 'string' && /^2[23]...$/.test(code)) return true;
  return false;
}

/** The problem and the advice, for logs and for operators. `client`: the words for the process that PostgreSQL refuses. */
export const connectionRefused = (client = 'this process'): string =>
  `PostgreSQL refuses the connections of ${client}; check the user, the password and the database in its GATEHOUSE_DATABASE_URL, and PostgreSQL's pg_hba.conf. A process reads the setting at its start`;

/** PostgreSQL's certificate has expired; or PostgreSQL says so of that of this process, with an alert of TLS. */
const expired = 'CERT_HAS_EXPIRED';
const expiredHere = /_ALERT_CERTIFICATE_EXPIRED$/;

/** Returns `otherwise` if the function has no advice for the reason. `client`: the words for the process that uses the database. */
export function whatToDo(error: unknown, otherwise: string, client = 'this process'): string {
  if (isConnectionRefused(error)) return connectionRefused(client);
  if (hasCode(error, (code) => code === expired))
    return 'the certificate of PostgreSQL has expired; renew it, and reload PostgreSQL';
  if (hasCode(error, (code) => expiredHere.test(code)))
    return `PostgreSQL refuses the certificate of ${client}, which has expired; renew it`;
  if (isCertificateRefused(error))
    return `the TLS connection to the database fails; check the certificates of PostgreSQL and of ${client}`;
  if (isWithoutTls(error))
    return "PostgreSQL has TLS off, but the sslmode in GATEHOUSE_DATABASE_URL requires it; turn on PostgreSQL's setting ssl";
  if (isSettingRefused(error))
    return 'a pooler refuses settings that Gatehouse needs; connect to PostgreSQL without it, or let it ignore them: docs/scaling.md#connections-to-postgresql';
  if (isWithoutDescriptors(error))
    return `${client} has no free file descriptor for a connection to the database; raise its limit of open files`;
  const all = [...causes(error)];
  if (all.some(isDiskFull)) return 'the disk of PostgreSQL is full; free space on it';
  if (all.some(isReadOnlyRefusal))
    return `PostgreSQL is read-only: it is a standby, or default_transaction_read_only is on; give ${client} the address of the primary, or turn the setting off`;
  if (all.some(isWithoutConnections))
    return 'PostgreSQL has no free connection; end the connections of other programs, or raise its max_connections';
  if (all.some(({ code }) => code === '25P04'))
    return `PostgreSQL ended a transaction after its transaction_timeout; set it to 0 for the role and the database of ${client}`;
  if (all.some(isRolledBack))
    return 'PostgreSQL rolled back a transaction because of a session that it conflicted with; try again in a moment';
  if (all.some(isOutOfTime))
    return 'PostgreSQL did not finish a statement in time; `gatehouse doctor` says whether another session holds a lock';
  return otherwise;
}

/** The RPC error for a failure of the database; undefined for any other error. Its text is read in the logs of other processes. */
export function explainDatabaseError(error: unknown): ConnectError | undefined {
  if (!isDatabaseUnavailable(error)) return undefined;
  const unanswered = 'the database does not answer; try again in a moment';
  const sentence = whatToDo(error, unanswered, 'the process that answered this call');
  return rpcError('DATABASE_UNAVAILABLE', sentence, { cause: error, retryAfterMs: 1000 });
}
