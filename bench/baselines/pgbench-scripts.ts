import pg from 'pg';
import { columnsOf } from '../system/columns.ts';
import type { Column } from '../system/columns.ts';
import { writtenByCore } from '../system/fill-database.ts';
import type { BenchMerchant } from '../system/fill-database.ts';
import { withClient } from '../system/servers.ts';

/** The script of pgbench, and the values that it sends each time. */
export interface PgbenchScripts {
  readonly texts: Readonly<
    Record<'insert in a transaction' | 'insert in one statement' | 'select by key', string>
  >;
  readonly variables: Readonly<Record<string, string>>;
}

/** Consecutive numbers for each client, like Gatehouse's order numbers in its run. */
const nextNumber = `\\set n :n + 1
`;

/** The values of a row that differ between orders. All others are sent or written as core wrote them. */
const ownOfOrder: Readonly<Record<string, string>> = {
  merchant_id: ':merchant::uuid',
  id: 'uuidv7()',
  order_number: `'P' || :run::text || '-' || :client_id::text || '-' || :n::text`,
  created_at: 'now()',
  updated_at: 'now()',
  expires_at: `now() + interval '30 minutes'`,
  sweep_at: `now() + interval '30 minutes'`,
};

const ownOfEvent: Readonly<Record<string, string>> = {
  merchant_id: ':merchant::uuid',
  id: 'uuidv7()',
  occurred_at: 'now()',
  payload: ':payload::bytea',
};

/** Statements that write the same rows as core wrote for a registration, column by column, as read from the tables. */
export async function pgbenchScripts(databaseUrl: string, merchant: BenchMerchant): Promise<PgbenchScripts> {
  return withClient(databaseUrl, async (client) => {
    const key = [merchant.storedId, writtenByCore.registered];
    const order = await readRow(client, 'core.orders', 'order_number = $2', key);
    const event = await readRow(
      client,
      'core.order_events',
      'order_id = (select id from core.orders where merchant_id = $1 and order_number = $2)',
      key,
    );
    const orderInsert = insertOf('core.orders', order, ownOfOrder, 'values');
    const eventWith = (id: string, form: 'values' | 'select') =>
      insertOf('core.order_events', event, { ...ownOfEvent, order_id: id }, form);
    return {
      texts: {
        'insert in a transaction': `${nextNumber}begin;\n${orderInsert} returning id \\gset\n${eventWith(':id::uuid', 'values')};\ncommit;\n`,
        'insert in one statement': `${nextNumber}with placed as (${orderInsert} returning id)\n${eventWith('id', 'select')} from placed;\n`,
        'select by key': `\\set number random(1, :seeded)
select * from core.orders where merchant_id = :merchant::uuid and environment = 'SANDBOX'
  and order_number = 'S-' || lpad(:number::text, 8, '0');\n`,
      },
      variables: { merchant: merchant.storedId, payload: event.values.get('payload') ?? '', n: '0' },
    };
  });
}

interface Row {
  readonly columns: readonly Column[];
  /** As text; null where the row has none. */
  readonly values: ReadonlyMap<string, string | null>;
}

async function readRow(
  client: pg.Client,
  table: string,
  condition: string,
  key: readonly string[],
): Promise<Row> {
  const columns = await columnsOf(client, table);
  const { rows } = await client.query<Record<string, string | null>>(
    `select ${columns.map(({ name }) => `${name}::text`).join(', ')} from ${table} where merchant_id = $1 and ${condition}`,
    [...key],
  );
  const [row] = rows;
  if (row === undefined || rows.length > 1)
    throw new Error(`one row of ${table} was expected, and ${rows.length} were found`);
  return { columns, values: new Map(Object.entries(row)) };
}

function insertOf(
  table: string,
  { columns, values }: Row,
  own: Readonly<Record<string, string>>,
  form: 'values' | 'select',
): string {
  const literal = ({ name, type }: Column): string => {
    const value = values.get(name) ?? null;
    return own[name] ?? (value === null ? 'null' : `${pg.escapeLiteral(value)}::${type}`);
  };
  const list = columns.map(literal).join(', ');
  const names = columns.map(({ name }) => name).join(', ');
  return `insert into ${table} (${names}) ${form === 'values' ? `values (${list})` : `select ${list}`}`;
}
