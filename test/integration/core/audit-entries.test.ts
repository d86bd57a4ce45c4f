import { beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { createLogger } from '../../../src/platform/logger.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { sendAuditEntries } from '../../../src/webhooks/audit/send-audit-entries.ts';
import { openDatabase } from '../../../src/webhooks/database/database.ts';
import { wrongFields } from '../../support/rpc-failure.ts';
import { sharedStack, shared } from '../../support/shared-stack.ts';

const logger = createLogger({ process: 'test', instance: 'audit', level: 'silent' });

const stack = sharedStack({ facades: 0 });
const database = shared(
  () => openDatabase({ url: stack.databaseUrl, poolSize: 2, applicationName: 'test', logger }),
  ({ close }) => close(),
);
beforeAll(() => database.migrate());

const newMerchantId = (): string => newRandomId('mer', new Date());
const entryOf = (merchantId: string) => ({
  auditEntryId: newRandomId('aud', new Date()),
  createTime: timestampFromDate(new Date('2026-11-21T00:00:00.123Z')),
  actor: 'operator:abebe',
  action: 'endpoint.pause',
  merchantId,
  targetId: 'https://shop.example',
  requestId: 'req-1',
  details: { environment: 'SANDBOX' },
});
const listed = async (merchantId: string) =>
  (await stack.client(AuditService, 'reader').listAuditEntries({ merchantId })).entries;

describe('an entry of another process', () => {
  test('is listed as it was sent, and once when it is sent several times', async () => {
    const merchantId = newMerchantId();
    const entry = entryOf(merchantId);
    const audit = stack.client(AuditService, 'webhooks');

    await Promise.all([audit.recordAuditEntry({ entry }), audit.recordAuditEntry({ entry })]);
    await audit.recordAuditEntry({ entry });

    expect(await listed(merchantId)).toMatchObject([entry]);
  });

  test('cannot be altered by sending it again', async () => {
    const merchantId = newMerchantId();
    const entry = entryOf(merchantId);
    const audit = stack.client(AuditService, 'webhooks');
    await audit.recordAuditEntry({ entry });
    await audit.recordAuditEntry({ entry: { ...entry, actor: 'operator:nobody' } });
    expect(await listed(merchantId)).toMatchObject([{ actor: 'operator:abebe' }]);
  });

  test('is refused with all missing fields', async () => {
    expect(await wrongFields(stack.client(AuditService, 'webhooks').recordAuditEntry({}))).toBe(
      'entry.action entry.actor entry.audit_entry_id entry.create_time entry.merchant_id entry.request_id entry.target_id',
    );
  });
});

describe('the outbox', () => {
  const put = async (merchantId: string, own: Partial<ReturnType<typeof entryOf>> = {}): Promise<void> => {
    const entry = { ...entryOf(merchantId), ...own };
    const client = new pg.Client({ connectionString: stack.databaseUrl });
    await client.connect();
    await client.query(
      `insert into webhooks.audit_outbox (id, created_at, actor, action, merchant_id, target_id, request_id, details)
       values ($1, now(), $2, $3, $4, $5, $6, $7)`,
      [
        entry.auditEntryId,
        entry.actor,
        entry.action,
        merchantId,
        entry.targetId,
        entry.requestId,
        entry.details,
      ],
    );
    await client.end();
  };
  const left = async () =>
    (await database.pool.query<{ id: string }>('select id from webhooks.audit_outbox')).rows;

  test('is moved to the audit log completely, also by two processes at once', async () => {
    const merchantId = newMerchantId();
    await put(merchantId);
    await put(merchantId);
    const audit = stack.client(AuditService, 'webhooks');

    await Promise.all([
      sendAuditEntries({ database, audit, logger }),
      sendAuditEntries({ database, audit, logger }),
    ]);

    expect(await listed(merchantId)).toHaveLength(2);
    expect(await left()).toEqual([]);
  });

  test('keeps its entries while core does not take them', async () => {
    const merchantId = newMerchantId();
    await put(merchantId);
    const notAllowed = stack.client(AuditService, 'reader');
    await expect(sendAuditEntries({ database, audit: notAllowed, logger })).rejects.toThrow('role reader');
    expect(await left()).toHaveLength(1);
    await sendAuditEntries({ database, audit: stack.client(AuditService, 'webhooks'), logger });
    expect(await listed(merchantId)).toHaveLength(1);
  });

  test('sends other entries although core refuses some, however many', async () => {
    const merchantId = newMerchantId();
    for (let count = 0; count < 100; count += 1) await put(merchantId, { actor: '' });
    await put(merchantId);
    await sendAuditEntries({ database, audit: stack.client(AuditService, 'webhooks'), logger });
    expect(await listed(merchantId)).toHaveLength(1);
    expect(await left()).toHaveLength(100);
  });

  test('accepts an entry about the longest endpoint', async () => {
    const merchantId = newMerchantId();
    const targetId = `https://${'a'.repeat(2040)}`;
    await put(merchantId, { targetId });
    await sendAuditEntries({ database, audit: stack.client(AuditService, 'webhooks'), logger });
    expect(await listed(merchantId)).toMatchObject([{ targetId }]);
  });
});

describe('a list', () => {
  const at = (seconds: number) => timestampFromDate(new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)));
  /** One entry a second: endpoint.pause, api_key.issue, and so on. */
  const putEntries = async (merchantId: string, howMany: number): Promise<void> => {
    for (let second = 0; second < howMany; second += 1) {
      const createTime = at(second);
      const action = second % 2 === 0 ? 'endpoint.pause' : 'api_key.issue';
      const auditEntryId = newRandomId('aud', new Date(Number(createTime.seconds) * 1000));
      const entry = { ...entryOf(merchantId), createTime, action, auditEntryId };
      await stack.client(AuditService, 'webhooks').recordAuditEntry({ entry });
    }
  };
  const list = (request: object) => stack.client(AuditService, 'dashboard').listAuditEntries(request);
  const secondsOf = ({ entries }: Awaited<ReturnType<typeof list>>) =>
    entries.map(({ createTime }) => Number(createTime?.seconds) % 60);

  test('has the actions of one kind and period, page by page', async () => {
    const merchantId = newMerchantId();
    await putEntries(merchantId, 8);
    const filter = { merchantId, actionKind: 'api_key', fromTime: at(1), toTime: at(7), pageSize: 2 };

    const first = await list(filter);
    const second = await list({ ...filter, pageToken: first.nextPageToken });

    expect([secondsOf(first), secondsOf(second)]).toEqual([[5, 3], [1]]);
    expect(second.nextPageToken).toBe('');
  });

  test('matches a kind exactly: an underscore is no wildcard, and half a word matches nothing', async () => {
    const merchantId = newMerchantId();
    await putEntries(merchantId, 2);
    const found = await Promise.all(
      ['api_key', 'api', 'apixkey', 'endpoint'].map(async (actionKind) =>
        secondsOf(await list({ merchantId, actionKind })),
      ),
    );
    expect(found).toEqual([[1], [], [], [0]]);
  });

  test('refuses a page token with another filter', async () => {
    const merchantId = newMerchantId();
    await putEntries(merchantId, 3);
    const { nextPageToken: pageToken } = await list({ merchantId, pageSize: 1 });
    for (const other of [{ actionKind: 'endpoint' }, { fromTime: at(0) }, { toTime: at(9) }]) {
      expect(await wrongFields(list({ merchantId, pageSize: 1, pageToken, ...other }))).toBe('page_token');
    }
  });

  test('is refused for an invalid kind', async () => {
    expect(await wrongFields(list({ actionKind: '%' }))).toBe('action_kind');
  });
});
