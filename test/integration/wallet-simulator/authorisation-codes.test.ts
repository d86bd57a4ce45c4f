import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { shared } from '../../support/shared-stack.ts';
import { startCallbackReceiver } from './callback-receiver.ts';
import { startSimulator } from './simulator-under-test.ts';
import type { Json } from './simulator-under-test.ts';

const simulator = shared(
  () => startSimulator(),
  ({ close }) => close(),
);

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
  expect(await redeem(code)).toMatchObject({ status: 400, json: { errorCode: 'incorrectState' } });
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
  const duplicate = { status: 400, json: { errorCode: 'duplicateRequest' } };
  expect([again, payment]).toMatchObject([duplicate, duplicate]);
  expect((await redeem(String(objectReference))).status).toBe(201);
});

test('a code cannot pay the account that issued it', async () => {
  const { json } = await simulator.call('/accounts/accountid/2999/authorisationcodes', { body: {} });

  expect(await redeem(String(json['authorisationCode']))).toMatchObject({
    status: 400,
    json: { errorCode: 'samePartiesError' },
  });
});

test('a code expires after its lifetime', async () => {
  const code = await codeOf({ codeLifetime: 60 });
  simulator.time.pass(60_000);

  expect((await simulator.call(`${path}/${code}`)).json['codeState']).toBe('expired');
  expect(await redeem(code)).toMatchObject({ status: 400, json: { errorCode: 'incorrectState' } });
});

test('a code can be cancelled, once', async () => {
  const code = await codeOf();

  const first = await simulator.call(`${path}/${code}`, cancelled);
  const second = await simulator.call(`${path}/${code}`, cancelled);

  expect(first.status).toBe(204);
  expect(second).toMatchObject({ status: 400, json: { errorCode: 'incorrectState' } });
  expect((await simulator.call(`${path}/${code}`)).json['codeState']).toBe('cancelled');
});

test('no other change can be made to a code', async () => {
  const change = { method: 'PATCH', body: [{ op: 'replace', path: '/amount', value: '1' }] };

  expect(await simulator.call(`${path}/${await codeOf()}`, change)).toMatchObject({
    status: 400,
    json: { errorCategory: 'validation', errorCode: 'formatError' },
  });
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
  const withdrawal = { transactionType: 'withdrawal' };
  test.each([
    ['a higher amount', terms, { amount: '101' }, 400, 'overPaymentNotAllowed'],
    ['a smaller amount than the exact one', terms, { amount: '100' }, 400, 'underPaymentNotAllowed'],
    ['another currency', terms, { currency: 'USD' }, 400, 'currencyNotSupported'],
    ['another payer', terms, { debitParty: [other('msisdn')] }, 404, 'identifierError'],
    ['another payee', { redemptionAccountIdentifiers: [other('accountid')] }, {}, 404, 'identifierError'],
    ['another type', { redemptionTransactionTypes: [withdrawal] }, {}, 400, 'transactionTypeError'],
  ])('%s', async (_name, agreed, body, status, errorCode) => {
    expect(await redeem(await codeOf(agreed), body)).toMatchObject({ status, json: { errorCode } });
  });

  test('a smaller amount only when the amount is exact', async () => {
    expect((await redeem(await codeOf({ ...terms, amountType: 'maximum' }), { amount: '1' })).status).toBe(
      201,
    );
  });
});

test.each([
  ['an amount without currency', { amount: '1' }, 'mandatoryValueNotSupplied'],
  ['an unknown currency', { amount: '1', currency: 'XQX' }, 'currencyNotSupported'],
  ['a lifetime of zero', { codeLifetime: 0 }, 'formatError'],
])('no code is issued for %s', async (_name, terms, errorCode) => {
  expect(await issue(terms)).toMatchObject({ status: 400, json: { errorCategory: 'validation', errorCode } });
});

test('a code is found under its own account only', async () => {
  const code = await codeOf();

  expect(await simulator.call(`/accounts/accountid@2999/authorisationcodes/${code}`)).toMatchObject({
    status: 404,
    json: { errorCode: 'identifierError' },
  });
});
