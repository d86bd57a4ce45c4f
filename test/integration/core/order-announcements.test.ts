import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { storedId } from '../../../src/contract/public-id.ts';
import { OrderRow } from '../../../src/core/database/order-entities.ts';
import type { Changed, OrderInFull } from '../../../src/core/domain/order.ts';
import { ok } from '../../../src/core/domain/result.ts';
import { followedBy, registerOrder } from '../../../src/core/domain/order.ts';
import { transition } from '../../../src/core/domain/transition.ts';
import type { CommandOf } from '../../../src/core/domain/transition.ts';
import { dueWork, partOf } from '../../../src/contract/due-work.ts';
import { createMakeAttemptDue } from '../../../src/core/payments/attempts/make-attempt-due.ts';
import { createLeaseAttempts } from '../../../src/core/payments/attempts/lease-attempts.ts';
import { decisionOf } from '../../../src/core/payments/changes/change-orders.ts';
import type { OrderChanges } from '../../../src/core/payments/changes/change-orders.ts';
import { orderOfId } from '../../../src/core/payments/changes/read-order.ts';
import { expireOrders } from '../../../src/core/payments/orders/expire-orders.ts';
import { publicId } from '../../support/ids.ts';
import { sharedTestDatabase, sharedCoreDatabase } from '../../support/shared-stack.ts';
import { newId, newOrderFacts, openOrderChanges } from './order-changes.ts';

// Readers of events and workers on attempts wait for these calls: one that is missing delays them, and one too many wakes
// them for nothing.

let changes: OrderChanges;
let announced: string[] = [];
/** The payments of the wallet of these tests. */
const payments = partOf(dueWork('payments', 'SANDBOX', 'walleta_ussd'));

const stop = new AbortController();
const noClaims = { find: () => Promise.resolve([]), claimFor: () => Promise.resolve() };
const scope = { requestId: 'announcements', signal: stop.signal };
const merchantId = publicId('mer', randomUUID());

const factsOf = (orderNumber: string, lifetimeMs?: number) =>
  newOrderFacts(merchantId, orderNumber, lifetimeMs);

const startPayment = (): CommandOf<'start_payment'> => ({
  type: 'start_payment',
  attemptId: newId('pat', new Date()),
  origin: 'CHECKOUT',
  paymentOption: 'walleta_ussd',
  phone: { asGiven: '0911223344', e164: '+251911223344' },
});

/** A new order with an attempt, added by the path of direct payments. */
async function addPaying(orderNumber: string): Promise<OrderInFull> {
  const registered = registerOrder(factsOf(orderNumber));
  const started = transition(registered.order, startPayment(), new Date());
  if (!started.ok || started.value.order.latestAttempt === null) throw new Error('no attempt was started');
  const changed: Changed = followedBy(registered, started.value);
  await changes.addPaying(changed, started.value.order.latestAttempt, scope);
  return changed.order;
}

async function add(orderNumber: string, lifetimeMs?: number): Promise<OrderInFull> {
  const changed = registerOrder(factsOf(orderNumber, lifetimeMs));
  await changes.add(changed, scope);
  return changed.order;
}

const order = (
  command: CommandOf<'start_payment' | 'cancel'>,
  { id, environment }: OrderInFull,
  write: () => undefined | Promise<never> = () => undefined,
) =>
  changes.change(orderOfId({ merchantId, environment, id }), {
    ...{ requestId: '', read: () => undefined, write },
    decide: (locked, _context, now) => decisionOf(transition(locked, command, now)),
  });
const rowOf = ({ id }: OrderInFull) =>
  database
    .fork()
    .findOneOrFail(OrderRow, { merchantId: storedId('mer', merchantId), id: storedId('ord', id) });

const expire = (
  isOpenFor: (environment: string, merchant: string) => boolean = () => true,
  machineNow = new Date(),
) =>
  expireOrders(
    changes,
    { gate: { isOpen: () => true, isOpenFor }, claims: noClaims, wallets: [], machineNow: () => machineNow },
    stop.signal,
  );

const lease = () =>
  createLeaseAttempts({ database, changes, newLeaseId: randomUUID, wallets: [] })({
    environment: 'SANDBOX',
    paymentOptions: ['walleta_ussd'],
    exceptMerchantIds: [],
    limit: 50,
    leaseMs: 60_000,
  });

const testDatabase = sharedTestDatabase();
const database = sharedCoreDatabase('announcements', () => testDatabase.url, 2);

