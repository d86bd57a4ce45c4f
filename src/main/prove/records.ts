import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import pg from 'pg';
import { publicId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';

/** An order of the campaign's merchant in the database. Money is in hundredths, because the load pays in ETB. */
export interface OrderRecord {
  readonly orderId: string;
  readonly orderNumber: string;
  readonly status: string;
  readonly amountText: string;
  readonly amount: number;
  readonly deducted: number;
  readonly refunded: number;
  readonly currency: string;
  readonly hasWebhook: boolean;
  readonly lastSequence: number;
  readonly events: readonly { readonly sequence: number; readonly type: string; readonly eventId: string }[];
  readonly attempts: readonly {
    readonly reference: string;
    readonly phone: string;
    readonly status: string;
    readonly createdAtMs: number;
  }[];
  readonly strays: readonly { readonly status: string; readonly amount: number }[];
  readonly refunds: readonly { readonly number: string; readonly status: string; readonly amount: number }[];
}

/** Money that a wallet moved, by its own ledger. */
export interface Charge {
  readonly wallet: string;
  /** The wallet's name of the transaction. */
  readonly transaction: string;
  /** The reference that we gave; empty without one. */
  readonly reference: string;
  /** Digits only. */
  readonly payer: string;
  readonly amount: number;
  readonly reversed: number;
  readonly currency: string;
  readonly chargedAtMs: number;
}

/** Each table is read once. A subquery for each order would read a table without an index of orders as often as there are orders. */
const statement = `
select o.id, o.order_number, o.status::text, o.amount_text, o.amount_minor_units::int as amount,
  o.deducted_minor_units::int as deducted, coalesce(o.refunded_minor_units, 0)::int as refunded, o.currency,
  o.webhook_url <> '' as has_webhook, o.last_event_sequence as last_sequence,
  coalesce(e.list, '[]') as events, coalesce(a.list, '[]') as attempts,
  coalesce(s.list, '[]') as strays, coalesce(r.list, '[]') as refunds
from core.orders o
left join (
  select order_id, json_agg(json_build_object('sequence', sequence, 'type', type, 'id', id) order by sequence) as list
  from core.order_events where merchant_id = $1 group by order_id
) e on e.order_id = o.id
left join (
  select order_id, json_agg(json_build_object('id', id, 'phone', phone, 'status', status,
    'created', extract(epoch from created_at) * 1000)) as list
  from core.payment_attempts where merchant_id = $1 group by order_id
) a on a.order_id = o.id
left join (
  select order_id, json_agg(json_build_object('status', status, 'amount', amount)) as list
  from core.stray_payments where merchant_id = $1 group by order_id
) s on s.order_id = o.id
left join (
  select order_id, json_agg(json_build_object('number', refund_number, 'status', status, 'amount', amount_minor_units)) as list
  from core.refunds where merchant_id = $1 group by order_id
) r on r.order_id = o.id
where o.merchant_id = $1`;

interface Row {
  readonly id: string;
  readonly order_number: string;
  readonly status: string;
  readonly amount_text: string;
  readonly amount: number;
  readonly deducted: number;
  readonly refunded: number;
  readonly currency: string;
  readonly has_webhook: boolean;
  readonly last_sequence: number;
  readonly events: readonly { sequence: number; type: string; id: StoredId<'evt'> }[];
  readonly attempts: readonly { id: string; phone: string; status: string; created: number }[];
  readonly strays: readonly { status: string; amount: string }[];
  readonly refunds: readonly { number: string; status: string; amount: number }[];
}

/** How long a database may take to answer. An operator's own database may hang, and the campaign must end. */
const limits = { connectionTimeoutMillis: 10_000, query_timeout: 60_000 };

/** Reads every order of a merchant from the database itself, without Gatehouse's own code. */
export async function readRecords(databaseUrl: string, merchantId: string): Promise<readonly OrderRecord[]> {
  const client = new pg.Client({ connectionString: databaseUrl, ...limits });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<Row>(statement, [merchantId]);
    return rows.map((row) => ({
      orderId: row.id,
      orderNumber: row.order_number,
      status: row.status,
      amountText: row.amount_text,
      amount: row.amount,
      deducted: row.deducted,
      refunded: row.refunded,
      currency: row.currency,
      hasWebhook: row.has_webhook,
      lastSequence: row.last_sequence,
      events: row.events.map(({ id, ...event }) => ({ ...event, eventId: publicId('evt', id) })),
      attempts: row.attempts.map(({ id, created, phone, status }) => ({
        reference: id,
        phone: digits(phone),
        status,
        createdAtMs: created,
      })),
      strays: row.strays.map(({ status, amount }) => ({ status, amount: hundredths(amount) })),
      refunds: row.refunds,
    }));
  } finally {
    await client.end();
  }
}

const digits = (phone: string): string => phone.replace(/^\+/, '');
const hundredths = (amount: string): number => Math.round(Number(amount) * 100);

const Charges = Type.Object({
  charges: Type.Array(
    Type.Object({
      wallet: Type.String(),
      transaction_reference: Type.String(),
      correlation_id: Type.Union([Type.String(), Type.Null()]),
      payer: Type.String(),
      amount: Type.String(),
      reversed: Type.String(),
      currency: Type.String(),
      charged_at: Type.String(),
    }),
  ),
});

/** Reads the ledgers of the simulated wallets. */
export async function readCharges(simulatorUrl: string): Promise<readonly Charge[]> {
  const response = await fetch(`${simulatorUrl}/simulator/charges`, { signal: AbortSignal.timeout(30_000) });
  const answer: unknown = await response.json();
  if (!Value.Check(Charges, answer)) throw new Error('the wallet simulator did not return its charges');
  return answer.charges.map((charge) => ({
    wallet: charge.wallet,
    transaction: charge.transaction_reference,
    reference: charge.correlation_id?.toLowerCase() ?? '',
    payer: digits(charge.payer),
    amount: hundredths(charge.amount),
    reversed: hundredths(charge.reversed),
    currency: charge.currency,
    chargedAtMs: Date.parse(charge.charged_at),
  }));
}
