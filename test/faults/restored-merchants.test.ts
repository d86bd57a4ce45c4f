import { expect, test } from '@jest/globals';
import { v7 } from 'uuid';
import { publicId } from '../../src/contract/public-id.ts';
import type { StoredId } from '../../src/contract/public-id.ts';
import { CheckFinding } from '../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { RecoveryService, RecoveryStream } from '../../src/gen/gatehouse/v1/recovery_service_pb.js';
import { startTemporaryNats } from '../../src/main/local/temporary-servers.ts';
import { refusalOf } from '../support/rpc-failure.ts';
import { waitUntil } from '../support/wait-until.ts';
import { numbers, openDrill, Shop } from './restore-drill.ts';
import { closersOfEachTest } from '../support/shared-stack.ts';
import { queryOnce } from '../support/database-connections.ts';

/* The drill of docs/operating/backup.md with a merchant that was created after the backup. */

const closers = closersOfEachTest();

const orders = numbers('A', 201, 3);

/** The loss of a merchant that was created in the lost time, and whose customers have paid. */
async function loseMerchant() {
  const drill = await openDrill(closers);
  const { stack } = drill;
  await drill.pay(['B-0001']);
  await drill.allCompleted(['B-0001']);
  await drill.backUp();
  const recoveries = stack.client(RecoveryService, 'operator');
  const lost = await stack.createMerchant({ signsWebhooks: true });
  const webhookUrl = `${drill.receiver.origin}/hook`;
  const lostShop = new Shop(stack, lost, webhookUrl);
  expect((await lostShop.register(orders[0]!)).status).toBe(201);
  const payAll = (shop: Shop) =>
    waitUntil('every order is completed', async () => {
      const answers = await Promise.all(orders.map((number) => shop.pay(number)));
      return answers.every(({ body }) => body.payment_status === 'COMPLETED');
    });
  await payAll(lostShop);
  const charged = await drill.charges();
  await drill.loseAndRestore();
  return {
    ...drill,
    lost,
    lostShop,
    charged,
    /** The shop gets a key again, and repeats its orders. No customer is charged again. */
    async createAgainAndRepeat(): Promise<void> {
      const again = await stack.createMerchant({ merchantId: lost.id });
      expect(again.id).toBe(lost.id);
      await payAll(new Shop(stack, again, webhookUrl));
      expect(await drill.charges()).toEqual(charged);
    },
    finish: async () => {
      await waitUntil('the sandbox is open', drill.isOpen);
      await drill.acceptProduction();
      return waitUntil('the recovery has ended', async () => {
        const now = await drill.recovery();
        return now?.finishTime === undefined ? undefined : now;
      });
    },
    finding: async () => (await drill.recoveryCheck())?.finding,
    accept: (question: 'accounts' | 'merchants') =>
      recoveries.acceptRecovery({
        subject: { case: question, value: true },
        reason: 'asked everybody',
      }),
  };
}

test('a gateway that was restored with its broker names a merchant that it lost, and gives it its orders when it is created again under its id', async () => {
  const { stack, lost, lostShop, ...drill } = await loseMerchant();
  await drill.startCore();
  const open = await drill.finish();

  expect(open).toMatchObject({
    stream: RecoveryStream.COMPLETE,
    conflictingOrderCount: 0,
    missingMerchants: [{ merchantId: lost.id, orderCount: orders.length }],
  });
  expect(open.merchantsLostFromTime).toBeDefined();
  expect(await drill.finding()).toBe(CheckFinding.MERCHANTS_LOST);
  expect((await lostShop.pay(orders[0]!)).status).toBe(401);
  // Under another id, its customers would be charged again.
  expect(await refusalOf(stack.createMerchant())).toBe('MERCHANTS_LOST');
  expect(await refusalOf(stack.createMerchant({ merchantId: drill.merchant.id }))).toBe('MERCHANT_NOT_LOST');

  await drill.createAgainAndRepeat();
  expect((await drill.recovery())?.merchantsLostFromTime).toBeUndefined();
  expect(await refusalOf(stack.createMerchant({ merchantId: lost.id }))).toBe('MERCHANT_NOT_LOST');
  expect((await stack.createMerchant()).id).not.toBe(lost.id);
  await drill.nothingWasChanged();
});

test('a gateway that was restored without its broker asks for merchants and accounts of the lost time, and finds the payments of a merchant that is created again', async () => {
  const { stack, lost, ...drill } = await loseMerchant();
  const broker = await startTemporaryNats();
  closers.push(broker.stop);
  const core = await drill.startCore({ GATEHOUSE_NATS_URL: broker.url });
  const unanswered = async () => {
    const page = await (await fetch(`http://${String(core.ready['connect'])}/metrics`)).text();
    return ['accounts', 'merchants'].filter((question) =>
      page.includes(`gatehouse_recovery_unanswered{question="${question}"} 1`),
    );
  };

  // No merchant of the backup has an account of its own, so payments do not wait for the answers.
  const open = await drill.finish();
  expect(open).toMatchObject({ stream: RecoveryStream.LOST, missingMerchants: [] });
  expect(await drill.finding()).toBe(CheckFinding.MERCHANTS_LOST);
  await waitUntil('the metric shows both questions', async () => (await unanswered()).length === 2);
  expect(await refusalOf(stack.createMerchant())).toBe('MERCHANTS_LOST');
  const neverLost = publicId('mer', v7({ msecs: 0 }) as StoredId<'mer'>);
  expect(await refusalOf(stack.createMerchant({ merchantId: neverLost }))).toBe('MERCHANT_NOT_LOST');

  await drill.createAgainAndRepeat();
  await drill.accept('merchants');
  await waitUntil('one question is left', async () => (await unanswered()).join() === 'accounts');
  expect(await drill.finding()).toBe(CheckFinding.MERCHANTS_LOST);
  await drill.accept('accounts');
  expect(await refusalOf(drill.accept('merchants'))).toBe('NOT_RECOVERING');
  expect(await drill.finding()).toBe(CheckFinding.ERASURES_LOST);
  expect((await stack.createMerchant()).id).not.toBe(lost.id);
  await drill.nothingWasChanged();
});

test('a failover during a recovery does not take the events of a new broker for those of the lost time', async () => {
  const drill = await openDrill(closers);
  await drill.pay(['B-0001']);
  await drill.allCompleted(['B-0001']);
  await drill.backUp();
  await drill.loseAndRestore();
  const { databaseUrl } = drill.stack;
  // As if the backup was made before the relay stored its position, so that the new broker gets events from before it.
  await queryOnce(databaseUrl, 'delete from core.event_relay');
  const broker = await startTemporaryNats();
  closers.push(broker.stop);
  await drill.startCore({ GATEHOUSE_NATS_URL: broker.url });
  const first = await waitUntil('the sandbox is open', drill.isOpen);
  await drill.pay(['N-0101']);
  await drill.allCompleted(['N-0101']);

  await drill.allRelayed();
  // As if production still waited for an operator. At once, because core would end such a recovery before the failover.
  await queryOnce(
    databaseUrl,
    `with open as (update core.recoveries set finished_at = null, closed = '{PRODUCTION}')
     update core.database_life set home = 'another server'`,
  );
  const second = await waitUntil('the stream was read again', async () => {
    const now = await drill.recovery();
    return now?.recoveryId === first.recoveryId || now?.stream === RecoveryStream.WAITING ? undefined : now;
  });

  expect(first.stream).toBe(RecoveryStream.LOST);
  expect(second.stream).toBe(RecoveryStream.PARTIAL);
  expect(second.merchantsLostFromTime).toBeDefined();
});
