import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sha256, startSimulator } from './simulator-under-test.ts';
import type { Json, SimulatorUnderTest } from './simulator-under-test.ts';

let simulator: SimulatorUnderTest;
beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.close());

const good = {
  amount: '10',
  currency: 'ETB',
  debitParty: [{ key: 'msisdn', value: '+251911223344' }],
  creditParty: [{ key: 'accountid', value: '2999' }],
};

const post = (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  simulator.call('/transactions/type/merchantpay', { body, headers });

const without = (field: keyof typeof good): Json =>
  Object.fromEntries(Object.entries(good).filter(([name]) => name !== field));

describe('a payment is refused, creating nothing, with', () => {
  const cases: readonly (readonly [string, Json, number, string, string, string])[] = [
    ['no amount', without('amount'), 400, 'validation', 'mandatoryValueNotSupplied', 'amount'],
    ['no currency', without('currency'), 400, 'validation', 'mandatoryValueNotSupplied', 'currency'],
    ['no payer', without('debitParty'), 400, 'validation', 'mandatoryValueNotSupplied', 'debitParty'],
    ['an amount that is a number', { ...good, amount: 10 }, 400, 'validation', 'formatError', 'amount'],
    ['a trailing zero', { ...good, amount: '10.50' }, 400, 'validation', 'formatError', 'amount'],
    ['five decimals', { ...good, amount: '1.00001' }, 400, 'validation', 'formatError', 'amount'],
    ['a negative amount', { ...good, amount: '-5' }, 400, 'validation', 'negativeValue', 'amount'],
    ['an amount too long', { ...good, amount: '1'.repeat(24) }, 400, 'validation', 'lengthError', 'amount'],
    [
      'nothing to pay',
      { ...good, amount: '0' },
      400,
      'businessRule',
      'lessThanTransactionMinValue',
      'amount',
    ],
    [
      'an unknown currency',
      { ...good, currency: 'XQX' },
      400,
      'validation',
      'currencyNotSupported',
      'currency',
    ],
    [
      'a currency in small letters',
      { ...good, currency: 'etb' },
      400,
      'validation',
      'formatError',
      'currency',
    ],
    ['nobody in debitParty', { ...good, debitParty: [] }, 400, 'validation', 'lengthError', 'debitParty'],
    [
      'a payer without msisdn',
      { ...good, debitParty: [{ key: 'walletid', value: '1' }] },
      400,
      'validation',
      'mandatoryValueNotSupplied',
      'debitParty',
    ],
    [
      'a payer whose msisdn is none',
      { ...good, debitParty: [{ key: 'msisdn', value: '0911 22 33 44' }] },
      400,
      'validation',
      'formatError',
      'debitParty',
    ],
    [
      'a payee nobody knows',
      { ...good, creditParty: [{ key: 'accountid', value: '1' }] },
      404,
      'identification',
      'identifierError',
      'creditParty',
    ],
    [
      'a payee who is a subscriber',
      { ...good, creditParty: [{ key: 'msisdn', value: '+251911000000' }] },
      400,
      'businessRule',
      'transactionTypeError',
      'creditParty',
    ],
    [
      'a description too long',
      { ...good, descriptionText: 'x'.repeat(161) },
      400,
      'validation',
      'lengthError',
      'descriptionText',
    ],
    [
      'a date that is none',
      { ...good, requestDate: 'today' },
      400,
      'validation',
      'formatError',
      'requestDate',
    ],
    [
      'a code nobody issued',
      { ...good, oneTimeCode: '1' },
      404,
      'identification',
      'identifierError',
      'authorisationCode',
    ],
  ];

  test.each(cases)('%s', async (_name, body, status, errorCategory, errorCode, parameter) => {
    const correlationId = randomUUID();

    const answer = await post(body, { 'x-correlationid': correlationId });

    expect(answer).toMatchObject({ status, json: { errorCategory, errorCode } });
    const keys = (answer.json['errorParameters'] as readonly { key: string }[]).map(({ key }) => key);
    expect(keys).toContain(parameter);
    expect((await simulator.call(`/responses/${correlationId}`)).status).toBe(404);
  });

  test('every problem of a body is named', async () => {
    const { json } = await post({ debitParty: [{ key: 'msisdn' }] });

    expect((json['errorParameters'] as readonly { key: string }[]).map(({ key }) => key).sort()).toEqual([
      'amount',
      'currency',
      'debitParty.0.value',
    ]);
  });
});

describe('headers', () => {
  test.each([
    ['X-CorrelationID that is no UUID', { 'x-correlationid': 'pat_1' }],
    ['X-Callback-URL that is no URL', { 'x-callback-url': 'here' }],
    ['X-Callback-URL that is not HTTP', { 'x-callback-url': 'ftp://127.0.0.1/x' }],
    ['X-Date that is no date', { 'x-date': 'yesterday' }],
    ['X-Content-Hash of another body', { 'x-content-hash': sha256('{}') }],
  ])('%s: refused', async (_name, headers) => {
    expect(await post(good, headers)).toMatchObject({
      status: 400,
      json: { errorCategory: 'validation', errorCode: 'formatError' },
    });
  });

  test.each([
    ['X-Date as the schema writes it', { 'x-date': '2026-05-04T08:00:00.000Z' }],
    ['X-Date as the prose writes it', { 'x-date': 'Mon, 04 May 2026 08:00:00 GMT' }],
    ['the right X-Content-Hash', { 'x-content-hash': sha256(JSON.stringify(good)).toUpperCase() }],
  ])('%s: accepted', async (_name, headers) => {
    expect((await post(good, headers)).status).toBe(202);
  });
});

describe('bodies that cannot be read', () => {
  test.each([
    ['broken JSON', '{"amount":', {}, 'formatError'],
    ['__proto__', '{"__proto__":{}}', {}, 'formatError'],
    ['an array', '[]', {}, 'formatError'],
    [
      'another content type',
      'amount=1',
      { 'content-type': 'application/x-www-form-urlencoded' },
      'formatError',
    ],
    ['too large a body', JSON.stringify({ ...good, metadata: 'x'.repeat(70_000) }), {}, 'lengthError'],
  ])('%s', async (_name, body, headers, errorCode) => {
    expect(await post(body, headers)).toMatchObject({
      status: 400,
      json: { errorCategory: 'validation', errorCode },
    });
  });
});

test('another type of transaction is refused', async () => {
  expect(await simulator.call('/transactions/type/transfer', { body: good })).toMatchObject({
    status: 400,
    json: { errorCategory: 'businessRule', errorCode: 'transactionTypeError' },
  });
});

test.each([
  '/nowhere',
  '/transactions/UNKNOWN',
  `/requeststates/${randomUUID()}`,
  '/statemententries/UNKNOWN',
])('%s is not there', async (path) => {
  expect(await simulator.call(path)).toMatchObject({
    status: 404,
    json: { errorCategory: 'identification', errorCode: 'identifierError' },
  });
});

test('an id that is no UUID is malformed', async () => {
  expect(await simulator.call('/requeststates/1')).toMatchObject({
    status: 400,
    json: { errorCategory: 'validation', errorCode: 'formatError' },
  });
});
