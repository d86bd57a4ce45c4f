import type { Pool } from 'pg';
import { publicId } from '../../../contract/public-id.ts';
import type { PublicId, StoredId } from '../../../contract/public-id.ts';
import { runStatement } from '../../../platform/database/run-statement.ts';
import type { Environment } from '../../domain/order.ts';
import { undecidedAfterMs } from '../../domain/reversal.ts';

/** The time an hour ago, in SQL. Money that a wallet has not decided since then waits for a person. */
const hourAgo = `now() - interval '${undecidedAfterMs} milliseconds'`;

/** A payment, refund or stray payment that waits for a person, with public ids. */
export interface UnsettledMoney {
  readonly merchantId: PublicId<'mer'>;
  readonly environment: Environment;
  /** Undefined for a stray payment without an order. */
  readonly orderId: PublicId<'ord'> | undefined;
  readonly kind: 'attempt' | 'stray' | 'refund';
  readonly id: string;
  readonly paymentOption: string;
  /** Decimal text for a stray payment, and minor units for the others. */
  readonly amount: { readonly text: string } | { readonly minorUnits: bigint };
  readonly currency: string;
  readonly since: Date;
  /** Why the wallet's latest answer decided nothing; may be empty. */
  readonly detail: string;
}

/** The position of an item in the list, with its stored id. */
export interface UnsettledPosition {
  readonly since: Date;
  readonly id: string;
}

export interface Unsettled {
  /** The longest waiting first. */
  readonly items: readonly UnsettledMoney[];
  readonly counts: Readonly<Record<UnsettledMoney['kind'], bigint>>;
}

interface Row {
  readonly kind: UnsettledMoney['kind'];
  readonly merchant_id: StoredId<'mer'>;
  readonly environment: Environment;
  readonly order_id: StoredId<'ord'> | null;
  readonly id: StoredId<'pat'> & StoredId<'stp'> & StoredId<'rfd'>;
  readonly payment_option: string;
  readonly amount: string;
  readonly currency: string;
  readonly since: Date;
  readonly detail: string;
  readonly attempts: string;
  readonly strays: string;
  readonly refunds: string;
}

const waitingMoney = `
with waiting as (
  select 'attempt' as kind, a.merchant_id, a.environment, a.order_id, a.id, a.payment_option,
    o.amount_minor_units::text as amount, o.currency, coalesce(a.prompt_until, a.created_at) as since,
    case a.status when 'UNKNOWN' then a.detail else '' end as detail
  from core.payment_attempts a
  join core.orders o on o.merchant_id = a.merchant_id and o.environment = a.environment and o.id = a.order_id
  where a.due_at is not null and a.status in ('SENT', 'UNKNOWN') and o.status = 'PENDING'
    and coalesce(a.prompt_until, a.created_at) < ${hourAgo}
  union all
  select 'stray', s.merchant_id, s.environment, s.order_id, s.id, s.payment_option, s.amount, s.currency,
    case s.status when 'REVERSAL_REFUSED' then s.updated_at else s.asked_since end, s.detail
  from core.stray_payments s
  where s.status = 'REVERSAL_REFUSED'
    or s.due_at is not null and s.maybe_sent and s.asked_since < ${hourAgo}
  union all
  select 'refund', r.merchant_id, r.environment, r.order_id, r.id, r.payment_option, r.amount_minor_units::text, r.currency,
    coalesce(r.asked_since, r.created_at), r.detail
  from core.refunds r
  where r.due_at is not null and r.maybe_sent and coalesce(r.asked_since, r.created_at) < ${hourAgo}
)
select * from (
  select w.*, count(*) filter (where kind = 'attempt') over ()::text as attempts,
    count(*) filter (where kind = 'stray') over ()::text as strays,
    count(*) filter (where kind = 'refund') over ()::text as refunds
  from waiting w where $1::uuid is null or merchant_id = $1
) counted
where $3::timestamptz is null or (since, id) > ($3, $4::uuid)
order by since, id limit $2`;

/**
 * The money that waits for a person: refused reversals, and money that a wallet has not decided for an hour. That can be an attempt, a refund or
 * the reversal of a stray payment. `now` is the time of the database. Reads partial indexes of open work.
 */
export async function readUnsettled(
  pool: Pool,
  {
    merchantId,
    limit,
    after,
  }: {
    readonly merchantId: StoredId<'mer'> | undefined;
    readonly limit: number;
    readonly after?: UnsettledPosition | undefined;
  },
): Promise<Unsettled> {
  const rows = await runStatement<Row>(pool, {
    text: waitingMoney,
    values: [merchantId ?? null, limit, after?.since ?? null, after?.id ?? null],
  });
  const [first] = rows;
  const counts = {
    attempt: BigInt(first?.attempts ?? 0),
    stray: BigInt(first?.strays ?? 0),
    refund: BigInt(first?.refunds ?? 0),
  };
  return { counts, items: rows.map(moneyOf) };
}

const prefixes = { attempt: 'pat', stray: 'stp', refund: 'rfd' } as const;

const moneyOf = ({ kind, amount, ...row }: Row): UnsettledMoney => ({
  kind,
  merchantId: publicId('mer', row.merchant_id),
  environment: row.environment,
  orderId: row.order_id === null ? undefined : publicId('ord', row.order_id),
  id: publicId(prefixes[kind], row.id),
  paymentOption: row.payment_option,
  amount: kind === 'stray' ? { text: amount } : { minorUnits: BigInt(amount) },
  currency: row.currency,
  since: row.since,
  detail: row.detail,
});
