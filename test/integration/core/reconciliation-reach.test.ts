import { beforeEach, expect, test } from '@jest/globals';
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  DifferenceKind,
  ReconciliationStatus,
  StatementEntryStatus,
} from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import { storedId } from '../../support/ids.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { walletsOfCore } from '../../support/simulated-wallets.ts';
import { sql } from '../../support/sql.ts';
import { outcomes } from './payment-desk.ts';
import { completed, paymentEntry, sharedReconciliationDesk, walletA } from './reconciliation-desk.ts';

/** Core's wallets, with walleta at a connector whose statement reaches back 48 hours and lists no returned money. */
const wallets = (): string => {
  const file = JSON.parse(walletsOfCore()) as { wallets: { id: string; connector: string }[] };
  for (const wallet of file.wallets) if (wallet.id === 'walleta') wallet.connector = 'mpesa-daraja';
  return JSON.stringify(file);
};

const stack = sharedStack({ facades: 0, settings: { GATEHOUSE_WALLETS: wallets() } });
const desk = sharedReconciliationDesk(stack);

let merchantId: string;
beforeEach(async () => {
  await desk.clear();
  ({ id: merchantId } = await stack.createMerchant());
});

const hourMs = 60 * 60_000;
/** Its noon has passed, and the statement still reaches back to its first instant. */
const day = new Date(Date.now() - 12 * hourMs).toISOString().slice(0, 10);
const noon = timestampFromDate(new Date(`${day}T12:00:00Z`));
const entryOf = (providerTransactionId: string, amount = '100.50') =>
  paymentEntry({ providerTransactionId, amount, occurTime: noon });

/** The balance of the compared day. */
const balances = async () => {
  const { days } = await desk.operator.listMoneyDays({ ...walletA, merchantId, date: day });
  return days.map(({ difference }) => Number(difference));
};

test('a payment that began before the statement reaches back does not prevent its day from being read, and is not missing', async () => {
  await desk.payment(merchantId, completed('recent'));
  const late = [
    await desk.payment(merchantId, completed('settled-late')),
    await desk.payment(merchantId, completed('stray-late', '7.00')),
  ];
  await desk.moveTo(merchantId, day);
  await desk.database.query(sql`update core.payment_attempts set created_at = updated_at - interval '5 days'
    where id = any (${late.map(({ attemptId }) => storedId('pat', attemptId))})`);
  await desk.operator.startReconciliation({ ...walletA, date: day });

  const leased = await desk.lease();
  const key = desk.keyOf(leased);
  await desk.wallets.recordStatementPage({ ...key, entries: [{ position: 0, ...entryOf('recent') }] });
  const { reconciliation } = await desk.wallets.completeReconciliation(key);

  const reachMs = Date.now() - timestampDate(leased!.fromTime!).getTime();
  expect(reachMs).toBeLessThan(48 * hourMs);
  expect(timestampDate(leased!.fromTime!).getTime()).toBeLessThan(Date.parse(`${day}T00:00:00Z`));
  const { COMPLETED } = ReconciliationStatus;
  expect(reconciliation).toMatchObject({ status: COMPLETED, differences: 0, detail: '' });
  expect(await balances()).toEqual([0]);
});

test('the end of an attempt’s id names the attempt of the same amount, whose outcome is then queried again', async () => {
  const { attemptId: paymentAttemptId } = await desk.payment(merchantId, outcomes.timedOut());
  await desk.moveTo(merchantId, day);
  const [named, typed] = [paymentAttemptId.slice(-12), '202611270001'];

  const { differences } = await desk.reconcile(day, [
    { ...entryOf('debited'), requestId: named },
    { ...entryOf('beside', '100.49'), requestId: named },
    { ...entryOf('unknown'), requestId: typed },
    { ...entryOf('returned'), requestId: typed, status: StatementEntryStatus.REVERSED },
  ]);

  const kept = await desk.database.query<{ reference_end: string }>(sql`select reference_end
    from core.unclaimed_payments where reference_end = any (${[named, typed]}) order by amount`);
  expect(differences).toMatchObject([
    { kind: DifferenceKind.STATUS_DIFFERS, paymentAttemptId },
    ...['when the shop sends the order again', 'when the shop sends the order again', 'was returned'].map(
      (advice) => ({
        ...{ kind: DifferenceKind.MISSING_HERE, paymentAttemptId: '' },
        advice: expect.stringContaining(advice),
      }),
    ),
  ]);
  expect(kept.rows).toEqual([{ reference_end: named }, { reference_end: typed }]);
});

test('returned money is not compared with a statement that lists none, and the run counts and names it', async () => {
  const { orderNumber } = await desk.payment(merchantId, completed('refunded'));
  const { strayPaymentId } = await desk.payment(merchantId, completed('stray', '7.00'));
  const { refundId } = await desk.payments.refund(merchantId, orderNumber);
  await desk.database.query(`
    update core.refunds set status = 'REVERSED', due_at = null, tries = 1, maybe_sent = true`);
  await desk.database.query("update core.stray_payments set status = 'REVERSED', due_at = null");
  await desk.moveTo(merchantId, day);

  const { reconciliation, differences } = await desk.reconcile(day, [
    entryOf('refunded'),
    entryOf('stray', '7.00'),
  ]);

  expect(differences).toEqual([]);
  expect(reconciliation.detail).toMatch(
    /^not compared, because this statement lists no returned money: 2 returned /,
  );
  expect(reconciliation.detail).toContain(strayPaymentId);
  expect(reconciliation.detail).toContain(refundId);
  expect(await balances()).toEqual([0]);
});
