import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { beforeAll, expect, test } from '@jest/globals';
import { OrderEventSchema } from '../../src/gen/gatehouse/v1/order_pb.js';
import type { OrderEvent } from '../../src/gen/gatehouse/v1/order_pb.js';
import { outcomes, sharedPaymentDesk } from '../integration/core/payment-desk.ts';
import type { Payment } from '../integration/core/payment-desk.ts';
import { storedId } from '../support/ids.ts';
import { sharedStack } from '../support/shared-stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { sql } from '../support/sql.ts';
import { sharedCommandLine } from './cli-harness.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);

const cli = sharedCommandLine(stack, () => ({ GATEHOUSE_SERVICE_TOKEN: stack.tokens.reader }));
let merchantId: string;
let completed: Payment;

beforeAll(async () => {
  ({ id: merchantId } = await stack.createMerchant());
  completed = await direct('completed', '01');
  await desk.settle(completed, outcomes.completed('t-1'));
  const { refundId } = await desk.refund(merchantId, 'completed', { amount: '40' });
  await desk.recordRefund(await desk.takeRefund(refundId), { case: 'done', value: {} });
  await desk.settle(await direct('failed', '02'), outcomes.declined());
  const lost = await direct('lost', '03');
  await desk.settle(lost, outcomes.unknown());
  await desk.makeDue(lost);
  await desk.settle(lost, outcomes.completed('t-2'));
  const stray = await hosted('stray');
  await desk.settle(await desk.payHosted(stray, undefined, '0911223304'), outcomes.completed('t-3', '99.00'));
  await desk.cancelHosted(stray);
  const retried = await hosted('retried');
  await desk.settle(await desk.payHosted(retried, undefined, '0911223305'), outcomes.timedOut());
  await desk.settle(await desk.payHosted(retried, undefined, '0911223306'), outcomes.completed('t-4'));
  await desk.take(await desk.payHosted(await hosted('abandoned'), undefined, '0911223307'));
  await expire((await hosted('expired')).orderId);
});

const direct = (orderNumber: string, digits: string): Promise<Payment> =>
  desk.startDirect({ merchantId, orderNumber, phone: `09112233${digits}` });
const hosted = (orderNumber: string) => desk.registerHosted({ merchantId, orderNumber });

/** Writes an event like a user with all rights in the database. Returns its sequence. */
async function editEvent(orderId: string, type: string, edit: (event: OrderEvent) => void): Promise<number> {
  const ids = [storedId('ord', orderId), type];
  const [row] = await desk.query<{ payload: Buffer; sequence: number }>(
    'select payload, sequence from core.order_events where order_id = $1 and type = $2',
    ids,
  );
  if (row === undefined) throw new Error(`${orderId} has no event ${type}`);
  const event = fromBinary(OrderEventSchema, row.payload);
  edit(event);
  await desk.query('alter table core.order_events disable trigger append_only');
  await desk.query('update core.order_events set payload = $3 where order_id = $1 and type = $2', [
    ...ids,
    Buffer.from(toBinary(OrderEventSchema, event)),
  ]);
  await desk.query('alter table core.order_events enable trigger append_only');
  return row.sequence;
}

/** Five minutes is the shortest session. So its end is moved, in the order and in the event of its registration. */
async function expire(orderId: string): Promise<void> {
  const [row] = await desk.query<{ expires_at: Date }>(sql`
    update core.orders set expires_at = date_trunc('milliseconds', now()), sweep_at = now()
    where id = ${storedId('ord', orderId)}
    returning expires_at`);
  await editEvent(orderId, 'CREATED', ({ order }) => {
    if (order !== undefined && row !== undefined) order.expireTime = timestampFromDate(row.expires_at);
  });
  await waitUntil('the order has expired', async () =>
    (await desk.history({ merchantId, orderId })).includes('2 EXPIRED'),
  );
}

/** A transaction of another test may hold the latest events back. */
const allAreListed = () =>
  waitUntil('all events are listed', async () => {
    const [stored] = await desk.query<{ count: number }>(sql`select count(*)::integer as count
      from core.order_events where merchant_id = ${storedId('mer', merchantId)}`);
    const { stdout } = await cli.run('rehearse', '--merchant', merchantId, '--json');
    const { summary } = JSON.parse(stdout) as { summary: { event_count: number } };
    return summary.event_count === stored?.count;
  });

test("a rehearsal with the same version finds no difference, and a reader's token is enough", async () => {
  await allAreListed();

  const rehearsed = await cli.json('rehearse', '--merchant', merchantId);
  const later = await cli.run('rehearse', '--merchant', merchantId, '--since', '2100-01-01');

  // 7 registrations, 7 payments, 6 ends of payments, a cancellation and an expiry, and 6 steps that added no event.
  expect(rehearsed).toMatchObject({
    differences: [],
    summary: {
      ...{ order_count: 7, difference_count: 0, derived_count: 0, unknown_command_count: 0 },
      ...{ other_event_count: 2, incomplete_order_count: 0 },
    },
  });
  expect(rehearsed['summary']).toMatchObject({ decision_count: 28, equal_count: 28, event_count: 24 });
  expect(later).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('nothing to repeat') });
});

test('an event that no rule can have caused is listed with its order, and the exit code is 1', async () => {
  await allAreListed();
  const sequence = await editEvent(completed.orderId, 'COMPLETED', ({ order }) => {
    if (order !== undefined) order.deducted = '100.49';
  });

  const { exitCode, stdout } = await cli.run('rehearse', '--merchant', merchantId);

  expect(exitCode).toBe(1);
  expect(stdout).toContain(`${completed.orderId} of ${merchantId}, event ${sequence} at `);
  expect(stdout).toMatch(/^ {2}Command +confirm_attempt$/m);
  expect(stdout).toMatch(/^ {2}Recorded +completed$/m);
  expect(stdout).toMatch(/^ {2}Candidate +rejected: amount_mismatch$/m);
  expect(stdout).toContain('1 decision would differ.');
});
