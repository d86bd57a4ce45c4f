import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { registerOrder } from '../../../src/core/domain/order.ts';
import { createAttemptIds } from '../../../src/core/payments/changes/attempt-ids.ts';
import { createClaimPayments } from '../../../src/core/payments/changes/claim-payments.ts';
import { createPaymentGate } from '../../../src/core/database/payment-gate.ts';
import type { Entry } from '../../../src/core/reconciliation/compare-entry.ts';
import { keepUnclaimed } from '../../../src/core/reconciliation/keep-unclaimed.ts';
import { publicId } from '../../support/ids.ts';
import { sharedCoreDatabase, sharedTestDatabase } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';
import { buildWallet } from '../../unit/domain/build-order.ts';
import { newId, newOrderFacts, openOrderChanges } from './order-changes.ts';

/* Payments of lost orders, from the statement to the orders that shops have sent again. */

const environment = 'SANDBOX' as const;
const merchantId = publicId('mer', randomUUID());
const testDatabase = sharedTestDatabase();
const database = sharedCoreDatabase('claim-payments', () => testDatabase.url, 4);
const attemptIds = createAttemptIds(newId, Buffer.alloc(32, 7));

const ordersOfOnePhone = (count: number, name = 'P') =>
  Array.from({ length: count }, (_, index) =>
    registerOrder(newOrderFacts(merchantId, `${name}-${index}`, 600_000)),
  );

const changesOf = () => openOrderChanges(database, undefined, 1);
const claimsOf = (changes = changesOf()) =>
  createClaimPayments({
    ...{ database, changes, attemptIds, wallets: [buildWallet('any')], logger: { warn: () => undefined } },
    gate: { hasUnclaimed: () => true, mayBeUnclaimed: () => true },
  });
const scope = { requestId: '', signal: new AbortController().signal };

const entryOf = (requestId: string, providerTransactionId: string, amount = '100.50'): Entry => ({
  ...{ position: 1, type: 'PAYMENT', status: 'COMPLETED', requestId, originalTransactionId: '', problem: '' },
  ...{ providerTransactionId, amount, currency: 'ETB', occurredAt: new Date() },
});

test('the orders of one phone get all their lost payments, because none of them prompts the phone', async () => {
  const changes = changesOf();
  const claims = claimsOf(changes);
  const orders = ordersOfOnePhone(6);
  for (const changed of orders) await changes.add(changed, scope);
  const em = database.fork();
  for (const { order } of [...orders, ...orders]) {
    const entry = entryOf(attemptIds.next(order, 1, order.createdAt), order.orderNumber);
    await keepUnclaimed(em, { wallet: 'walleta', environment, payee: '' }, [entry], new Date());
  }
  // The ORM compares all rows that it knows before each of its queries.
  expect(em.getUnitOfWork().getIdentityMap().values()).toHaveLength(0);

  expect(await claims.claimAll(environment)).toBe(orders.length);

  const { rows } = await database.pool.query(`
    select (select count(*) from core.unclaimed_payments where claimed_at is not null)::integer as claimed,
      (select count(*) from core.payment_attempts where status = 'UNKNOWN' and maybe_sent)::integer as attempts`);
  expect(rows).toEqual([{ claimed: orders.length, attempts: orders.length }]);
});

const keep = (payee: string, ...entries: Entry[]) =>
  keepUnclaimed(database.fork(), { wallet: 'walleta', environment, payee }, entries, new Date());

test('money that is recorded after the statement listed it is not unclaimed any more', async () => {
  const claims = claimsOf();
  const [{ order }] = ordersOfOnePhone(1, 'R') as [ReturnType<typeof registerOrder>];
  const [end = ''] = attemptIds.endsOf(order);
  await keep('', entryOf(end, 'recorded'));
  expect(await claims.isPaid(order)).toBe(true);
  await database.pool.query(`insert into core.wallet_receipts (environment, wallet, provider_transaction_id)
    values ('SANDBOX', 'walleta', 'recorded')`);

  await keep('');

  expect(await claims.isPaid(order)).toBe(false);
});

test('money of another amount that names only the end of an id neither hides the payment of an order nor holds it up', async () => {
  const changes = changesOf();
  const claims = claimsOf(changes);
  const [changed] = ordersOfOnePhone(1, 'B');
  await changes.add(changed!, scope);
  const { order } = changed!;
  const [end = ''] = attemptIds.endsOf(order);
  await keep('an account that nobody has', entryOf(end, 'beside', '50.00'));
  await keep('', entryOf(end, 'of the order'));

  const claimed = [await claims.claim(order, ''), await claims.claim(order, '')];

  expect(claimed).toEqual([true, false]);
  expect((await claims.find(order)).map((money) => money.providerTransactionId)).toEqual(['beside']);
});

test('an order is only searched among the unclaimed payments when one of them may name it', async () => {
  const gate = createPaymentGate(database);
  const [paid, other] = ['G-1', 'G-2'].map((orderNumber) => ({
    ...{ merchantId, environment, orderNumber },
    ends: attemptIds.endsOf({ merchantId, environment, orderNumber }),
  }));
  await database.pool.query(sql`insert into core.unclaimed_payments
      (environment, wallet, payee, provider_transaction_id, request_id, reference_end, amount, currency, occurred_at, found_at)
    values (${environment}, 'walleta', '', 'lost', 'lost', ${paid?.ends[0]}, '100.50', 'ETB', now(), now())`);
  await gate.refresh();

  expect(gate.hasUnclaimed(environment)).toBe(true);
  expect(gate.hasUnclaimed('PRODUCTION')).toBe(false);
  const mayBe = [paid, other].map((order) => gate.mayBeUnclaimed(environment, order?.ends ?? []));
  expect(mayBe).toEqual([true, false]);
  expect(gate.mayBeUnclaimed('PRODUCTION', paid?.ends ?? [])).toBe(false);
});
