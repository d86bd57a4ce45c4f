import type { EntityManager } from '@mikro-orm/postgresql';
import { isSearchedByEnd, storedEnd } from '../database/attempt-id-end.sql.ts';
import { Currency } from '../domain/currency.ts';
import { Money } from '../domain/money.ts';
import type {
  Environment,
  PaymentAttemptStatus,
  PaymentOption,
  StrayPaymentStatus,
} from '../domain/order.ts';
import type { Reversal } from '../domain/reversal.ts';
import type { KnownMoney, KnownRefund } from './compare-entry.ts';
import type { Day } from './reconciliation-day.ts';
import type { StoredId } from '../../contract/public-id.ts';

/** One payee account at a wallet in one environment, for all merchants. */
export interface WalletScope {
  readonly environment: Environment;
  readonly options: readonly PaymentOption[];
  /** Whether the payee account is the operator's, so that payments without an own account belong to it. */
  readonly isOperators: boolean;
  /** Stored ids of the own accounts with this payee account. */
  readonly accounts: readonly string[];
  /** Stored ids of the own accounts with another one. Accounts that were removed long ago are in neither list. */
  readonly otherAccounts: readonly string[];
}

interface AttemptRow {
  readonly merchant_id: StoredId<'mer'>;
  readonly payment_attempt_id: StoredId<'pat'>;
  readonly provider_transaction_id: string | null;
  readonly minor_units: string;
  readonly currency: string;
  readonly status: PaymentAttemptStatus;
  readonly updated_at: string;
  readonly is_elsewhere: boolean;
}

interface StrayRow {
  readonly merchant_id: StoredId<'mer'>;
  readonly payment_attempt_id: StoredId<'pat'> | null;
  readonly stray_payment_id: StoredId<'stp'>;
  readonly reversal_id: string;
  readonly provider_transaction_id: string;
  readonly amount: string;
  readonly currency: string;
  readonly status: StrayPaymentStatus;
  readonly is_settled: boolean;
  readonly updated_at: string;
  readonly is_elsewhere: boolean;
}

/** Whether a payment was made with this payee account. It has one parameter: the scope's accounts. */
const isInScope = (attempt: string, { isOperators }: WalletScope): string =>
  `(${isOperators ? `${attempt}.wallet_account_id is null or ` : ''}${attempt}.wallet_account_id = any(?::uuid[]))`;
/** Whether a payment was made with another payee account. It has one parameter: the other accounts. */
const isElsewhere = (attempt: string, { isOperators }: WalletScope): string =>
  `coalesce(${isOperators ? '' : `${attempt}.wallet_account_id is null or `}${attempt}.wallet_account_id = any(?::uuid[]), false)`;

/** `from`: the attempts, instead of all. Its parameters are behind the first one. */
const selectAttempts = (scope: WalletScope, from = 'core.payment_attempts'): string => `
select a.merchant_id, a.id as payment_attempt_id, a.provider_transaction_id, o.amount_minor_units::text as minor_units,
  o.currency, a.status, a.updated_at, ${isElsewhere('a', scope)} as is_elsewhere
from ${from} a
join core.orders o on o.merchant_id = a.merchant_id and o.environment = a.environment and o.id = a.order_id
where a.environment = ?::core.environment and a.payment_option = any(?::text[])`;

// A payment that its payer started has no attempt. It was made to the operator's account.
const selectStrays = (scope: WalletScope, from = 'core.stray_payments'): string => `
select s.merchant_id, s.payment_attempt_id, s.id as stray_payment_id, s.reversal_id, s.provider_transaction_id, s.amount,
  s.currency, s.status, s.settlement_id is not null as is_settled, s.updated_at, ${isElsewhere('a', scope)} as is_elsewhere
from ${from} s
left join core.payment_attempts a on a.merchant_id = s.merchant_id and a.id = s.payment_attempt_id
where s.environment = ?::core.environment and s.payment_option = any(?::text[])`;

/**
 * In SQL: when a payment began, so its entry in the statement is not older. A payment that its payer started has no request of ours, and its attempt
 * or stray payment exists only since the wallet confirmed it. It began before its report, whose id has the time. Wallets report at once.
 */
const attemptBegun = (attempt: string): string => `coalesce((
    select uuid_extract_timestamp(reported.id) from core.payer_payments reported
    where ${attempt}.origin = 'PAYER' and reported.environment = ${attempt}.environment
      and reported.wallet = regexp_replace(${attempt}.payment_option, '_[a-z]+$', '')
      and reported.provider_transaction_id = ${attempt}.provider_transaction_id
  ), ${attempt}.created_at)`;
