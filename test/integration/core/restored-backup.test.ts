import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { create } from '@bufbuild/protobuf';
import type pg from 'pg';
import { checkText } from '../../../src/contract/check-text.ts';
import {
  CheckFinding,
  CheckResult,
  CheckSchema,
  CheckSubject,
} from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { backupTools } from '../../../src/main/backup-tools.ts';
import { SnapshotError } from '../../../src/platform/database/snapshot/manifest.ts';
import { writeSnapshot } from '../../../src/platform/database/snapshot/write-snapshot.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import type { TestDatabase } from '../../support/test-database.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { queryOnce } from '../../support/database-connections.ts';

const ignored = (): void => undefined;
const urlsOf = ({ url }: TestDatabase) => ({ core: url, webhooks: url });

let original: TestDatabase;
let restored: TestDatabase;
let folder: string;

beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'gatehouse-backup-')), 'backup');
  original = await createTestDatabase();
  restored = await createTestDatabase({ migrated: false });
});
afterEach(async () => {
  await original.drop();
  await restored.drop();
  await rm(join(folder, '..'), { recursive: true });
});

const query = <Row extends pg.QueryResultRow>({ url }: TestDatabase, sql: string) => queryOnce<Row>(url, sql);

test('the lost time begins with the backup although a wrong clock had recorded a later use', async () => {
  await query(
    original,
    "insert into core.database_life (lineage, home, seen_at) values (gen_random_uuid(), 'here', now() + interval '2 days')",
  );

  const { takenAt } = await backupTools.write(urlsOf(original), folder, ignored);
  await backupTools.restore(urlsOf(restored), folder, ignored);

  const rows = await query<{ seen_at: Date }>(restored, 'select seen_at from core.database_life');
  expect(rows.map((row) => row.seen_at.toISOString())).toEqual([takenAt]);
});

/** A network that delivers what follows the rows of each table when the table's file is complete. */
async function startSlowEnd(target: URL): Promise<Server> {
  let tables = 0;
  const complete = new Set<string>();
  const isComplete = async (count: number): Promise<boolean> => {
    for (const file of await readdir(folder))
      if (!complete.has(file))
        await readFile(join(folder, file))
          .then((bytes) => gunzipSync(bytes))
          .then(() => complete.add(file), ignored);
    return complete.size >= count;
  };
  const server = createServer((client) => {
    const far = connect(Number(target.port), target.hostname);
    client.pipe(far).on('error', () => undefined);
    far.on('data', (bytes) => {
      // CopyDone, and the beginning of CommandComplete.
      const found = bytes.indexOf('c\0\0\0\u0004C', 0, 'latin1');
      client.write(found < 0 ? bytes : bytes.subarray(0, found + 5));
      if (found < 0) return;
      tables += 1;
      const count = tables;
      void waitUntil('the file is complete', () => isComplete(count)).then(() =>
        client.write(bytes.subarray(found + 5)),
      );
    });
    client.on('error', () => undefined).on('close', () => far.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

test('a backup counts the rows of a table also if their number comes later than the rows', async () => {
  const url = new URL(original.url);
  const server = await startSlowEnd(new URL(original.url));
  url.port = String((server.address() as AddressInfo).port);
  await mkdir(folder);

  const { tables } = await writeSnapshot([{ url: url.href, schemas: ['core', 'webhooks'] }], folder);
  server.close();

  const counted = tables.filter(({ name }) => name === 'migrations').map(({ rows }) => rows > 0);
  expect(counted).toEqual([true, true]);
});

describe('a backup of two databases', () => {
  let webhooks: TestDatabase;
  let restoredWebhooks: TestDatabase;
  beforeEach(async () => {
    webhooks = await createTestDatabase();
    restoredWebhooks = await createTestDatabase({ migrated: false });
    await backupTools.write({ core: original.url, webhooks: webhooks.url }, folder, ignored);
  });
  afterEach(async () => {
    await webhooks.drop();
    await restoredWebhooks.drop();
  });
  const schemasOf = async (database: TestDatabase): Promise<string[]> => {
    const rows = await query<{ name: string }>(
      database,
      "select nspname::text as name from pg_namespace where nspname in ('core', 'webhooks') order by 1",
    );
    return rows.map(({ name }) => name);
  };

  test('is not restored into one of them without a word', async () => {
    const refused = await backupTools
      .restore({ core: restored.url }, folder, ignored)
      .catch((error: unknown) => error);

    expect(refused).toBeInstanceOf(SnapshotError);
    expect((refused as SnapshotError).advice).toContain('Add --webhooks-database-url');
    expect(await schemasOf(restored)).toEqual([]);
  });

  test('is restored into two databases, or into one that is named twice', async () => {
    await backupTools.restore({ core: restored.url, webhooks: restoredWebhooks.url }, folder, ignored);
    const apart = [await schemasOf(restored), await schemasOf(restoredWebhooks)];
    await restored.drop();
    restored = await createTestDatabase({ migrated: false });
    await backupTools.restore(urlsOf(restored), folder, ignored);

    expect(apart).toEqual([['core'], ['webhooks']]);
    expect(await schemasOf(restored)).toEqual(['core', 'webhooks']);
  });
});

test('the statement that doctor prints for events of another server moves all that has their transactions', async () => {
  const xid = "'900000000000'";
  await query(
    original,
    `insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload, xid)
       values (gen_random_uuid(), 'SANDBOX', gen_random_uuid(), 1, gen_random_uuid(), 'CREATED', now(), '', ${xid});
     insert into core.erased_orders (merchant_id, environment, order_id, from_sequence, to_sequence, erased_at, seal, xid)
       values (gen_random_uuid(), 'SANDBOX', gen_random_uuid(), 1, 1, now(), '', ${xid});
     insert into core.event_seal (xid, position, sealed_at) values (${xid}, 7, now());
     insert into core.event_relay values ('ORDERS', ${xid}, 7)`,
  );
  const { advice } = checkText(
    create(CheckSchema, {
      subject: CheckSubject.EVENT_ORDER,
      finding: CheckFinding.FOREIGN_EVENTS,
      result: CheckResult.FAILED,
    }),
  );

  await query(original, advice.replace('stop all cores and run: ', ''));

  const left = await query(
    original,
    `select xid::text as xid from core.order_events union select xid::text from core.erased_orders
     union select xid::text from core.event_seal union select xid::text from core.event_relay`,
  );
  expect(left).toEqual([{ xid: '1' }]);
});
