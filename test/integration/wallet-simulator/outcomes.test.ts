import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { waitUntil } from '../../support/wait-until.ts';
import { startCallbackReceiver } from './callback-receiver.ts';
import type { CallbackReceiver } from './callback-receiver.ts';
import { startSimulator } from './simulator-under-test.ts';
import type { Answer, Json, SimulatorUnderTest } from './simulator-under-test.ts';

let simulator: SimulatorUnderTest;
let receiver: CallbackReceiver;
beforeEach(async () => {
  simulator = await startSimulator();
  receiver = await startCallbackReceiver();
});
afterEach(async () => {
  await simulator.close();
  await receiver.close();
});

const numberOf = (nn: string): string => `+2519000000${nn}`;

interface Payment {
  readonly payer: string;
  readonly correlationId: string;
  readonly acknowledgement: Answer;
  readonly query: () => Promise<Json>;
  readonly charged: () => Promise<readonly unknown[]>;
}

/** Asks the payer with these last digits for 100.5 ETB. */
async function pay(nn: string, correlationId: string = randomUUID()): Promise<Payment> {
  const payer = numberOf(nn);
  const acknowledgement = await simulator.pay(payer, { correlationId, callbackUrl: receiver.url });
  const id = String(acknowledgement.json['serverCorrelationId']);
  return {
    payer,
    correlationId,
    acknowledgement,
    query: async () => (await simulator.call(`/requeststates/${id}`)).json,
    charged: async () => (await simulator.charges(payer)).map(({ amount }) => amount),
  };
}

/** What /responses leads to, as a client finds it who lost the acknowledgement. */
async function recover(correlationId: string): Promise<Answer> {
  const found = await simulator.call(`/responses/${correlationId}`);
  return found.status === 200 ? simulator.call(String(found.json['link'])) : found;
}

const callbackCount = async (payer: string): Promise<number> => {
  const [prompt] = await simulator.prompts(payer);
  return (prompt!['callbacks'] as readonly unknown[]).length;
};

test.each([
  ['walleta', '+251900000001'],
  ['walleta', '251900000001'],
  ['walletb', '+251700000001'],
] as const)('in %s the number %s has outcome 01', async (wallet, payer) => {
  await simulator.pay(payer, { wallet });
  simulator.time.pass(1_000);

  expect(await simulator.prompts(payer)).toMatchObject([
    { status: 'failed', error: { code: 'insufficientFunds' } },
  ]);
});

test.each([
  ['walleta', '+251700000001'],
  ['walletb', '+251900000001'],
  ['walleta', '+251900000028'],
] as const)('in %s the number %s is one like any other', async (wallet, payer) => {
  await simulator.pay(payer, { wallet });
  simulator.time.pass(1_000);

  expect(await simulator.charges(payer)).toHaveLength(1);
});

test('a payment with subType "wallet" has the same outcome', async () => {
  await simulator.pay(numberOf('02'), { body: { subType: 'wallet' } });
  simulator.time.pass(1_000);

  expect(await simulator.prompts()).toMatchObject([
    { channel: 'wallet', status: 'failed', error: { provider_code: 'wrongPin' } },
  ]);
});

/** What callbacks tell. */
const paid = { transactionStatus: 'completed', amount: '100.5' };
const declined = { errorCategory: 'authorisation', errorCode: 'requestDeclined' };

const second = 1_000;
const day = 24 * 60 * 60 * second;

/** After so long, a query says the one and then the other, so much was charged, and these callbacks came. */
test.each([
  ['00: success, callback after 1 s', '00', second, 'pending', 'completed', ['100.5'], [paid]],
  ['09: an unheard-of status string, for ever', '09', day, 'underReview', 'underReview', [], []],
  ['10: success, no callback', '10', second, 'pending', 'completed', ['100.5'], []],
  ['11: the same callback three times', '11', second, 'pending', 'completed', ['100.5'], [paid, paid, paid]],
  ['13: success when all have given up', '13', 240 * second, 'pending', 'completed', ['100.5'], [paid]],
  ['18: forged success callback, stays pending', '18', day, 'pending', 'pending', [], [paid]],
  ['19: another amount', '19', second, 'pending', 'completed', ['101.5'], [{ ...paid, amount: '101.5' }]],
  ['20: pending for ever', '20', day, 'pending', 'pending', [], []],
  ['21: failure callback, though completed', '21', second, 'pending', 'completed', ['100.5'], [declined]],
])('%s', async (_name, nn, afterMs, before, after, charged, callbacks) => {
  const payment = await pay(nn);
  simulator.time.pass(afterMs - 1);
  const early = await payment.query();
  simulator.time.pass(1);
  const received = await receiver.wait(callbacks.length);

  expect(payment.acknowledgement.json).toMatchObject({ status: 'pending', notificationMethod: 'callback' });
  expect(early['status']).toBe(before);
  expect(await payment.query()).toMatchObject({ status: after });
  expect((await recover(payment.correlationId)).json).toMatchObject({
    transactionStatus: after,
    amount: charged[0] ?? '100.5',
  });
  expect(await payment.charged()).toEqual(charged);
  expect(received).toMatchObject(callbacks.map((json) => ({ json })));
  expect(new Set(received.map(({ raw }) => raw)).size).toBe(Math.min(callbacks.length, 1));
  await waitUntil('each is on record', async () => (await callbackCount(payment.payer)) === callbacks.length);
});

