import type { Environment } from './order.ts';

/*
 * A recovery begins when the database was restored from a backup. The records since the backup are lost, but the wallets have moved the
 * money. So no new money moves before the gateway knows the wallets' payments of the lost time.
 *
 *   begin ──▶ the stream is read, lost orders are rebuilt ──▶ statements are read, wallet by wallet ──▶ finished
 *
 * A wallet has a statement for each payee account: the operator's, and those of merchants with accounts of their own.
 * An environment opens when three conditions hold. The stream is read or counts as lost. An operator has resolved the orders that cannot be
 * rebuilt. Each wallet of the environment was read, or accepted by an operator. A merchant whose own accounts were not compared yet is held:
 * it still takes no payments, and delays no other merchant.
 */

/** Why the database counts as restored. */
export type RecoveryCause =
  /** The database is on another server or timeline than when a core last used it, or another database has replaced it on the same server. */
  | 'NEW_HOME'
  /** The broker has an event of this database that the database does not have. */
  | 'STREAM_AHEAD'
  /** An operator began the recovery. */
  | 'OPERATOR';

/** The result of reading the broker's stream. COMPLETE: it continues the database's events without a gap. */
export type StreamState = 'WAITING' | 'COMPLETE' | 'PARTIAL' | 'LOST';

export interface WalletCheck {
  readonly environment: Environment;
  readonly wallet: string;
  readonly hasStatement: boolean;
  readonly state: 'WAITING' | 'READ' | 'ACCEPTED';
}

export interface Recovery {
  readonly stream: StreamState;
  /** Orders whose events contradict the database, and which no operator has resolved. */
  readonly openConflicts: number;
  readonly wallets: readonly WalletCheck[];
}

/** The facts about the database and the stream that show a restore. */
export interface RestoreEvidence {
  /** The location of the database when a core last used it; undefined before the first core. */
  readonly recordedLocation: string | undefined;
  readonly location: string;
  /** Whether the database has the newest event of the stream; undefined when the stream was not read. */
  readonly hasNewestEvent: boolean | undefined;
}

/** Why the database counts as restored; undefined when it does not. */
export function causeOfRecovery({
  recordedLocation,
  location,
  hasNewestEvent,
}: RestoreEvidence): Exclude<RecoveryCause, 'OPERATOR'> | undefined {
  if (recordedLocation !== undefined && recordedLocation !== location) return 'NEW_HOME';
  return hasNewestEvent === false ? 'STREAM_AHEAD' : undefined;
}

/** Something that keeps an environment closed. */
export type Blocker =
  | { readonly type: 'stream' }
  | { readonly type: 'conflicts' }
  | { readonly type: 'statement'; readonly wallet: string }
  /** The wallet offers no statement of every payment, so only an operator can compare it. */
  | { readonly type: 'operator'; readonly wallet: string };

/** Why the environment takes no payments; empty when it does. */
export const blockersOf = (recovery: Recovery, environment: Environment): readonly Blocker[] => [
  ...(recovery.stream === 'WAITING' ? [{ type: 'stream' } as const] : []),
  ...(recovery.openConflicts > 0 ? [{ type: 'conflicts' } as const] : []),
  ...recovery.wallets
    .filter((check) => check.environment === environment && check.state === 'WAITING')
    .map(({ wallet, hasStatement }): Blocker => ({ type: hasStatement ? 'statement' : 'operator', wallet })),
];

const environments = ['SANDBOX', 'PRODUCTION'] as const;

/** The environments that take no payments yet. The recovery has finished when there is none and no merchant is held. */
export const closedEnvironments = (recovery: Recovery): readonly Environment[] =>
  environments.filter((environment) => blockersOf(recovery, environment).length > 0);

/** A part of the stream that was read, oldest first. */
export interface ReadStream {
  /** Whether the first message is in the database, or nothing comes before it. */
  readonly beginsInDatabase: boolean;
  /** Whether every message names its predecessor, or an earlier one. */
  readonly isContinuous: boolean;
  readonly messages: number;
}

/** The state of a stream that was read. */
export const streamAfter = ({ beginsInDatabase, isContinuous, messages }: ReadStream): StreamState =>
  messages === 0 ? 'LOST' : beginsInDatabase && isContinuous ? 'COMPLETE' : 'PARTIAL';

const dayMs = 24 * 60 * 60_000;

/**
 * The dates (UTC) of the lost time, whose statements are read. Undefined for more than `maxDays`, which need an operator. Never empty, even
 * if a wrong clock recorded a lost time that begins after its end.
 */
export function datesOf(lostFrom: Date, until: Date, maxDays: number): readonly string[] | undefined {
  const last = Math.floor(until.getTime() / dayMs);
  const first = Math.min(Math.floor(lostFrom.getTime() / dayMs), last);
  const days = last - first + 1;
  if (days > maxDays) return undefined;
  return Array.from({ length: days }, (_, index) =>
    new Date((first + index) * dayMs).toISOString().slice(0, 10),
  );
}

/** READING: not read yet. FAILING: readings fail, and are repeated. REMOVED: no account with this payee has credentials any more. */
export type StatementState = 'READING' | 'READ' | 'FAILING' | 'REMOVED';

/** The readings of one day of a statement since the restore. */
export interface StatementDay {
  /** Whether a completed reading covers the day as far as the recovery needs it. */
  readonly isDone: boolean;
  /** Whether readings failed repeatedly. */
  readonly isFailing: boolean;
}

/** The state of a statement after the readings of all days of the lost time. */
export function statementAfter(days: readonly StatementDay[], isRemoved: boolean): StatementState {
  if (days.every(({ isDone }) => isDone)) return 'READ';
  if (isRemoved) return 'REMOVED';
  return days.some(({ isDone, isFailing }) => isFailing && !isDone) ? 'FAILING' : 'READING';
}

/** The state of a recovery at one wallet that has statements. */
export interface ReadWallet {
  readonly stream: StreamState;
  /** Of the operator's account. */
  readonly statement: StatementState;
  /** Whether merchants of this gateway have ever had accounts of their own, at any wallet and in any environment. */
  readonly usesOwnAccounts: boolean;
  /** Whether an operator says that all accounts which were added in the lost time were added again. */
  readonly areAccountsAccepted: boolean;
  /** Whether the payee of an account at the wallet is not recorded yet. */
  readonly hasUnnamedAccounts: boolean;
}

/**
 * Whether a wallet was compared. Merchants' own accounts that are known do not count here, because each holds only its merchant.
 * The obstacle is `own_accounts` if an operator must act, because merchants may have got accounts that neither the backup nor the stream
 * names. Such an account could belong to any merchant.
 *
 * A stream without a gap names all accounts of the lost time. With a gap, any wallet may have got an account that nothing names, so an
 * operator must answer. A gateway whose merchants never had accounts of their own does not wait for the answer.
 */
export function walletAfter({
  stream,
  statement,
  usesOwnAccounts,
  areAccountsAccepted,
  hasUnnamedAccounts,
}: ReadWallet): Pick<WalletCheck, 'state' | 'hasStatement'> & { readonly obstacle: '' | 'own_accounts' } {
  if (statement !== 'READ' || hasUnnamedAccounts)
    return { state: 'WAITING', hasStatement: true, obstacle: '' };
  const isCovered = stream === 'COMPLETE' || areAccountsAccepted || !usesOwnAccounts;
  if (!isCovered) return { state: 'WAITING', hasStatement: false, obstacle: 'own_accounts' };
  return { state: 'READ', hasStatement: true, obstacle: '' };
}
