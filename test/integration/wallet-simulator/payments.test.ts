import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { startCallbackReceiver } from './callback-receiver.ts';
import type { CallbackReceiver } from './callback-receiver.ts';
import { credentials, errorOf, sha256, startSimulator } from './simulator-under-test.ts';
import type { Json, SimulatorUnderTest } from './simulator-under-test.ts';

const payer = '+251911223344';

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

const stateOf = (acknowledgement: { readonly json: Json }) =>
  simulator.call(`/requeststates/${String(acknowledgement.json['serverCorrelationId'])}`);

describe('a payment', () => {
  test('is accepted, then pending with a reference, and completed and charged when the payer has answered', async () => {
    const accepted = await simulator.pay(payer);
    const early = await stateOf(accepted);
    const chargedEarly = await simulator.charges(payer);
    simulator.time.pass(1_000);
    const late = await stateOf(accepted);
    const charges = await simulator.charges(payer);

    expect(accepted).toMatchObject({
      status: 202,
      json: {
        serverCorrelationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        objectReference: expect.stringMatching(/^WA[0-9A-F]{12}$/),
        status: 'pending',
        notificationMethod: 'polling',
        expiryTime: '2026-05-04T08:02:00.000Z',
      },
    });
    expect(early).toMatchObject({ status: 200, json: accepted.json });
    expect(late.json).toEqual({
      serverCorrelationId: accepted.json['serverCorrelationId'],
      objectReference: accepted.json['objectReference'],
      status: 'completed',
      notificationMethod: 'polling',
    });
    expect(chargedEarly).toEqual([]);
    expect(charges).toMatchObject([
      { wallet: 'walleta', payer: '251911223344', amount: '100.5', currency: 'ETB', reversed: '0' },
    ]);
    const startingBalance = 2_190n;
    expect(simulator.ledgers.walleta.balance('accountid@2999', 'ETB')).toBe(
      startingBalance * 10_000n + 1_005_000n,
    );
  });

  test('can be read as a transaction, with the client’s description', async () => {
    const said = {
      requestingOrganisationTransactionReference: 'pat_1',
      descriptionText: 'Two coffees',
      subType: 'wallet',
      requestDate: '2026-05-04T08:00:00Z',
      creditParty: [{ key: 'accountid', value: '2999' }],
      metadata: [{ key: 'till', value: '3' }],
    };
    const { json } = await simulator.pay(payer, { body: said });
    simulator.time.pass(1_000);

    const transaction = await simulator.call(`/transactions/${String(json['objectReference'])}`);

    expect(transaction).toMatchObject({
      status: 200,
      json: {
        ...said,
        transactionReference: json['objectReference'],
        type: 'merchantpay',
        transactionStatus: 'completed',
        amount: '100.5',
        currency: 'ETB',
        debitParty: [{ key: 'msisdn', value: payer }],
        creationDate: '2026-05-04T08:00:00.000Z',
        modificationDate: '2026-05-04T08:00:01.000Z',
      },
    });
  });

  test('calls back once, with the transaction, the credentials and the hash of the body', async () => {
    const correlationId = randomUUID();
    const { json } = await simulator.pay(payer, { correlationId, callbackUrl: receiver.url });
    simulator.time.pass(1_000);

    const [callback] = await receiver.wait(1);

    expect(json['notificationMethod']).toBe('callback');
    expect(callback).toMatchObject({
      method: 'PUT',
      path: '/callbacks/1',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'x-client-id': credentials.walleta.clientId,
        'x-api-key': credentials.walleta.apiKey,
        'x-correlationid': correlationId,
        'x-date': simulator.time.now().toISOString(),
        'x-content-hash': sha256(callback!.raw),
      },
      json: {
        transactionReference: json['objectReference'],
        transactionStatus: 'completed',
        amount: '100.5',
      },
    });
  });

  test('exists at one wallet and not at the other', async () => {
    await simulator.close();
    simulator = await startSimulator({ gsma: ['walleta', 'walletb'] });
    const { json } = await simulator.pay(payer, { wallet: 'walletb' });

    const elsewhere = await simulator.call(`/requeststates/${String(json['serverCorrelationId'])}`);

    expect(json['objectReference']).toMatch(/^WB/);
    expect(errorOf(elsewhere)).toBe('404 identification identifierError');
  });

  test('can be cancelled by the client while it is open, and not afterwards', async () => {
    const { json } = await simulator.pay(payer);
    const path = `/transactions/${String(json['objectReference'])}`;
    const cancel = {
      method: 'PATCH',
      body: [{ op: 'replace', path: '/transactionStatus', value: 'cancelled' }],
    };

    const first = await simulator.call(path, cancel);
    const second = await simulator.call(path, cancel);

    expect(first.status).toBe(204);
    expect(errorOf(second)).toBe('400 businessRule incorrectState');
    expect((await simulator.call(path)).json['transactionStatus']).toBe('failed');
  });
});

describe('callbacks', () => {
  test('are not repeated when the listener answers with an error, and the answer is recorded', async () => {
    const failing = await startCallbackReceiver(() => 500);
    await simulator.pay(payer, { callbackUrl: failing.url });
    simulator.time.pass(1_000);
    await failing.wait(1);
    await simulator.close();
    const count = failing.received.length;
    await failing.close();

    expect(count).toBe(1);
  });

  test('without an answer are abandoned', async () => {
    const impatient = await startSimulator({ callbackTimeoutMs: 50 });
    let letGo = (): void => undefined;
    const silent = await startCallbackReceiver(() => new Promise((resolve) => (letGo = () => resolve(204))));
    const { json } = await impatient.pay('251900000012', { callbackUrl: silent.url });
    letGo();
    const [prompt] = await impatient.prompts();
    await impatient.close();
    await silent.close();

    expect(json['status']).toBe('pending');
    expect(prompt).toMatchObject({
      callbacks: [{ tells: 'success', answer: expect.stringContaining('timeout') }],
    });
  });
});

describe('X-CorrelationID', () => {
  test('of a refused request can be used again', async () => {
    const correlationId = randomUUID();
    await simulator.pay(payer, { correlationId, body: { amount: '0' } });

    expect((await simulator.pay(payer, { correlationId })).status).toBe(202);
  });

  test('in twenty concurrent requests causes one charge', async () => {
    const correlationId = randomUUID();

    const answers = await Promise.all(
      Array.from({ length: 20 }, () => simulator.pay(payer, { correlationId })),
    );
    simulator.time.pass(1_000);

    expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array<number>(19).fill(400)]);
    expect(await simulator.charges(payer)).toHaveLength(1);
    const { json } = await simulator.send(`/simulator/requests?correlation_id=${correlationId}`);
    expect(json['requests']).toHaveLength(20);
  });
});
