import type { EntityManager } from '@mikro-orm/postgresql';
import { storedEndOf } from '../database/attempt-id-end.sql.ts';
import { StatementEntryRow } from '../database/reconciliation-entities.ts';
import { isPublicId, publicId, storedId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import { compareEntry, missingInStatement } from './compare-entry.ts';
import type {
  ComparedPeriod,
  Entry,
  FoundDifference,
  KnownMoney,
  KnownRefund,
  Records,
} from './compare-entry.ts';
import { createFreeRefunds } from './free-refunds.ts';
import type { FreeRefunds } from './free-refunds.ts';
import type { MoneyBalance } from './money-balance.ts';
import { isOn } from './reconciliation-day.ts';
import { sameDecimal } from '../../contract/decimal-text.ts';
import {
  findByIdEnd,
  findByRequest,
  findByTransaction,
  findCompletedRefunds,
  findMissing,
} from './known-money.sql.ts';
import type { WalletScope } from './known-money.sql.ts';

const batchSize = 500;

/**
 * Compares a complete statement with the records: first each entry, then the records without an entry. Returns the
 * differences in the order of the statement, with missing entries last, and adds what it compares to the balance. If the statement
 * lists no reversals, the public ids of those on record are added to `notCompared`.
 */
export async function* compareStatement(
  em: EntityManager,
  reconciliationId: StoredId<'rec'>,
  scope: WalletScope,
  period: ComparedPeriod,
  balance: MoneyBalance,
  notCompared: string[],
): AsyncGenerator<FoundDifference> {
  const { reversed, named } = await findReversals(em, reconciliationId);
  const repeated = await findRepeated(em, reconciliationId);
  const refunds = createFreeRefunds(em, scope, period, named);
  for await (const entries of readEntries(em, reconciliationId)) {
    const recordsOf = await findRecords(em, scope, entries, { reversed, repeated, refunds });
    for (const entry of entries) {
      const records = recordsOf(entry);
      balance.addEntry(entry, records);
      const returned = unlistedReturn(entry, records, period);
      if (returned !== undefined) notCompared.push(returned);
      const difference = compareEntry(entry, records, period);
      if (difference !== undefined) yield difference;
    }
  }
  const { day, readFrom, readUntil, listsReversals } = period;
  const until = day.until < readUntil ? day.until : readUntil;
  for await (const known of findMissing(em, scope, reconciliationId, { from: day.from, until, readFrom })) {
    balance.addMissing(known);
    yield missingInStatement(known);
  }
  for await (const refund of findCompletedRefunds(em, scope, { from: day.from, until, readFrom }))
    if (!refunds.isTaken(refund.refundId)) {
      if (!listsReversals) {
        notCompared.push(publicId('rfd', refund.refundId));
        continue;
      }
      balance.addMissing(refund);
      yield missingInStatement(refund);
    }
}

/** The id of a stray payment of the day whose return the statement cannot show; undefined for every other entry. */
function unlistedReturn(
  { type, status, occurredAt }: Entry,
  { byTransaction, hasReversal }: Records,
  { day, listsReversals }: ComparedPeriod,
): string | undefined {
  if (listsReversals || type !== 'PAYMENT' || status !== 'COMPLETED' || hasReversal) return undefined;
  if (byTransaction?.recordType !== 'stray' || byTransaction.status !== 'REVERSED') return undefined;
  return isOn(day, occurredAt) ? publicId('stp', byTransaction.strayPaymentId) : undefined;
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

/** What is the same for all batches. */
interface FoundBefore {
  readonly reversed: ReadonlySet<string>;
  readonly repeated: ReadonlySet<number>;
  readonly refunds: FreeRefunds;
}

/** Reads the records for a batch of entries, with a few statements for the whole batch. */
async function findRecords(
  em: EntityManager,
  scope: WalletScope,
  entries: readonly Entry[],
  { reversed, repeated, refunds }: FoundBefore,
): Promise<(entry: Entry) => Records> {
  const transactions = await findByTransaction(em, scope, textsOf(entries, transactionIdsOf));
  // Our ids are looked up only when the wallet's id is unknown. That is rare, and costs more.
  const unknownEntries = entries.filter(
    (entry) => isMoney(entry) && knownUnder(transactions, entry) === undefined,
  );
  const requestIds = textsOf(unknownEntries, ({ requestId }) => storedRequestId(requestId) ?? []);
  const none: ReadonlyMap<string, KnownMoney> = new Map();
  const requests = requestIds.length === 0 ? none : await findByRequest(em, scope, requestIds);
  const idEnds = textsOf(unknownEntries, ({ requestId }) => storedEndOf(requestId) ?? []);
  const byIdEnd = idEnds.length === 0 ? none : await findByIdEnd(em, scope, idEnds);
  await refunds.read(
    textsOf(entries.filter(isMoney), transactionIdsOf),
    textsOf(entries, ({ requestId }) => (isPublicId('rfd', requestId) ? storedId('rfd', requestId) : [])),
  );
  const refundOf = new Map<Entry, KnownRefund>();
  for (const entry of entries) {
    const refund = takeRefund(entry, refunds, reversed);
    if (refund !== undefined) refundOf.set(entry, refund);
  }
  return (entry) => ({
    refund: refundOf.get(entry),
    byTransaction: transactions.get(entry.providerTransactionId),
    byRequest: requests.get(storedRequestId(entry.requestId) ?? '') ?? endedBy(entry, byIdEnd),
    original: transactions.get(entry.originalTransactionId),
    hasReversal: reversed.has(entry.providerTransactionId),
    isRepeated: repeated.has(entry.position),
  });
}

/**
 * The attempt that an entry names by the end of the attempt's id. Payers enter this end as a reference too. So an entry with another
 * amount is another payment, and the wallet's answer for the attempt says nothing about it.
 */
function endedBy({ requestId, amount, currency }: Entry, byIdEnd: ReadonlyMap<string, KnownMoney>) {
  const known = byIdEnd.get(storedEndOf(requestId) ?? '');
  return known?.currency === currency && sameDecimal(known.amount, amount) ? known : undefined;
}

/** The refund that an entry carries out. A payment that is reversed without an entry of its own counts too. */
function takeRefund(
  entry: Entry,
  refunds: FreeRefunds,
  reversed: ReadonlySet<string>,
): KnownRefund | undefined {
  const isReversal = entry.type === 'REVERSAL' && entry.status === 'COMPLETED';
  const isReversedPayment =
    entry.type === 'PAYMENT' && entry.status === 'REVERSED' && !reversed.has(entry.providerTransactionId);
  return isReversal || isReversedPayment ? refunds.take(entry, transactionIdsOf(entry)[0] ?? '') : undefined;
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

interface Reversals {
  /** The transactions of payments with a reversal in the statement. */
  readonly reversed: ReadonlySet<string>;
  /** The stored ids of refunds that a reversal names. */
  readonly named: ReadonlySet<string>;
}

/** The reversals of the statement. They are few, so they are read once for all batches. */
async function findReversals(em: EntityManager, reconciliationId: StoredId<'rec'>): Promise<Reversals> {
  const reversals = await em.find(
    StatementEntryRow,
    { reconciliationId, type: 'REVERSAL', status: 'COMPLETED' },
    { fields: ['originalTransactionId', 'requestId'], disableIdentityMap: true },
  );
  return {
    reversed: new Set(reversals.map(({ originalTransactionId }) => originalTransactionId)),
    named: new Set(
      reversals.flatMap(({ requestId }) => (isPublicId('rfd', requestId) ? storedId('rfd', requestId) : [])),
    ),
  };
}

/** The positions of entries after the first for the same payment, or for the return of the same payment. They are few, too. */
async function findRepeated(
  em: EntityManager,
  reconciliationId: StoredId<'rec'>,
): Promise<ReadonlySet<number>> {
  const rows = await em.execute<{ position: number }[]>(
    `
select position from (
  select position, row_number() over (
    partition by type, case type when 'PAYMENT' then provider_transaction_id else coalesce(nullif(original_transaction_id, ''), request_id) end
    order by position
  ) as number
  from core.statement_entries
  where reconciliation_id = ? and (type = 'PAYMENT' and status in ('COMPLETED', 'REVERSED') or type = 'REVERSAL' and status = 'COMPLETED')
) e where number > 1`,
    [reconciliationId],
  );
  return new Set(rows.map(({ position }) => position));
}
