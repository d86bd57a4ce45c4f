import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { waitUntil } from '../../support/wait-until.ts';
import { startCallbackReceiver } from './callback-receiver.ts';
import { startSimulator } from './simulator-under-test.ts';
import type { Answer, Json, SimulatorUnderTest } from './simulator-under-test.ts';

// The other numbers select outcomes that a connector meets quickly: connector-gsma-simulator.test.ts proves them.

let simulator: SimulatorUnderTest;
beforeEach(async () => {
  simulator = await startSimulator();
});
afterEach(() => simulator.close());

const numberOf = (nn: string): string => `+2519000000${nn}`;

/** The target of /responses, for a client that has lost the acknowledgement. */
async function recover(correlationId: string): Promise<Answer> {
  const found = await simulator.call(`/responses/${correlationId}`);
  return found.status === 200 ? simulator.call(String(found.json['link'])) : found;
}

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

describe('payments with a later fault', () => {
  const paid = async (nn: string) => {
    const correlationId = randomUUID();
    const { json } = await simulator.pay(numberOf(nn), { correlationId });
    simulator.time.pass(1_000);
    return { correlationId, reference: String(json['objectReference']) };
  };
  const reverse = (reference: string, correlationId: string) =>
    simulator.call(`/transactions/${reference}/reversals`, {
      body: { type: 'reversal' },
      headers: { 'x-correlationid': correlationId },
    });
  const onStatement = async (list: 'transactions' | 'statemententries', reference: string) => {
    const path = `/accounts/accountid/2999/${list}?fromDateTime=2026-01-01T00:00:00Z`;
    const { text } = await simulator.call(path);
    return (JSON.parse(text) as readonly Json[]).filter(
      (entry) => entry['transactionReference'] === reference,
    );
  };

  test('24: the payment is missing from the statement, and a query finds it', async () => {
    const { reference, correlationId } = await paid('24');

    expect(await onStatement('transactions', reference)).toEqual([]);
    expect(await onStatement('statemententries', reference)).toEqual([]);
    expect((await recover(correlationId)).json['transactionStatus']).toBe('completed');
  });

  test('25: the statement shows another amount than was charged', async () => {
    const { reference, correlationId } = await paid('25');

    expect(await onStatement('transactions', reference)).toMatchObject([{ amount: '101.5' }]);
    expect(await onStatement('statemententries', reference)).toMatchObject([{ amount: '101.5' }]);
    expect((await recover(correlationId)).json['amount']).toBe('100.5');
    expect(await simulator.charges()).toMatchObject([{ amount: '100.5' }]);
  });

  test('26: the first reversal fails after it was accepted, even when it is repeated, and the next one succeeds', async () => {
    const { reference } = await paid('26');
    const correlationId = randomUUID();

    const first = await reverse(reference, correlationId);
    simulator.time.pass(1_000);
    const again = await reverse(reference, correlationId);
    const failed = await recover(correlationId);
    const second = await reverse(reference, randomUUID());
    simulator.time.pass(1_000);
    const third = await reverse(reference, randomUUID());

    expect([first.status, second.status]).toEqual([202, 202]);
    expect(again.json['errorCode']).toBe('duplicateRequest');
    expect(failed.json).toMatchObject({
      transactionStatus: 'failed',
      metadata: expect.arrayContaining([{ key: 'errorCode', value: 'insufficientFunds' }]),
    });
    expect(third.json['errorCode']).toBe('incorrectState');
    expect(await simulator.charges()).toMatchObject([{ amount: '100.5', reversed: '100.5' }]);
  });

  test('27: another amount is charged, and is not given back', async () => {
    const { reference, correlationId } = await paid('27');

    const refused = await reverse(reference, randomUUID());

    expect((await recover(correlationId)).json['amount']).toBe('101.5');
    expect([refused.status, refused.json['errorCode']]).toEqual([400, 'incorrectState']);
    expect(await simulator.charges()).toMatchObject([{ amount: '101.5', reversed: '0' }]);
  });
});
