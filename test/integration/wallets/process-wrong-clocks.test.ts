import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { OrderStatus, PaymentAttemptStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { WalletStatusService } from '../../../src/gen/gatehouse/v1/wallet_status_service_pb.js';
import { storedId } from '../../support/ids.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sharedPaymentDesk } from '../core/payment-desk.ts';
import type { Payment } from '../core/payment-desk.ts';
import { openWalletSide } from './wallet-processes.ts';
import type { WalletSide } from './wallet-processes.ts';
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';

const hourMs = 60 * 60_000;
const wrongBy = (hours: number) => ({
  NODE_OPTIONS: `--import ${pathToFileURL(resolve(import.meta.dirname, '../../support/shifted-clock.ts')).href}`,
  TEST_CLOCK_SHIFT_MS: String(hours * hourMs),
});

let side: WalletSide;
let merchantId: string;

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);
const walletStatuses = sharedClient(stack, WalletStatusService, 'reader');
beforeEach(async () => {
  await desk.clear();
  side = openWalletSide(stack, { ownProcesses: true });
  ({ id: merchantId } = await stack.createMerchant());
});
afterEach(async () => {
  await side.stop();
});

const endings: [string, OrderStatus][] = [
  ['00', OrderStatus.COMPLETED],
  ['01', OrderStatus.FAILED],
  ['08', OrderStatus.COMPLETED],
  ['10', OrderStatus.COMPLETED],
  ['11', OrderStatus.COMPLETED],
  ['12', OrderStatus.COMPLETED],
  ['14', OrderStatus.COMPLETED],
  ['17', OrderStatus.COMPLETED],
  ['21', OrderStatus.COMPLETED],
];

const pay = (ending: string): Promise<Payment> =>
  desk.startDirect({ merchantId, orderNumber: `C-${ending}`, phone: `2519000000${ending}` });

const countOf = async (payment: Payment, purpose: string): Promise<number> =>
  (await desk.story(payment)).exchanges.filter((exchange) => exchange.purpose === purpose).length;

/** Moves the end of the payer's time this many minutes into the past. */
const endPrompt = (payment: Payment, minutesAgo: number) =>
  desk.query(sql`update core.payment_attempts
    set prompt_until = now() - ${minutesAgo} * interval '1 minute', due_at = now()
    where id = ${storedId('pat', payment.attemptId)}`);

const saidTime = ({ ready }: GatehouseProcess): number => Date.parse(String(ready['time']));

test.each([
  ['five hours ahead and the wallet’s five behind', 5, -5],
  ['five hours behind and the wallet’s five ahead', -5, 5],
])('payments end correctly with the clock of the wallets process %s', async (_name, ours, theirs) => {
  const simulator = await side.startSimulator(wrongBy(theirs));
  const wallets = await side.startWallets({ settings: wrongBy(ours) });
  expect(Math.round((saidTime(wallets) - saidTime(simulator)) / hourMs)).toBe(ours - theirs);

  const payments = await Promise.all(endings.map(([ending]) => pay(ending)));
  const untaken = await pay('15');
  const statuses = async () =>
    (await Promise.all(payments.map(desk.story))).map(({ order }) => order?.status);
  const ids = payments.map(({ orderId }) => storedId('ord', orderId));
  await waitUntil('all are decided', async () => {
    const open = await desk.query(sql`
      select 1 from core.orders where status = 'PENDING' and id = any(${ids})`);
    return open.length === 0;
  });
  expect(await statuses()).toEqual(endings.map(([, status]) => status));

  await waitUntil('the process reports its clock', async () => {
    const { statuses } = await walletStatuses.listWalletStatuses({});
    return statuses.some(({ reportTime, status }) => {
      if (reportTime === undefined || status?.clockTime === undefined) return false;
      return Math.round((timestampMs(status.clockTime) - timestampMs(reportTime)) / hourMs) === ours;
    });
  });

  // The wallet never took this request. It is sent again while the payer may be asked, and not later.
  await waitUntil('it is sent again', async () => (await countOf(untaken, 'initiate')) >= 2);
  const open = await desk.story(untaken);
  expect(open.paymentAttempt?.status).toBe(PaymentAttemptStatus.UNKNOWN);
  expect(open.order?.status).toBe(OrderStatus.PENDING);
  // The prompt ends after the request under way has been recorded.
  await waitUntil('no process has it', async () => {
    const [ended] = await desk.query(sql`
      update core.payment_attempts set prompt_until = now() - interval '1 minute', due_at = now()
      where id = ${storedId('pat', untaken.attemptId)} and leased_until is null returning 1`);
    return ended !== undefined;
  });
  const sent = await countOf(untaken, 'initiate');
  const asked = await countOf(untaken, 'recover');
  await waitUntil('the wallet is asked again', async () => (await countOf(untaken, 'recover')) > asked + 1);
  expect(await countOf(untaken, 'initiate')).toBe(sent);
  expect((await desk.story(untaken)).order?.status).toBe(OrderStatus.PENDING);
  await endPrompt(untaken, 11);
  const story = await waitUntil('it has ended as never made', async () => {
    const now = await desk.story(untaken);
    return now.paymentAttempt?.status === PaymentAttemptStatus.TIMED_OUT && now;
  });
  expect(story.order?.status).toBe(OrderStatus.FAILED);

  const payers = (await side.charges()).map(({ payer }) => payer).sort();
  expect(payers).toEqual(
    endings.filter(([, status]) => status === OrderStatus.COMPLETED).map(([ending]) => `2519000000${ending}`),
  );
});
