import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredId } from '../../../contract/public-id.ts';
import type { Statement } from '../../../platform/database/run-statement.ts';
import { runReading } from '../../../platform/database/transaction-statement.ts';
import type { OrderRow, RefundRow } from '../../database/order-entities.ts';
import { merchantTakesPayments } from '../../database/takes-payments.sql.ts';
import { mayAccountBeRestored } from '../../database/was-account-lost.sql.ts';
import { WalletAccountRow } from '../../database/wallet-account-entity.ts';
import type { RefundSum } from '../../domain/refund-record.ts';

/** The stored facts that decide about a refund. */
export interface StoredRefundBasis {
  /** The refunds of the order, summed by status. An order can have any number of refunds, so core never reads all of them. */
  readonly refunds: readonly RefundSum[];
  /** The transaction that paid the order; '' when nothing has. */
  readonly providerTransactionId: string;
  readonly isStrayToo: boolean;
  /** Whether the merchant's own account that was paid does not exist any more. */
  readonly isAccountGone: boolean;
  /** Whether a restore may have lost that account, so that it can be added again. */
  readonly mayAccountBeRestored: boolean;
}

/** The facts about a new refund, under the lock of its order. */
export interface NewRefundFacts {
  readonly basis: StoredRefundBasis;
  readonly isNumberTaken: boolean;
  /** False while a restore may have lost refunds of the merchant, even before core has noticed it. */
  readonly takesPayments: boolean;
}

type BasisRow = {
  readonly statuses: readonly RefundSum['progress']['status'][];
  readonly sums: readonly string[];
  readonly provider_transaction_id: string | null;
  readonly wallet_account_id: StoredId<'wac'> | null;
  readonly is_stray_too: boolean;
};

// When one order has most refunds or stray payments, the plan for any order would read the whole table. The range of one id makes it use the
// index of orders.
const basisColumns = `
  sums.statuses::text[] as statuses, sums.sums::text[] as sums,
  paid.provider_transaction_id, paid.wallet_account_id,
  exists (
    select from core.stray_payments s
    where s.merchant_id = $1 and s.order_id between $2 and $2 and s.provider_transaction_id = paid.provider_transaction_id
  ) as is_stray_too`;

const basisTables = `
(
  select coalesce(array_agg(status), '{}') as statuses, coalesce(array_agg(minor_units), '{}') as sums
  from (
    select status, sum(amount_minor_units) as minor_units
    from core.refunds where merchant_id = $1 and order_id between $2 and $2 group by status
  ) each
) sums
left join core.payment_attempts paid on paid.merchant_id = $1 and paid.id = $3 and paid.status = 'SUCCEEDED'`;

const basis: Statement = { name: 'refund-basis', text: `select ${basisColumns} from ${basisTables}` };

const newRefund: Statement = {
  name: 'new-refund',
  text: `
select ${basisColumns},
  exists (
    select from core.refunds where merchant_id = $1 and environment = $4::core.environment and refund_number = $5
  ) as is_number_taken,
  ${merchantTakesPayments('$4::core.environment', '$1')} as takes_payments
from ${basisTables}`,
};

type OrderKey = Pick<OrderRow, 'merchantId' | 'id' | 'latestAttemptId'>;

const valuesOf = ({ merchantId, id, latestAttemptId }: OrderKey): unknown[] => [
  merchantId,
  id,
  latestAttemptId ?? null,
];

/** Reads the facts that decide about refunds of an order. */
export async function readRefundBasis(em: EntityManager, order: OrderKey): Promise<StoredRefundBasis> {
  const [row] = await runReading<BasisRow>(em, { ...basis, values: valuesOf(order) });
  return basisOf(em, order, row, 'no_lock');
}

/**
 * Reads the facts that decide about a new refund, in the transaction that has locked its order. They stay true until it ends, because it also
 * keeps the merchant's own account from being removed.
 */
export async function readNewRefund(
  em: EntityManager,
  order: OrderKey,
  { environment, refundNumber }: Pick<RefundRow, 'environment' | 'refundNumber'>,
): Promise<NewRefundFacts> {
  const [row] = await runReading<BasisRow & { is_number_taken: boolean; takes_payments: boolean }>(em, {
    ...newRefund,
    values: [...valuesOf(order), environment, refundNumber],
  });
  return {
    basis: await basisOf(em, order, row, 'lock_account'),
    isNumberTaken: row?.is_number_taken === true,
    takesPayments: row?.takes_payments === true,
  };
}

async function basisOf(
  em: EntityManager,
  { merchantId }: Pick<OrderRow, 'merchantId'>,
  row: BasisRow | undefined,
  lock: 'lock_account' | 'no_lock',
): Promise<StoredRefundBasis> {
  if (row === undefined) throw new Error('the facts about the refunds of an order are missing');
  const id = row.wallet_account_id;
  const isAccountGone =
    id !== null &&
    (await em.findOne(
      WalletAccountRow,
      { merchantId, id },
      { fields: ['id'], ...(lock === 'lock_account' ? { lockMode: LockMode.PESSIMISTIC_READ } : {}) },
    )) === null;
  return {
    refunds: row.statuses.map((status, index) => ({
      progress: { status },
      minorUnits: BigInt(row.sums[index] ?? 0),
    })),
    providerTransactionId: row.provider_transaction_id ?? '',
    isStrayToo: row.is_stray_too,
    isAccountGone,
    mayAccountBeRestored: isAccountGone && (await mayAccountBeRestored(em, { merchantId, id })),
  };
}
