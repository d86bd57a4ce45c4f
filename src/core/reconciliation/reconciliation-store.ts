import { IsolationLevel, LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Database } from '../database/database.ts';
import {
  ReconciliationDifferenceRow,
  ReconciliationRow,
  StatementEntryRow,
} from '../database/reconciliation-entities.ts';
import { readClock } from '../database/read-clock.ts';
import { publicId, storedId } from '../../contract/public-id.ts';
import type { NewId, PublicId, StoredId } from '../../contract/public-id.ts';
import type { Environment } from '../domain/order.ts';
import { statementTermsOf } from '../domain/wallet.ts';
import type { StatementTerms, Wallet } from '../domain/wallet.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import {
  beginComparison,
  completeRun,
  failRun,
  makeRunDue,
  leaseRun,
  recordPage,
  runUnderLease,
} from '../domain/reconciliation-run.ts';
import type { ReconciliationRun, RunningRun } from '../domain/reconciliation-run.ts';
import { needsWalletAnswer } from './compare-entry.ts';
import type { Entry, FoundDifference } from './compare-entry.ts';
import { differenceRow, findDifferences } from './find-differences.ts';
import type { Difference } from './find-differences.ts';
import { insertReconciliations } from './insert-reconciliation.sql.ts';
import { oldestBegun } from './known-money.sql.ts';
import { findCredentials, readScope } from './payee-accounts.sql.ts';
import type { StatementCredentials } from './payee-accounts.sql.ts';
import { writeMoneyDays } from './money-days.sql.ts';
import { keepUnclaimed } from './keep-unclaimed.ts';
import { dayOf, earliestStart, periodToRead } from './reconciliation-day.ts';
import { runColumns, runOf } from './reconciliation-row.ts';
import { deleteEntries } from './statement-entries.sql.ts';
import { readStatementName, statementName } from './statement-key.ts';
import type { StatementKey } from './statement-key.ts';

/** The present state of a reconciliation: the row itself, with stored ids. */
export type Reconciliation = Omit<ReconciliationRow, symbol>;

export interface WalletKey {
  readonly wallet: string;
  readonly environment: Environment;
}

export interface LeaseScope extends WalletKey {
  /** Whether the worker can read statements of merchants' own accounts. */
  readonly ownAccounts: boolean;
}

export interface LeasedReconciliation {
  readonly reconciliation: Reconciliation;
  readonly leaseId: string;
  readonly from: Date;
  readonly to: Date;
  /** Undefined for the operator's account. */
  readonly credentials: StatementCredentials | undefined;
}

export interface ReconciliationFilter {
  readonly wallet: string | undefined;
  readonly environment: Environment | undefined;
  readonly beforeId: PublicId<'rec'> | undefined;
  readonly limit: number;
}

type LeaseRefusal = 'not_found' | 'lease_lost';

/** Ids are public ids. */
export interface ReconciliationStore {
  /** Starts a reconciliation that is due now, or returns the one of that day that is under way. */
  readonly start: (key: StatementKey, date: string, startedBy: string) => Promise<Reconciliation>;
  /** Leases the reconciliation that has been due the longest, for `leaseMs`. Undefined when none is due. */
  readonly lease: (key: LeaseScope, leaseMs: number) => Promise<LeasedReconciliation | undefined>;
  /** Adds a page of the statement, and renews the lease. Entries whose position is stored already are not added again. */
  readonly record: (
    id: PublicId<'rec'>,
    leaseId: string,
    entries: readonly Entry[],
  ) => Promise<Result<Reconciliation, LeaseRefusal>>;
  /**
   * Compares the statement. `error` is why it could not be read to its end, or ''. With an error, or when the comparison fails,
   * another try is scheduled instead.
   */
  readonly complete: (
    id: PublicId<'rec'>,
    leaseId: string,
    error: string,
  ) => Promise<Result<Reconciliation, LeaseRefusal>>;
  /** Undefined when there is no such reconciliation. */
  readonly get: (id: PublicId<'rec'>) => Promise<Reconciliation | undefined>;
  /** Newest first. */
  readonly list: (filter: ReconciliationFilter) => Promise<Reconciliation[]>;
  /** In the order of their numbers. */
  readonly differences: (id: PublicId<'rec'>, afterNumber: number, limit: number) => Promise<Difference[]>;
}

