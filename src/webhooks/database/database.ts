import { openSchema } from '../../platform/database/open-database.ts';
import type { Database, DatabaseOptions } from '../../platform/database/open-database.ts';
import { entities } from './entities.ts';
import { Migration001Webhooks } from './migrations/migration-001-webhooks.ts';
import { Migration002EndpointsInTrouble } from './migrations/migration-002-endpoints-in-trouble.ts';
import { Migration003UnreadableAnswers } from './migrations/migration-003-unreadable-answers.ts';
import { Migration004FindingsAsData } from './migrations/migration-004-findings-as-data.ts';
import { Migration005WebhookEndpoints } from './migrations/migration-005-webhook-endpoints.ts';
import { Migration006Erasure } from './migrations/migration-006-erasure.ts';

export type { Database } from '../../platform/database/open-database.ts';

/** The database of the webhooks process: core's database or a separate one. The caller closes it. */
export const openDatabase = (options: DatabaseOptions): Promise<Database> =>
  openSchema(
    {
      schema: 'webhooks',
      entities,
      migrations: [
        Migration001Webhooks,
        Migration002EndpointsInTrouble,
        Migration003UnreadableAnswers,
        Migration004FindingsAsData,
        Migration005WebhookEndpoints,
        Migration006Erasure,
      ],
      migrationLock: 7_142_101,
    },
    options,
  );
