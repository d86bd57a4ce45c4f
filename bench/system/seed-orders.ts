import { withClient } from './servers.ts';
import { columnsOf } from './columns.ts';
import type { Column } from './columns.ts';
import { writtenByCore } from './fill-database.ts';
import type { BenchMerchant } from './fill-database.ts';

const ordersAStatement = 250_000;
const connections = 2;

/** The values that belong to one order. All others are those of an order that core ended. */
const ownOfOrder: Readonly<Record<string, string>> = {
  id: 's.id',
  order_number: 's.order_number',
  created_at: 't.created_at + s.shift',
  updated_at: 't.updated_at + s.shift',
  expires_at: 't.expires_at + s.shift',
};

const ownOfEvent: Readonly<Record<string, string>> = {
  order_id: 's.id',
  id: 'uuidv7(s.shift)',
  occurred_at: 't.occurred_at + s.shift',
};

/**
 * Makes orders S-<from> to S-<to> of the last thirty days, through the tables' own indexes and checks. Their events are
 * copies of the events of one order that core ended, with the same payload. No core may run, because it would send all
 * of them to the broker. Returns the seconds that it took, with the vacuum and the checkpoint that follow.
 */
export async function seedOrders(
  databaseUrl: string,
  merchant: BenchMerchant,
  from: number,
  to: number,
): Promise<number> {
  const begun = performance.now();
  const statement = await withClient(databaseUrl, async (client) =>
    copyingStatement(await columnsOf(client, 'core.orders'), await columnsOf(client, 'core.order_events'), {
      prefix: 'S-',
      shift: `interval '30 days' * (n::float8 / ${to}::bigint - 1)`,
    }),
  );
  let next = from;
  const seed = () =>
    withClient(databaseUrl, async (client) => {
      while (next <= to) {
        const [first, last] = [next, Math.min(to, next + ordersAStatement - 1)];
        next = last + 1;
        await client.query(statement, [merchant.storedId, writtenByCore.ended, first, last]);
      }
    });
  await Promise.all(Array.from({ length: connections }, seed));
  await tidyUp(databaseUrl);
  return (performance.now() - begun) / 1000;
}

/**
 * Makes PENDING orders from P-00000001 to the given number. They are copies of one that core registered just now, so they do not expire
 * during a run.
 */
export async function seedPendingOrders(
  databaseUrl: string,
  merchant: BenchMerchant,
  number: number,
): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    const [orders, events] = [
      await columnsOf(client, 'core.orders'),
      await columnsOf(client, 'core.order_events'),
    ];
    const shift = `interval '0'`;
    await client.query(copyingStatement(orders, events, { prefix: 'P-', shift }), [
      merchant.storedId,
      writtenByCore.registered,
      1,
      number,
    ]);
  });
  await tidyUp(databaseUrl);
}

/** @param shift - the difference of an order's times to those of the copied one, an SQL expression of the order's number n */
function copyingStatement(
  orders: readonly Column[],
  events: readonly Column[],
  { prefix, shift }: { readonly prefix: 'S-' | 'P-'; readonly shift: string },
): string {
  const names = (columns: readonly Column[]): string => columns.map(({ name }) => name).join(', ');
  const values = (columns: readonly Column[], own: Readonly<Record<string, string>>): string =>
    columns.map(({ name }) => own[name] ?? `t.${name}`).join(', ');
  return `
with template as materialized (
  select * from core.orders where merchant_id = $1::uuid and order_number = $2
), shifted as materialized (
  select n, ${shift} as shift from generate_series($3::bigint, $4::bigint) n
), seeds as materialized (
  select '${prefix}' || lpad(n::text, 8, '0') as order_number, shift, uuidv7(shift) as id from shifted
), events as (
  insert into core.order_events (${names(events)})
  select ${values(events, ownOfEvent)}
  from seeds s cross join core.order_events t
  where t.merchant_id = $1::uuid and t.order_id = (select id from template)
)
insert into core.orders (${names(orders)})
select ${values(orders, ownOfOrder)} from seeds s cross join template t`;
}

/** Does the work of autovacuum and of the next checkpoint now, so that they do not run during a measurement. */
async function tidyUp(databaseUrl: string): Promise<void> {
  const vacuum = (table: string) =>
    withClient(databaseUrl, (client) => client.query(`vacuum (analyze) core.${table}`));
  await Promise.all(['orders', 'order_events'].map(vacuum));
  await withClient(databaseUrl, async (client) => {
    // The tasks that read events would otherwise read all of these during a measurement.
    for (const follower of ['event_relay', 'order_counts_cursor']) {
      await client.query(
        `update core.${follower} f set xid = e.xid, position = e.position
         from (select xid, position from core.order_events order by xid desc, position desc limit 1) e`,
      );
    }
    const { rows } = await client.query<{ seals: boolean }>(
      `select to_regclass('core.event_seal') is not null as seals`,
    );
    // Versions before the seals can be compared too.
    if (rows[0]?.seals === true) {
      await client.query(
        `insert into core.event_seal (xid, position, sealed_at)
         select xid, position, now() from core.order_events order by xid desc, position desc limit 1
         on conflict (id) do update set xid = excluded.xid, position = excluded.position`,
      );
    }
    await client.query('checkpoint');
  });
}
