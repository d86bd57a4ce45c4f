import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { openDatabase } from '../../../src/core/database/database.ts';
import { CheckFinding } from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { createTestDatabase } from '../../support/test-database.ts';
import { checksOfCore } from './doctor-checks.ts';

test('doctor says in words that a database has no tables of Gatehouse, and what to do', async () => {
  const { url, drop } = await createTestDatabase({ migrated: false });
  const logger = pino({ level: 'silent' });
  const database = await openDatabase({ url, poolSize: 2, applicationName: 'no tables', logger });

  const checks = await checksOfCore(database);
  await database.close();
  await drop();

  const [first, ...others] = checks.filter(({ finding }) => finding === CheckFinding.ERROR);
  expect(first).toMatchObject({
    name: 'database',
    detail: expect.stringMatching(
      /has no tables of Gatehouse.+restore a backup \(docs\/operating\/backup\.md\)$/,
    ),
    advice:
      'do what the finding says. If it names no remedy, check GATEHOUSE_DATABASE_URL, and that PostgreSQL is running',
  });
  expect(others.length).toBeGreaterThan(0);
  for (const { detail, advice } of others)
    expect({ detail, advice }).toEqual({
      detail: 'a table of Gatehouse is missing in this database',
      advice: 'repair the database first',
    });
});
