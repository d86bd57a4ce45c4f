import { expect, test } from '@jest/globals';
import { checkText } from '../../../src/contract/check-text.ts';
import type { Database } from '../../../src/core/database/database.ts';
import { startInline } from '../../support/inline-process.ts';
import { openCoreDatabase, sharedStack } from '../../support/shared-stack.ts';
import { startSharingPooler } from '../../support/sharing-pooler.ts';
import type { Turn } from '../../support/sharing-pooler.ts';
import { checkOfDatabase } from './doctor-checks.ts';

const stack = sharedStack({ facades: 0 });

const refusal = 'set pool_mode = session';
const turns = ['last used', 'longest idle'] as const;

async function withPooler(turn: Turn, use: (url: string) => Promise<void>): Promise<void> {
  const url = new URL(stack.databaseUrl);
  const pooler = await startSharingPooler({ host: url.hostname, port: Number(url.port) }, turn);
  url.host = `127.0.0.1:${pooler.port}`;
  try {
    await use(url.href);
  } finally {
    await pooler.close();
  }
}

const withDatabase = async (url: string, use: (database: Database) => Promise<void>): Promise<void> => {
  const database = await openCoreDatabase('pooled', url, 2);
  try {
    await use(database);
  } finally {
    await database.close();
  }
};

test.each(['core', 'webhooks'])('%s does not start behind a pooler that shares sessions', (name) =>
  withPooler('last used', async (url) => {
    const settings = name === 'core' ? stack.coreSettings : stack.webhookSettings;
    await expect(startInline(name, { ...settings, GATEHOUSE_DATABASE_URL: url })).rejects.toThrow(refusal);
  }),
);

test.each(turns)('nothing is migrated through a pooler that gives the session that is %s', (turn) =>
  withPooler(turn, (url) =>
    withDatabase(url, async (database) => {
      await expect(database.migrate()).rejects.toThrow(refusal);
    }),
  ),
);

test.each(turns)('doctor names a pooler that gives the session that is %s', (turn) =>
  withPooler(turn, (url) =>
    withDatabase(url, async (database) => {
      const check = await checkOfDatabase(database);
      expect(checkText(check)).toMatchObject({ detail: expect.stringContaining(refusal) });
    }),
  ),
);

test('doctor finds no pooler in front of a database without one', () =>
  withDatabase(stack.databaseUrl, async (database) => {
    const check = await checkOfDatabase(database);
    expect(checkText(check).detail).not.toContain(refusal);
  }));
