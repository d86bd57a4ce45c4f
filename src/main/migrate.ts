/**
 * Migrates the tables of core and of `webhooks`, and exits: for deployments that migrate before they start new processes. Without it,
 * each process migrates at its start.
 */
import { openDatabase as openCoreDatabase } from '../core/database/database.ts';
import { databaseUrl } from '../platform/settings/address-settings.ts';
import { processSettings, readSettings } from '../platform/settings/read-settings.ts';
import { tlsSettings } from '../platform/tls/tls-settings.ts';
import { openDatabase as openWebhooksDatabase } from '../webhooks/database/database.ts';
import { migrateWhenReachable } from './migrate-when-reachable.ts';
import { openTls } from './open-tls.ts';
import { exitForSettings, readSettingsOrExit } from './read-settings.ts';
import { startLogging } from './start-logging.ts';

const example = 'postgres://gatehouse:<password>@127.0.0.1:5432/gatehouse';
const config = readSettingsOrExit((environment) =>
  readSettings(environment, {
    ...processSettings,
    ...tlsSettings,
    GATEHOUSE_DATABASE_URL: databaseUrl({ desc: 'the URL of the PostgreSQL of core', example }),
    // The same database by default.
    GATEHOUSE_WEBHOOKS_DATABASE_URL: databaseUrl({ default: undefined }),
  }),
);
const { instance, logger } = startLogging('migrate', config);
const tls = openTls(config, [], logger);
const options = { poolSize: 2, applicationName: `gatehouse-migrate ${instance}`, tls, logger };

for (const [tables, open, url] of [
  ['core', openCoreDatabase, config.GATEHOUSE_DATABASE_URL],
  ['webhooks', openWebhooksDatabase, config.GATEHOUSE_WEBHOOKS_DATABASE_URL ?? config.GATEHOUSE_DATABASE_URL],
] as const) {
  const database = await open({ ...options, url });
  try {
    await migrateWhenReachable(database, logger).catch(exitForSettings);
    logger.info({ tables }, 'migrated');
  } finally {
    await database.close();
  }
}
tls?.stop();
