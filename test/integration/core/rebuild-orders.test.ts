import { fromBinary } from '@bufbuild/protobuf';
import type { EntityManager } from '@mikro-orm/postgresql';
import { expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { createAccountTimeline } from '../../../src/core/payments/changes/account-timeline.ts';
import { rebuildOrders } from '../../../src/core/payments/changes/rebuild-orders.ts';
import type { LostEvent } from '../../../src/core/payments/changes/rebuild-orders.ts';
import {
  MerchantWalletService,
  WalletAccountCheck,
} from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import {
  Environment,
  OrderEventSchema,
  PaymentAttemptStatus,
  RefundStatus,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import { storedId } from '../../support/ids.ts';
import { sharedClient, sharedCoreDatabase, sharedStack } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';
import { outcomes, sharedPaymentDesk, transactionOf } from './payment-desk.ts';
import type { Payment } from './payment-desk.ts';

const stack = sharedStack({ cores: 1, facades: 0 });
const desk = sharedPaymentDesk(stack);
const owners = sharedClient(stack, MerchantWalletService, 'dashboard');
const accountChecks = sharedClient(stack, MerchantWalletService, 'wallets');
const database = sharedCoreDatabase('rebuild', () => stack.databaseUrl, 2);

/** Also the append-only ones, as a restore loses them. */
async function loseRows(tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    await desk.query(`alter table core.${table} disable trigger all`);
    await desk.query(`delete from core.${table}`);
    await desk.query(`alter table core.${table} enable trigger all`);
  }
}

const tables = ['order_events', 'wallet_receipts', 'refunds', 'payment_attempts', 'orders'];
const readEvents = () =>
  desk.query<{ payload: Buffer }>('select payload from core.order_events order by order_id, sequence');
const lostEvent = ({ payload }: { readonly payload: Buffer }): LostEvent => ({
  event: fromBinary(OrderEventSchema, payload),
  payload,
});
/** The events of a merchant, which the database will lose. */
const eventsOf = async (merchantId: string): Promise<LostEvent[]> =>
  (await readEvents()).map(lostEvent).filter(({ event }) => event.order?.merchantId === merchantId);
const rebuild = (lost: readonly LostEvent[], noticedAt = new Date(0)) =>
  rebuildOrders(database, lost, { accounts: createAccountTimeline(), noticedAt });

async function paidOrder(merchantId: string, orderNumber: string, transaction: string): Promise<Payment> {
  const phone = `0911301${String((payers += 1)).padStart(3, '0')}`;
  const payment = await desk.startDirect({ merchantId, orderNumber, phone });
  await desk.settle(payment, outcomes.completed(transaction));
  return payment;
}
let payers = 0;

const askRefund = (merchantId: string, orderNumber: string, amount = '') =>
  desk.askRefund(merchantId, orderNumber, { amount });

async function useAccountInProduction(merchantId: string): Promise<void> {
  const { account } = await owners.addWalletAccount({
    ...{ merchantId, environment: Environment.PRODUCTION, wallet: 'walleta' },
    values: { client_id: 'own', client_secret: 'own-secret', api_key: 'own-key' },
  });
  const key = { merchantId, walletAccountId: account?.walletAccountId ?? '' };
  await accountChecks.recordWalletAccountCheck({ ...key, check: WalletAccountCheck.ACCEPTED });
  await owners.promoteWalletAccount(key);
}

const statesOf = (merchantId: string) =>
  desk.query<{ order_number: string; state: string }>(sql`select order_number, state
    from core.recovered_orders where merchant_id = ${storedId('mer', merchantId)} order by order_number`);

// The broker keeps events for a week, and a lost time may be longer.
test('a refund whose payment is in no event any more proves the payment', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const { attemptId } = await paidOrder(merchantId, 'R-0', 't-1');
  await askRefund(merchantId, 'R-0', '40.00');
  for (const leased of await desk.leaseRefunds())
    await desk.recordRefund(leased, { case: 'done', value: {} });
  const events = (await readEvents()).map(lostEvent).filter(({ event }) => event.refund !== undefined);
  await loseRows(tables);

  expect(events).toHaveLength(2);
  expect(await rebuild(events)).toMatchObject({ orders: { length: 1 }, conflicts: [] });

  const attempts = await desk.query(`
    select p.id, p.status, p.provider_transaction_id, r.payment_attempt_id, o.latest_attempt_id, o.attempt_count
    from core.payment_attempts p join core.orders o on o.latest_attempt_id = p.id
    join core.wallet_receipts r on r.payment_attempt_id = p.id`);
  const id = storedId('pat', attemptId);
  expect(attempts).toEqual([
    {
      ...{ id, payment_attempt_id: id, latest_attempt_id: id, attempt_count: 1, status: 'SUCCEEDED' },
      provider_transaction_id: transactionOf(merchantId, 't-1'),
    },
  ]);
  // Events do not say whether the amount was given.
  for (const amount of ['', '40.00'])
    expect(await askRefund(merchantId, 'R-0', amount)).toMatchObject({
      ...{ repeated: true, refund: { status: RefundStatus.COMPLETED } },
    });
});

