import { beforeAll, expect, test } from '@jest/globals';
import { OrderStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sharedPaymentDesk } from '../core/payment-desk.ts';
import { sharedWalletSide } from './wallet-processes.ts';

let wallets: GatehouseProcess;

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);
const side = sharedWalletSide(stack);
beforeAll(async () => {
  await side.startSimulator();
  wallets = await side.startWallets({ walleta: { max_in_flight: 8 } });
});

const hanging = '251900000015';
const moreThanItsSlots = 20;

test('payments of one merchant that hang do not delay payments of other merchants at the same wallet', async () => {
  const [one, another] = await Promise.all([stack.createMerchant(), stack.createMerchant()]);
  const stuck = await Promise.all(
    Array.from({ length: moreThanItsSlots }, (_, index) =>
      desk.startDirect({ merchantId: one.id, orderNumber: `H-${index}`, phone: hanging }),
    ),
  );
  await waitUntil('enough have timed out to look like a wallet in trouble', async () => {
    const lost = await desk.query(`select 1 from core.payment_attempts where status = 'UNKNOWN'`);
    return lost.length > 8;
  });

  const ordinary = await desk.startDirect({ merchantId: another.id, phone: '251900000000' });

  await waitUntil(
    'the ordinary payment completes',
    async () => (await desk.story(ordinary)).order?.status === OrderStatus.COMPLETED,
  );
  const stories = await Promise.all(stuck.map(desk.story));
  expect(stories.map(({ order }) => order?.status)).toEqual(stuck.map(() => OrderStatus.PENDING));
  expect(wallets.log.filter(({ msg }) => String(msg).startsWith('circuit open: the wallet'))).toEqual([]);
});