/** `attemptCreated`: the creation of its attempt, or null. */
const strayBegun = (stray: string, attemptCreated: string): string =>
  `coalesce(${attemptCreated}, uuid_extract_timestamp(${stray}.payer_payment_id), ${stray}.created_at)`;

/** A PostgreSQL array literal. */
const textArrayLiteral = (items: readonly string[]): string =>
  `{${items.map((item) => `"${item.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
const scopeValues = ({ environment, options }: WalletScope): string[] => [
  environment,
  textArrayLiteral(options),
];

const pageSize = 500;

/**
 * Pages of the rows of a query, within a transaction. A day can have very many payments and refunds, so other calls take turns between two pages. Read all
 * pages before the next query of this kind.
 */
async function* pagesOf<Row>(
  em: EntityManager,
  query: string,
  values: readonly unknown[],
): AsyncGenerator<Row[], undefined> {
  await em.execute(`declare known_money no scroll cursor for ${query}`, values);
  for (let isLast = false; !isLast;) {
    const rows = await em.execute<Row[]>(`fetch ${pageSize} from known_money`);
    isLast = rows.length < pageSize;
    yield rows;
  }
  await em.execute('close known_money');
}

async function readMoney(
  em: EntityManager,
  scope: WalletScope,
  where: { readonly attempts: string; readonly strays: string },
  values: readonly unknown[],
  strayValues = values,
): Promise<KnownMoney[]> {
  const common = [textArrayLiteral(scope.otherAccounts), ...scopeValues(scope)];
  const found = await em.execute<AttemptRow[]>(`${selectAttempts(scope)} and ${where.attempts}`, [
    ...common,
    ...values,
  ]);
  const stray = await em.execute<StrayRow[]>(`${selectStrays(scope)} and ${where.strays}`, [
    ...common,
    ...strayValues,
  ]);
  // A stray payment is also found by its attempt. The stray payment comes last, because it takes precedence.
  return [...found.map(attemptMoney), ...stray.map(strayMoney)];
}

/** The records with these transaction ids of the wallet. */
export async function findByTransaction(
  em: EntityManager,
  scope: WalletScope,
  ids: readonly string[],
): Promise<ReadonlyMap<string, KnownMoney>> {
  const column = 'provider_transaction_id = any(?::text[])';
  const known = await readMoney(em, scope, { attempts: `a.${column}`, strays: `s.${column}` }, [
    textArrayLiteral(ids),
  ]);
  return new Map(known.map((money) => [money.providerTransactionId, money]));
}

/** Attempts and stray payments by stored ids, including earlier reversals that were retried. */
export async function findByRequest(
  em: EntityManager,
  scope: WalletScope,
  ids: readonly string[],
): Promise<ReadonlyMap<string, KnownMoney>> {
  const where = {
    attempts: 'a.id = any(?::uuid[])',
    // Each has an index. The two as an array would be compared with each id, for each stray payment.
    strays: '(s.id = any(?::uuid[]) or s.reversal_id = any(?::uuid[]))',
  };
  const values = [textArrayLiteral(ids)];
  const known = await readMoney(em, scope, where, values, [...values, ...values]);
  return new Map(known.flatMap((money) => idsOf(money).map((id): [string, KnownMoney] => [id, money])));
}

/**
 * Attempts by the ends of their ids, as `storedEndOf` gives them, which some wallets repeat instead of the whole. Paid attempts have no
 * index for that.
 */
export async function findByIdEnd(
  em: EntityManager,
  scope: WalletScope,
  ends: readonly string[],
): Promise<ReadonlyMap<string, KnownMoney>> {
  const rows = await em.execute<AttemptRow[]>(
    `${selectAttempts(scope)} and ${storedEnd('a')} = any(?::text[]) and ${isSearchedByEnd('a')}`,
    [textArrayLiteral(scope.otherAccounts), ...scopeValues(scope), textArrayLiteral(ends)],
  );
  return new Map(rows.map((row) => [endOf(row), attemptMoney(row)]));
}

const endOf = ({ payment_attempt_id: id }: AttemptRow): string => id.replaceAll('-', '').slice(-15);

const idsOf = (money: KnownMoney): string[] =>
  money.recordType === 'stray'
    ? [money.strayPaymentId, money.reversalId]
    : [money.paymentAttemptId].filter((id) => id !== null);

/**
 * Money of the payee account, recorded between two times, that the statement does not contain, in any order. Payments that began before
 * `readFrom` cannot be in it.
 */