test('an order that one part of the stream contradicts stays as it is after the next part, until a later recovery', async () => {
  const { id: merchantId } = await stack.createMerchant();
  await paidOrder(merchantId, 'C-1', 't-1');
  const events = await eventsOf(merchantId);
  const other = (sequence: number): LostEvent => {
    const { event, payload } = events.at(-1)!;
    const eventId = newRandomId('evt', new Date());
    const order = { ...event.order!, lastEventSequence: BigInt(sequence), reason: 'changed' };
    return { event: { ...event, eventId, sequence: BigInt(sequence), order }, payload };
  };
  const readOrder = () => desk.query("select * from core.orders where order_number = 'C-1'");
  const before = await readOrder();
  const noticedAt = new Date();

  const first = await rebuild([other(2), other(4)], noticedAt);
  const second = await rebuild([other(5), other(6)], noticedAt);

  expect([first.conflicts, second.conflicts]).toMatchObject([
    [{ state: 'CHANGED_OTHERWISE' }],
    [{ state: 'CHANGED_OTHERWISE' }],
  ]);
  expect(second.orders).toEqual([]);
  expect(await readOrder()).toEqual(before);
  const later = await rebuild([other(5), other(6)], new Date(noticedAt.getTime() + 3_600_000));
  expect(later).toMatchObject({ orders: { length: 1 }, conflicts: [] });
  expect(await statesOf(merchantId)).toEqual([{ order_number: 'C-1', state: 'CHANGED_OTHERWISE' }]);
});

test('an order that the database refuses is a conflict, and the others are rebuilt', async () => {
  const { id: merchantId } = await stack.createMerchant();
  await paidOrder(merchantId, 'T-1', 't-1');
  await askRefund(merchantId, 'T-1', '1.00');
  await paidOrder(merchantId, 'T-2', 't-2');
  await paidOrder(merchantId, 'T-4', 't-4');
  const events = await eventsOf(merchantId);
  await loseRows(tables);
  // The refund_number and an order_number are used again before the events are read.
  await paidOrder(merchantId, 'T-3', 't-3');
  await askRefund(merchantId, 'T-3', '1.00');
  await paidOrder(merchantId, 'T-4', 't-5');

  const { orders, conflicts } = await rebuild(events);

  expect([orders.length, conflicts]).toMatchObject([
    1,
    [{ state: 'CHANGED_OTHERWISE' }, { state: 'NUMBER_TAKEN' }],
  ]);
  expect(await statesOf(merchantId)).toEqual([
    { order_number: 'T-1', state: 'CHANGED_OTHERWISE' },
    { order_number: 'T-2', state: 'REBUILT' },
    { order_number: 'T-4', state: 'NUMBER_TAKEN' },
  ]);
  expect(await desk.query("select from core.orders where order_number = 'T-1'")).toEqual([]);
});

test('an open order is swept again, and wallets are asked about its payment and about a due refund before they are sent', async () => {
  const { id: merchantId } = await stack.createMerchant();
  await paidOrder(merchantId, 'O-1', 't-1');
  await askRefund(merchantId, 'O-1');
  const payment = await desk.startDirect({ merchantId, orderNumber: 'O-2', phone: '0911303001' });
  await useAccountInProduction(merchantId);
  const events = await eventsOf(merchantId);
  await loseRows(tables);

  await rebuild(events);

  expect(await desk.query('select sweep_at = expires_at as is_swept from core.orders order by id')).toEqual([
    { is_swept: null },
    { is_swept: true },
  ]);
  expect(await desk.take(payment)).toMatchObject({
    ...{ sentBefore: true, paymentAttempt: { status: PaymentAttemptStatus.UNKNOWN }, walletAccountId: '' },
  });
  expect(await desk.leaseRefunds()).toMatchObject([{ sentBefore: true }]);
});

test.each(['at once', 'in two parts'])(
  'an attempt that money from the menu ended is rebuilt as ended, %s',
  async (parts) => {
    const { id: merchantId } = await stack.createMerchant();
    const orderNumber = parts === 'at once' ? 'M-1' : 'M-2';
    const phone = `0911302${String((payers += 1)).padStart(3, '0')}`;
    await desk.startDirect({ merchantId, orderNumber, phone });
    const reported = await desk.reportFromMenu(merchantId, orderNumber);
    await desk.confirmFromMenu(merchantId, reported, orderNumber);
    const events = await eventsOf(merchantId);
    await loseRows(tables);

    if (parts === 'in two parts') await rebuild(events.slice(0, 2));
    expect(await rebuild(events)).toMatchObject({ orders: { length: 1 }, conflicts: [] });

    const attempts = await desk.query('select status from core.payment_attempts order by created_at');
    expect(attempts).toEqual([{ status: 'TIMED_OUT' }, { status: 'SUCCEEDED' }]);
  },
);

