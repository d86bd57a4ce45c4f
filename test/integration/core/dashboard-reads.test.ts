import { beforeAll, describe, expect, test } from '@jest/globals';
import { timestampFromDate, timestampDate, timestampMs } from '@bufbuild/protobuf/wkt';
import type { CallOptions } from '@connectrpc/connect';
import { DiagnosticsService } from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { Environment, OrderStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { Order } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { RecoveryService } from '../../../src/gen/gatehouse/v1/recovery_service_pb.js';
import { ReconciliationService } from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import { directPayment, registration } from '../../support/order-requests.ts';
import { holdLocks, queryOnce } from '../../support/database-connections.ts';
import { failureOf, flood, outcomeOf, wrongFields } from '../../support/rpc-failure.ts';
import { hangMs } from '../../support/wait-until.ts';
import { sharedStack, sharedClient, sharedMerchant } from '../../support/shared-stack.ts';
import { ReportService, ReportStep } from '../../../src/gen/gatehouse/v1/report_service_pb.js';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { storedId } from '../../support/ids.ts';
import { ApiEndpoint, RequestLogService } from '../../../src/gen/gatehouse/v1/request_log_service_pb.js';

let merchantId: string;
/** In the order they were registered in. */
const registered: Order[] = [];

const stack = sharedStack({ facades: 0 });
const orders = sharedClient(stack, OrderService, 'writer');
const reconciliations = sharedClient(stack, ReconciliationService, 'reader');
const recoveries = sharedClient(stack, RecoveryService, 'reader');
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

const timeAt = (text: string) => timestampFromDate(new Date(text));
const sandbox = { environment: Environment.SANDBOX };
const numbersOf = (list: readonly Order[]): string[] => list.map(({ orderNumber }) => orderNumber);
/** A new merchant, with these orders in this sequence. */
async function merchantWith(...orderNumbers: string[]): Promise<string> {
  const { id } = await stack.createMerchant();
  for (const orderNumber of orderNumbers)
    await orders.registerOrder(registration({ merchantId: id, orderNumber }));
  return id;
}

describe('listing orders', () => {
  test("pages through a merchant's orders of one environment, newest first, without gap or repeat", async () => {
    const seen: Order[] = [];
    let pageToken = '';
    do {
      const page = await orders.listOrders({ merchantId, ...sandbox, pageSize: 7, pageToken });
      expect(page.orders.length).toBeLessThanOrEqual(7);
      seen.push(...page.orders);
      pageToken = page.nextPageToken;
    } while (pageToken !== '');

    expect(seen).toEqual(registered.toReversed());
  });

  test('continues at the same position while new orders arrive', async () => {
    const id = await merchantWith('1', '2', '3', '4');
    const first = await orders.listOrders({ merchantId: id, ...sandbox, pageSize: 2 });
    await orders.registerOrder(registration({ merchantId: id, orderNumber: '5' }));

    const { nextPageToken: pageToken } = first;
    const second = await orders.listOrders({ merchantId: id, ...sandbox, pageSize: 2, pageToken });

    expect([...numbersOf(first.orders), ...numbersOf(second.orders)]).toEqual(['4', '3', '2', '1']);
  });

  test('filters by the beginning of the order_number, also one that ends in the last printable character', async () => {
    const id = await merchantWith('a~1', 'a~', 'b');

    const { orders: listed } = await orders.listOrders({
      ...{ merchantId: id, ...sandbox, orderNumberPrefix: 'a~' },
    });

    expect(numbersOf(listed)).toEqual(['a~', 'a~1']);
  });

  test('filters by status', async () => {
    const id = await merchantWith('open', 'done', 'late');
    await queryOnce(
      stack.databaseUrl,
      `update core.orders set sweep_at = null, status = case order_number when 'late' then 'EXPIRED' else 'COMPLETED' end::core.order_status,
         deducted_minor_units = case order_number when 'late' then 0 else 10050 end
       where order_number in ('late', 'done')`,
    );

    const find = async (...statuses: OrderStatus[]) =>
      (await orders.listOrders({ merchantId: id, ...sandbox, statuses })).orders;

    expect(numbersOf(await find(OrderStatus.PENDING))).toEqual(['open']);
    expect(numbersOf(await find(OrderStatus.EXPIRED, OrderStatus.COMPLETED))).toEqual(['late', 'done']);
    expect(await find(OrderStatus.FAILED)).toEqual([]);
    expect(await find(OrderStatus.COMPLETED)).toMatchObject([{ deducted: '100.50' }]);
  });

  test('filters by creation time: from is included, to is not', async () => {
    const [tenth, twentieth] = [registered[10], registered[20]];
    const times = { createTimeFrom: tenth?.createTime, createTimeTo: twentieth?.createTime };

    const { orders: listed } = await orders.listOrders({ merchantId, ...sandbox, ...times });

    const millis = (order: Order | undefined): number => timestampMs(order!.createTime!);
    const within = registered.filter(
      (order) => millis(order) >= millis(tenth) && millis(order) < millis(twentieth),
    );
    expect(numbersOf(listed)).toEqual(numbersOf(within).reverse());
    expect(listed.length).toBeGreaterThan(0);
  });

  test('filters by the time of completion: from is included, to is not', async () => {
    const id = await merchantWith('open', 'early', 'late');
    const [early, late] = [timeAt('2030-01-01T12:00:00Z'), timeAt('2030-02-01T12:00:00Z')];
    await queryOnce(
      stack.databaseUrl,
      `update core.orders set sweep_at = null, status = 'COMPLETED', deducted_minor_units = 10050,
         updated_at = case order_number when 'early' then '2030-01-01T12:00:00Z' else '2030-02-01T12:00:00Z' end::timestamptz
       where merchant_id = '${storedId('mer', id)}' and order_number <> 'open'`,
    );
    const find = async (times: object) =>
      numbersOf((await orders.listOrders({ merchantId: id, ...sandbox, ...times })).orders);

    expect(await find({ completeTimeFrom: early })).toEqual(['late', 'early']);
    expect(await find({ completeTimeFrom: early, completeTimeTo: late })).toEqual(['early']);
    expect(await find({ completeTimeTo: early })).toEqual([]);
    expect(await find({ completeTimeTo: timeAt('2020-01-01T00:00:00Z') })).toEqual([]);
  });

  test('finds the orders of a phone: of the customer, and of a payer, with the payment option of the latest attempt', async () => {
    const { id } = await stack.createMerchant();
    const other = await stack.createMerchant();
    const [own, payers] = ['0922000011', '+251922000012'];
    for (const orderNumber of ['named', 'paid', 'both'])
      await orders.registerOrder(registration({ merchantId: id, orderNumber, customerPhone: own }));
    const pay = (orderNumber: string, phone: string, merchantId = id) =>
      orders.startDirectPayment(directPayment({ merchantId, orderNumber, phone }));
    await pay('paid', payers);
    await pay('both', own);
    await pay('elsewhere', payers, other.id);
    const find = async (request: object) => orders.listOrders({ merchantId: id, ...sandbox, ...request });

    const ofPayer = (await find({ phone: '0922-000-012' })).orders;
    expect(ofPayer).toMatchObject([{ orderNumber: 'paid', paymentOption: 'walleta_ussd' }]);
    const ofOwn = await find({ phone: own });
    expect(numbersOf(ofOwn.orders)).toEqual(['both', 'paid', 'named']);
    expect(ofOwn.orders.map(({ orderId }) => ofOwn.payerPhones[orderId])).toEqual([
      '+251922000011',
      payers,
      undefined,
    ]);
    expect(numbersOf((await find({ customerPhone: payers })).orders)).toEqual([]);
  });
});

describe('a listing is refused with', () => {
  test.each([
    ['negative page_size', { pageSize: -1 }, 'page_size'],
    ['made-up page_token', { pageToken: 'bm90IGEgdG9rZW4' }, 'page_token'],
    ['unknown status', { statuses: [42 as OrderStatus] }, 'statuses'],
    ['prefix with a space', { orderNumberPrefix: 'a b' }, 'order_number_prefix'],
    ['time after the year 9999', { createTimeFrom: { seconds: 10n ** 15n } }, 'create_time_from'],
    ['incomplete phone', { phone: '12' }, 'phone'],
    ['incomplete customer phone', { customerPhone: '12' }, 'customer_phone'],
    ['completion after the year 9999', { completeTimeTo: { seconds: 10n ** 15n } }, 'complete_time_to'],
    [
      'a creation that ends before it begins',
      { createTimeFrom: timeAt('2026-01-02T00:00Z'), createTimeTo: timeAt('2026-01-01T00:00Z') },
      'create_time_to',
    ],
    [
      'a completion that ends before it begins',
      { completeTimeFrom: timeAt('2026-01-02T00:00Z'), completeTimeTo: timeAt('2026-01-01T00:00Z') },
      'complete_time_to',
    ],
    [
      'a highest amount below the lowest',
      { currency: 'ETB', amountFrom: '10.01', amountTo: '10' },
      'amount_to',
    ],
    ['no environment', { environment: Environment.UNSPECIFIED }, 'environment'],
  ])('%s', async (_name, change, field) => {
    expect(await wrongFields(orders.listOrders({ merchantId, ...sandbox, ...change }))).toBe(field);
  });

  test('a page token of another listing', async () => {
    const { nextPageToken: pageToken } = await orders.listOrders({ merchantId, ...sandbox, pageSize: 1 });
    const others = [
      { createTimeFrom: timeAt('1970-01-01T00:00:00Z') },
      { completeTimeFrom: timeAt('1970-01-01T00:00:00Z') },
      { completeTimeTo: timeAt('2100-01-01T00:00:00Z') },
      { phone: '0911223344' },
    ];

    for (const other of others)
      expect(await wrongFields(orders.listOrders({ merchantId, ...sandbox, pageToken, ...other }))).toBe(
        'page_token',
      );
  });
});

const reports = sharedClient(stack, ReportService, 'dashboard');

const reportOf = (from: string, to: string, timeZone: string, options: CallOptions = {}) =>
  reports.getOrderReport(
    {
      merchantId: merchant.id,
      environment: Environment.SANDBOX,
      fromTime: timestampFromDate(new Date(from)),
      toTime: timestampFromDate(new Date(to)),
      step: ReportStep.DAY,
      timeZone,
    },
    options,
  );

test.each([
  ['Asia/Kathmandu', '18:15'],
  ['', '00:00'],
])('a report in the time zone %j has the days of that time zone', async (timeZone, time) => {
  const { intervals } = await reportOf(`2026-11-18T${time}Z`, `2026-11-20T${time}Z`, timeZone);

  expect(intervals.map(({ startTime }) => timestampDate(startTime!).toISOString().slice(0, 16))).toEqual([
    `2026-11-18T${time}`,
    `2026-11-19T${time}`,
  ]);
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
const audit = sharedClient(stack, AuditService, 'reader');

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

test('a list of requests is refused with a time that ends before it begins', async () => {
  const span = { createTimeFrom: timeAt('2026-01-02T00:00Z'), createTimeTo: timeAt('2026-01-01T00:00Z') };

  expect(await wrongFields(reader.listApiRequests({ merchantId: merchant.id, environment, ...span }))).toBe(
    'create_time_to',
  );
});

test.each([
  ['unkept[0].count', (merchantId: string) => ({ unkept: [{ merchantId, environment, count: -1n }] })],
  ['unauthenticated', () => ({ unauthenticated: -1n })],
])("a facade's negative %s is refused", async (field, report) => {
  expect(await failureOf(facade.recordApiRequests(report(merchant.id)))).toMatchObject({
    reason: 'INVALID_FIELDS',
    issues: { [field]: 'must not be negative' },
  });
});

describe('many readings of one merchant leave connections to other merchants:', () => {
  test.each([
    [
      'searches of orders',
      'core.orders',
      () => orders.listOrders({ merchantId: merchant.id, environment }, { timeoutMs: hangMs }),
    ],
    [
      'searches of API requests',
      'core.api_requests',
      () => reader.listApiRequests({ merchantId: merchant.id, environment }, { timeoutMs: hangMs }),
    ],
    [
      'lists of the audit log',
      'core.audit_entries',
      () => audit.listAuditEntries({ merchantId: merchant.id }, { timeoutMs: hangMs }),
    ],
    [
      'reports',
      'core.order_counts',
      () => reportOf('2026-11-18T00:00Z', '2026-11-19T00:00Z', '', { timeoutMs: hangMs }),
    ],
    [
      'lists of events',
      'core.order_events',
      () => orders.listOrderEvents({ merchantId: merchant.id }, { timeoutMs: hangMs }),
    ],
    [
      'lists of a reader',
      'core.reconciliations',
      () => reconciliations.listReconciliations({}, { timeoutMs: hangMs }),
    ],
    ['other reads of a reader', 'core.recoveries', () => recoveries.getRecovery({}, { timeoutMs: hangMs })],
    [
      'first steps',
      'core.order_counts',
      () => reports.getFirstSteps({ merchantId: merchant.id, environment }, { timeoutMs: hangMs }),
    ],
  ])('%s', async (_what, table, search) => {
    const { id: otherId } = await stack.createMerchant();
    const release = await holdLocks(stack.databaseUrl, `lock table ${table} in access exclusive mode`);
    const searching = flood(search, 1);

    const first = await Promise.race(searching);
    const { merchant: other } = await stack
      .client(MerchantService, 'operator')
      .getMerchant({ merchantId: otherId });

    await release();
    expect(first).toBe('OVERLOADED');
    expect(other?.merchantId).toBe(otherId);
    expect(new Set(await Promise.all(searching))).toEqual(new Set(['done', 'OVERLOADED']));
  });
});

test("many reports for a reader leave turns to the merchant's own ones", async () => {
  const release = await holdLocks(stack.databaseUrl, 'lock table core.order_counts in access exclusive mode');
  const asked = { merchantId: merchant.id, environment };
  const byReader = stack.client(ReportService, 'reader');
  const reading = flood(() => byReader.getFirstSteps(asked, { timeoutMs: hangMs }), 1);
  const first = await Promise.race(reading);
  const own = outcomeOf(reports.getFirstSteps(asked, { timeoutMs: hangMs }));
  // Calls of one moment are received in turn, so this answer comes after the refusal of the merchant's call, if it is refused.
  await stack.client(MerchantService, 'operator').getMerchant({ merchantId: merchant.id });
  await release();

  expect([first, await own]).toEqual(['OVERLOADED', 'done']);
  await Promise.all(reading);
});

test('diagnoses requested at the same time share connections', async () => {
  const diagnostics = stack.client(DiagnosticsService, 'reader');
  const release = await holdLocks(
    stack.databaseUrl,
    'lock table core.reconciliations in access exclusive mode',
  );
  const diagnoses = flood(() => diagnostics.diagnose({}, { timeoutMs: hangMs }), 1);

  await stack.createMerchant();

  await release();
  expect(new Set(await Promise.all(diagnoses))).toEqual(new Set(['done']));
});
