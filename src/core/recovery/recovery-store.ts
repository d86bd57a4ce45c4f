import type { EntityManager } from '@mikro-orm/postgresql';
import type { NewId, StoredId } from '../../contract/public-id.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { Database } from '../database/database.ts';
import { asksAccounts, asksMerchants, openQuestions } from '../database/open-questions.sql.ts';
import type { OpenQuestions } from '../database/open-questions.sql.ts';
import { readClock } from '../database/read-clock.ts';
import {
  RecoveredOrderRow,
  RecoveryRow,
  RecoveryStatementRow,
  RecoveryWalletRow,
} from '../database/recovery-entities.ts';
import type { Environment } from '../domain/order.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import type { Wallet } from '../domain/wallet.ts';
import { beginRecovery } from './begin-recovery.ts';
import { readHolds } from './holds.sql.ts';
import type { Hold } from './holds.sql.ts';
import { readMissingAccounts, readUnacceptedAccounts } from './lost-accounts.sql.ts';
import type { MissingAccount, UnacceptedAccount } from './lost-accounts.sql.ts';
import { readMissingMerchants } from './lost-merchants.sql.ts';
import { readNextReadings } from './recovery-statements.sql.ts';
import type { MissingMerchant } from './lost-merchants.sql.ts';

/** A statement that was not read to its end. */
export interface UnreadStatement extends Omit<RecoveryStatementRow, symbol> {
  /** When its next reading is due; undefined when none waits. */
  readonly nextReadAt: Date | undefined;
}

/** A wallet with its statements that were not read to their end. */
export interface StoredWallet extends Omit<RecoveryWalletRow, symbol> {
  readonly unread: readonly UnreadStatement[];
  /** The accounts of merchants that were in use in the lost time, and whose credentials are missing. */
  readonly missingAccounts: readonly MissingAccount[];
}

/** A recovery with its wallets: the rows themselves. */
export interface StoredRecovery extends Omit<RecoveryRow, symbol> {
  readonly wallets: readonly StoredWallet[];
  readonly missingMerchants: readonly MissingMerchant[];
  /** When the last prompts of the lost time have ended. Core reads statements from then on. */
  readonly statementsFrom: Date;
  /** The merchants that take no payments yet, by environment. None once the recovery has finished. */
  readonly holds: readonly Hold[];
  /** Of this and earlier recoveries. */
  readonly questions: OpenQuestions;
}

/** The subject that an operator has compared or resolved. */
export type AcceptedSubject =
  | { readonly type: 'wallet'; readonly environment: Environment; readonly wallet: string }
  | { readonly type: 'conflicts' }
  | { readonly type: 'accounts'; readonly despiteUnaccepted: boolean }
  | { readonly type: 'merchants' }
  | { readonly type: 'erasures' };

export type AcceptRefusal = 'not_waiting' | { readonly unaccepted: readonly UnacceptedAccount[] };

export interface RecoveryStore {
  /** The recovery in progress, otherwise the latest one. */
  readonly latest: () => Promise<StoredRecovery | undefined>;
  /** Begins a recovery, unless one is in progress. */
  readonly begin: (backupAt: Date, by: Actor) => Promise<StoredRecovery>;
  /**
   * Records the decision with an audit entry. Errors: `not_waiting` when nothing waits for it, or the accounts whose credentials must be
   * accepted first.
   */
  readonly accept: (
    subject: AcceptedSubject,
    reason: string,
    by: Actor,
  ) => Promise<Result<StoredRecovery, AcceptRefusal>>;
  /** The orders with lost events, by id. Gives one more than the limit if there are more. */
  readonly listOrders: (filter: RecoveredOrderFilter) => Promise<readonly Omit<RecoveredOrderRow, symbol>[]>;
}

export interface RecoveredOrderFilter {
  /** Undefined for all merchants. */
  readonly merchantId: StoredId<'mer'> | undefined;
  readonly onlyConflicts: boolean;
  readonly afterId: StoredId<'ord'> | undefined;
  readonly limit: number;
}

export interface RecoveryStoreParts {
  readonly database: Database;
  readonly wallets: readonly Wallet[];
  readonly newId: NewId;
  readonly newUuid: () => string;
  /** How long a prompt of the lost time may still be confirmed. */
  readonly settleMs: number;
}

