import { randomBytes, randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createClient, createRouterTransport } from '@connectrpc/connect';
import { beforeEach, expect, test } from '@jest/globals';
import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  ListOrderEventsResponseSchema,
  OrderService,
} from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { createPipelineStatus } from '../../../src/webhooks/health/pipeline-status.ts';
import type { PipelineStatus } from '../../../src/webhooks/health/pipeline-status.ts';
import { createSecretCipher } from '../../../src/webhooks/secrets/secret-cipher.ts';
import { insertRow } from '../../support/insert-row.ts';
import { addManyDue } from './many-due.ts';
import { sharedWebhooksDatabase } from './shared-webhooks-database.ts';

const database = sharedWebhooksDatabase();

beforeEach(() =>
  database.pool.query(
    'truncate webhooks.lanes, webhooks.deliveries, webhooks.event_readers, webhooks.signing_secrets, webhooks.findings cascade',
  ),
);

const now = new Date('2026-11-21T12:00:00Z');
const ago = (seconds: number): Date => new Date(now.getTime() - seconds * 1000);
const merchant = 'mer_1';
const key = randomBytes(32);
const cipher = createSecretCipher([{ name: 'new', key }], randomBytes);

type Page = MessageInitShape<typeof ListOrderEventsResponseSchema>;

/** The status, with a core that answers `pageAfter` the cursor. */
function readStatus(pageAfter: (cursor: string) => Page = () => ({})): Promise<PipelineStatus> {
  const transport = createRouterTransport(({ rpc }) => {
    rpc(OrderService.method.listOrderEvents, ({ afterCursor }) =>
      create(ListOrderEventsResponseSchema, pageAfter(afterCursor)),
    );
  });
  return createPipelineStatus({
    database,
    orders: createClient(OrderService, transport),
    cipher,
    broker: { isAnswering: () => Promise.resolve(true) },
    now: () => now,
  })();
}

interface Lane {
  readonly endpoint: string;
  readonly resting_until?: Date;
  readonly paused_at?: Date;
  readonly next_due_at?: Date | null;
  readonly lease_id?: string;
  readonly leased_until?: Date;
  readonly last_success_at?: Date;
}

const addLane = (own: Lane) =>
  insertRow(database.pool, 'webhooks.lanes', {
    ...{ merchant_id: merchant, environment: 'SANDBOX', next_due_at: ago(60), created_at: now },
    ...own,
  });

interface Delivery {
  readonly id: string;
  readonly endpoint: string;
  readonly order_id?: string;
  readonly sequence?: number;
  readonly due_at?: Date;
  readonly given_up_at?: Date;
  readonly event_type?: string;
}

/** It is pending if it is due, and was abandoned otherwise, after this time. */
const addDelivery = (own: Delivery, triedSeconds = 0) =>
  insertRow(database.pool, 'webhooks.deliveries', {
    ...{ merchant_id: merchant, environment: 'SANDBOX', event_id: own.id, event_type: 'order.completed' },
    ...{ order_id: `ord_${own.id}`, order_number: 'A-1', sequence: 3, url: own.endpoint, body: '' },
    state: own.due_at === undefined ? 'GIVEN_UP' : 'PENDING',
    round_started_at: new Date((own.given_up_at ?? now).getTime() - triedSeconds * 1000),
    created_at: now,
    ...own,
  });

test('at first nothing is ingested, and nothing is due', async () => {
  expect(await readStatus()).toEqual({
    isIngesting: false,
    intakeAt: undefined,
    eventLag: 0,
    oldestEventAt: undefined,
    isBrokerConnected: true,
    dueCount: 0,
    oldestDueAt: undefined,
    pendingCount: 0,
    activeEndpoints: 0,
    restingEndpoints: 0,
    pausedEndpoints: 0,
    givenUpCount: 0,
    givenUpTestCount: 0,
    triedMs: undefined,
    secretsWithOldKey: 0,
    awaitedSecretCount: 0,
    reconciledAt: undefined,
    unreconciledSince: now,
    repairedCount: 0,
    gaps: [],
    gapCount: 0,
  });
});

test('only deliveries that can be sent now are due: none behind an earlier one of its order, and none in the future', async () => {
  const endpoint = 'https://open.example';
  await addLane({ endpoint });
  await addDelivery({ id: 'first', endpoint, order_id: 'ord_1', sequence: 3, due_at: ago(30) });
  await addDelivery({ id: 'behind', endpoint, order_id: 'ord_1', sequence: 4, due_at: ago(50) });
  await addDelivery({ id: 'other', endpoint, due_at: ago(10) });
  await addDelivery({ id: 'later', endpoint, due_at: ago(-60) });

  expect(await readStatus()).toMatchObject({
    dueCount: 2,
    oldestDueAt: ago(30),
    pendingCount: 4,
    activeEndpoints: 1,
  });
});

test('the oldest due delivery is not that of an endpoint to which a process is sending', async () => {
  const leased = { lease_id: randomUUID(), leased_until: ago(-30) };
  for (const [endpoint, seconds, own] of [
    ['https://slow.example', 400, { ...leased, last_success_at: ago(5) }],
    ['https://hanging.example', 200, { ...leased, last_success_at: ago(90) }],
    ['https://waiting.example', 100, { last_success_at: ago(5) }],
  ] as const) {
    await addLane({ endpoint, ...own });
    await addDelivery({ id: endpoint, endpoint, due_at: ago(seconds) });
  }

  expect(await readStatus()).toMatchObject({ dueCount: 3, oldestDueAt: ago(200) });
});

