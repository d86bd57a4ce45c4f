import { expect, test } from '@jest/globals';
import { OrderStatus } from '../../src/gen/gatehouse/v1/order_pb.js';
import { startArchivedPostgres } from '../support/archived-postgres.ts';
import { waitUntil } from '../support/wait-until.ts';
import { numbers, openDrill } from './restore-drill.ts';
import { closersOfEachTest } from '../support/shared-stack.ts';

/* The failover to an older standby of docs/operating/backup.md, while all processes run on. */

const closers = closersOfEachTest();

test('a failover to a standby that lacks orders makes unknown orders wait before and after its promotion, and charges no customer again', async () => {
  const postgres = await startArchivedPostgres();
  closers.push(postgres.stop);
  const drill = await openDrill(closers, {
    url: postgres.url,
    backUp: postgres.takeBaseBackup,
    loseAndRestore: () => Promise.reject(new Error('nothing is restored')),
  });
  const { shop } = drill;
  const before = numbers('B', 1, 2);
  const after = numbers('A', 101, 8);
  await drill.pay(before);
  await drill.allCompleted(before);
  await drill.backUp();
  await postgres.archiveAll();
  await drill.pay(after);
  await drill.allCompleted(after);
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