export function createRecoveryStore({
  database,
  wallets,
  newId,
  newUuid,
  settleMs,
}: RecoveryStoreParts): RecoveryStore {
  const findLatest = async (em: EntityManager): Promise<RecoveryRow | undefined> => {
    const [row] = await em.find(RecoveryRow, {}, { orderBy: { lostUntil: 'desc', id: 'desc' }, limit: 1 });
    return row;
  };
  const read = async (em: EntityManager): Promise<StoredRecovery | undefined> => {
    const row = await findLatest(em);
    if (row === undefined) return undefined;
    const found = await em.find(
      RecoveryWalletRow,
      { recoveryId: row.id },
      { orderBy: { environment: 'desc', wallet: 'asc' } },
    );
    const unread = await em.find(
      RecoveryStatementRow,
      { recoveryId: row.id, state: { $ne: 'READ' } },
      { orderBy: { payee: 'asc' } },
    );
    const nextReadings = row.finishedAt == null ? await readNextReadings(em, row) : [];
    const missing = await readMissingAccounts(em, row.id);
    const missingMerchants = await readMissingMerchants(em, row.id);
    return {
      ...row,
      wallets: found.map((check) => ({
        ...check,
        unread: unread
          .filter(({ wallet, environment }) => wallet === check.wallet && environment === check.environment)
          .map((statement) => ({
            ...statement,
            nextReadAt: nextReadings.find(
              ({ wallet, environment, payee }) =>
                wallet === statement.wallet &&
                environment === statement.environment &&
                payee === statement.payee,
            )?.dueAt,
          })),
        missingAccounts: missing.filter(
          ({ wallet, environment }) => wallet === check.wallet && environment === check.environment,
        ),
      })),
      missingMerchants,
      statementsFrom: new Date(row.lostUntil.getTime() + settleMs),
      holds: row.finishedAt == null ? await readHolds(em, row.id) : [],
      questions: await readQuestions(em),
    };
  };
  const readWritten = async (em: EntityManager): Promise<StoredRecovery> => {
    await em.flush();
    const written = await read(em);
    if (written === undefined) throw new Error('the recovery is not there after it was written');
    return written;
  };
  /** Records who accepted what, and returns the recovery as it is now. */
  const recordAcceptance = async (
    em: EntityManager,
    by: Actor,
    { id: targetId }: RecoveryRow,
    details: Readonly<Record<string, string | number>>,
  ): Promise<Result<StoredRecovery, never>> => {
    recordAudit(em, newId, await readClock(em), by, {
      action: 'recovery.accept',
      merchantId: undefined,
      targetId,
      details,
    });
    return ok(await readWritten(em));
  };
  const acceptErasures = async (
    em: EntityManager,
    reason: string,
    by: Actor,
  ): Promise<Result<StoredRecovery, 'not_waiting'>> => {
    const rows = await em.find(RecoveryRow, { erasuresAcceptedBy: '' }, { orderBy: { lostFrom: 'asc' } });
    const [first] = rows;
    if (first === undefined) return err('not_waiting');
    for (const row of rows) row.erasuresAcceptedBy = by.actor;
    return recordAcceptance(em, by, first, { reason, erasures_since: first.lostFrom.toISOString() });
  };
  /** Answers the question for all recoveries that ask it. Some of them have finished, because a recovery can finish without the answer. */
  const answerQuestion = async (
    em: EntityManager,
    subject: Extract<AcceptedSubject, { readonly type: 'accounts' | 'merchants' }>,
    reason: string,
    by: Actor,
  ): Promise<Result<StoredRecovery, AcceptRefusal>> => {
    const question = subject.type;
    const rows = await findAsking(em, question);
    const [first] = rows;
    if (first === undefined) return err('not_waiting');
    if (subject.type === 'accounts' && !subject.despiteUnaccepted) {
      const unaccepted = await readUnacceptedAccounts(em, first.lostUntil);
      if (unaccepted.length > 0) return err({ unaccepted });
    }
    for (const row of rows)
      row[question === 'accounts' ? 'accountsAcceptedBy' : 'merchantsAcceptedBy'] = by.actor;
    return recordAcceptance(em, by, first, { reason, [`${question}_since`]: first.lostFrom.toISOString() });
  };
  return {
    latest: () => read(database.fork()),

    begin: (backupAt, by) =>
      database.fork().transactional(async (em) => {
        await em.execute('lock table core.recoveries in share row exclusive mode');
        const open = await em.findOne(RecoveryRow, { finishedAt: null });
        if (open === null) {
          const lostUntil = await readClock(em);
          const id = newUuid();
          await beginRecovery(em, wallets, { id, cause: 'OPERATOR', lostFrom: backupAt, lostUntil });
          recordAudit(em, newId, lostUntil, by, {
            action: 'recovery.begin',
            merchantId: undefined,
            targetId: id,
            details: { backup_time: backupAt.toISOString() },
          });
        }
        return readWritten(em);
      }),

    listOrders: ({ merchantId, onlyConflicts, afterId, limit }) =>
      database.fork().find(
        RecoveredOrderRow,
        {
          ...(merchantId === undefined ? {} : { merchantId }),
          ...(onlyConflicts ? { state: { $ne: 'REBUILT' } } : {}),
          ...(afterId === undefined ? {} : { orderId: { $gt: afterId } }),
        },
        { orderBy: { orderId: 'asc' }, limit: limit + 1 },
      ),

    accept: (subject, reason, by) =>
      database.fork().transactional(async (em) => {
        if (subject.type === 'erasures') return acceptErasures(em, reason, by);
        if (subject.type === 'accounts' || subject.type === 'merchants')
          return answerQuestion(em, subject, reason, by);
        const row = await em.findOne(RecoveryRow, { finishedAt: null });
        if (row === null) return err('not_waiting');
        if (subject.type === 'conflicts') {
          // The events that are not read yet may contradict more orders.
          const isKnown = row.stream !== 'WAITING' && row.conflictingOrders > 0;
          if (!isKnown || row.conflictsAcceptedBy !== '') return err('not_waiting');
          row.conflictsAcceptedBy = by.actor;
          return recordAcceptance(em, by, row, { reason, conflicting_orders: row.conflictingOrders });
        }
        const { environment, wallet } = subject;
        const key = { recoveryId: row.id, environment, wallet };
        const check = await em.findOne(RecoveryWalletRow, key);
        if (check === null || !(await needsDecision(em, check))) return err('not_waiting');
        Object.assign(check, { state: 'ACCEPTED', decidedBy: by.actor });
        return recordAcceptance(em, by, row, { reason, wallet, environment: environment.toLowerCase() });
      }),
  };
}

