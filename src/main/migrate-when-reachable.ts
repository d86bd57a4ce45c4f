import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../core/database/database.ts';
import { isDatabaseUnavailable } from '../platform/database/explain-error.ts';
import type { Logger } from '../platform/logger.ts';

const retryMs = 1_000;
const tries = 60;

/**
 * Migrates the schema, and waits up to a minute for a database that is still starting.
 * @throws the last error when the database stays unavailable, and any other error at once.
 */
export async function migrateWhenReachable(database: Database, logger: Logger): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await database.migrate();
      return;
    } catch (error) {
      if (attempt === tries || !isDatabaseUnavailable(error)) throw error;
      logger.warn(
        { err: error, attempt },
        'the database does not answer yet; check GATEHOUSE_DATABASE_URL if this continues',
      );
      await delay(retryMs);
    }
  }
}
