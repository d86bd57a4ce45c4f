/** A process that only runs redeliveries, to be killed. Its argument is the database's URL. */
import { createLogger } from '../../../src/platform/logger.ts';
import { createWakeSignal } from '../../../src/platform/wake-signal.ts';
import { openDatabase } from '../../../src/webhooks/database/database.ts';
import { runRedeliveries } from '../../../src/webhooks/redeliveries/run-redeliveries.ts';

const logger = createLogger({ process: 'test', instance: 'redelivery worker', level: 'silent' });
const database = await openDatabase({
  url: process.argv[2] ?? '',
  poolSize: 2,
  applicationName: 'redelivery worker',
  logger,
});
await runRedeliveries(
  { database, signal: createWakeSignal(), onDue: () => {}, logger, idleMs: 20 },
  new AbortController().signal,
);