async function readQuestions(em: EntityManager): Promise<OpenQuestions> {
  const [row] = await em.execute<Record<keyof OpenQuestions, string | Date | null>[]>(openQuestions);
  const timeOf = (name: keyof OpenQuestions): Date | null => {
    const value = row?.[name];
    return value == null ? null : new Date(value);
  };
  return {
    erasuresLostFrom: timeOf('erasuresLostFrom'),
    accountsLostFrom: timeOf('accountsLostFrom'),
    merchantsLostFrom: timeOf('merchantsLostFrom'),
  };
}

/** The recoveries whose question is open, oldest first. Before the events are read, the lost objects are unknown. */
async function findAsking(em: EntityManager, question: 'accounts' | 'merchants'): Promise<RecoveryRow[]> {
  const asks = question === 'accounts' ? asksAccounts : asksMerchants;
  const asking = await em.execute<{ id: string }[]>(
    `select r.id from core.recoveries r where ${asks} and r.stream <> 'WAITING'`,
  );
  return em.find(
    RecoveryRow,
    { id: { $in: asking.map(({ id }) => id) } },
    { orderBy: { lostFrom: 'asc', id: 'asc' } },
  );
}

/** Whether the wallet waits, or merchants wait for statements or accounts at it. */
async function needsDecision(em: EntityManager, check: RecoveryWalletRow): Promise<boolean> {
  const { recoveryId, environment, wallet, state } = check;
  if (state !== 'READ') return state === 'WAITING';
  const unread = { recoveryId, environment, wallet, state: { $ne: 'READ' as const } };
  if ((await em.count(RecoveryStatementRow, unread)) > 0) return true;
  const missing = await readMissingAccounts(em, recoveryId);
  return missing.some((each) => each.environment === environment && each.wallet === wallet);
}
