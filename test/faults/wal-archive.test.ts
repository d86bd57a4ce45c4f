import { expect, test } from '@jest/globals';
import { Environment, OrderStatus } from '../../src/gen/gatehouse/v1/order_pb.js';
import {
  RecoveredWalletState,
  RecoveryCause,
  RecoveryStream,
} from '../../src/gen/gatehouse/v1/recovery_service_pb.js';
import { waitUntil } from '../support/wait-until.ts';
import { startArchivedPostgres } from '../support/archived-postgres.ts';
import { numbers, openDrill } from './restore-drill.ts';
import { closersOfEachTest } from '../support/shared-stack.ts';

/*
 * The drill of docs/operating/backup.md with PostgreSQL's own backup: a base backup, and the archived WAL after it. The second
 * test fails over to an older standby instead, while all processes run on.
 */

const closers = closersOfEachTest();

async function openArchivedDrill() {
  const postgres = await startArchivedPostgres();
  closers.push(postgres.stop);
  const loss: { how: 'crash' | 'shutdown'; until?: string } = { how: 'crash' };
  const drill = await openDrill(closers, {
    url: postgres.url,
    backUp: postgres.takeBaseBackup,
    async loseAndRestore() {
      await postgres.lose(loss.how);
      await postgres.restore(loss.until);
    },
  });
  const paid = async (orders: readonly string[]): Promise<void> => {
    await drill.pay(orders);
    await drill.allCompleted(orders);
  };
  /** Waits until a recovery has finished that is not the previous one. */
  const recovered = (before = '') =>
    waitUntil('the sandbox is open', async () => {
      const open = await drill.isOpen();
      return open?.recoveryId === before ? undefined : open;
    });
  return { ...drill, postgres, loss, paid, recovered };
}

test('a restore of all WAL loses nothing, one to an earlier time gets lost orders from the broker, and both ask the wallets', async () => {
  const drill = await openArchivedDrill();
  const { loss, postgres, shop } = drill;
  await drill.paid(numbers('B', 1, 2));
  await drill.backUp();
  await drill.paid(numbers('A', 101, 3));
  const charged = await drill.charges();

  loss.how = 'shutdown';
  await drill.loseAndRestore();
  const core = await drill.startCore();

  const complete = await drill.recovered();
  expect(complete).toMatchObject({ cause: RecoveryCause.NEW_HOME, rebuiltOrderCount: 0 });
  const walleta = complete.wallets.find(
    ({ wallet, environment }) => wallet === 'walleta' && environment === Environment.SANDBOX,
  );
  expect(walleta).toMatchObject({ state: RecoveredWalletState.READ, unclaimedPaymentCount: 0 });
  await drill.allCompleted([...numbers('B', 1, 2), ...numbers('A', 101, 3)]);
  expect(await drill.charges()).toEqual(charged);

  const until = await postgres.now();
  const after = numbers('C', 201, 3);
  await drill.paid(after);
  const chargedAfter = await drill.charges();
  await postgres.archiveAll();
  await core.stop();
  Object.assign(loss, { how: 'crash', until });
  await drill.loseAndRestore();
  await drill.startCore();

  const inTime = await drill.recovered(complete.recoveryId);
  expect(inTime).toMatchObject({
    cause: RecoveryCause.NEW_HOME,
    stream: RecoveryStream.COMPLETE,
    rebuiltOrderCount: after.length,
  });
  await drill.allCompleted([...numbers('A', 101, 3), ...after]);
  for (const number of after)
    expect(await shop.pay(number)).toMatchObject({ status: 201, body: { payment_status: 'COMPLETED' } });
  expect(await drill.charges()).toEqual(chargedAfter);
  await drill.paid(numbers('D', 301, 2));
  await drill.nothingWasChanged();
});

test('a failover to a standby that lacks orders makes unknown orders wait before and after its promotion, and charges no customer again', async () => {
  const drill = await openArchivedDrill();
  const { postgres, shop } = drill;
  const before = numbers('B', 1, 2);
  const after = numbers('A', 101, 8);
  await drill.paid(before);
  await drill.backUp();
  await postgres.archiveAll();
  await drill.paid(after);
  const charged = await drill.charges();

  await postgres.lose('crash');
  await postgres.startStandby();
  await waitUntil('the standby answers for an order that it has', async () => {
    const { body } = await shop.verify(before[0]!);
    return body.data?.['status'] === 'COMPLETED';
  });
  await waitUntil('an order that the standby lacks waits', async () => {
    const { status } = await shop.verify('never-seen');
    return status === 503;
  });
  await postgres.promote();
  // Repeated from the first moment on, like the requests of a shop that were not answered.
  const answers = await Promise.all(
    after.map((number) =>
      waitUntil(`${number} is answered`, async () => {
        const answer = await shop.pay(number);
        return answer.status < 500 ? answer : undefined;
      }),
    ),
  );

  const completed = { status: 201, body: { payment_status: 'COMPLETED' } };
  expect(answers).toMatchObject(after.map(() => completed));
  await drill.allCompleted([...before, ...after]);
  expect(await waitUntil('the sandbox is open', drill.isOpen)).toMatchObject({
    rebuiltOrderCount: after.length,
    conflictingOrderCount: 0,
  });
  expect(await drill.charges()).toEqual(charged);
  expect(await drill.statusOf(before[0]!)).toBe(OrderStatus.COMPLETED);
});
