import { expect, test } from '@jest/globals';
import { v7 } from 'uuid';
import { publicId } from '../support/ids.ts';
import { sharedConnection, sharedMerchant, sharedStack } from '../support/shared-stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { sharedCommandLine } from './cli-harness.ts';

const stack = sharedStack({ wallets: 2 });
const merchant = sharedMerchant(stack);
const cli = sharedCommandLine(stack);
const database = sharedConnection(() => stack.databaseUrl);

async function simulator<T>(list: string, query = ''): Promise<T[]> {
  const response = await fetch(`${stack.simulatorUrl}/simulator/${list}${query}`);
  return ((await response.json()) as Record<string, T[]>)[list] ?? [];
}

/** Makes a payment, and then makes core believe that it was too late and must be reversed. */
async function payTooLate(phone: string): Promise<string> {
  const post = (path: string, body: object) =>
    fetch(`${stack.facades[0]?.sandbox}${path}`, {
      method: 'POST',
      headers: { apiKey: merchant.testKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const order_number = `too-late-${phone}`;
  await post('/api/v1/direct?payment_option=walleta_ussd', {
    ...{ order_number, amount: '100.50', currency: 'ETB', phone },
  });
  await waitUntil('it is paid', async () => {
    const answer = await post('/api/v1/verify', { order_number });
    return ((await answer.json()) as { data: { status: string } }).data.status === 'COMPLETED';
  });
  const id = v7();
  await database.query(
    `insert into core.stray_payments (merchant_id, id, environment, order_id, payment_attempt_id, payment_option,
       provider_transaction_id, amount, currency, kind, status, detail, tries, maybe_sent, reversal_id, due_at, created_at,
       updated_at)
     select merchant_id, $1, environment, order_id, id, payment_option, provider_transaction_id, '100.50', 'ETB', 'LATE',
       'REVERSAL_DUE', '', 0, false, $1, now(), now(), now()
     from core.payment_attempts where phone = $2`,
    [id, phone],
  );
  return publicId('stp', id);
}

const strayIn = (status: string): Promise<{ stray_payment_id: string }> =>
  waitUntil(`the stray payment is ${status}`, async () => {
    const { stray_payments } = await cli.json('payment', 'strays', '--status', status);
    return (stray_payments as { stray_payment_id: string }[])[0];
  });

test('a reversal that was accepted and then failed succeeds exactly once when it is retried', async () => {
  const payer = '+251900000026';
  const id = await payTooLate(payer);
  const failed = await strayIn('reversal_refused');
  const [before] = await simulator<{ reversed: string }>('charges', `?payer=${encodeURIComponent(payer)}`);

  const retried = await cli.run('payment', 'retry-reversal', merchant.id, id);
  const early = await cli.run('payment', 'retry-reversal', merchant.id, id);
  await strayIn('reversed');
  const late = await cli.run('payment', 'retry-reversal', merchant.id, id);

  expect(failed).toMatchObject({ stray_payment_id: id, refusal_reason: 'insufficient_funds' });
  expect(before).toMatchObject({ reversed: '0' });
  expect(retried).toMatchObject({ exitCode: 0, stderr: '' });
  expect([early.exitCode, late.exitCode]).toEqual([4, 4]);
  expect(late.stderr).toContain('the money of this one went back');
  expect(await simulator('charges', `?payer=${encodeURIComponent(payer)}`)).toMatchObject([
    { amount: '100.5', reversed: '100.5' },
  ]);
  const asked = await simulator<{ kind: string; correlation_id: string; answer: string }>('requests');
  const reversals = asked.filter(({ kind }) => kind === 'reversal');
  expect(reversals.map(({ answer }) => answer)).toEqual(['accepted', 'accepted']);
  expect(new Set(reversals.map(({ correlation_id }) => correlation_id)).size).toBe(2);
});
