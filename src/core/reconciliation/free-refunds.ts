import type { EntityManager } from '@mikro-orm/postgresql';
import { isPublicId, storedId } from '../../contract/public-id.ts';
import type { ComparedPeriod, Entry, KnownRefund } from './compare-entry.ts';
import { readRefunds, refundMoney } from './known-money.sql.ts';
import type { RefundOnRecord, WalletScope } from './known-money.sql.ts';
import { canonicalDecimal } from '../../contract/decimal-text.ts';

/** The refunds of a comparison, each of which belongs to one entry at most. */
export interface FreeRefunds {
  /** Reads the refunds of these transactions, and those with these stored ids. */
  readonly read: (transactions: readonly string[], ids: readonly string[]) => Promise<void>;
  /**
   * The refund that an entry carries out, which then belongs to no other entry. An entry with our id names it. Any other entry
   * carries out a refund of its transaction with the same amount that no entry names.
   */
  readonly take: (entry: Entry, transaction: string) => KnownRefund | undefined;
  readonly isTaken: (refundId: string) => boolean;
}

/**
 * One payment can have very many refunds, each with an entry. So each refund is read once, and an entry finds its refund without a search.
 * `named`: the stored ids of refunds that entries of the statement name. The entry may come late.
 */
export function createFreeRefunds(
  em: EntityManager,
  scope: WalletScope,
  period: Pick<ComparedPeriod, 'readFrom' | 'readUntil'>,
  named: ReadonlySet<string>,
): FreeRefunds {
  const read = new Set<string>();
  const byId = new Map<string, RefundOnRecord>();
  /** By transaction, currency and amount. The last is taken first. */
  const byAmount = new Map<string, RefundOnRecord[]>();
  const taken = new Set<string>();

  const isFree = ({ refund_id: id }: RefundOnRecord): boolean => !taken.has(id) && !named.has(id);
  const nextOfAmount = (key: string): RefundOnRecord | undefined => {
    const refunds = byAmount.get(key);
    let next = refunds?.pop();
    while (next !== undefined && !isFree(next)) next = refunds?.pop();
    return next;
  };
  return {
    async read(transactions, ids) {
      const unread = new Set(transactions.filter((transaction) => !read.has(transaction)));
      const unnamed = ids.filter((id) => !byId.has(id));
      if (unread.size + unnamed.length === 0) return;
      const ofTransactions = new Map<string, RefundOnRecord[]>();
      for await (const rows of readRefunds(em, scope, { transactions: [...unread], ids: unnamed, period }))
        for (const row of rows) {
          byId.set(row.refund_id, row);
          if (!unread.has(row.provider_transaction_id)) continue;
          const key = exactAmountOf(row);
          const refunds = ofTransactions.get(key) ?? [];
          refunds.push(row);
          ofTransactions.set(key, refunds);
        }
      for (const refunds of ofTransactions.values()) {
        const [first] = refunds;
        if (first !== undefined) byAmount.set(keyOf(refundMoney(first)), refunds.reverse());
      }
      for (const transaction of unread) read.add(transaction);
    },
    take(entry, transaction) {
      const { requestId, amount, currency } = entry;
      const next = isPublicId('rfd', requestId)
        ? byId.get(storedId('rfd', requestId))
        : nextOfAmount(keyOf({ providerTransactionId: transaction, amount, currency }));
      if (next === undefined || taken.has(next.refund_id)) return undefined;
      taken.add(next.refund_id);
      return refundMoney(next);
    },
    isTaken: (refundId) => taken.has(refundId),
  };
}

const exactAmountOf = (row: RefundOnRecord): string =>
  `${row.provider_transaction_id}\n${row.currency}\n${row.minor_units}`;

/** An amount that is no decimal equals no other. */
const keyOf = (money: Pick<KnownRefund, 'providerTransactionId' | 'currency' | 'amount'>): string =>
  `${money.providerTransactionId}\n${money.currency}\n${canonicalDecimal(money.amount) ?? ''}`;
