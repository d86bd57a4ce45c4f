import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../core/database/database.ts';
import {
  isCertificateRefused,
  isConnectionRefused,
  isDatabaseUnavailable,
  isLockTimeout,
  isSettingRefused,
  whatToDo,
} from '../platform/database/explain-error.ts';
import type { Logger } from '../platform/logger.ts';

const retryMs = 1_000;

/**
 * Migrates the schema. Waits about a minute for a database that is still starting, and three minutes for a lock that a transaction
 * holds. A migration that does not get its lock changes nothing, and those before it remain.
 * @throws an Error that says what to do when the database stays unavailable or locked, or refuses the connection. Throws any other error at
 * once, such as a SettingsError behind a pooler that shares sessions.
 */
export async function migrateWhenReachable(database: Database, logger: Logger, tries = 60): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await database.migrate();
      return;
    } catch (error) {
      const isLocked = isLockTimeout(error);
      if (attempt === tries && isLocked)
        throw new Error(
          `a migration did not get its lock in ${tries} attempts, and changed nothing: run it again when there are few payments, or end the transaction that holds the lock`,
          { cause: error },
        );
      const isRefused = isConnectionRefused(error) || isCertificateRefused(error) || isSettingRefused(error);
      if (!isDatabaseUnavailable(error)) throw error;
      if (attempt === tries || isRefused) {
        const unanswered = `the database did not answer in ${attempt} attempts; check GATEHOUSE_DATABASE_URL, and whether PostgreSQL runs there`;
        throw new Error(whatToDo(error, unanswered), { cause: error });
      }
      logger.warn(
        { err: error, attempt },
        isLocked
          ? 'a migration waits for a lock that a transaction holds, and has changed nothing; end that transaction if this continues'
          : 'the database does not answer yet; check GATEHOUSE_DATABASE_URL if this continues',
      );
      await delay(retryMs);
    }
  }
}
