import { beforeEach, describe, expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { scheduleReconciliations } from '../../../src/core/reconciliation/schedule-reconciliations.ts';
import { sharedReconciliationDesk } from './reconciliation-desk.ts';
import { sharedStack, sharedCoreDatabase } from '../../support/shared-stack.ts';

let rings = 0;

const stack = sharedStack({ facades: 0 });
const desk = sharedReconciliationDesk(stack);
const database = sharedCoreDatabase('schedule', () => stack.databaseUrl, 4);
beforeEach(async () => {
  await desk.clear();
  // What earlier tests paid is none of the days looked at here, nor before them.
  await desk.database.query("update core.payment_attempts set updated_at = '2026-06-01'");
  rings = 0;
});

const wallet = { options: [], currencies: [], reconcile: true, refunds: 'any' } as const;
const scheduleAt = (time: string): Promise<number> =>
  scheduleReconciliations({
    database,
    wallets: [
      { ...wallet, id: 'walleta', environments: ['SANDBOX', 'PRODUCTION'] },
      { ...wallet, id: 'walletb', environments: ['SANDBOX'] },
      { ...wallet, id: 'nostatement', environments: ['SANDBOX'], reconcile: false },
    ],
    newId: newRandomId,
    now: () => new Date(time),
    onDue: () => (rings += 1),
  });

async function scheduled(): Promise<string[]> {
  const { rows } = await desk.database.query<{ text: string }>(
    "select concat_ws(' ', wallet, environment, day) as text from core.reconciliations where scheduled order by day",
  );
  return rows.map(({ text }) => text);
}

/** A payment through wallet A's sandbox, at noon of that day. */
async function payOn(date: string): Promise<void> {
  const { id: merchantId } = await stack.createMerchant();
  const value = { providerTransactionId: `on-${date}`, amount: '100.50', currency: 'ETB' };
  await desk.payment(merchantId, { case: 'completed', value });
  await desk.moveTo(merchantId, date);
}

describe('every day that is over', () => {
  test('is compared once for each wallet and environment that was ever paid through, however often this is asked', async () => {
    await payOn('2026-03-10');

    const first = await scheduleAt('2026-03-11T01:00:00Z');
    const again = await scheduleAt('2026-03-11T13:00:00Z');

    expect([first, again, rings]).toEqual([1, 0, 1]);
    expect(await scheduled()).toEqual(['walleta SANDBOX 2026-03-10']);
  });

  test('begins an hour after midnight, UTC, so that the wallet has written it down', async () => {
    await payOn('2026-03-10');

    expect(await scheduleAt('2026-03-11T00:59:59Z')).toBe(0);
    expect(await scheduleAt('2026-03-11T01:00:00Z')).toBe(1);
  });

  test('is caught up with for seven days, and not beyond them or before the first payment', async () => {
    await payOn('2026-03-02');
    expect(await scheduleAt('2026-03-05T12:00:00Z')).toBe(3);

    const missed = await scheduleAt('2026-03-20T12:00:00Z');

    expect(missed).toBe(7);
    expect((await scheduled()).map((text) => text.slice(-2))).toEqual([
      '02',
      '03',
      '04',
      '13',
      '14',
      '15',
      '16',
      '17',
      '18',
      '19',
    ]);
  });

  test('is compared by itself although an operator did so before', async () => {
    await payOn('2026-03-10');
    await desk.reconcile('2026-03-10', []);

    expect(await scheduleAt('2026-03-11T12:00:00Z')).toBe(1);
  });

  test('is scheduled once by ten cores at the same moment', async () => {
    await payOn('2026-03-10');

    const made = await Promise.all(Array.from({ length: 10 }, () => scheduleAt('2026-03-11T12:00:00Z')));

    expect(made.reduce((sum, count) => sum + count, 0)).toBe(1);
  });
});
