import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { waitUntil } from '../../support/wait-until.ts';
import { startCallbackReceiver } from './callback-receiver.ts';
import { startSimulator } from './simulator-under-test.ts';
import type { Json, SimulatorUnderTest } from './simulator-under-test.ts';

// The other numbers select outcomes that connector-gsma-simulator.test.ts proves, or that e2e tests of Gatehouse meet: 24 and 25 in
// own-wallet-accounts.test.ts, 26 in cli-payments.test.ts, and 27 in wallet-outcomes.test.ts.

let simulator: SimulatorUnderTest;
beforeEach(async () => {
  simulator = await startSimulator();
});
afterEach(() => simulator.close());

const numberOf = (nn: string): string => `+2519000000${nn}`;

test('a payment with subType "wallet" has the same outcome', async () => {
  await simulator.pay(numberOf('02'), { body: { subType: 'wallet' } });
  simulator.time.pass(1_000);

  expect(await simulator.prompts()).toMatchObject([
    { channel: 'wallet', status: 'failed', error: { provider_code: 'wrongPin' } },
  ]);
});

test.each([
  ['13 pays after Gatehouse and the merchant have stopped waiting', '13', 240_000, [{ amount: '100.5' }]],
  ['20 never pays', '20', 86_400_000, []],
])('the payer with the number %s', async (_name, nn, afterMs, charges) => {
  const { json } = await simulator.pay(numberOf(nn));
  simulator.time.pass(afterMs - 1);
  const early = await simulator.call(`/requeststates/${String(json['serverCorrelationId'])}`);
  simulator.time.pass(1);

  expect(early.json['status']).toBe('pending');
  expect(await simulator.charges()).toMatchObject(charges);
});

test('12: the callback arrives before the acknowledgement', async () => {
  let acknowledged = false;
  let cameFirst: boolean | undefined;
  const watching = await startCallbackReceiver(() => {
    cameFirst = !acknowledged;
    return 204;
  });

  const acknowledgement = await simulator.pay(numberOf('12'), { callbackUrl: watching.url });
  acknowledged = true;
  await watching.close();

  expect(cameFirst).toBe(true);
  expect(watching.received).toMatchObject([{ json: { transactionStatus: 'completed' } }]);
  expect(acknowledgement).toMatchObject({ status: 202, json: { status: 'pending' } });
  expect(await simulator.charges()).toHaveLength(1);
});

test('a simulator that closes drops hanging acknowledgements', async () => {
  const correlationId = randomUUID();
  const lost = simulator.pay(numberOf('15'), { correlationId }).then(
    () => 'answered',
    () => 'connection lost',
  );
  await waitUntil('the request arrived', async () => {
    const { json } = await simulator.send(`/simulator/requests?correlation_id=${correlationId}`);
    return (json['requests'] as readonly Json[]).length > 0;
  });

  await simulator.close();

  expect(await lost).toBe('connection lost');
});