test('a repeated direct payment of a registered order prompts no phone again after a restore', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const direct = { merchantId, orderNumber: 'D-1', phone: '0911303001' };
  await desk.registerHosted({ merchantId, orderNumber: 'D-1' });
  const { attemptId } = await desk.startDirect(direct);
  await desk.settle({ merchantId, orderId: '', attemptId }, outcomes.declined());
  const events = await eventsOf(merchantId);
  await loseRows(tables);

  expect(await rebuild(events)).toMatchObject({ orders: { length: 1 }, conflicts: [] });

  expect(await desk.startDirect(direct)).toMatchObject({ attemptId });
  expect(await desk.query('select origin, status from core.payment_attempts')).toEqual([
    { origin: 'DIRECT', status: 'DECLINED' },
  ]);
});

// Each flush compares all rows that it knows. With those of the orders before, a hundred orders took minutes. And a transaction that is open
// for long delays the events of all orders.
test.each([
  ['in one transaction', {}, [3]],
  ['in a transaction each, when the first takes its whole time', { transactionMs: 0 }, [1, 2, 3]],
])(
  'orders are rebuilt %s, without reading the rows of those before again',
  async (_name, options, commits) => {
    const { id: merchantId } = await stack.createMerchant();
    await loseRows(tables);
    for (const number of ['R-1', 'R-2', 'R-3']) await paidOrder(merchantId, number, number);
    const events = await readEvents();
    await loseRows(tables);
    const forks: EntityManager[] = [];
    const fork = (): EntityManager => {
      const em = database.fork();
      forks.push(em);
      return em;
    };
    const committed: number[] = [];

    const rebuilt = await rebuildOrders({ ...database, fork }, events.map(lostEvent), {
      ...{ accounts: createAccountTimeline(), noticedAt: new Date(), ...options },
      onCommit: ({ orders }) => committed.push(orders.length),
    });

    expect(rebuilt).toMatchObject({ orders: { length: 3 }, events: events.length, conflicts: [] });
    expect(committed).toEqual(commits);
    expect(await readEvents()).toEqual(events);
    expect(forks.map((em) => em.getUnitOfWork().getIdentityMap().values().length)).toEqual(
      commits.map(() => 0),
    );
  },
);

test('a recovery counts each rebuilt order once, even if core exits in between', async () => {
  const { id: merchantId } = await stack.createMerchant();
  await loseRows(tables);
  for (const number of ['N-1', 'N-2', 'N-3']) await paidOrder(merchantId, number, number);
  const events = await eventsOf(merchantId);
  await loseRows(tables);
  const [recovery] = await desk.query<{ id: string; lostUntil: Date }>(`
    insert into core.recoveries (id, cause, lost_from, lost_until, stream, closed, finished_at,
      erasures_accepted_by, accounts_accepted_by, merchants_accepted_by)
    values (gen_random_uuid(), 'OPERATOR', now(), now(), 'COMPLETE', '{}', now(), 'x', 'x', 'x')
    returning id, lost_until as "lostUntil"`);
  const exit = new AbortController();
  const options = { accounts: createAccountTimeline(), noticedAt: new Date(0), recovery: recovery! };
  const numbers = () => desk.query('select rebuilt_orders, rebuilt_events from core.recoveries');

  const cut = rebuildOrders(database, events, {
    ...{ ...options, transactionMs: 0, signal: exit.signal },
    onCommit: () => exit.abort(),
  });
  await expect(cut).rejects.toThrow('aborted');
  const first = events.filter(({ event }) => event.order?.orderId === events[0]?.event.order?.orderId);
  expect(await numbers()).toEqual([{ rebuilt_orders: 1, rebuilt_events: first.length }]);
  // The stream gives the events of an order in parts.
  await rebuildOrders(database, events.slice(0, -1), options);
  await rebuildOrders(database, events, options);

  expect(await numbers()).toEqual([{ rebuilt_orders: 3, rebuilt_events: events.length }]);
  const recorded = () => desk.query('select * from core.recovered_orders order by order_id');
  const before = await recorded();
  expect(await rebuildOrders(database, events, options)).toEqual({ orders: [], events: 0, conflicts: [] });
  expect(await recorded()).toEqual(before);
});

test('an error that says nothing about an order ends the work, and is no conflict', async () => {
  const { id: merchantId } = await stack.createMerchant();
  await desk.startDirect({ merchantId, orderNumber: 'F-1', phone: '0911304001' });
  const events = await eventsOf(merchantId);
  await loseRows(tables);
  const accounts = {
    ...createAccountTimeline(),
    at: (): never => {
      throw new Error('out of memory');
    },
  };

  const failing = rebuildOrders(database, events, { accounts, noticedAt: new Date(0) });

  await expect(failing).rejects.toThrow('out of memory');
  expect(await statesOf(merchantId)).toEqual([]);
});
