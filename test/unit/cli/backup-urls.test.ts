import { Command } from 'commander';
import { expect, test } from '@jest/globals';
import { addRestoreCommand } from '../../../src/cli/backup-commands.ts';
import type { DatabaseUrls } from '../../../src/cli/backup-commands.ts';

/** The databases that `restore` uses with these settings and options. */
async function urlsOf(
  inSettings: { readonly core?: string; readonly webhooks?: string },
  ...options: readonly string[]
): Promise<DatabaseUrls | undefined> {
  let used: DatabaseUrls | undefined;
  const restore = new Command('restore');
  const summary = { takenAt: '', schemas: [], tables: 0, rows: 0, orders: 0, deliveries: 0 };
  addRestoreCommand(restore, {
    tools: {
      write: () => Promise.resolve(summary),
      verify: () => Promise.resolve(summary),
      restore: (urls) => {
        used = urls;
        return Promise.resolve(summary);
      },
    },
    report: () => undefined,
    nowMs: () => 0,
    databaseUrl: () => inSettings.core,
    webhooksDatabaseUrl: () => inSettings.webhooks,
    finish: () => undefined,
  });
  await restore.parseAsync(['--from', 'backup', ...options], { from: 'user' });
  return used;
}

const both = { core: 'postgres://core', webhooks: 'postgres://webhooks' };

test.each([
  ['that of the settings', both, [], both],
  ['none without a setting', { core: both.core }, [], { core: both.core, webhooks: undefined }],
  [
    'that of the option',
    both,
    ['--webhooks-database-url', 'postgres://other'],
    { core: both.core, webhooks: 'postgres://other' },
  ],
  [
    'none when an option names another database of core',
    both,
    ['--database-url', 'postgres://empty'],
    { core: 'postgres://empty', webhooks: undefined },
  ],
])('the database of webhooks is %s', async (_, settings, options, expected) => {
  expect(await urlsOf(settings, ...options)).toEqual(expected);
});
