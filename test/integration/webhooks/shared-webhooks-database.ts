import { shared, sharedTestDatabase } from '../../support/shared-stack.ts';
import type { Database } from '../../../src/webhooks/database/database.ts';
import { openWebhooksDatabase } from './dispatcher.ts';

/** A database for all tests of a file, as webhooks opens it. */
export function sharedWebhooksDatabase(): Database {
  const server = sharedTestDatabase();
  return shared(() => openWebhooksDatabase(server.url));
}
