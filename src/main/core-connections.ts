import { randomUUID } from 'node:crypto';
import { openDatabaseClock } from '../platform/database/database-clock.ts';
import { openDatabase } from '../core/database/database.ts';
import { createWakeSignal } from '../platform/wake-signal.ts';
import { addDatabaseIdentity } from '../core/recovery/database-identity.sql.ts';
import { createMasterKeyCheck } from './core-master-key.ts';
import { partOf } from '../contract/due-work.ts';
import { openEventBus } from '../contract/event-bus.ts';
import type { DueWork } from '../contract/due-work.ts';
import { migrateWhenReachable } from './migrate-when-reachable.ts';
import type { CoreSettings } from '../core/settings.ts';
import type { Logger } from '../platform/logger.ts';
import type { CertificateFiles } from '../platform/tls/certificate-files.ts';

/** The certificates, settings and names with which core opens its connections. */
export interface CoreConnectionsParts {
  readonly config: CoreSettings;
  readonly instance: string;
  readonly tls: CertificateFiles | undefined;
  readonly logger: Logger;
}

export type CoreConnections = Awaited<ReturnType<typeof openCoreConnections>>;

/**
 * Opens the database and the broker, and migrates the database. @throws SettingsError for a master key that is not the database's, and
 * for a database that cannot be used
 */
export async function openCoreConnections({ config, instance, tls, logger }: CoreConnectionsParts) {
  const database = await openDatabase({
    url: config.GATEHOUSE_DATABASE_URL,
    poolSize: config.GATEHOUSE_DATABASE_POOL_SIZE,
    applicationName: `gatehouse-core ${instance}`,
    tls,
    logger,
  });
  const masterKeyCheck = createMasterKeyCheck(database.pool, config.GATEHOUSE_MASTER_KEY);
  let isNewDatabase: boolean;
  try {
    await migrateWhenReachable(database, logger);
    isNewDatabase = await addDatabaseIdentity(database.pool, randomUUID());
    await masterKeyCheck.require();
  } catch (error) {
    await database.close();
    throw error;
  }
  const clock = await openDatabaseClock(database.pool, () => performance.now());

  const bus = openEventBus({ url: config.GATEHOUSE_NATS_URL, name: `core ${instance}`, tls, logger });
  const eventSignal = createWakeSignal();
  bus.onWake('order_events', eventSignal.ring);
  return {
    database,
    isNewDatabase,
    hasMasterKey: masterKeyCheck.hasMasterKey,
    clock,
    bus,
    eventSignal,
    announceEvents: (): void => {
      eventSignal.ring();
      bus.wake('order_events');
    },
    announceDue: (due: DueWork): void => bus.wake('payment_attempts', partOf(due)),
    announceWalletWork: (): void => bus.wake('payment_attempts'),
  };
}
