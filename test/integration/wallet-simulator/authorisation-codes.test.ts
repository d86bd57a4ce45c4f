import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { startCallbackReceiver } from './callback-receiver.ts';
import { errorOf, simulatorOfFile } from './simulator-under-test.ts';
import type { Json } from './simulator-under-test.ts';

const simulator = simulatorOfFile();

/** Each test has an account of its own. */
let payer = '251911220000';
let path: string;
beforeEach(() => {
  payer = String(Number(payer) + 1);
  path = `/accounts/msisdn/+${payer}/authorisationcodes`;
});

const issue = (terms: Json = {}) => simulator.call(path, { body: terms });
const codeOf = async (terms: Json = {}): Promise<string> =>
  String((await issue(terms)).json['authorisationCode']);
const cancelled = { method: 'PATCH', body: [{ op: 'replace', path: '/codeState', value: 'cancelled' }] };

/** Pays 100.5 ETB with a code, without naming the payer. */
const redeem = (oneTimeCode: string, body: Json = {}) =>
  simulator.call('/transactions/type/merchantpay', {
    body: {
      amount: '100.5',
      currency: 'ETB',
      creditParty: [{ key: 'accountid', value: '2999' }],
      oneTimeCode,
      ...body,
    },
  });

test('a new code is active and has its terms', async () => {
  const terms = { amount: '200', currency: 'ETB', amountType: 'maximum', codeLifetime: 60 };

  expect(await issue(terms)).toMatchObject({
    status: 201,
    json: { ...terms, authorisationCode: expect.stringMatching(/^[0-9]{8}$/), codeState: 'active' },
  });
});

test('redeeming a code charges its account at once, without a prompt, and only once', async () => {
  const code = await codeOf({ amount: '100.5', currency: 'ETB' });

  expect(await redeem(code)).toMatchObject({
    status: 201,
    json: {
      type: 'merchantpay',
      transactionStatus: 'completed',
      amount: '100.5',
      debitParty: [{ key: 'msisdn', value: payer }],
    },
  });
  expect(errorOf(await redeem(code))).toBe('400 businessRule incorrectState');
  expect(await simulator.charges(`+${payer}`)).toMatchObject([{ amount: '100.5' }]);
});

test('a code for a callback URL is accepted with 202, found by each id, and sent when it is issued', async () => {
  const receiver = await startCallbackReceiver();
  const correlationId = randomUUID();
  const headers = { 'x-correlationid': correlationId, 'x-callback-url': receiver.url };

  const accepted = await simulator.call(path, { body: { codeLifetime: 60 }, headers });
  const again = await simulator.call(path, { body: {}, headers });
  const payment = await simulator.pay(payer, { correlationId });
  simulator.time.pass(1_000);
  const [callback] = await receiver.wait(1);
  await receiver.close();

  const { serverCorrelationId, objectReference } = accepted.json;
  expect(accepted).toMatchObject({
    status: 202,
    json: {
      serverCorrelationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: 'pending',
      notificationMethod: 'callback',
    },
  });
  expect(await simulator.call(`/requeststates/${String(serverCorrelationId)}`)).toMatchObject({
    status: 200,
    json: { status: 'completed', objectReference },
  });
  const { json } = await simulator.call(`/responses/${correlationId}`);
  const found = await simulator.call(String(json['link']));
  expect(found.json).toMatchObject({ authorisationCode: objectReference, codeState: 'active' });
  expect(callback).toMatchObject({ method: 'PUT', json: found.json });
  const duplicate = '400 businessRule duplicateRequest';
  expect([again, payment].map(errorOf)).toEqual([duplicate, duplicate]);
  expect((await redeem(String(objectReference))).status).toBe(201);
});

test('a code cannot pay the account that issued it', async () => {
  const { json } = await simulator.call('/accounts/accountid/2999/authorisationcodes', { body: {} });

  expect(errorOf(await redeem(String(json['authorisationCode'])))).toBe('400 businessRule samePartiesError');
});

test('a code expires after its lifetime', async () => {
  const code = await codeOf({ codeLifetime: 60 });
  simulator.time.pass(60_000);

  expect((await simulator.call(`${path}/${code}`)).json['codeState']).toBe('expired');
  expect(errorOf(await redeem(code))).toBe('400 businessRule incorrectState');
});

test('a code can be cancelled, once', async () => {
  const code = await codeOf();

  const first = await simulator.call(`${path}/${code}`, cancelled);
  const second = await simulator.call(`${path}/${code}`, cancelled);

  expect(first.status).toBe(204);
  expect(errorOf(second)).toBe('400 businessRule incorrectState');
  expect((await simulator.call(`${path}/${code}`)).json['codeState']).toBe('cancelled');
});

test('no other change can be made to a code', async () => {
  const change = { method: 'PATCH', body: [{ op: 'replace', path: '/amount', value: '1' }] };

  expect(errorOf(await simulator.call(`${path}/${await codeOf()}`, change))).toBe(
    '400 validation formatError',
  );
});

test("an account's codes are listed, newest first, with a filter for the state", async () => {
  const first = await codeOf();
  const second = await codeOf();
  await simulator.call(`${path}/${first}`, cancelled);
  const codes = async (query: string): Promise<readonly unknown[]> => {
    const { text } = await simulator.call(`${path}${query}`);
    return (JSON.parse(text) as readonly Json[]).map(({ authorisationCode }) => authorisationCode);
  };

  expect(await codes('')).toEqual([second, first]);
  expect(await codes('?codeState=active')).toEqual([second]);
});

describe('a code is refused for', () => {
  const terms = { amount: '100.5', currency: 'ETB' };
  const other = (key: string) => ({ key, value: '1' });
  const unknown = '404 identification identifierError';
  const withdrawal = { transactionType: 'withdrawal' };
  test.each([
    ['a higher amount', terms, { amount: '101' }, '400 businessRule overPaymentNotAllowed'],
    [
      'a smaller amount than the exact one',
      terms,
      { amount: '100' },
      '400 businessRule underPaymentNotAllowed',
    ],
    ['another currency', terms, { currency: 'USD' }, '400 validation currencyNotSupported'],
    ['another payer', terms, { debitParty: [other('msisdn')] }, unknown],
    ['another payee', { redemptionAccountIdentifiers: [other('accountid')] }, {}, unknown],
    [
      'another type',
      { redemptionTransactionTypes: [withdrawal] },
      {},
      '400 businessRule transactionTypeError',
    ],
  ])('%s', async (_name, agreed, body, error) => {
    expect(errorOf(await redeem(await codeOf(agreed), body))).toBe(error);
  });

  test('a smaller amount only when the amount is exact', async () => {
    const code = await codeOf({ ...terms, amountType: 'maximum' });

    expect((await redeem(code, { amount: '1' })).status).toBe(201);
  });
});

test.each([
  ['an amount without currency', { amount: '1' }, 'mandatoryValueNotSupplied'],
  ['an unknown currency', { amount: '1', currency: 'XQX' }, 'currencyNotSupported'],
  ['a lifetime of zero', { codeLifetime: 0 }, 'formatError'],
])('no code is issued for %s', async (_name, terms, errorCode) => {
  expect(errorOf(await issue(terms))).toBe(`400 validation ${errorCode}`);
});

test('a code is found under its own account only', async () => {
  const code = await codeOf();

  expect(errorOf(await simulator.call(`/accounts/accountid@2999/authorisationcodes/${code}`))).toBe(
    '404 identification identifierError',
  );
});