export async function* findMissing(
  em: EntityManager,
  scope: WalletScope,
  reconciliationId: StoredId<'rec'>,
  { from, until, readFrom }: Day & { readonly readFrom: Date },
): AsyncGenerator<KnownMoney, undefined> {
  // Evaluated separately (offset 0), so that only missing records are joined.
  const unlisted = (table: string, condition: string): string => `(
  select m.* from core.${table} m
  where m.environment = ?::core.environment and m.payment_option = any(?::text[]) and ${condition}
    and not exists (
      select from core.statement_entries e
      where e.reconciliation_id = ? and e.provider_transaction_id = m.provider_transaction_id and e.type = 'PAYMENT'
    )
  offset 0
)`;
  const attemptCondition = `m.status = 'SUCCEEDED' and m.updated_at >= ? and m.updated_at < ? and ${attemptBegun('m')} >= ?
    and ${isInScope('m', scope)}`;
  const ofPayment = `exists (
    select from core.payment_attempts p
    where p.merchant_id = m.merchant_id and p.id = m.payment_attempt_id and ${isInScope('p', scope)}
  )`;
  const withoutAttempt = scope.isOperators ? 'm.payment_attempt_id is null or ' : '';
  const attemptCreated = `(
    select b.created_at from core.payment_attempts b where b.merchant_id = m.merchant_id and b.id = m.payment_attempt_id
  )`;
  const begun = strayBegun('m', attemptCreated);
  const strayCondition = `m.created_at >= ? and m.created_at < ? and ${begun} >= ? and (${withoutAttempt}${ofPayment})`;
  const values = [
    textArrayLiteral(scope.otherAccounts),
    ...scopeValues(scope),
    ...[from, until, readFrom].map((time) => time.toISOString()),
    textArrayLiteral(scope.accounts),
    reconciliationId,
    ...scopeValues(scope),
  ];
  const attempts = selectAttempts(scope, unlisted('payment_attempts', attemptCondition));
  for await (const rows of pagesOf<AttemptRow>(em, attempts, values)) yield* rows.map(attemptMoney);
  const strays = selectStrays(scope, unlisted('stray_payments', strayCondition));
  for await (const rows of pagesOf<StrayRow>(em, strays, values)) yield* rows.map(strayMoney);
}

export interface RefundOnRecord {
  readonly merchant_id: StoredId<'mer'>;
  readonly payment_attempt_id: StoredId<'pat'>;
  readonly refund_id: StoredId<'rfd'>;
  readonly provider_transaction_id: string;
  readonly minor_units: string;
  readonly currency: string;
  readonly status: Reversal['status'];
  readonly updated_at: string;
  readonly is_elsewhere: boolean;
}

// After a restore, an open refund may have been sent in the lost time, although this database knows no try. A refund that operators settled is
// decided by their evidence, which the statement may not have.
const sentRefunds = (scope: WalletScope): string => `
select r.merchant_id, r.payment_attempt_id, r.id as refund_id, r.provider_transaction_id,
  r.amount_minor_units::text as minor_units, r.currency, r.status, r.updated_at, ${isElsewhere('a', scope)} as is_elsewhere
from core.refunds r
join core.payment_attempts a on a.merchant_id = r.merchant_id and a.id = r.payment_attempt_id
where r.environment = ?::core.environment and r.payment_option = any(?::text[]) and (r.tries > 0 or r.maybe_sent)`;

/** When a refund was requested first, so its entry in the statement is not older. Rows of earlier versions have no such time. */
const askedAt = 'coalesce(r.asked_since, r.created_at)';

/**
 * Pages of the refunds that the wallet got, of these transactions or with these stored ids. Those that were requested and recorded in the period of
 * the statement come first, because the entry of an earlier refund is in an earlier statement. Of these, COMPLETED ones come first.
 */
export function readRefunds(
  em: EntityManager,
  scope: WalletScope,
  asked: {
    readonly transactions: readonly string[];
    readonly ids: readonly string[];
    readonly period: { readonly readFrom: Date; readonly readUntil: Date };
  },
): AsyncGenerator<RefundOnRecord[], undefined> {
  const { transactions, ids, period } = asked;
  return pagesOf<RefundOnRecord>(
    em,
    `${sentRefunds(scope)} and (r.provider_transaction_id = any(?::text[]) or r.id = any(?::uuid[]))
order by ${askedAt} >= ? and r.updated_at between ? and ? desc, array_position(array['REVERSED', 'REVERSAL_DUE'], r.status::text) nulls last, r.id`,
    [
      textArrayLiteral(scope.otherAccounts),
      ...scopeValues(scope),
      textArrayLiteral(transactions),
      textArrayLiteral(ids),
      period.readFrom.toISOString(),
      period.readFrom.toISOString(),
      period.readUntil.toISOString(),
    ],
  );
}

/** It has three parameters: the day and the scope's accounts. */
const isCompleted = (scope: WalletScope): string =>
  `r.status = 'REVERSED' and r.settlement_id is null and r.updated_at >= ? and r.updated_at < ? and ${isInScope('a', scope)}`;