beforeAll(() => {
  changes = openOrderChanges(database, (what) => announced.push(what));
});

beforeEach(() => {
  announced = [];
});

afterAll(async () => {
  stop.abort();
});

describe('a commit notifies waiting processes', () => {
  test('of events when orders are added, and of payments of the wallet too when the orders have attempts', async () => {
    await add('added');
    expect(announced).toEqual(['events']);

    await addPaying('added-paying');
    expect(announced).toEqual(['events', 'events', payments]);
  });

  test('of nothing when the order_number is taken', async () => {
    await add('taken');
    announced = [];

    await add('taken');
    await addPaying('taken');

    expect(announced).toEqual([]);
  });

  test('of events and attempts when a payment starts, and of events when the order ends', async () => {
    const added = await add('started');
    announced = [];

    await order(startPayment(), added);
    expect(announced).toEqual(['events', payments]);

    await order({ type: 'cancel' }, added);
    expect(announced).toEqual(['events', payments, 'events']);
  });

  test('of nothing when the order rejects the command or is unknown', async () => {
    const added = await add('refused');
    await order({ type: 'cancel' }, added);
    announced = [];

    expect(await order({ type: 'cancel' }, added)).toMatchObject({ ok: false });
    const absent = registerOrder(factsOf('absent')).order;
    expect(await order({ type: 'cancel' }, absent)).toEqual({ ok: false, error: 'not_found' });

    expect(announced).toEqual([]);
  });

  test('only of the work that the caller makes due', async () => {
    const { id, environment } = await add('makes-due');
    const makesDue = dueWork('reversals', environment, 'walletb_wallet');
    announced = [];

    await changes.change(orderOfId({ merchantId, environment, id }), {
      requestId: '',
      read: () => undefined,
      decide: () => ok({ changed: undefined, makesDue }),
      write: () => undefined,
    });

    expect(announced).toEqual(['reversals SANDBOX walletb']);
  });

  test('of nothing when the caller’s own rows cannot be written, and the order is unchanged', async () => {
    const added = await add('failed');
    announced = [];

    const failing = order({ type: 'cancel' }, added, () =>
      Promise.reject(new Error('the audit entry cannot be written')),
    );

    await expect(failing).rejects.toThrow('the audit entry cannot be written');
    expect(announced).toEqual([]);
    expect(await rowOf(added)).toMatchObject({ status: 'PENDING', lastEventSequence: 1 });
  });

  test('of nothing when attempts are leased, and of attempts when one becomes due', async () => {
    const { latestAttempt } = await addPaying('leased');
    announced = [];

    const leased = await lease();
    expect(leased.items.map(({ attempt }) => attempt.id)).toContain(latestAttempt?.id);
    expect(announced).toEqual([]);

    const attemptId = latestAttempt?.id ?? newId('pat', new Date());
    await createMakeAttemptDue({ changes, fairly: (_owner, _signal, call) => call(), newId })({
      merchantId,
      attemptId,
      exchange: undefined,
      callbackNote: '',
      signal: { aborted: false },
    });
    expect(announced).toEqual([payments]);
  });

  test('of events when orders expire by both clocks, and of nothing while a wallet has the attempt', async () => {
    const expiring = await add('expiring', 0);
    announced = [];
    expect(await expire(undefined, new Date(expiring.expiresAt.getTime() - 1))).toBe(0);

    expect(await expire()).toBe(1);
    expect(announced).toEqual(['events']);

    const paying = await addPaying('expiring-later');
    await lease();
    await database
      .fork()
      .nativeUpdate(OrderRow, { id: storedId('ord', paying.id) }, { sweepAt: new Date(0) });
    announced = [];

    expect(await expire()).toBe(1);
    expect(announced).toEqual([]);
  });
});

test('an order of a merchant whose payments wait for a recovery does not expire, and is tried again later', async () => {
  const held = await add('held', 0);
  announced = [];
  const asked: string[] = [];
  const isOpenFor = (environment: string, merchant: string): boolean => {
    asked.push(`${environment} ${merchant}`);
    return false;
  };

  expect(await expire(isOpenFor)).toBe(1);

  const row = await rowOf(held);
  expect(row).toMatchObject({ status: 'PENDING', lastEventSequence: 1 });
  expect(row.sweepAt?.getTime()).toBeGreaterThan(row.expiresAt.getTime());
  expect(asked).toEqual([`SANDBOX ${merchantId}`]);
  expect(announced).toEqual([]);
});