export interface ReconciliationStoreOptions {
  readonly database: Database;
  readonly wallets: readonly Wallet[];
  readonly newId: NewId;
  readonly newLeaseId: () => string;
  readonly now: () => Date;
  /** Called when a reconciliation became due. */
  readonly onDue: () => void;
  /** Makes an attempt due at once, because the statement contradicts its record. */
  readonly makeAttemptDue: (attempt: {
    readonly merchantId: PublicId<'mer'>;
    readonly attemptId: PublicId<'pat'>;
  }) => Promise<unknown>;
  /** Makes a refund due at once, for the same reason. */
  readonly hastenRefund: (refund: {
    readonly merchantId: PublicId<'mer'>;
    readonly refundId: PublicId<'rfd'>;
  }) => Promise<unknown>;
}

export function createReconciliationStore(options: ReconciliationStoreOptions): ReconciliationStore {
  const { database, newId, newLeaseId, now, onDue, makeAttemptDue, hastenRefund } = options;

  const termsOf = ({ wallet }: Pick<StatementKey, 'wallet'>): StatementTerms =>
    statementTermsOf(options.wallets, wallet);

  const underLease = async (
    em: EntityManager,
    id: PublicId<'rec'>,
    leaseId: string,
    lockMode?: LockMode,
  ): Promise<Result<{ readonly row: ReconciliationRow; readonly run: RunningRun }, LeaseRefusal>> => {
    const key = { id: storedId('rec', id) };
    const row = await em.findOne(ReconciliationRow, key, lockMode === undefined ? {} : { lockMode });
    if (row === null) return err('not_found');
    const held = runUnderLease(runOf(row), leaseId);
    return held.ok ? ok({ row, run: held.value }) : held;
  };

  /** Asks the wallet again about each attempt and refund that its statement contradicts. */
  const queryDoubtful = async (found: readonly FoundDifference[]): Promise<void> => {
    for (const { known } of found.filter(needsWalletAnswer)) {
      if (known === undefined) continue;
      const merchantId = publicId('mer', known.merchantId);
      if (known.recordType === 'refund')
        await hastenRefund({ merchantId, refundId: publicId('rfd', known.refundId) });
      else if (known.paymentAttemptId !== null)
        await makeAttemptDue({ merchantId, attemptId: publicId('pat', known.paymentAttemptId) });
    }
  };

  /** Makes a run due now, without a lock. Returns false when the run has ended or was changed since `found` was read. */
  const makeFoundDue = async (found: ReconciliationRow, at: Date): Promise<boolean> => {
    const run = runOf(found);
    const due = makeRunDue(run, at);
    if (!due.ok) return false;
    if (due.value === run) return true;
    const { id, status, updatedAt } = found;
    const asRead = { id, status, updatedAt };
    return (await database.fork().nativeUpdate(ReconciliationRow, asRead, runColumns(due.value))) > 0;
  };

  /** Changes a run for the holder of its lease. */
  const writeUnderLease = (
    id: PublicId<'rec'>,
    leaseId: string,
    write: (em: EntityManager, row: ReconciliationRow, run: RunningRun) => Promise<ReconciliationRun>,
  ): Promise<Result<Reconciliation, LeaseRefusal>> =>
    database.fork().transactional(async (em) => {
      const found = await underLease(em, id, leaseId, LockMode.PESSIMISTIC_WRITE);
      if (!found.ok) return found;
      const { row, run } = found.value;
      em.assign(row, runColumns(await write(em, row, run)));
      return ok({ ...row });
    });

  const fail = (id: PublicId<'rec'>, leaseId: string, detail: string) =>
    writeUnderLease(id, leaseId, (_em, _row, run) => Promise.resolve(failRun(run, detail, now())));

  /**
   * A transaction that locks a row delays the events of all merchants until it ends. So the long comparison only reads, and a
   * short transaction writes its result.
   */
  const compareUnderLease = async (
    id: PublicId<'rec'>,
    leaseId: string,
  ): Promise<Result<Reconciliation, LeaseRefusal>> => {
    const kept = await writeUnderLease(id, leaseId, async (em, _row, run) =>
      beginComparison(run, await readClock(em)),
    );
    if (!kept.ok) return kept;
    try {
      const compared = await database.fork().transactional(
        async (em) => {
          const found = await underLease(em, id, leaseId);
          if (!found.ok) return found;
          const { row, run } = found.value;
          const key = keyOf(row);
          const { from: readFrom, to: readUntil } = run.period;
          const period = {
            day: dayOf(row.day),
            readFrom,
            readUntil,
            listsReversals: termsOf(key).listsReversals,
          };
          return ok({ key, ...(await findDifferences(em, row.id, key, period)) });
        },
        { isolationLevel: IsolationLevel.REPEATABLE_READ, readOnly: true },
      );
      if (!compared.ok) return compared;
      const { key, count, differences, unclaimed, balance, detail } = compared.value;
      await keepUnclaimed(database.fork(), key, unclaimed, now());
      const rows = differences.map((found, index) => differenceRow(storedId('rec', id), index + 1, found));
      const completed = await writeUnderLease(id, leaseId, async (em, row, run) => {
        for (let first = 0; first < rows.length; first += 500)
          await em.insertMany(ReconciliationDifferenceRow, rows.slice(first, first + 500));
        await writeMoneyDays(em, row, balance.days);
        return completeRun(run, count, now(), detail);
      });
      if (completed.ok) await queryDoubtful(differences);
      return completed;
    } catch (error) {
      // Otherwise, the statement is read and compared again whenever the lease expires, without end.
      await fail(id, leaseId, comparisonFailed).catch(() => undefined);
      throw error;
    }
  };

  /** Leases the run that is due first; undefined without one. 'changed': that run was changed meanwhile, so another one may be due. */
  const leaseNext = async (
    { wallet, environment, ownAccounts }: LeaseScope,
    leaseMs: number,
  ): Promise<LeasedReconciliation | undefined | 'changed'> => {
    // Reads the payments of the day before the row is locked, because a lock delays events.
    const reading = database.fork();
    const at = await readClock(reading);
    const ofWorker = { ...(ownAccounts ? ofWallet(wallet) : { wallet }), environment };
    const due = { ...ofWorker, dueAt: { $lte: at } };
    const found = await reading.findOne(ReconciliationRow, due, { orderBy: { dueAt: 'asc' } });
    if (found === null) return undefined;
    const { id, dueAt } = found;
    const key = keyOf(found);
    const day = dayOf(found.day);
    const begun = await oldestBegun(reading, await readScope(reading, key), day, earliestStart(day));
    const period = periodToRead(day, begun, at, termsOf(key).reachMs);
    const credentials = key.payee === '' ? undefined : await findCredentials(reading, key, found.tries);
    return database.fork().transactional(async (em) => {
      const row = await em.findOne(
        ReconciliationRow,
        { id, dueAt },
        { lockMode: LockMode.PESSIMISTIC_WRITE },
      );
      // Another worker leased it meanwhile, or an operator made it due.
      if (row === null) return 'changed';
      const leased = leaseRun(runOf(row), { leaseId: newLeaseId(), leaseMs, period }, at);
      if (!leased.ok) return undefined;
      if (leased.value.status === 'FAILED') {
        // Its last try was lost.
        em.assign(row, runColumns(leased.value));
        return 'changed';
      }
      if (key.payee !== '' && credentials === undefined) {
        em.assign(row, runColumns(failRun(leased.value, withoutCredentials, at)));
        return undefined;
      }
      // Removes the pages of an earlier reading, because the statement is read again.
      await em.nativeDelete(StatementEntryRow, { reconciliationId: id });
      em.assign(row, runColumns(leased.value));
      return { reconciliation: { ...row }, leaseId: leased.value.leaseId, ...period, credentials };
    });
  };

  return {
    async start(key, date, startedBy) {
      const at = now();
      const id = storedId('rec', newId('rec', at));
      const { environment } = key;
      const wallet = statementName(key);
      const made = { days: [{ id, date }], key, startedBy, at, scheduled: false };
      for (;;) {
        const isNew = (await insertReconciliations(database, made)) > 0;
        const found = await database
          .fork()
          .findOne(ReconciliationRow, isNew ? { id } : { wallet, environment, day: date, ...underWay });
        if (found !== null && (await makeFoundDue(found, at))) {
          onDue();
          return found;
        }
        // The run of that day was changed meanwhile, and may have ended.
      }
    },

    async lease(worker, leaseMs) {
      for (;;) {
        const leased = await leaseNext(worker, leaseMs);
        if (leased !== 'changed') return leased;
      }
    },

    record: (id, leaseId, entries) =>
      writeUnderLease(id, leaseId, async (em, row, run) => {
        const added = await addEntries(em, row.id, entries);
        const counts = {
          entries: added.length,
          otherEntries: added.filter(({ type }) => type === 'OTHER').length,
        };
        return recordPage(run, counts, await readClock(em));
      }),

    async complete(id, leaseId, error) {
      const completed = error === '' ? await compareUnderLease(id, leaseId) : await fail(id, leaseId, error);
      // The result stays. A task of core deletes the remaining rows.
      if (completed.ok) await deleteEntries(database.pool, storedId('rec', id)).catch(() => undefined);
      return completed;
    },

    get: async (id) =>
      (await database.fork().findOne(ReconciliationRow, { id: storedId('rec', id) })) ?? undefined,

    list: ({ wallet, environment, beforeId, limit }) =>
      database.fork().find(
        ReconciliationRow,
        {
          ...(wallet === undefined ? {} : ofWallet(wallet)),
          ...(environment === undefined ? {} : { environment }),
          ...(beforeId === undefined ? {} : { id: { $lt: storedId('rec', beforeId) } }),
        },
        { orderBy: { id: 'desc' }, limit },
      ),

    differences: (id, afterNumber, limit) =>
      database
        .fork()
        .find(
          ReconciliationDifferenceRow,
          { reconciliationId: storedId('rec', id), number: { $gt: afterNumber } },
          { orderBy: { number: 'asc' }, limit },
        ),
  };
}