/**
 * The refunds out of the payee account that the wallet reported as carried out on a day, and that no operators settled, in any order. Refunds
 * that were requested before `readFrom` are left out, because the statement may not reach back to their entries.
 */
export async function* findCompletedRefunds(
  em: EntityManager,
  scope: WalletScope,
  { from, until, readFrom }: Day & { readonly readFrom: Date },
): AsyncGenerator<KnownRefund, undefined> {
  const pages = pagesOf<RefundOnRecord>(
    em,
    `${sentRefunds(scope)} and ${isCompleted(scope)} and ${askedAt} >= ?`,
    [
      textArrayLiteral(scope.otherAccounts),
      ...scopeValues(scope),
      from.toISOString(),
      until.toISOString(),
      textArrayLiteral(scope.accounts),
      readFrom.toISOString(),
    ],
  );
  for await (const rows of pages) yield* rows.map(refundMoney);
}

/**
 * The start of the payee account's oldest payment, or the request of its oldest refund, that ended on a day; undefined without one. A stray
 * payment that the wallet returned on the day counts too, because its entry leads to the return. `earliest`: how far back that is looked for.
 */
export async function oldestBegun(
  em: EntityManager,
  scope: WalletScope,
  { from, until }: Day,
  earliest: Date,
): Promise<Date | undefined> {
  const ofDay = [from.toISOString(), until.toISOString(), textArrayLiteral(scope.accounts)];
  const values = [...scopeValues(scope), ...ofDay];
  const returned = [...scopeValues(scope), earliest.toISOString(), ...ofDay];
  const [row] = await em.execute<{ begun: string | null }[]>(
    `
select least(
  (select min(${attemptBegun('a')}) from core.payment_attempts a
   where a.environment = ?::core.environment and a.payment_option = any(?::text[])
     and a.status = 'SUCCEEDED' and a.updated_at >= ? and a.updated_at < ? and ${isInScope('a', scope)}),
  (select min(${strayBegun('s', 'a.created_at')}) from core.stray_payments s
   left join core.payment_attempts a on a.merchant_id = s.merchant_id and a.id = s.payment_attempt_id
   where s.environment = ?::core.environment and s.payment_option = any(?::text[])
     and s.created_at >= ? and s.created_at < ? and ${isInScope('a', scope)}),
  (select min(${strayBegun('s', 'a.created_at')}) from core.stray_payments s
   left join core.payment_attempts a on a.merchant_id = s.merchant_id and a.id = s.payment_attempt_id
   where s.environment = ?::core.environment and s.payment_option = any(?::text[]) and s.created_at >= ?
     and s.status = 'REVERSED' and s.settlement_id is null and s.updated_at >= ? and s.updated_at < ? and ${isInScope('a', scope)}),
  (select min(${askedAt}) from core.refunds r
   join core.payment_attempts a on a.merchant_id = r.merchant_id and a.id = r.payment_attempt_id
   where r.environment = ?::core.environment and r.payment_option = any(?::text[]) and ${isCompleted(scope)})
) as begun`,
    [...values, ...values, ...returned, ...values],
  );
  return row?.begun == null ? undefined : new Date(row.begun);
}

const attemptMoney = (row: AttemptRow): KnownMoney => ({
  recordType: 'attempt',
  merchantId: row.merchant_id,
  paymentAttemptId: row.payment_attempt_id,
  providerTransactionId: row.provider_transaction_id ?? '',
  amount: Money.formatMinorUnits(BigInt(row.minor_units), Currency.of(row.currency)),
  currency: row.currency,
  status: row.status,
  updatedAt: new Date(row.updated_at),
  isElsewhere: row.is_elsewhere,
});

const strayMoney = (row: StrayRow): KnownMoney => ({
  recordType: 'stray',
  merchantId: row.merchant_id,
  paymentAttemptId: row.payment_attempt_id,
  strayPaymentId: row.stray_payment_id,
  reversalId: row.reversal_id,
  isSettled: row.is_settled,
  providerTransactionId: row.provider_transaction_id,
  amount: row.amount,
  currency: row.currency,
  status: row.status,
  updatedAt: new Date(row.updated_at),
  isElsewhere: row.is_elsewhere,
});

export const refundMoney = (row: RefundOnRecord): KnownRefund => ({
  recordType: 'refund',
  merchantId: row.merchant_id,
  paymentAttemptId: row.payment_attempt_id,
  refundId: row.refund_id,
  providerTransactionId: row.provider_transaction_id,
  amount: Money.formatMinorUnits(BigInt(row.minor_units), Currency.of(row.currency)),
  currency: row.currency,
  status: row.status,
  updatedAt: new Date(row.updated_at),
  isElsewhere: row.is_elsewhere,
});