test('deliveries of endpoints that are paused or have an open circuit are pending and not due', async () => {
  const [resting, paused] = ['https://resting.example', 'https://paused.example'];
  await addLane({ endpoint: resting, resting_until: ago(-30) });
  await addLane({ endpoint: paused, paused_at: ago(30) });
  await addLane({ endpoint: 'https://idle.example', next_due_at: null });
  await addManyDue(database.pool, merchant, resting, 12_000);
  await addDelivery({ id: 'held', endpoint: paused, due_at: ago(30) });

  expect(await readStatus()).toMatchObject({
    dueCount: 0,
    oldestDueAt: undefined,
    pendingCount: 10_000,
    activeEndpoints: 0,
    restingEndpoints: 1,
    pausedEndpoints: 1,
  });
});

test('abandoned deliveries, repaired ones and gaps are counted for the last 24 hours', async () => {
  const endpoint = 'https://open.example';
  await addLane({ endpoint });
  await addDelivery({ id: 'lately', endpoint, given_up_at: ago(3_600) }, 273_600);
  await addDelivery({ id: 'asked-to-wait', endpoint, given_up_at: ago(3_600) }, 7);
  const abandonedTest = { id: 'test', endpoint, given_up_at: ago(3_600), event_type: 'webhook.test' };
  await addDelivery(abandonedTest, 1);
  await addDelivery({ id: 'long-ago', endpoint, given_up_at: ago(25 * 3_600) });
  await database.pool.query(
    `insert into webhooks.findings (id, found_at, code, merchant_id, order_id, is_repaired, detail) values
       ('1', $1, 'DELIVERY_CREATED', 'mer_1', 'ord_1', true, 'was missing'),
       ('2', $1, 'EVENTS_MISSING', 'mer_1', 'ord_2', false, 'a gap'),
       ('3', $2, 'EVENTS_MISSING', 'mer_1', 'ord_3', false, 'an old gap')`,
    [ago(60), ago(25 * 3_600)],
  );

  expect(await readStatus()).toMatchObject({
    givenUpCount: 3,
    givenUpTestCount: 1,
    triedMs: { shortest: 7_000, longest: 273_600_000 },
    repairedCount: 1,
    gapCount: 1,
    gaps: [{ code: 'EVENTS_MISSING', orderId: 'ord_2', facts: {}, detail: 'a gap' }],
  });
});

const addSecret = (
  merchantId: string,
  { keyId, sealed }: { readonly keyId: string; readonly sealed: Buffer },
): Promise<unknown> =>
  insertRow(database.pool, 'webhooks.signing_secrets', {
    ...{
      merchant_id: merchantId,
      environment: 'SANDBOX',
      id: 'whs_1',
      is_current: true,
      key_id: keyId,
      sealed,
    },
    ...{ ending: 'AAAA', shown: true, created_at: now },
  });

test('secrets that another key encrypted are counted, also a key of the same name', async () => {
  const nameOf = (merchantId: string) => ({ merchantId, environment: 'SANDBOX', id: 'whs_1' }) as const;
  const changed = createSecretCipher([{ name: 'new', key: randomBytes(32) }], randomBytes);
  await addSecret('mer_1', cipher.seal('whsec_1', nameOf('mer_1')));
  expect(await readStatus()).toMatchObject({ secretsWithOldKey: 0 });

  await addSecret('mer_2', { keyId: 'old', sealed: Buffer.alloc(60) });
  expect(await readStatus()).toMatchObject({ secretsWithOldKey: 1 });

  await addSecret('mer_3', changed.seal('whsec_3', nameOf('mer_3')));
  expect(await readStatus()).toMatchObject({ secretsWithOldKey: 2 });
});

test.each([
  [29, true],
  [31, false],
])('an intake that last read %i s ago is ingesting: %s', async (seconds, isIngesting) => {
  await database.pool.query(`insert into webhooks.event_readers values ('intake', 'c', $1)`, [ago(seconds)]);

  expect(await readStatus()).toMatchObject({ isIngesting, intakeAt: ago(seconds) });
});

test('events after the position of the intake are counted over all pages', async () => {
  await database.pool.query(`insert into webhooks.event_readers values ('intake', 'here', $1)`, [now]);
  const entries = (first: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({
      cursor: String(first + index),
      event: { eventId: `evt_${first + index}`, occurTime: timestampFromDate(ago(100 - first - index)) },
    }));

  const status = await readStatus((cursor) =>
    cursor === 'here'
      ? { entries: entries(1, 3), nextCursor: 'there', hasMore: true }
      : { entries: entries(4, 2), nextCursor: 'end', hasMore: false },
  );

  expect(status).toMatchObject({ eventLag: 5, oldestEventAt: ago(99) });
});

test('without an answer of core the lag is unknown, and the status has all other values', async () => {
  const status = await readStatus(() => {
    throw new ConnectError('away', Code.Unavailable);
  });

  expect(status).toMatchObject({ eventLag: undefined, pendingCount: 0 });
});
