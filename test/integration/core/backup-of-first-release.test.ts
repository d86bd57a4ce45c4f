import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type pg from 'pg';
import { openDatabase as openCoreDatabase } from '../../../src/core/database/database.ts';
import { readDatabaseIdentity } from '../../../src/core/recovery/database-identity.sql.ts';
import { backupTools } from '../../../src/main/backup-tools.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { openDatabase as openWebhooksDatabase } from '../../../src/webhooks/database/database.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import type { TestDatabase } from '../../support/test-database.ts';
import { openPool } from '../../support/shared-stack.ts';
import { sharedFolder } from '../../support/shared-folder.ts';

const silent = createLogger({ process: 'test', instance: 'test', level: 'silent' });
const ignored = (): void => undefined;
const backup = join(sharedFolder(), 'backup');
const urlsOf = ({ url }: TestDatabase) => ({ core: url, webhooks: url });

let original: TestDatabase;
let restored: TestDatabase;
let takenAt: string;
let pool: pg.Pool;

/** The tables of release 0.1.0, as releases.json counts its migrations, and one event of a server with far more transactions. */
async function fillLikeFirstRelease(url: string): Promise<void> {
  const options = { url, poolSize: 2, applicationName: 'test', logger: silent };
  for (const [open, last] of [
    [openCoreDatabase, '030-settled-strays-without-order'],
    [openWebhooksDatabase, '005-webhook-endpoints'],
  ] as const) {
    const database = await open(options);
    await database.migrate(last);
    if (open === openCoreDatabase)
      await database.pool.query(`
insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload, xid)
select gen_random_uuid(), 'SANDBOX', gen_random_uuid(), 1, gen_random_uuid(),
  (enum_range(null::core.order_event_type))[1], now(), '', '9000000000000000'`);
    await database.close();
  }
}

beforeAll(async () => {
  original = await createTestDatabase({ migrated: false });
  restored = await createTestDatabase({ migrated: false });
  await fillLikeFirstRelease(original.url);
  ({ takenAt } = await backupTools.write(urlsOf(original), backup, ignored));
  await backupTools.restore(urlsOf(restored), backup, ignored);
  pool = openPool({ connectionString: restored.url });
});
afterAll(async () => {
  await pool.end();
  await original.drop();
  await restored.drop();
});

test('a restored backup of release 0.1.0 takes no payments before its recovery', async () => {
  const { rows } = await pool.query<{ taken: boolean }>("select core.takes_payments('SANDBOX') as taken");
  expect(rows).toEqual([{ taken: false }]);
});

test('the lost time of a restored backup of release 0.1.0 begins with the backup', async () => {
  const { location, recordedLocation, seenAt } = await readDatabaseIdentity(pool);
  expect(recordedLocation).not.toBe(location);
  expect(seenAt.toISOString()).toBe(takenAt);
});

test('the events of a restored backup of release 0.1.0 can be read on a younger server', async () => {
  const { rows } = await pool.query<{ readable: boolean }>(`
    select xid < pg_snapshot_xmin(pg_current_snapshot()) as readable from core.order_events`);
  expect(rows).toEqual([{ readable: true }]);
});
