import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Tables with a row for each order, event, attempt or delivery. A lock on one of them stops payments or deliveries. */
const bigTables = new Set([
  'core.orders',
  'core.order_events',
  'core.payment_attempts',
  'core.wallet_exchanges',
  'core.wallet_receipts',
  'core.api_requests',
  'core.refunds',
  'core.idempotency_keys',
  'core.payer_payments',
  'webhooks.deliveries',
  'webhooks.delivery_attempts',
  'webhooks.lanes',
]);

const statementRules: readonly (readonly [pattern: RegExp, violation: string])[] = [
  [/\bdrop\s+(table|column|type|schema)\b/, 'drops what the previous release may use'],
  [/\balter\s+table\b.*\brename\b|\balter\s+type\b.*\brename\b/, 'renames what the previous release may use'],
  [/\bset\s+not\s+null\b/, 'reads the whole table under a lock, and rejects rows of the previous release'],
  [/\balter\s+(column\s+)?\S+\s+(set\s+data\s+)?type\b/, 'rewrites the table'],
  [/\badd\s+column\b.*\bdefault\s+(gen_random_uuid|clock_timestamp|random|nextval)\b/, 'rewrites the table'],
];

/** The violations of expand-and-contract in the source of a migration. Tables that it creates itself are free. */
export function migrationViolations(source: string): readonly string[] {
  const sql = source
    .replace(/--.*$/gm, '')
    .replace(/\$\$[\s\S]*?\$\$/g, "''")
    .replace(/\s+/g, ' ')
    .toLowerCase();
  const created = new Set(
    Array.from(sql.matchAll(/create table (?:if not exists )?(\S+)/g), ([, table]) => table),
  );
  const found: string[] = [];
  for (const statement of sql.split(';')) {
    const table = /\balter table (?:if exists )?(?:only )?(\S+)/.exec(statement)?.[1];
    if (table === undefined || !created.has(table)) {
      for (const [pattern, violation] of statementRules) if (pattern.test(statement)) found.push(violation);
      for (const column of statement.split(/(?=\badd column\b)/).slice(1)) {
        if (/\bnot null\b/.test(column) && !/\bdefault\b/.test(column))
          found.push('adds a column that the previous release does not fill');
      }
    }
    const indexed = /\bcreate (?:unique )?index (concurrently )?.*?\bon (?:only )?([^\s(]+)/.exec(statement);
    if (indexed?.[1] !== undefined) found.push('creates an index concurrently within its transaction');
    else if (indexed?.[2] !== undefined && bigTables.has(indexed[2]) && !created.has(indexed[2]))
      found.push(
        'creates an index on a big table under a lock: add it to src/core/database/large-indexes.ts',
      );
  }
  return found;
}

/** Tables that are read before every request. Facades wait two seconds for that. */
const readByRequests = /\balter table core\.(merchants|api_keys)\b/;

/** Whether the migration stops waiting for a lock before requests that queue behind it fail. */
export function limitsLocks(source: string): boolean {
  const limit = readByRequests.test(source)
    ? /\bset local lock_timeout = '1s'/
    : /\bset local lock_timeout = '[1-5]s'/;
  return limit.test(source);
}

/** The number of the newest migration of each database. */
export interface NewestMigrations {
  readonly core: number;
  readonly webhooks: number;
}

const owners = ['core', 'webhooks'] as const;

/** The source of each migration, with its file and number. */
async function readMigrations(root: string, owner: (typeof owners)[number]) {
  const folder = `src/${owner}/database/migrations`;
  const names = (await readdir(join(root, folder))).toSorted();
  return Promise.all(
    names.map(async (name) => ({
      file: `${folder}/${name}`,
      number: Number(/^migration-(\d+)/.exec(name)?.[1]),
      source: await readFile(join(root, folder, name), 'utf8'),
    })),
  );
}

export async function newestMigrations(root: string): Promise<NewestMigrations> {
  const newest = async (owner: (typeof owners)[number]) =>
    Math.max(...(await readMigrations(root, owner)).map(({ number }) => number));
  return { core: await newest('core'), webhooks: await newest('webhooks') };
}

/** Finds problems of the migrations after those of a release: a sentence for each violation, with its file. */
export async function findMigrationProblems(root: string, released: NewestMigrations): Promise<string[]> {
  const found: string[] = [];
  for (const owner of owners)
    for (const { file, number, source } of await readMigrations(root, owner)) {
      if (number <= released[owner]) continue;
      found.push(...migrationViolations(source).map((violation) => `${file}: ${violation}`));
      if (!limitsLocks(source))
        found.push(
          `${file}: add "set local lock_timeout = '2s'" as its first statement, or '1s' if it alters core.merchants or core.api_keys`,
        );
    }
  return found;
}
