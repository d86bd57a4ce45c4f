import { beforeEach, expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { PersonalDataService } from '../../../src/gen/gatehouse/v1/personal_data_service_pb.js';
import { eraseDeliveries } from '../../../src/webhooks/erasure/erase-deliveries.ts';
import { keptLog } from '../../support/kept-log.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { sharedWebhookDesk } from './webhook-desk.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedWebhookDesk(stack);
let merchantId: string;
beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
});

const body = (reason: string, phone: string) =>
  JSON.stringify({ type: 'order.completed', data: { reason, customer_phone: phone } });

/** The body of an ended delivery whose order is due in a while, after one run. */
async function bodyAfterRun(dueIn: string): Promise<string | undefined> {
  const { pool } = desk.database;
  const orderId = newRandomId('ord', new Date());
  const [id] = await desk.deliver(merchantId, { orderId, body: Buffer.from(body('Shoes', '0911223344')) });
  await pool.query("update webhooks.deliveries set state = 'DELIVERED', due_at = null where id = $1", [id]);
  await pool.query('insert into webhooks.erasures_due values ($1, $2, now() + $3::interval)', [
    ...[merchantId, orderId, dueIn],
  ]);
  const personalData = stack.client(PersonalDataService, 'webhooks');
  const { logger } = keptLog();

  await eraseDeliveries({ database: desk.database, personalData, logger }, new AbortController().signal);

  const { rows } = await pool.query<{ body: Buffer }>('select body from webhooks.deliveries where id = $1', [
    id,
  ]);
  return rows[0]?.body.toString();
}

test("an order that became due while the database's clock was a day ahead is erased at once", async () => {
  expect(await bodyAfterRun('1 day')).toBe(body('erased', 'erased'));
});

test('an order that waits as long as a right clock lets it wait is not erased yet', async () => {
  expect(await bodyAfterRun('10 minutes')).toBe(body('Shoes', '0911223344'));
});
