import { setTimeout as delay } from 'node:timers/promises';
import { queryOnce } from '../support/database-connections.ts';

/** An order that was answered with 201: registered, or with a direct payment in progress. */
export interface Acknowledged {
  readonly orderNumber: string;
  readonly kind: 'API' | 'DIRECT';
  readonly amount: string;
  /** Empty for a direct payment. */
  readonly checkoutUrl: string;
  /** The number of times that it was sent. */
  readonly sent: number;
}

/**
 * Many concurrent shops, so that core writes batches. Each repeats an order until it is acknowledged, and then
 * pauses.
 */
export interface BatchTraffic {
  readonly acknowledged: readonly Acknowledged[];
  /** Requests in progress. */
  readonly open: () => number;
  /** Busy, as at the beginning, so that core writes batches, or calm for the time in which a process starts. */
  readonly pace: (pace: keyof typeof pausesMs) => void;
  /** Waits until the last order of every shop is acknowledged. */
  readonly stop: () => Promise<void>;
  /** Repeats every acknowledged order, and returns those for which the answer differs. */
  readonly findChanged: () => Promise<string[]>;
}

const retryMs = 100;
const pausesMs = { busy: 25, calm: 400 };
const answerTimeoutMs = 20_000;

export function startBatchTraffic(options: {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly shops: number;
}): BatchTraffic {
  const { baseUrl, apiKey, shops } = options;
  const acknowledged: Acknowledged[] = [];
  let open = 0;
  let stopped = false;
  let pauseMs = pausesMs.busy;

  /** The checkout URL of a registration, '' for a direct payment, and undefined when it was not acknowledged. */
  const send = async ({ orderNumber, kind, amount }: Sent): Promise<string | undefined> => {
    const path = kind === 'API' ? '/api/v1/register' : '/api/v1/direct?payment_option=walleta_ussd';
    const money = { order_number: orderNumber, amount, currency: 'ETB' };
    const rest =
      kind === 'API'
        ? { reason: 'A test', customer_phone: '0911223344', return_url: 'https://shop.example/return' }
        : { phone: '0911223344' };
    open += 1;
    try {
      const response = await fetch(`${baseUrl}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', apiKey },
        body: JSON.stringify({ ...money, ...rest }),
        signal: AbortSignal.timeout(answerTimeoutMs),
      });
      const body = (await response.json()) as { readonly data?: { readonly checkout_url?: string } };
      return response.status === 201 ? (body.data?.checkout_url ?? '') : undefined;
    } catch {
      return undefined;
    } finally {
      open -= 1;
    }
  };

  const run = async (shop: number): Promise<void> => {
    for (let index = 0; !stopped; index += 1) {
      const kind = (shop + index) % 3 === 0 ? 'DIRECT' : 'API';
      const order: Sent = { orderNumber: `B-${shop}-${index}`, kind, amount: `${index + 1}.25` };
      for (let sent = 1; ; sent += 1) {
        const checkoutUrl = await send(order);
        if (checkoutUrl !== undefined) {
          acknowledged.push({ ...order, checkoutUrl, sent });
          break;
        }
        await delay(retryMs);
      }
      await delay(pauseMs);
    }
  };
  const running = Array.from({ length: shops }, (_, shop) => run(shop));

  return {
    acknowledged,
    open: () => open,
    pace: (pace) => {
      pauseMs = pausesMs[pace];
    },
    stop: async () => {
      stopped = true;
      await Promise.all(running);
    },
    findChanged: async () => {
      const waiting = [...acknowledged];
      const changed: string[] = [];
      const resendWaiting = async (): Promise<void> => {
        for (let order = waiting.pop(); order !== undefined; order = waiting.pop()) {
          const checkoutUrl = await send(order);
          if (checkoutUrl !== order.checkoutUrl)
            changed.push(`${order.orderNumber} came back with ${checkoutUrl ?? 'an error'}`);
        }
      };
      await Promise.all(Array.from({ length: shops }, resendWaiting));
      return changed;
    },
  };
}

type Sent = Pick<Acknowledged, 'orderNumber' | 'kind' | 'amount'>;

interface StoredOrder {
  readonly order_number: string;
  readonly payment_type: string;
  readonly amount_text: string;
  readonly status: string;
  readonly events: string;
  readonly sequences: string;
  readonly attempts: number;
}

const storedOrders = `
select o.order_number, o.payment_type::text, o.amount_text, o.status::text,
  (select coalesce(string_agg(e.type::text, ' ' order by e.sequence), '') from core.order_events e
   where e.merchant_id = o.merchant_id and e.order_id = o.id) as events,
  (select coalesce(string_agg(e.sequence::text, ' ' order by e.sequence), '') from core.order_events e
   where e.merchant_id = o.merchant_id and e.order_id = o.id) || ' of ' || o.last_event_sequence as sequences,
  (select count(*)::int from core.payment_attempts a where a.merchant_id = o.merchant_id and a.order_id = o.id) as attempts
from core.orders o`;

const wholeStories = { API: 'CREATED', DIRECT: 'CREATED PAYMENT_STARTED' } as const;
const wholeSequences = { API: '1 of 1', DIRECT: '1 2 of 2' } as const;

/**
 * The faults in PostgreSQL: an acknowledged order that is missing, duplicated or different, and any order without its
 * events or attempt, or the reverse.
 */
export async function findStoredFaults(
  databaseUrl: string,
  acknowledged: readonly Acknowledged[],
): Promise<string[]> {
  const rows = await queryOnce<StoredOrder>(databaseUrl, storedOrders);
  const orphans = await queryOnce<{ fault: string }>(
    databaseUrl,
    `select 'event of no order: ' || e.order_id as fault from core.order_events e
     where not exists (select from core.orders o where o.merchant_id = e.merchant_id and o.id = e.order_id)`,
  );
  const byNumber = Map.groupBy(rows, (row) => row.order_number);
  return [
    ...orphans.map(({ fault }) => fault),
    ...rows.flatMap((row) => partsMissing(row)),
    ...acknowledged.flatMap((order) => differences(order, byNumber.get(order.orderNumber) ?? [])),
  ];
}

function partsMissing(row: StoredOrder): string[] {
  const kind = row.payment_type === 'DIRECT' ? 'DIRECT' : 'API';
  const isWhole =
    row.events === wholeStories[kind] &&
    row.sequences === wholeSequences[kind] &&
    row.attempts === (kind === 'DIRECT' ? 1 : 0);
  return isWhole ? [] : [`not whole: ${JSON.stringify(row)}`];
}

function differences({ orderNumber, kind, amount }: Acknowledged, rows: readonly StoredOrder[]): string[] {
  const [row, ...others] = rows;
  if (row === undefined) return [`${orderNumber} was acknowledged and is lost`];
  if (others.length > 0) return [`${orderNumber} is there ${rows.length} times`];
  const isSame = row.payment_type === kind && row.amount_text === amount && row.status === 'PENDING';
  return isSame
    ? []
    : [`${orderNumber} was acknowledged as ${kind} of ${amount} and is ${JSON.stringify(row)}`];
}

/**
 * The number of orders that the largest commit wrote. It is more than one if there were batches that a kill can
 * interrupt.
 */
export async function largestCommit(databaseUrl: string): Promise<number> {
  const [row] = await queryOnce<{ count: number }>(
    databaseUrl,
    'select count(distinct order_id)::int as count from core.order_events group by xid order by count desc limit 1',
  );
  return row?.count ?? 0;
}
