import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { checkPool } from '../../../src/core/diagnostics/run-checks.ts';
import type { Database } from '../../../src/core/database/database.ts';
import { takesPayments } from '../../../src/core/database/takes-payments.sql.ts';
import { CheckResult } from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { explainDatabaseError } from '../../../src/platform/database/explain-error.ts';
import { startArchivedPostgres } from '../../support/archived-postgres.ts';
import type { ArchivedPostgres } from '../../support/archived-postgres.ts';
import { openCoreDatabase } from '../../support/shared-stack.ts';

let server: ArchivedPostgres;
let database: Database;

const open = () => openCoreDatabase('standby', server.url, 4);

beforeAll(async () => {
  server = await startArchivedPostgres();
  database = await open();
  await database.migrate();
  await database.pool.query('create unlogged table reports (id int); create table orders (id int)');
  await server.takeBaseBackup();
  await database.pool.query('insert into orders values (1)');
  await server.archiveAll();
  await database.close();
  await server.lose('crash');
  await server.startStandby();
  database = await open();
});

afterAll(async () => {
  await database.close();
  await server.stop();
});

test.each(['insert into orders values (1)', 'insert into reports values (1)', 'select * from reports'])(
  'a standby that refuses "%s" counts as unavailable, and its connection is replaced',
  async (statement) => {
    const client = await database.pool.connect();
    const error: unknown = await client.query(statement).catch((cause: unknown) => cause);
    client.release();

    expect(explainDatabaseError(error)).toMatchObject({
      rawMessage: expect.stringContaining('PostgreSQL is read-only'),
    });
    const next = await database.pool.connect();
    next.release();
    expect(next).not.toBe(client);
  },
);

test('a standby takes no payments, and can be asked', async () => {
  expect(await takesPayments(database.fork(), 'SANDBOX')).toBe(false);
});

test('connections that are closed because the server is read-only are not reported as ended', async () => {
  let busy = 8;
  const refused = Array.from({ length: 8 }, async () => {
    for (let count = 0; count < 10; count += 1)
      await database
        .fork()
        .transactional((em) => em.execute('insert into orders values (1)'))
        .catch(() => undefined);
    busy -= 1;
  });
  const results = new Set<CheckResult>();
  while (busy > 0) {
    results.add(checkPool(database.poolWatch.state()).result);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(refused);

  expect([...results]).toEqual([CheckResult.OK]);
});
