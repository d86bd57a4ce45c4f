import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredId } from '../../contract/public-id.ts';
import type { ReconciliationDifferenceRow } from '../database/reconciliation-entities.ts';
import type { ComparedPeriod, Entry, FoundDifference } from './compare-entry.ts';
import { compareStatement } from './compare-statement.ts';
import { isUnclaimed } from './keep-unclaimed.ts';
import { MoneyBalance } from './money-balance.ts';
import { readScope } from './payee-accounts.sql.ts';
import type { StatementKey } from './statement-key.ts';

/** The present state of a difference: the row itself, with stored ids. */
export type Difference = Omit<ReconciliationDifferenceRow, symbol>;

/** A wrong account gives a difference for each entry. Differences beyond this number are counted, not stored. */
const maxKept = 10_000;
/** Reversals that are named in the detail of a run. */
const namedReversals = 10;

/** The result of a comparison. */
export interface Comparison {
  readonly count: number;
  /** The first of them. */
  readonly differences: readonly FoundDifference[];
  readonly unclaimed: readonly Entry[];
  readonly balance: MoneyBalance;
  /** The reversals and refunds that were not compared. */
  readonly detail: string;
}

/** Compares a statement with the recorded payments. It only reads. */
export async function findDifferences(
  em: EntityManager,
  id: StoredId<'rec'>,
  key: StatementKey,
  period: ComparedPeriod,
): Promise<Comparison> {
  const differences: FoundDifference[] = [];
  const unclaimed: Entry[] = [];
  let count = 0;
  const balance = new MoneyBalance(period);
  const notCompared: string[] = [];
  const scope = await readScope(em, key);
  for await (const found of compareStatement(em, id, scope, period, balance, notCompared)) {
    count += 1;
    if (found.entry !== undefined && (await isUnclaimed(em, found))) unclaimed.push(found.entry);
    if (count <= maxKept) differences.push(found);
  }
  return { count, differences, unclaimed, balance, detail: returnsText(notCompared) };
}

/** Which reversals were not compared, because the statement lists none. */
function returnsText(ids: readonly string[]): string {
  if (ids.length === 0) return '';
  const more = ids.length > namedReversals ? ' …' : '';
  return `not compared, because this statement lists no returned money: ${ids.length} returned (${ids.slice(0, namedReversals).join(', ')}${more})`;
}

export function differenceRow(
  reconciliationId: StoredId<'rec'>,
  number: number,
  { kind, entry, known, advice }: FoundDifference,
): Difference {
  return {
    reconciliationId,
    number,
    kind,
    providerTransactionId: entry?.providerTransactionId ?? known?.providerTransactionId ?? '',
    walletAmount: entry?.amount ?? '',
    walletCurrency: entry?.currency ?? '',
    walletStatus: (entry?.status ?? '').toLowerCase(),
    ourAmount: known?.amount ?? '',
    ourCurrency: known?.currency ?? '',
    ourStatus: (known?.status ?? '').toLowerCase(),
    merchantId: known?.merchantId ?? null,
    paymentAttemptId: known?.paymentAttemptId ?? null,
    strayPaymentId: known?.recordType === 'stray' ? known.strayPaymentId : null,
    refundId: known?.recordType === 'refund' ? known.refundId : null,
    occurredAt: entry?.occurredAt ?? known?.updatedAt ?? null,
    advice,
  };
}