const underWay = { status: { $in: ['WAITING' as const, 'RUNNING' as const] } };

const withoutCredentials =
  "the merchant's own account was removed, so its statement cannot be read; compare it by hand";

const comparisonFailed = 'core could not compare the statement; the log of core has the error';

const keyOf = ({ wallet, environment }: ReconciliationRow): StatementKey => ({
  ...readStatementName(wallet),
  environment,
});

/** The statements of all payee accounts at a wallet. */
const ofWallet = (wallet: string) => ({ $or: [{ wallet }, { wallet: { $like: `${wallet}/%` } }] });

/** Adds the entries that are not stored yet, and returns those. */
async function addEntries(
  em: EntityManager,
  reconciliationId: StoredId<'rec'>,
  entries: readonly Entry[],
): Promise<readonly Entry[]> {
  const positions = entries.map(({ position }) => position);
  const known = await em.find(
    StatementEntryRow,
    { reconciliationId, position: { $in: positions } },
    { fields: ['position'], disableIdentityMap: true },
  );
  const existing = new Set(known.map(({ position }) => position));
  const added = entries.filter(({ position }) => !existing.has(position));
  if (added.length > 0)
    await em.insertMany(
      StatementEntryRow,
      added.map((entry) => ({ reconciliationId, ...entry })),
    );
  return added;
}
