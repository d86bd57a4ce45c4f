import { beforeAll, describe, expect, test } from '@jest/globals';
import { timestampFromDate, timestampDate } from '@bufbuild/protobuf/wkt';
import pg from 'pg';
import { Environment, OrderStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { Order } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { directPayment, registration } from '../../support/order-requests.ts';
import { wrongFields, failureOf, refusalOf } from '../../support/rpc-failure.ts';
import { hangMs } from '../../support/wait-until.ts';
import { sharedStack, sharedClient, sharedMerchant } from '../../support/shared-stack.ts';
import { ReportService, ReportStep } from '../../../src/gen/gatehouse/v1/report_service_pb.js';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { ApiEndpoint, RequestLogService } from '../../../src/gen/gatehouse/v1/request_log_service_pb.js';

let merchantId: string;
/** In the order they were registered in. */
const registered: Order[] = [];

const stack = sharedStack({ facades: 0 });
const orders = sharedClient(stack, OrderService, 'writer');
beforeAll(async () => {
  merchantId = (await stack.createMerchant()).id;
  for (let number = 0; number < 25; number += 1) {
    const orderNumber = `${number < 5 ? 'red' : 'blue'}-${number}`;
    const { order } = await orders.registerOrder(registration({ merchantId, orderNumber }));
    if (order !== undefined) registered.push(order);
  }
  await orders.registerOrder(
    registration({ merchantId, orderNumber: 'live', environment: Environment.PRODUCTION }),
  );
  const other = await stack.createMerchant();
  await orders.registerOrder(registration({ merchantId: other.id, orderNumber: 'red-0' }));
});

const sandbox = { environment: Environment.SANDBOX };
const numbersOf = (list: readonly Order[]): string[] => list.map(({ orderNumber }) => orderNumber);
const newestFirst = (): string[] => numbersOf(registered).reverse();

describe('listing orders', () => {
  test("returns a merchant's orders of one environment, newest first", async () => {
    const { orders: listed, nextPageToken } = await orders.listOrders({ merchantId, ...sandbox });

    expect(numbersOf(listed)).toEqual(newestFirst());
    expect(listed[0]).toEqual(registered.at(-1));
    expect(nextPageToken).toBe('');
  });

  test('pages through all of them without gap or repeat', async () => {
    const seen: string[] = [];
    let pageToken = '';
    do {
      const page = await orders.listOrders({ merchantId, ...sandbox, pageSize: 7, pageToken });
      expect(page.orders.length).toBeLessThanOrEqual(7);
      seen.push(...numbersOf(page.orders));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');

    expect(seen).toEqual(newestFirst());
  });

  test('continues at the same position while new orders arrive', async () => {
    const { id } = await stack.createMerchant();
    for (const orderNumber of ['1', '2', '3', '4'])
      await orders.registerOrder(registration({ merchantId: id, orderNumber }));
    const first = await orders.listOrders({ merchantId: id, ...sandbox, pageSize: 2 });
    await orders.registerOrder(registration({ merchantId: id, orderNumber: '5' }));

    const second = await orders.listOrders({
      merchantId: id,
      ...sandbox,
      pageSize: 2,
      pageToken: first.nextPageToken,
    });

    expect([...numbersOf(first.orders), ...numbersOf(second.orders)]).toEqual(['4', '3', '2', '1']);
  });

  test('filters by the beginning of the order_number', async () => {
    const { orders: listed } = await orders.listOrders({ merchantId, ...sandbox, orderNumberPrefix: 'red-' });

    expect(numbersOf(listed)).toEqual(['red-4', 'red-3', 'red-2', 'red-1', 'red-0']);
  });

  test('filters by a prefix that ends in the last printable character', async () => {
    const { id } = await stack.createMerchant();
    for (const orderNumber of ['a~1', 'a~', 'b'])
      await orders.registerOrder(registration({ merchantId: id, orderNumber }));

    const { orders: listed } = await orders.listOrders({
      merchantId: id,
      ...sandbox,
      orderNumberPrefix: 'a~',
    });

    expect(numbersOf(listed)).toEqual(['a~', 'a~1']);
  });

  test('filters by status', async () => {
    const { id } = await stack.createMerchant();
    for (const orderNumber of ['open', 'done', 'late'])
      await orders.registerOrder(registration({ merchantId: id, orderNumber }));
    const database = new pg.Client({ connectionString: stack.databaseUrl });
    await database.connect();
    await database.query(
      `update core.orders set status = 'EXPIRED', sweep_at = null where order_number = 'late'`,
    );
    await database.query(
      `update core.orders set status = 'COMPLETED', deducted_minor_units = 10050, sweep_at = null where order_number = 'done'`,
    );
    await database.end();

    const find = async (...statuses: OrderStatus[]) =>
      numbersOf((await orders.listOrders({ merchantId: id, ...sandbox, statuses })).orders);

    expect(await find(OrderStatus.PENDING)).toEqual(['open']);
    expect(await find(OrderStatus.EXPIRED, OrderStatus.COMPLETED)).toEqual(['late', 'done']);
    expect(await find(OrderStatus.FAILED)).toEqual([]);
    const { orders: completed } = await orders.listOrders({
      merchantId: id,
      ...sandbox,
      statuses: [OrderStatus.COMPLETED],
    });
    expect(completed[0]?.deducted).toBe('100.50');
  });

  test('filters by creation time: from is included, to is not', async () => {
    const [tenth, twentieth] = [registered[10], registered[20]];
    const times = { createTimeFrom: tenth?.createTime, createTimeTo: twentieth?.createTime };

    const { orders: listed } = await orders.listOrders({ merchantId, ...sandbox, ...times });

    const millis = (order: Order | undefined): number =>
      Number(order?.createTime?.seconds) * 1000 + Number(order?.createTime?.nanos) / 1e6;
    const within = registered.filter(
      (order) => millis(order) >= millis(tenth) && millis(order) < millis(twentieth),
    );
    expect(numbersOf(listed)).toEqual(numbersOf(within).reverse());
    expect(listed.length).toBeGreaterThan(0);
  });

  test('shows the payment option of the latest attempt', async () => {
    const { id } = await stack.createMerchant();
    await orders.startDirectPayment(directPayment({ merchantId: id }));

    const { orders: listed } = await orders.listOrders({ merchantId: id, ...sandbox });

    expect(listed[0]?.paymentOption).toBe('walleta_ussd');
  });

  test('reads the newest orders from the end of the primary key, without sorting', async () => {
    const database = new pg.Client({ connectionString: stack.databaseUrl });
    await database.connect();
    await database.query('set enable_seqscan = off');
    const { rows } = await database.query<Record<string, string>>(
      `explain select * from core.orders where merchant_id = '01a1fb23-e507-732d-95d5-85a92484bba7' and environment = 'SANDBOX' order by id desc limit 50`,
    );
    await database.end();

    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toMatch(/Index Scan Backward using orders_pkey/);
  });
});

describe('a listing is refused with', () => {
  test.each([
    ['negative page_size', { pageSize: -1 }, 'page_size'],
    ['made-up page_token', { pageToken: 'bm90IGEgdG9rZW4' }, 'page_token'],
    ['unknown status', { statuses: [42 as OrderStatus] }, 'statuses'],
    ['prefix with a space', { orderNumberPrefix: 'a b' }, 'order_number_prefix'],
    ['time after the year 9999', { createTimeFrom: { seconds: 10n ** 15n } }, 'create_time_from'],
    ['no environment', { environment: Environment.UNSPECIFIED }, 'environment'],
  ])('%s', async (_name, change, field) => {
    expect(await wrongFields(orders.listOrders({ merchantId, ...sandbox, ...change }))).toBe(field);
  });

  test('a page token of another listing', async () => {
    const { nextPageToken } = await orders.listOrders({ merchantId, ...sandbox, pageSize: 1 });

    expect(
      await wrongFields(
        orders.listOrders({
          merchantId,
          ...sandbox,
          pageToken: nextPageToken,
          createTimeFrom: timestampFromDate(new Date(0)),
        }),
      ),
    ).toBe('page_token');
  });
});

const reports = sharedClient(stack, ReportService, 'dashboard');

const reportOf = (from: string, to: string, timeZone: string) =>
  reports.getOrderReport({
    merchantId: merchant.id,
    environment: Environment.SANDBOX,
    fromTime: timestampFromDate(new Date(from)),
    toTime: timestampFromDate(new Date(to)),
    step: ReportStep.DAY,
    timeZone,
  });

test.each([
  ['Asia/Kathmandu', '2026-11-18T18:15Z', '2026-11-20T18:15Z', ['2026-11-18T18:15', '2026-11-19T18:15']],
  ['Europe/Berlin', '2026-10-24T22:00Z', '2026-10-26T23:00Z', ['2026-10-24T22:00', '2026-10-25T23:00']],
  ['', '2026-11-18T00:00Z', '2026-11-20T00:00Z', ['2026-11-18T00:00', '2026-11-19T00:00']],
])('a report in the time zone %j has the days of that time zone', async (timeZone, from, to, starts) => {
  const { intervals } = await reportOf(from, to, timeZone);

  expect(
    intervals.map(({ startTime }) => startTime && timestampDate(startTime).toISOString().slice(0, 16)),
  ).toEqual(starts);
});

test.each([
  ['to_time', '2026-11-18T00:00Z', '2026-11-20T00:10Z', 'UTC', 'full quarter of an hour'],
  ['to_time', '2026-11-18T00:00Z', '2026-11-18T00:00Z', 'UTC', '92 days'],
  ['to_time', '2026-01-01T00:00Z', '2026-04-04T00:00Z', 'UTC', '92 days'],
  ['time_zone', '2026-11-18T00:00Z', '2026-11-20T00:00Z', 'Asia/Nowhere', 'Africa/Addis_Ababa'],
])('a %s from %s to %s in %s is refused, and the error says what is allowed', async (...asked) => {
  const [field, from, to, timeZone, word] = asked;

  const { reason, issues } = await failureOf(reportOf(from, to, timeZone));

  expect(reason).toBe('INVALID_FIELDS');
  expect(issues[field]).toContain(word);
});

const environment = Environment.SANDBOX;
const merchant = sharedMerchant(stack);
const facade = sharedClient(stack, RequestLogService, 'facade');
const reader = sharedClient(stack, RequestLogService, 'reader');

test('a call that a facade repeats stores its requests and counts once', async () => {
  const at = new Date();
  const { id: merchantId } = merchant;
  const call = () => ({
    requests: [1, 2].map(() => ({
      ...{ apiRequestId: newRandomId('req', at), merchantId, environment, apiKeyId: newRandomId('key', at) },
      ...{ endpoint: ApiEndpoint.VERIFY, method: 'POST', path: '/api/v1/verify', status: 200 },
      createTime: timestampFromDate(at),
    })),
    unkept: [{ merchantId, environment, count: 7n }],
  });
  const [first, second] = [call(), call()];

  // Core writes concurrent calls together.
  await Promise.all([first, second, first].map((each) => facade.recordApiRequests(each)));
  await facade.recordApiRequests(first);

  const { requests, unkept } = await reader.listApiRequests({ merchantId, environment });
  expect(requests).toHaveLength(4);
  expect(unkept).toBe(14n);
});

describe('many searches of one merchant leave connections to other merchants:', () => {
  test.each([
    [
      'of orders',
      'core.orders',
      () => orders.listOrders({ merchantId: merchant.id, environment }, { timeoutMs: hangMs }),
    ],
    [
      'of API requests',
      'core.api_requests',
      () => reader.listApiRequests({ merchantId: merchant.id, environment }, { timeoutMs: hangMs }),
    ],
  ])('%s', async (_what, table, search) => {
    const { id: otherId } = await stack.createMerchant();
    const holder = new pg.Client({ connectionString: stack.databaseUrl });
    await holder.connect();
    await holder.query('begin; set local idle_in_transaction_session_timeout = 0');
    await holder.query(`lock table ${table} in access exclusive mode`);
    // More than both cores execute and queue.
    const flood = Array.from({ length: 250 }, () => {
      const searching: Promise<unknown> = search();
      return searching.then(
        () => 'found',
        () => refusalOf(searching),
      );
    });

    const first = await Promise.race(flood);
    const { merchant: other } = await stack
      .client(MerchantService, 'operator')
      .getMerchant({ merchantId: otherId });

    await holder.query('rollback');
    await holder.end();
    expect(first).toBe('OVERLOADED');
    expect(other?.merchantId).toBe(otherId);
    expect(new Set(await Promise.all(flood))).toEqual(new Set(['found', 'OVERLOADED']));
  });
});
