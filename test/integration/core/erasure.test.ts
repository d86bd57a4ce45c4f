import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { AuditFindingKind, AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import {
  ErasureObstacle,
  PersonalDataService,
} from '../../../src/gen/gatehouse/v1/personal_data_service_pb.js';
import { PayerPaymentService } from '../../../src/gen/gatehouse/v1/payer_payment_service_pb.js';
import { SettlementOutcome, SettlementService } from '../../../src/gen/gatehouse/v1/settlement_service_pb.js';
import { eraseOrders } from '../../../src/core/erasure/erase-orders.ts';
import type { EraseParts } from '../../../src/core/erasure/erase-orders.ts';
import { readDue, removeDue } from '../../../src/core/erasure/due-erasures.sql.ts';
import { findEndedPeriods } from '../../../src/core/erasure/ended-periods.ts';
import type { TwoClocks } from '../../../src/platform/database/retention-start.ts';
import { erasedText } from '../../../src/core/domain/erased.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { deriveKey } from '../../../src/main/derive-key.ts';
import { publicId, storedId } from '../../support/ids.ts';
import { orderNamed } from '../../support/order-requests.ts';
import { sharedClient, sharedConnection, sharedPool, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { insertPayerPayment } from './stored-rows.ts';
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';
import type { Payment } from './payment-desk.ts';
import { keptLog } from '../../support/kept-log.ts';
import { sql } from '../../support/sql.ts';
import { untilSealed, verifyEvents } from './verified-events.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);
const audit = sharedClient(stack, AuditService, 'reader');
const personalData = sharedClient(stack, PersonalDataService, 'operator');
const orders = sharedClient(stack, OrderService, 'writer');
const payers = sharedClient(stack, PayerPaymentService, 'wallets');
const settlements = sharedClient(stack, SettlementService, 'operator');
const superuser = sharedConnection(() => stack.databaseUrl);
const pool = sharedPool(() => stack.databaseUrl, 4);

const environment = Environment.SANDBOX;
const dayMs = 24 * 60 * 60_000;
let phones = 10_000_000;
const newPhone = (): string => `+2519${String((phones += 1))}`;

const verify = (merchantId: string) => verifyEvents(audit, { merchantId });
const sealed = (merchantId: string) => untilSealed(audit, { merchantId });

const { logger, log } = keptLog({ level: 'info' });
const parts = (): EraseParts => ({
  database: { pool },
  erasureKey: deriveKey(Buffer.from(stack.coreSettings['GATEHOUSE_MASTER_KEY'] ?? '', 'hex'), 'erasure-seal'),
  forgetPublished: () => Promise.resolve(true),
  now: () => new Date(),
  logger,
});

const eraseNow = (
  { merchantId, orderId }: { readonly merchantId: string; readonly orderId: string },
  own: Partial<EraseParts> = {},
  stop: Pick<AbortSignal, 'aborted'> = { aborted: false },
) =>
  eraseOrders(
    { ...parts(), ...own },
    {
      merchantId: storedId('mer', merchantId),
      orderIds: [storedId('ord', orderId)],
      requestedIds: new Set(),
    },
    stop,
  );

/** Finds the orders whose period ends within so many days from now. */
const findEnded = (days: number, own: Partial<TwoClocks & { readonly defaultDays: number }> = {}) => {
  const now = () => new Date(Date.now() + days * dayMs);
  const parts = {
    ...{ database: { pool }, defaultDays: 30, newId: newRandomId, now, machineNow: now },
    ...own,
  };
  return findEndedPeriods(parts, ['SANDBOX', 'PRODUCTION'], { aborted: false });
};
const orderOf = async (merchantId: string, orderNumber = 'PAID') =>
  (await orders.getOrder(orderNamed(merchantId, orderNumber))).order;

const randomText = (): string => randomBytes(6).toString('hex');

async function paidOrder(phone: string, orderNumber = 'PAID') {
  const { id: merchantId } = await stack.createMerchant();
  const payment = await desk.startDirect({ merchantId, orderNumber, phone });
  await desk.settle(payment, outcomes.completed('t-1'));
  return payment;
}

async function transactionOf(attemptId: string): Promise<string> {
  const { rows } = await superuser.query<{ id: string }>(sql`select provider_transaction_id as id
    from core.payment_attempts where id = ${storedId('pat', attemptId)}`);
  return rows[0]?.id ?? '';
}

const waitingOf = async (phone: string) => {
  const { erasureRequests } = await personalData.listErasureRequests({ phone });
  return erasureRequests.flatMap(({ waiting }) => waiting.map(({ obstacle }) => obstacle));
};

test('the erasure of an order waits while the order may change, and names the reason', async () => {
  const phone = newPhone();
  const { id: merchantId } = await stack.createMerchant();
  await desk.registerHosted({ merchantId, orderNumber: 'OPEN', customerPhone: phone });
  const paid = await desk.startDirect({ merchantId, orderNumber: 'REFUNDED', phone });
  await desk.settle(paid, outcomes.completed('t-1'));
  await desk.refund(merchantId, 'REFUNDED');

  const { erasureRequest } = await personalData.erasePersonalData({ phone });
  const waiting = await waitUntil('both were tried', async () => {
    const obstacles = await waitingOf(phone);
    return (
      obstacles.every(
        (each) => each !== ErasureObstacle.UNSPECIFIED && each !== ErasureObstacle.NOT_SEALED,
      ) && obstacles
    );
  });

  expect(erasureRequest).toMatchObject({ orderCount: 2n, waitingCount: 2n, merchantId: '' });
  expect([...waiting].sort()).toEqual([ErasureObstacle.ORDER_OPEN, ErasureObstacle.REFUND_OPEN]);
  expect((await orderOf(merchantId, 'REFUNDED'))?.customerPhone).toBe(phone);
});

test.each([
  ['payment_attempts', 'REQUESTED', 'PAYMENT_OPEN'],
  ['payment_attempts', 'SENT', 'PAYMENT_OPEN'],
  ['payment_attempts', 'UNKNOWN', 'PAYMENT_OPEN'],
  ['refunds', 'AWAITING_APPROVAL', 'REFUND_OPEN'],
  ['refunds', 'REVERSAL_DUE', 'REFUND_OPEN'],
  ['stray_payments', 'REVERSAL_DUE', 'STRAY_PAYMENT_OPEN'],
])('an order is not erased while its row of %s is %s', async (table, status, obstacle) => {
  const payment = await (table === 'stray_payments' ? refusedStray : paidOrder)(newPhone());
  if (table === 'refunds') await desk.refund(payment.merchantId, 'PAID');
  const id = storedId('ord', payment.orderId);
  await sealed(payment.merchantId);
  const due = status === 'REVERSAL_DUE' ? "now() + interval '1 day'" : 'null';
  await superuser.query(`update core.${table} set status = $2, due_at = ${due} where order_id = $1`, [
    id,
    status,
  ]);
  expect((await eraseNow(payment)).obstacles).toEqual(new Map([[id, obstacle]]));
});

test('the broker removes events after the commit, without locked orders, and again after an incomplete erasure', async () => {
  const payment = await paidOrder(newPhone());
  await sealed(payment.merchantId);
  const orderId = storedId('ord', payment.orderId);
  const removed: (readonly string[])[] = [];
  const seen: string[] = [];

  const interrupted = await eraseNow(payment, {
    forgetPublished: async (events) => {
      removed.push(events.map(({ id }) => id));
      const { rows } = await superuser.query<{ customer_phone: string }>(sql`
        select customer_phone from core.orders where id = ${orderId} for update nowait`);
      seen.push(...rows.map(({ customer_phone: phone }) => phone));
      throw new Error('the broker does not answer');
    },
  });
  const repeated = await eraseNow(payment, {
    forgetPublished: (events) => {
      removed.push(events.map(({ id }) => id));
      return Promise.resolve(true);
    },
  });

  expect(seen).toEqual(['erased']);
  expect(interrupted).toEqual({ erased: [], obstacles: new Map([[orderId, 'BROKER_UNAVAILABLE']]) });
  expect(log.map(({ msg }) => msg)).toContain(
    'the broker did not remove events of erased orders; core tries again in a minute',
  );
  expect(repeated).toEqual({ erased: [orderId], obstacles: new Map() });
  expect(removed[0]).toHaveLength((await desk.history(payment)).length);
  expect(removed[1]).toEqual(removed[0]);
});

test('a request for one merchant does not erase the orders of others', async () => {
  const phone = newPhone();
  const [mine, other] = [await paidOrder(phone), await paidOrder(phone)];

  const { erasureRequest } = await personalData.erasePersonalData({ phone, merchantId: mine.merchantId });
  await waitUntil('it is erased', async () => (await waitingOf(phone)).includes(ErasureObstacle.LATE_COPIES));

  expect(erasureRequest).toMatchObject({ orderCount: 1n, merchantId: mine.merchantId });
  const phoneOf = async ({ merchantId }: typeof mine) => (await orderOf(merchantId))?.customerPhone;
  expect([await phoneOf(mine), await phoneOf(other)]).toEqual(['erased', phone]);
  await expect(
    personalData.erasePersonalData({ phone, merchantId: 'mer_01m7xjbb99evv8hx2dqm5r8qgn' }),
  ).rejects.toThrow('there is no merchant');
});

test('a manipulation before or after an erasure is found, and so is an erasure without core', async () => {
  const [before, after, without] = [
    await paidOrder(newPhone()),
    await paidOrder(newPhone()),
    await paidOrder(newPhone()),
  ];
  for (const { merchantId } of [before, after, without]) await sealed(merchantId);
  const forge = async ({ orderId }: typeof before) => {
    await superuser.query("set session_replication_role = 'replica'");
    await superuser.query(sql`update core.order_events set occurred_at = occurred_at + interval '1 day'
      where order_id = ${storedId('ord', orderId)} and sequence = 1`);
    await superuser.query('reset session_replication_role');
  };
  const kindsOf = async ({ merchantId }: typeof before) =>
    (await verify(merchantId)).findings.map(({ kind }) => AuditFindingKind[kind]);

  await forge(before);
  const refused = await eraseNow(before);
  const erased = await eraseNow(after);
  const clean = await verify(after.merchantId);
  const { rows: blocks } = await superuser.query<{ salts: Buffer }>(sql`
    select salts from core.event_blocks where merchant_id = ${storedId('mer', after.merchantId)}`);
  await forge(after);
  // A person who has only the database can make every change that core makes, but not core's seal.
  await superuser.query("set session_replication_role = 'replica'");
  await superuser.query(sql`
    update core.event_blocks set salts = decode(repeat('00', octet_length(salts)), 'hex')
    where merchant_id = ${storedId('mer', without.merchantId)}`);
  await superuser.query(sql`
    insert into core.erased_orders (merchant_id, environment, order_id, from_sequence, to_sequence, erased_at, seal)
    values (${storedId('mer', without.merchantId)}, 'SANDBOX', ${storedId('ord', without.orderId)}, 1, 3,
      now(), ${randomBytes(32)})`);
  await superuser.query('reset session_replication_role');

  expect([...refused.obstacles.values()]).toEqual(['EVENT_CHANGED']);
  expect(erased).toMatchObject({ erased: [storedId('ord', after.orderId)] });
  expect({ ...clean.summary, findings: clean.findings }).toMatchObject({
    findings: [],
    eventCount: 0n,
    erasedEventCount: BigInt((await desk.history(after)).length),
  });
  // With the salt, a person could try all phone numbers until one has the commitment.
  expect(Buffer.concat(blocks.map(({ salts }) => salts)).every((byte) => byte === 0)).toBe(true);
  expect(await kindsOf(before)).toEqual(['EVENT_CHANGED']);
  expect(new Set(await kindsOf(after))).toEqual(new Set(['EVENT_CHANGED']));
  expect(new Set(await kindsOf(without))).toEqual(new Set(['EVENT_CHANGED']));
});

test('an order with very many events is erased by several transactions, and a stop between them loses nothing', async () => {
  const payment = await paidOrder(newPhone());
  const { merchantId, orderId } = payment;
  const key = [storedId('mer', merchantId), storedId('ord', orderId)];
  await desk.refund(merchantId, 'PAID');
  await superuser.query(
    "update core.refunds set status = 'REVERSED', due_at = null where merchant_id = $1 and order_id = $2",
    key,
  );
  const { rows: added } = await superuser.query(
    `insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
     select merchant_id, environment, order_id, sequence + 2 + n, uuidv7(), type, occurred_at, payload
     from core.order_events, generate_series(1, 1200) n where merchant_id = $1 and order_id = $2 and sequence = 2 returning sequence`,
    key,
  );
  await sealed(merchantId);
  const removed: string[] = [];
  let asked = 0;

  const stopped = await eraseNow(
    payment,
    {},
    {
      get aborted() {
        return (asked += 1) > 1;
      },
    },
  );
  const { erased } = await eraseNow(payment, {
    forgetPublished: (events) => {
      removed.push(...events.map(({ id }) => id));
      return Promise.resolve(true);
    },
  });

  const { rows } = await superuser.query(
    `select from_sequence, to_sequence, (select count(distinct xid) from core.erased_orders x where x.order_id = r.order_id)::integer as transactions,
       (select reason from core.refunds f where f.merchant_id = r.merchant_id and f.order_id = r.order_id) as refund,
       (select customer_phone from core.orders o where o.id = r.order_id) as phone
     from core.erased_orders r where merchant_id = $1 and order_id = $2 order by 1`,
    key,
  );
  const last = 4 + added.length;
  const whole = { transactions: 3, refund: 'erased', phone: 'erased' };
  expect([stopped.erased, erased]).toEqual([[], [key[1]]]);
  expect(rows).toEqual([
    { from_sequence: 1, to_sequence: 500, ...whole },
    { from_sequence: 501, to_sequence: 1000, ...whole },
    { from_sequence: 1001, to_sequence: last, ...whole },
  ]);
  expect(new Set(removed).size).toBe(last);
  expect((await verify(merchantId)).summary).toMatchObject({
    eventCount: 0n,
    erasedEventCount: BigInt(last),
  });
});

test('only an erasure can change events, audit entries and blocks, and it can change only what it erases', async () => {
  await paidOrder(newPhone());
  for (const [table, column] of [
    ['order_events', 'sequence = sequence + 1'],
    ['audit_entries', "actor = 'nobody'"],
    ['event_blocks', 'number = number + 1'],
  ] as const) {
    await waitUntil(
      `${table} has rows`,
      async () => (await superuser.query(`select from core.${table} limit 1`)).rows.length > 0,
    );
    await superuser.query('begin');
    await superuser.query("set local gatehouse.erasing = 'on'");
    await expect(superuser.query(`update core.${table} set ${column}`)).rejects.toThrow('is append-only');
    await superuser.query('rollback');
    for (const change of [
      `update core.${table} set ${column}`,
      `delete from core.${table}`,
      `truncate core.${table}`,
    ])
      await expect(superuser.query(change)).rejects.toThrow(`${table} is append-only`);
  }
  await expect(superuser.query("update core.order_events set payload = ''")).rejects.toThrow(
    'is append-only',
  );
});

test('the period of the deployment leaves a payment of an order to the erasure of the order', async () => {
  const { merchantId, orderId, attemptId } = await paidOrder(newPhone());
  const insert = (status: string, own: object = {}) =>
    insertPayerPayment(superuser, {
      ...{ status, merchant_id: storedId('mer', merchantId), detail: 'of a payer', ...own },
    });
  const read = async () =>
    (
      await superuser.query<{ status: string; detail: string; reference: string }>(sql`
        select status, detail, reference from core.payer_payments
        where merchant_id = ${storedId('mer', merchantId)} order by status`)
    ).rows;
  await insert('ORDER_PAID', { order_id: storedId('ord', orderId) });
  await insert('NO_PAYMENT');
  // The wallet reported the transaction of an attempt.
  await insert('REQUESTED_PAYMENT', {
    payment_attempt_id: storedId('pat', attemptId),
    provider_transaction_id: await transactionOf(attemptId),
  });

  await findEnded(31);

  const left = [
    { status: 'NO_PAYMENT', detail: 'erased', reference: 'erased' },
    { status: 'ORDER_PAID', detail: 'of a payer', reference: 'typed' },
  ];
  expect(await read()).toEqual([
    ...left,
    { status: 'REQUESTED_PAYMENT', detail: 'of a payer', reference: 'typed' },
  ]);
  await superuser.query(sql`delete from core.erasures_due where order_id = ${storedId('ord', orderId)}`);

  await sealed(merchantId);
  await eraseNow({ merchantId, orderId });

  expect(await read()).toEqual([
    ...left,
    { status: 'REQUESTED_PAYMENT', detail: 'erased', reference: 'erased' },
  ]);
});

test('a payment that a wallet reports after the erasure of its order is erased too', async () => {
  const { merchantId, orderId, attemptId } = await paidOrder(newPhone());
  await sealed(merchantId);
  await eraseNow({ merchantId, orderId });
  const providerTransactionId = await transactionOf(attemptId);
  const { payerPayment } = await payers.reportPayerPayment({
    ...{ environment, wallet: 'walleta', paymentOption: 'walleta_ussd', payee: '600000' },
    ...{ providerTransactionId, amount: '100', currency: 'ETB' },
    reference: 'typed',
  });

  // Core finds that the transaction belongs to the attempt, and leaves nothing to ask the wallet.
  await payers.leasePayerPayments({
    ...{ environment, wallet: 'walleta', maxPayments: 100, lease: { seconds: 60n } },
  });

  const erased = await waitUntil('core has erased the report', async () => {
    const { rows } = await superuser.query<{ status: string; reference: string }>(sql`
      select status, reference from core.payer_payments
      where id = ${storedId('ppm', payerPayment?.payerPaymentId ?? '')} and reference = 'erased'`);
    return rows[0];
  });
  expect(erased.status).toBe('REQUESTED_PAYMENT');
});

test('orders become due after the period of their merchant, or else of the deployment, and each is examined once', async () => {
  const [standard, longer, erased] = [
    await paidOrder(newPhone()),
    await paidOrder(newPhone()),
    await paidOrder(newPhone()),
  ];
  await superuser.query(sql`
    update core.orders set customer_phone = ${erasedText} where id = ${storedId('ord', erased.orderId)}`);
  const names = new Map<string, string>(
    Object.entries({ standard, longer, erased }).map(([name, { orderId }]) => [
      storedId('ord', orderId),
      name,
    ]),
  );
  await superuser.query(sql`
    update core.merchants set personal_data_days = 400 where id = ${storedId('mer', longer.merchantId)}`);
  const found: string[] = [];
  const examine = async (days: number) => {
    await findEnded(days);
    const { rows } = await superuser.query<{ order_id: string }>(sql`
      delete from core.erasures_due where order_id = any(${[...names.keys()]}) returning order_id`);
    found.push(rows.map(({ order_id: id }) => names.get(id)).join());
  };

  for (const days of [29, 31, 31, 399, 401, 401]) await examine(days);

  expect(found).toEqual(['', 'standard', '', '', 'longer', '']);
  const { rows } = await superuser.query<{ details: unknown }>(
    "select details from core.audit_entries where action = 'personal_data.period_ended' and merchant_id = any($1)",
    [[longer, erased].map(({ merchantId }) => storedId('mer', merchantId))],
  );
  expect(rows).toEqual([{ details: { environment: 'sandbox', orders: 1, days: 400 } }]);
});

const inYears = () => new Date(Date.now() + 400 * dayMs);
test.each([
  ['after its period by the clock of the database only', { now: inYears }],
  ['after its period by the clock of the machine only', { machineNow: inYears }],
  ['without a period', { now: inYears, machineNow: inYears, defaultDays: 0 }],
])('nothing is due %s', async (_when, own) => {
  const { merchantId, orderId } = await paidOrder(newPhone());
  const paymentId = await insertPayerPayment(superuser, {
    ...{ merchant_id: storedId('mer', merchantId), detail: 'of a payer' },
  });

  await findEnded(0, own);

  const { rows: due } = await superuser.query(sql`
    select from core.erasures_due where order_id = ${storedId('ord', orderId)}`);
  const { rows: details } = await superuser.query(sql`
    select detail from core.payer_payments where id = ${paymentId}`);
  expect({ due: due.length, details }).toEqual({ due: 0, details: [{ detail: 'of a payer' }] });
});

test('a reason that a refund gets after the erasure is erased when the refund has ended', async () => {
  const payment = await paidOrder(newPhone());
  await sealed(payment.merchantId);
  await eraseNow(payment);
  await desk.refund(payment.merchantId, 'PAID');

  const { rows } = await superuser.query(sql`
    select from core.erasures_due where order_id = ${storedId('ord', payment.orderId)}`);
  await superuser.query(sql`update core.refunds set status = 'REVERSED', due_at = null
    where order_id = ${storedId('ord', payment.orderId)}`);
  await sealed(payment.merchantId);
  await eraseNow(payment);
  const { refund } = await desk.refunds.getRefund({
    merchantId: payment.merchantId,
    environment,
    name: { case: 'refundNumber', value: 'R-1' },
  });

  expect(rows).toHaveLength(1);
  expect(refund).toMatchObject({ reason: 'erased', amount: '100.50' });
});

test('every text in the rows of an order is erased', async () => {
  const payment = await paidOrder(newPhone());
  await desk.refund(payment.merchantId, 'PAID');
  const key = [storedId('mer', payment.merchantId), storedId('ord', payment.orderId)];
  await superuser.query(
    `insert into core.stray_payments (merchant_id, id, environment, order_id, payment_attempt_id, payment_option,
       provider_transaction_id, amount, currency, kind, status, detail, tries, maybe_sent, reversal_id, created_at, updated_at)
     select merchant_id, gen_random_uuid(), environment, order_id, id, payment_option, 't', '1', 'ETB', 'LATE', 'REVERSED', '', 1, true,
       gen_random_uuid(), now(), now()
     from core.payment_attempts where merchant_id = $1 and order_id = $2`,
    key,
  );
  const texts = "detail = 'of 0911223344', callback_notes = '{of 0911223344}'";
  const ofOrder = 'where merchant_id = $1 and order_id = $2';
  for (const change of [
    "orders set checkout_browser_hash = '0911223344' where merchant_id = $1 and id = $2",
    `payment_attempts set ${texts}, network = '0911223344', next_action = '{"of": "0911223344"}' ${ofOrder}`,
    `refunds set ${texts}, status = 'REVERSED', due_at = null ${ofOrder}`,
    `stray_payments set ${texts} ${ofOrder}`,
  ])
    await superuser.query(`update core.${change}`, key);
  await sealed(payment.merchantId);

  await eraseNow(payment);

  const left = ['payment_attempts', 'refunds', 'stray_payments'].map(
    (table) => `select to_jsonb(t)::text as row from core.${table} t ${ofOrder}`,
  );
  const { rows } = await superuser.query<{ row: string }>(
    `select to_jsonb(t)::text as row from core.orders t where merchant_id = $1 and id = $2 union all ${left.join(' union all ')}`,
    key,
  );
  expect(rows).toHaveLength(4);
  const bytes = Buffer.from('0911223344').toString('hex');
  expect(rows.filter(({ row }) => row.includes('0911223344') || row.includes(bytes))).toEqual([]);
});

/** A direct payment of another amount, whose return the wallet refused. */
async function refusedStray(phone: string) {
  const { id: merchantId } = await stack.createMerchant();
  const payment = await desk.startDirect({ merchantId, orderNumber: 'PAID', phone });
  const { strayPaymentId } = await desk.settle(payment, outcomes.completed('t-1', '99.00'));
  await answerReversal(strayPaymentId, { case: 'refused', value: { detail: 'no', definite: true } });
  return { ...payment, strayPaymentId };
}

/** The wallet's answer to the reversal, which must be due. */
const answerReversal = async (
  strayPaymentId: string,
  outcome: Parameters<typeof desk.recordReversal>[1],
): Promise<unknown> =>
  desk.recordReversal(await desk.takeReversal(strayPaymentId), outcome, [
    { purpose: 'reverse', requestBody: 'of 0911223344' },
  ]);

type Stray = Awaited<ReturnType<typeof refusedStray>>;
async function repeatReversal({ merchantId, strayPaymentId }: Stray): Promise<void> {
  await desk.strayPayments.retryReversal({ merchantId, strayPaymentId });
  await answerReversal(strayPaymentId, {
    ...{ case: 'refused', value: { detail: 'of 0911223344', definite: true } },
  });
}

const callback = {
  exchange: { purpose: 'callback', requestBody: 'of 0911223344' },
  callbackNote: '0911223344',
};
/** Runs while the core of this stack erases nothing. */
async function withoutErasures<Result>(work: () => Promise<Result>): Promise<Result> {
  await superuser.query('select pg_advisory_lock(7142009)');
  try {
    return await work();
  } finally {
    await superuser.query('select pg_advisory_unlock(7142009)');
  }
}
const takeDue = (orderId: string) =>
  superuser.query(sql`delete from core.erasures_due where order_id = ${storedId('ord', orderId)}`);

describe('an order is due again after its erasure when core stores', () => {
  test.each([
    ['the answer to a repeated reversal', refusedStray, repeatReversal],
    [
      'a late callback about a reversal',
      refusedStray,
      ({ merchantId, strayPaymentId }: Stray) =>
        desk.reversals.hastenReversal({ merchantId, reversalId: strayPaymentId, ...callback }),
    ],
    [
      'the reason of a settlement',
      refusedStray,
      ({ merchantId, strayPaymentId }: Stray) =>
        settlements.proposeSettlement({
          ...{ merchantId, outcome: SettlementOutcome.RETURNED, providerReference: 'CASE-7' },
          subject: { case: 'strayPaymentId', value: strayPaymentId },
          reason: 'paid back to 0911223344',
        }),
    ],
    [
      'a late callback about a payment',
      paidOrder,
      ({ merchantId, attemptId }: Payment) =>
        desk.payments.hastenPaymentAttempt({ merchantId, paymentAttemptId: attemptId, ...callback }),
    ],
    [
      'the outcome of a payment that had timed out',
      async (phone: string) => {
        const { id: merchantId } = await stack.createMerchant();
        const payment = await desk.startDirect({ merchantId, orderNumber: 'PAID', phone });
        await desk.settle(payment, outcomes.timedOut());
        return payment;
      },
      async (payment: Payment) => {
        await desk.queryNow(payment.merchantId, storedId('pat', payment.attemptId));
        await desk.settle(payment, outcomes.completed('t-2'));
      },
    ],
    [
      'a late callback about a refund',
      async (phone: string) => {
        const payment = await paidOrder(phone);
        const { refundId } = await desk.refund(payment.merchantId, 'PAID');
        await superuser.query(sql`update core.refunds set status = 'REVERSED', due_at = null
          where order_id = ${storedId('ord', payment.orderId)}`);
        return { ...payment, refundId };
      },
      ({ merchantId, refundId }: Payment & { readonly refundId: string }) =>
        desk.refundWork.hastenRefund({ merchantId, refundId, ...callback }),
    ],
  ] as readonly [string, (phone: string) => Promise<Payment>, (payment: never) => Promise<unknown>][])(
    '%s',
    async (_, prepare, store) => {
      const payment = await prepare(newPhone());
      const { orderId } = payment;
      const { dueAgain, sumOfErased } = await withoutErasures(async () => {
        await sealed(payment.merchantId);
        const first = await eraseNow(payment);
        await takeDue(orderId);

        await store(payment as never);

        return { dueAgain: (await takeDue(orderId)).rowCount, sumOfErased: first.erased.length };
      });

      expect({ dueAgain, sumOfErased }).toEqual({ dueAgain: 1, sumOfErased: 1 });
    },
  );

  test('and the next erasure removes it', async () => {
    const payment = await refusedStray(newPhone());
    const { merchantId, orderId } = payment;
    await sealed(merchantId);
    await eraseNow(payment);
    await repeatReversal(payment);

    const left = await waitUntil('core has erased it again', async () => {
      const { rows } = await superuser.query<{ detail: string; exchanges: number }>(
        `select detail, (select count(*)::integer from core.wallet_exchanges where merchant_id = $1) as exchanges
         from core.stray_payments where merchant_id = $1 and order_id = $2
           and not exists (select from core.erasures_due due where due.order_id = $2)`,
        [storedId('mer', merchantId), storedId('ord', orderId)],
      );
      return rows[0];
    });

    expect(left).toEqual({ detail: 'erased', exchanges: 0 });
  });
});

describe('a payment without an order whose texts have the number', () => {
  /** Money that a payer sent, and that names no order. */
  async function payerPayment(phone: string): Promise<{ readonly id: string; readonly merchantId: string }> {
    const { id: merchantId } = await stack.createMerchant();
    const { payerPayment: reported } = await payers.reportPayerPayment({
      ...{ environment, wallet: 'walleta', paymentOption: 'walleta_ussd', payee: '600000' },
      ...{ providerTransactionId: randomText(), amount: '100', currency: 'ETB', reference: phone },
    });
    return { id: storedId('ppm', reported?.payerPaymentId ?? ''), merchantId: storedId('mer', merchantId) };
  }
  const end = (id: string, status: string) =>
    superuser.query(sql`update core.payer_payments set status = ${status}, due_at = null where id = ${id}`);
  async function addStray({ id, merchantId }: Awaited<ReturnType<typeof payerPayment>>, phone: string) {
    const strayPaymentId = newRandomId('stp', new Date());
    await end(id, 'STRAY');
    await superuser.query(
      `insert into core.stray_payments (merchant_id, id, environment, payer_payment_id, payment_option, provider_transaction_id, amount,
         currency, kind, status, reversal_id, tries, maybe_sent, due_at, detail, created_at, updated_at)
       values ($1, $2, 'SANDBOX', $3, 'walleta_ussd', $4, '100', 'ETB', 'NO_ORDER', 'REVERSAL_DUE', $2, 0, false, now() + interval '1 day', $5, now(), now())`,
      [merchantId, storedId('stp', strayPaymentId), id, randomText(), `of ${phone}`],
    );
    return strayPaymentId;
  }
  const textsOf = async (id: string) =>
    (
      await superuser.query<{ reference: string; detail: string | null }>(sql`
        select reference, (select detail from core.stray_payments where payer_payment_id = p.id) as detail
        from core.payer_payments p where id = ${id}`)
    ).rows[0];
  const tryAgain = (id: string) =>
    superuser.query(sql`update core.payer_erasures_due set due_at = now() where payer_payment_id = ${id}`);
  const waitingPayments = async (phone: string) => {
    const { erasureRequests } = await personalData.listErasureRequests({ phone });
    return erasureRequests.map(({ waitingPayerPaymentCount }) => waitingPayerPaymentCount);
  };

  test('waits while the wallet has not decided it, and is erased then', async () => {
    const phone = newPhone();
    const { id } = await payerPayment(phone);

    const { erasureRequest } = await personalData.erasePersonalData({ phone });
    const before = await textsOf(id);
    await end(id, 'NO_PAYMENT');
    await tryAgain(id);
    await waitUntil('it is erased', async () => (await waitingPayments(phone))[0] === 0n);

    expect(erasureRequest).toMatchObject({ payerPaymentCount: 1n, waitingPayerPaymentCount: 1n });
    expect([before, await textsOf(id)]).toEqual([
      { reference: phone, detail: null },
      { reference: 'erased', detail: null },
    ]);
  });

  test('waits while it is returned, and its settlement is erased with it', async () => {
    const phone = newPhone();
    const payment = await payerPayment(phone);
    const strayPaymentId = await addStray(payment, phone);

    const { erasureRequest } = await personalData.erasePersonalData({ phone });
    const before = await textsOf(payment.id);
    await superuser.query(sql`update core.stray_payments set status = 'REVERSAL_REFUSED', due_at = null
      where payer_payment_id = ${payment.id}`);
    const { settlement } = await settlements.proposeSettlement({
      ...{ merchantId: publicId('mer', payment.merchantId), outcome: SettlementOutcome.RETURNED },
      ...{ subject: { case: 'strayPaymentId', value: strayPaymentId }, reason: `paid back to ${phone}` },
      providerReference: 'CASE-7',
    });
    const settlementId = settlement?.settlementId ?? '';
    await superuser.query(sql`
      update core.settlements set expires_at = now() where id = ${storedId('stl', settlementId)}`);
    await tryAgain(payment.id);
    await waitUntil('it is erased', async () => (await waitingPayments(phone))[0] === 0n);

    expect(erasureRequest).toMatchObject({ payerPaymentCount: 1n, waitingPayerPaymentCount: 1n });
    expect([before, await textsOf(payment.id)]).toEqual([
      { reference: 'erased', detail: `of ${phone}` },
      { reference: 'erased', detail: 'erased' },
    ]);
    const { rows } = await superuser.query(sql`
      select l.reason, a.details ->> 'reason' as logged from core.settlements l, core.audit_entries a
      where l.id = ${storedId('stl', settlementId)} and a.target_id = ${settlementId}`);
    expect(rows).toEqual([{ reason: 'erased', logged: 'erased' }]);
  });

  test.each([
    ['no order', null],
    ['an order that it did not pay', newRandomId('ord', new Date())],
  ])('is erased again when it gets a new text after its erasure, if it names %s', async (_, orderId) => {
    const phone = newPhone();
    const { id, merchantId } = await payerPayment(phone);
    await end(id, 'ABANDONED');
    await superuser.query('update core.payer_payments set merchant_id = $2, order_id = $3 where id = $1', [
      ...[id, merchantId, orderId === null ? null : storedId('ord', orderId)],
    ]);
    await personalData.erasePersonalData({ phone });
    const reported = publicId('ppm', id);
    const due = await withoutErasures(async () => {
      await payers.hastenPayerPayment({ payerPaymentId: reported, ...callback });
      return superuser.query(sql`delete from core.payer_erasures_due where payer_payment_id = ${id}`);
    });

    expect(due.rowCount).toBe(1);
  });

  test('is erased after its period, even if the wallet decided it only later', async () => {
    const phone = newPhone();
    const { id } = await payerPayment(phone);
    await findEnded(31);
    await end(id, 'NO_PAYMENT');
    await tryAgain(id);

    const erased = await waitUntil('it is erased', async () => {
      const texts = await textsOf(id);
      return texts?.reference !== phone && texts;
    });

    expect(erased).toEqual({ reference: 'erased', detail: null });
  });
});

test('a proposed settlement that has expired does not delay the erasure', async () => {
  const payment = await refusedStray(newPhone());
  const { merchantId, orderId, strayPaymentId } = payment;
  await settlements.proposeSettlement({
    ...{ merchantId, outcome: SettlementOutcome.RETURNED, providerReference: 'CASE-7' },
    ...{ subject: { case: 'strayPaymentId', value: strayPaymentId }, reason: 'paid back' },
  });
  await sealed(merchantId);
  const open = await eraseNow(payment);
  await superuser.query(sql`
    update core.settlements set expires_at = now() where order_id = ${storedId('ord', orderId)}`);

  const expired = await eraseNow(payment);

  expect([...open.obstacles.values()]).toEqual(['SETTLEMENT_OPEN']);
  expect(expired.erased).toEqual([storedId('ord', orderId)]);
});

test('a reason that a refund gets while the erasure waits for the broker leaves the order due', async () => {
  const payment = await paidOrder(newPhone());
  await sealed(payment.merchantId);
  const key = [storedId('mer', payment.merchantId), storedId('ord', payment.orderId)] as const;
  await withoutErasures(async () => {
    await superuser.query(
      `insert into core.erasures_due (merchant_id, order_id, environment, due_at) values ($1, $2, 'SANDBOX', '2020-01-01')`,
      [...key],
    );
    const [due] = await readDue(pool, ['SANDBOX'], 1);
    if (due === undefined) throw new Error('no order is due');
    const { erased } = await eraseNow(payment, {
      forgetPublished: async () => {
        await desk.refund(payment.merchantId, 'PAID');
        return true;
      },
    });

    await removeDue(pool, key[0], [due]);

    expect([due.orderId, ...erased]).toEqual([key[1], key[1]]);
    const { rows } = await superuser.query<{ obstacle: string; again: boolean }>(
      `select obstacle, due_at > '2020-01-01' as again from core.erasures_due where merchant_id = $1 and order_id = $2`,
      [...key],
    );
    expect(rows).toEqual([{ obstacle: '', again: true }]);
  });
});
