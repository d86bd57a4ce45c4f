import type { EntityManager } from '@mikro-orm/postgresql';
import { StatementEntryRow } from '../database/entities.ts';
import { isPublicId, storedId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import { compareEntry, missingInStatement } from './compare-entry.ts';
import type { ComparedPeriod, Entry, FoundDifference, KnownMoney, Records } from './compare-entry.ts';
import { findByRequest, findByTransaction, findMissing } from './known-money.sql.ts';
import type { WalletScope } from './known-money.sql.ts';

const batchSize = 500;

/**
 * Compares a complete statement with the records: first each entry, then the records without an entry. Returns the
 * differences in the order of the statement, with missing entries last.
 */
export async function* compareStatement(
  em: EntityManager,
  reconciliationId: StoredId<'rec'>,
  scope: WalletScope,
  period: ComparedPeriod,
): AsyncGenerator<FoundDifference> {
  const reversed = await findReversed(em, reconciliationId);
  for await (const entries of readEntries(em, reconciliationId)) {
    const recordsOf = await findRecords(em, scope, entries, reversed);
    for (const entry of entries) {
      const difference = compareEntry(entry, recordsOf(entry), period);
      if (difference !== undefined) yield difference;
    }
  }
  const { day, readUntil } = period;
  const until = day.until < readUntil ? day.until : readUntil;
  for (const known of await findMissing(em, scope, reconciliationId, { from: day.from, until }))
    yield missingInStatement(known);
}

async function* readEntries(
  em: EntityManager,
  reconciliationId: StoredId<'rec'>,
): AsyncGenerator<readonly Entry[]> {
  for (let after = -1; ;) {
    const rows = await em.find(
      StatementEntryRow,
      { reconciliationId, position: { $gt: after } },
      { orderBy: { position: 'asc' }, limit: batchSize, disableIdentityMap: true },
    );
    if (rows.length > 0)
      yield rows.map((row) => ({ ...row, status: row.status ?? null, occurredAt: row.occurredAt ?? null }));
    if (rows.length < batchSize) return;
    after = rows.at(-1)?.position ?? after;
  }
}

/** The records for some entries, read in one step. */
async function findRecords(
  em: EntityManager,
  scope: WalletScope,
  entries: readonly Entry[],
  reversed: ReadonlySet<string>,
): Promise<(entry: Entry) => Records> {
  const transactions = await findByTransaction(em, scope, textsOf(entries, transactionIdsOf));
  // Our ids are looked up only when the wallet's id is unknown. That is rare, and costs more.
  const strangers = entries.filter(
    (entry) => isMoney(entry) && knownUnder(transactions, entry) === undefined,
  );
  const requestIds = textsOf(strangers, ({ requestId }) => storedRequestId(requestId) ?? []);
  const requests =
    requestIds.length === 0 ? new Map<string, KnownMoney>() : await findByRequest(em, scope, requestIds);
  return (entry) => ({
    byTransaction: transactions.get(entry.providerTransactionId),
    byRequest: requests.get(storedRequestId(entry.requestId) ?? ''),
    original: transactions.get(entry.originalTransactionId),
    hasReversal: reversed.has(entry.providerTransactionId),
  });
}

const transactionIdsOf = ({ type, providerTransactionId, originalTransactionId }: Entry): string[] =>
  type === 'REVERSAL' ? [originalTransactionId] : type === 'PAYMENT' ? [providerTransactionId] : [];

const knownUnder = (transactions: ReadonlyMap<string, KnownMoney>, entry: Entry): KnownMoney | undefined =>
  transactions.get(transactionIdsOf(entry)[0] ?? '');

const isMoney = ({ type, status }: Entry): boolean =>
  (type === 'PAYMENT' || type === 'REVERSAL') && (status === 'COMPLETED' || status === 'REVERSED');

const textsOf = (entries: readonly Entry[], of: (entry: Entry) => string | string[]): string[] => [
  ...new Set(entries.flatMap(of).filter((text) => text !== '')),
];

/** The stored id of an attempt, stray payment or reversal; undefined when the wallet repeats another text. */
function storedRequestId(requestId: string): string | undefined {
  if (isPublicId('pat', requestId)) return storedId('pat', requestId);
  return isPublicId('stp', requestId) ? storedId('stp', requestId) : undefined;
}

/** The payments with a reversal in the statement. They are few, so they are read once for all batches. */
async function findReversed(
  em: EntityManager,
  reconciliationId: StoredId<'rec'>,
): Promise<ReadonlySet<string>> {
  const reversals = await em.find(
    StatementEntryRow,
    { reconciliationId, type: 'REVERSAL', status: 'COMPLETED' },
    { fields: ['originalTransactionId'], disableIdentityMap: true },
  );
  return new Set(reversals.map(({ originalTransactionId }) => originalTransactionId));
}