test('17: 500 at acknowledgement, the payment completes', async () => {
  const payment = await pay('17');
  simulator.time.pass(1_000);

  expect(payment.acknowledgement).toMatchObject({
    status: 500,
    json: { errorCategory: 'internal', errorCode: 'genericError' },
  });
  expect(await recover(payment.correlationId)).toMatchObject({ json: { transactionStatus: 'completed' } });
  expect(await payment.charged()).toEqual(['100.5']);
});

describe('payments that fail after they were accepted', () => {
  test.each([
    ['01: insufficient funds', '01', 'businessRule', 'insufficientFunds', undefined, 1_000],
    ['02: wrong PIN', '02', 'authorisation', 'requestDeclined', 'wrongPin', 1_000],
    ['03: cancelled by the payer', '03', 'authorisation', 'requestDeclined', undefined, 1_000],
    ['04: no answer, expired', '04', 'businessRule', 'genericError', 'expired', 120_000],
    ['05: unknown subscriber', '05', 'identification', 'identifierError', undefined, 1_000],
  ])('%s', async (_name, nn, errorCategory, errorCode, providerCode, afterMs) => {
    const payment = await pay(nn);
    simulator.time.pass(afterMs - 1);
    const early = await payment.query();
    simulator.time.pass(1);
    const state = await payment.query();
    const [callback] = await receiver.wait(1);

    expect(payment.acknowledgement.status).toBe(202);
    expect(early['status']).toBe('pending');
    expect(state).toMatchObject({ status: 'failed', error: { errorCategory, errorCode } });
    expect(callback?.json).toEqual(state['error']);
    const parameters = (callback?.json['errorParameters'] ?? []) as readonly { key: string; value: string }[];
    expect(parameters.find(({ key }) => key === 'providerCode')?.value).toBe(providerCode);
    expect(await recover(payment.correlationId)).toMatchObject({
      json: {
        transactionStatus: 'failed',
        metadata: expect.arrayContaining([{ key: 'errorCode', value: errorCode }]),
      },
    });
    expect(await payment.charged()).toEqual([]);
  });
});

describe('payments that are refused at once, creating nothing', () => {
  test.each([
    ['06: daily limit exceeded', '06', 400, 'businessRule', 'dailyValueLimitExceeded'],
    ['07: account barred', '07', 400, 'businessRule', 'incorrectState'],
    ['16: 503 at acknowledgement', '16', 503, 'serviceUnavailable', 'genericError'],
  ])('%s', async (_name, nn, status, errorCategory, errorCode) => {
    const payment = await pay(nn);
    simulator.time.pass(600_000);

    expect(payment.acknowledgement).toMatchObject({ status, json: { errorCategory, errorCode } });
    expect(await recover(payment.correlationId)).toMatchObject({ status: 404 });
    expect(await payment.charged()).toEqual([]);
    expect(await simulator.prompts(payment.payer)).toEqual([]);
  });
});

test('08: rate limited once, then fine with the same id', async () => {
  const first = await pay('08');
  const second = await pay('08', first.correlationId);
  simulator.time.pass(1_000);

  expect(first.acknowledgement).toMatchObject({
    status: 400,
    json: { errorCategory: 'businessRule', errorCode: 'rateLimitError' },
  });
  expect(second.acknowledgement.status).toBe(202);
  expect(await second.charged()).toEqual(['100.5']);
});

