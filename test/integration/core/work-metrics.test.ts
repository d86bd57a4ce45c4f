import { expect, test } from '@jest/globals';
import { v7 } from 'uuid';
import { addWorkMetrics } from '../../../src/core/payments/work-metrics.ts';
import { warnOfWorkWithoutWallet } from '../../../src/core/payments/work-without-wallet.sql.ts';
import { CheckResult, CheckSubject } from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { createLogger } from '../../../src/platform/logger.ts';
import { createMetrics } from '../../../src/platform/metrics.ts';
import { sharedCoreDatabase, sharedTestDatabase } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';
import { checksOfCore } from './doctor-checks.ts';
import { insertAttempt, insertOrder } from './stored-rows.ts';

const shared = sharedTestDatabase();
const database = sharedCoreDatabase('work metrics', () => shared.url, 2);

async function dueWork(): Promise<Record<string, string>> {
  const logger = createLogger({ process: 'test', instance: 'work', level: 'silent' });
  const metrics = createMetrics({ logger, nowMs: () => performance.now() });
  addWorkMetrics(metrics, database);
  const { body } = await metrics.page();
  return Object.fromEntries(
    [...body.matchAll(/^gatehouse_work_due\{kind="(payment|expiry)"\} (\d+)$/gm)].map(
      ([, kind = '', count = '']) => [kind, count],
    ),
  );
}

test('work that waits for a recovery is not due, and work of a wallet that is not configured is named', async () => {
  const { pool } = database;
  const merchants = [v7(), v7()];
  for (const merchantId of merchants) {
    const orderId = await insertOrder(pool, { merchant_id: merchantId });
    await insertAttempt(pool, { merchant_id: merchantId, order_id: orderId, due_at: new Date() });
  }
  const recovery = v7();

  const before = await dueWork();
  await pool.query(sql`insert into core.recoveries (id, cause, lost_from, lost_until, closed)
    values (${recovery}, 'OPERATOR', now(), now(), '{SANDBOX}')`);
  const closed = await dueWork();
  await pool.query(`update core.recoveries set closed = '{}'`);
  await pool.query(sql`insert into core.recovery_holds values (${recovery}, 'SANDBOX', ${merchants[0]})`);
  const held = await dueWork();

  const log: string[] = [];
  const write = (line: string): void => void log.push(line);
  const logger = createLogger({ process: 'test', instance: 'work', level: 'warn' }, { write });
  for (const environments of [['SANDBOX'], ['PRODUCTION']] as const)
    await warnOfWorkWithoutWallet(database, [{ id: 'walleta', environments }], logger);

  const checks = await checksOfCore(database);

  expect(checks.find(({ subject }) => subject === CheckSubject.WALLETS)).toMatchObject({
    result: CheckResult.FAILED,
    facts: { value: { missing: [{ wallet: 'walleta', environment: Environment.SANDBOX }] } },
    detail: expect.stringContaining('walleta in sandbox'),
  });
  expect(log).toEqual([expect.stringContaining('"wallets":["walleta sandbox"]')]);
  expect(before).toEqual({ payment: '2', expiry: '2' });
  expect(closed).toEqual({ payment: '0', expiry: '0' });
  expect(held).toEqual({ payment: '1', expiry: '2' });
});
