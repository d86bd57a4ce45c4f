import { noMerchantId, storedId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import type { Entry, KnownMoney, Records } from './compare-entry.ts';
import { isOn, mustContain } from './reconciliation-day.ts';
import type { ComparedPeriod } from './compare-entry.ts';

/** Sums of one merchant, wallet, day and currency. Amounts are in millionths of the currency. */
export interface MoneySums {
  statementIn: bigint;
  statementOut: bigint;
  completed: bigint;
  strays: bigint;
  reversals: bigint;
  refunds: bigint;
}

export interface MoneyDay {
  /** That of `noMerchantId` for money that no record explains, and for stray payments that belong to no merchant. */
  readonly merchantId: StoredId<'mer'>;
  readonly currency: string;
  readonly sums: MoneySums;
}

const decimals = 6;

/** Zero for a text that is no amount. The comparison reports such an entry. */
function millionths(text: string): bigint {
  const match = /^(\d+)(?:\.(\d*))?$/.exec(text.trim());
  if (match === null) return 0n;
  const [, whole = '0', fraction = ''] = match;
  return BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'));
}

/** Decimal text of an amount in millionths, which may be negative. */
export function decimalOf(amount: bigint): string {
  const digits = String(amount < 0n ? -amount : amount).padStart(decimals + 1, '0');
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/**
 * The balance of one day of a payee account: what the statement has, and what is recorded here. An entry and its record count on the day of the
 * entry, so a payment around midnight is on both sides of the same day. Records that the statement does not have count on the day of the record.
 */
export class MoneyBalance {
  readonly #days = new Map<string, MoneyDay>();
  readonly #period: ComparedPeriod;

  constructor(period: ComparedPeriod) {
    this.#period = period;
  }

  get days(): readonly MoneyDay[] {
    return [...this.#days.values()];
  }

  addEntry(entry: Entry, records: Records): void {
    if (!isOn(this.#period.day, entry.occurredAt)) {
      if (entry.type === 'PAYMENT') this.#addMissingReturn(entry, records);
      return;
    }
    if (entry.type === 'PAYMENT') this.#addPayment(entry, records);
    if (entry.type === 'REVERSAL' && entry.status === 'COMPLETED') this.#addReturn(entry, records);
  }

  /** Adds recorded money that the statement does not have. */
  addMissing(known: KnownMoney): void {
    const sums = this.#sumsOf(known.merchantId, known.currency);
    sums[recordedAs[known.recordType]] += millionths(known.amount);
  }

  #addPayment(entry: Entry, records: Records): void {
    const { byTransaction, byRequest, hasReversal, isRepeated } = records;
    const paid = byTransaction?.recordType === 'refund' ? undefined : byTransaction;
    const moved = entry.status === 'COMPLETED' || entry.status === 'REVERSED';
    if (moved) {
      this.#sumsOf((paid ?? byRequest)?.merchantId, entry.currency).statementIn += millionths(entry.amount);
    }
    // A record of another payee account counts in the balance of that account only, and each record counts once.
    const counted = paid?.isElsewhere === true || isRepeated ? undefined : paid;
    if (counted !== undefined && (counted.recordType === 'stray' || counted.status === 'SUCCEEDED'))
      this.#sumsOf(counted.merchantId, counted.currency)[recordedAs[counted.recordType]] += millionths(
        counted.amount,
      );
    // Some statements mark a returned payment instead of adding an entry.
    if (entry.status === 'REVERSED' && !hasReversal) this.#addReturn(entry, { ...records, original: paid });
    else if (
      this.#period.listsReversals &&
      counted?.recordType === 'stray' &&
      counted.status === 'REVERSED' &&
      !hasReversal &&
      mustContain(this.#period.readUntil, counted.updatedAt)
    )
      this.#sumsOf(counted.merchantId, counted.currency).reversals += millionths(counted.amount);
  }

  /** Adds the return of an earlier stray payment that the wallet confirmed on this day, and that the statement does not have. */
  #addMissingReturn({ status }: Entry, { byTransaction: known, hasReversal, isRepeated }: Records): void {
    const { day, readUntil, listsReversals } = this.#period;
    if (!listsReversals || hasReversal || isRepeated || status === 'REVERSED') return;
    if (known?.recordType !== 'stray' || known.isElsewhere || known.isSettled) return;
    const { updatedAt } = known;
    if (known.status === 'REVERSED' && isOn(day, updatedAt) && mustContain(readUntil, updatedAt))
      this.#sumsOf(known.merchantId, known.currency).reversals += millionths(known.amount);
  }

  #addReturn(entry: Entry, { refund, original, byRequest, isRepeated }: Records): void {
    const returned = refund ?? original ?? byRequest;
    this.#sumsOf(returned?.merchantId, entry.currency).statementOut += millionths(entry.amount);
    if (returned === undefined || returned.isElsewhere || returned.status !== 'REVERSED') return;
    // A payment may have many refunds, and each is matched with one entry. A stray payment is returned once.
    if (isRepeated && returned.recordType === 'stray') return;
    this.#sumsOf(returned.merchantId, returned.currency)[returnedAs[returned.recordType]] += millionths(
      returned.amount,
    );
  }

  #sumsOf(merchantId: StoredId<'mer'> = noMerchant, currency: string): MoneySums {
    const key = `${merchantId} ${currency}`;
    const found = this.#days.get(key);
    if (found !== undefined) return found.sums;
    const zero = 0n;
    const sums = {
      statementIn: zero,
      statementOut: zero,
      completed: zero,
      strays: zero,
      reversals: zero,
      refunds: zero,
    };
    this.#days.set(key, { merchantId, currency, sums });
    return sums;
  }
}

const noMerchant = storedId('mer', noMerchantId);
const recordedAs = { attempt: 'completed', stray: 'strays', refund: 'refunds' } as const;
const returnedAs = { attempt: 'refunds', stray: 'reversals', refund: 'refunds' } as const;
