import pg from 'pg';
import { openEventBus } from '../../contract/event-bus.ts';
import { createLogger } from '../../platform/logger.ts';
import { StartError } from '../local/start-error.ts';
import { waitForBroker } from '../wait-for-broker.ts';
import { campaignMerchantName } from './merchant.ts';

/** How long an answer of the operator's database may take. It counts rows of an empty database, or of earlier campaigns. */
const databaseAnswerMs = 10_000;

/**
 * Ensures that a database of the operator holds nothing but what earlier campaigns left. A campaign destroys its servers, and
 * its gateway would take over the work of another one.
 * @throws StartError that says what the database holds
 */
export async function requireHarmlessDatabase(url: string): Promise<void> {
  const found = await inDatabase(url, readContent);
  if (found.length > 0)
    throw new StartError(
      `The database of --database-url holds ${found.join(', ')}. A campaign kills what it uses.\n` +
        'Give it an empty database of its own, such as one that you make with: createdb gatehouse_prove',
    );
}

/**
 * Lets the next gateway of a campaign use the database. Each makes its own secrets, and core refuses a database that was used with
 * another master key. The earlier gateways left nothing that anyone needs.
 * @throws StartError if the database does not answer
 */
export const forgetMasterKey = (url: string): Promise<void> =>
  inDatabase(url, async (client) => {
    if (await hasTable(client, 'core.database_life'))
      await client.query("update core.database_life set master_key_check = ''");
  });

async function inDatabase<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const limits = { connectionTimeoutMillis: databaseAnswerMs, query_timeout: databaseAnswerMs };
  const client = new pg.Client({ connectionString: url, ...limits });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } catch (error) {
    throw new StartError(
      `The database of --database-url cannot be used (${error instanceof Error ? error.message : String(error)}).\n` +
        'Check its address, user and password.',
    );
  } finally {
    await client.end();
  }
}

const hasTable = async (client: pg.Client, table: string): Promise<boolean> =>
  (await client.query('select 1 where to_regclass($1) is not null', [table])).rows.length > 0;

/** The contents of the database, without those of campaigns. */
async function readContent(client: pg.Client): Promise<readonly string[]> {
  const count = async (from: string, values: readonly unknown[] = []): Promise<number> => {
    const { rows } = await client.query<{ count: number }>(`select count(*)::int as count from ${from}`, [
      ...values,
    ]);
    return rows[0]?.count ?? 0;
  };
  const found: string[] = [];
  const add = (number: number, thing: string, rest = ''): void => {
    if (number > 0) found.push(`${number} ${thing}${number === 1 ? '' : 's'}${rest}`);
  };
  if (await hasTable(client, 'core.orders'))
    add(await count(`core.orders where environment = 'PRODUCTION'`), 'production order');
  if (await hasTable(client, 'core.api_keys'))
    add(await count(`core.api_keys where environment = 'PRODUCTION'`), 'live key');
  if (await hasTable(client, 'core.merchants'))
    add(
      await count('core.merchants where name <> $1', [campaignMerchantName]),
      'merchant',
      ' that no campaign has made',
    );
  add(
    await count(
      `pg_catalog.pg_tables where schemaname not in ('pg_catalog', 'information_schema', 'core', 'webhooks')`,
    ),
    'table',
    ' of other programs',
  );
  return found;
}

const brokerAnswerMs = 10_000;

/** Ensures that a broker of the operator holds no events. @throws StartError that says why it cannot be used */
export async function requireEmptyBroker(url: string): Promise<void> {
  const logger = createLogger({ process: 'prove', instance: '', level: 'silent' }, process.stderr);
  const bus = openEventBus({ url, name: 'gatehouse-prove', logger });
  try {
    await waitForBroker(bus.isConnected, brokerAnswerMs);
    const stored = await bus.storedStream();
    if (stored === undefined)
      throw new StartError(
        'The broker of --nats-url does not answer within 10 s.\nCheck its address, user and password.',
      );
    if (stored.range !== undefined)
      throw new StartError(
        'The broker of --nats-url stores events of a gateway, and that gateway would receive the events of the campaign.\n' +
          'Give it a broker of its own. If only an earlier campaign used it, remove its stream: nats stream rm ORDERS',
      );
  } finally {
    await bus.close();
  }
}