test('12: callback before the acknowledgement', async () => {
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

describe('acknowledgements that hang', () => {
  const hanging = (nn: string, correlationId: string) => {
    const lost = simulator.pay(numberOf(nn), { correlationId, callbackUrl: receiver.url }).then(
      () => 'answered',
      () => 'connection lost',
    );
    const arrived = waitUntil('the request arrived', async () => {
      const { json } = await simulator.send(`/simulator/requests?correlation_id=${correlationId}`);
      return (json['requests'] as readonly Json[])[0];
    });
    return { lost, arrived };
  };

  test('14: the payment completes', async () => {
    const correlationId = randomUUID();
    const { lost, arrived } = hanging('14', correlationId);
    expect(await arrived).toMatchObject({ answer: 'hangs' });
    simulator.time.pass(1_000);

    expect(await recover(correlationId)).toMatchObject({
      status: 200,
      json: { transactionStatus: 'completed' },
    });
    expect(await receiver.wait(1)).toHaveLength(1);
    expect((await pay('14', correlationId)).acknowledgement.json['errorCode']).toBe('duplicateRequest');
    simulator.time.pass(120_000);
    expect(await lost).toBe('connection lost');
    expect(await simulator.charges()).toHaveLength(1);
  });

  test('15: nothing was created', async () => {
    const correlationId = randomUUID();
    const { lost, arrived } = hanging('15', correlationId);
    await arrived;
    simulator.time.pass(120_000);

    expect(await lost).toBe('connection lost');
    expect(await recover(correlationId)).toMatchObject({
      status: 404,
      json: { errorCode: 'identifierError' },
    });
    expect(await simulator.charges()).toEqual([]);
  });

  test('a simulator that closes drops them', async () => {
    const { lost, arrived } = hanging('15', randomUUID());
    await arrived;

    await simulator.close();

    expect(await lost).toBe('connection lost');
  });
});

describe('payments whose trouble comes later', () => {
  const paid = async (nn: string) => {
    const payment = await pay(nn);
    simulator.time.pass(1_000);
    return { ...payment, reference: String(payment.acknowledgement.json['objectReference']) };
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

  test('22: the reversal is refused', async () => {
    const { reference } = await paid('22');

    const answer = await reverse(reference, randomUUID());
    simulator.time.pass(1_000);

    expect(answer).toMatchObject({
      status: 400,
      json: { errorCategory: 'businessRule', errorCode: 'incorrectState' },
    });
    expect(await simulator.charges()).toMatchObject([{ amount: '100.5', reversed: '0' }]);
  });

  test("23: the reversal's outcome is unknown, then it is done", async () => {
    const { reference } = await paid('23');
    const correlationId = randomUUID();

    const answer = await reverse(reference, correlationId);
    const early = await recover(correlationId);
    const again = await reverse(reference, correlationId);
    simulator.time.pass(1_000);

    expect(answer).toMatchObject({ status: 500, json: { errorCategory: 'internal' } });
    expect(early.json).toMatchObject({ type: 'reversal', transactionStatus: 'pending' });
    expect(again.json['errorCode']).toBe('duplicateRequest');
    expect((await recover(correlationId)).json['transactionStatus']).toBe('completed');
    expect(await simulator.charges()).toMatchObject([{ amount: '100.5', reversed: '100.5' }]);
  });

  test('24: missing from the statement, while a query finds it', async () => {
    const { reference, correlationId } = await paid('24');

    expect(await onStatement('transactions', reference)).toEqual([]);
    expect(await onStatement('statemententries', reference)).toEqual([]);
    expect((await recover(correlationId)).json['transactionStatus']).toBe('completed');
  });

  test('25: the statement shows another amount than was charged', async () => {
    const { reference, correlationId, charged } = await paid('25');

    expect(await onStatement('transactions', reference)).toMatchObject([{ amount: '101.5' }]);
    expect(await onStatement('statemententries', reference)).toMatchObject([{ amount: '101.5' }]);
    expect((await recover(correlationId)).json['amount']).toBe('100.5');
    expect(await charged()).toEqual(['100.5']);
  });

  test('26: the first reversal fails after it was accepted, also when it is repeated, and the next one succeeds', async () => {
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

  test('27: another amount is charged, and not given back', async () => {
    const { reference, correlationId } = await paid('27');

    const refused = await reverse(reference, randomUUID());

    expect((await recover(correlationId)).json['amount']).toBe('101.5');
    expect([refused.status, refused.json['errorCode']]).toEqual([400, 'incorrectState']);
    expect(await simulator.charges()).toMatchObject([{ amount: '101.5', reversed: '0' }]);
  });
});
