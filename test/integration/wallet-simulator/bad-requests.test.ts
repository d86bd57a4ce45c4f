import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { errorOf, sha256, simulatorOfFile } from './simulator-under-test.ts';
import type { Answer } from './simulator-under-test.ts';

const simulator = simulatorOfFile();

const good = {
  amount: '10',
  currency: 'ETB',
  debitParty: [{ key: 'msisdn', value: '+251911223344' }],
  creditParty: [{ key: 'accountid', value: '2999' }],
};

const post = (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  simulator.call('/transactions/type/merchantpay', { body, headers });

const parametersOf = ({ json }: Answer) =>
  (json['errorParameters'] as readonly { key: string }[]).map(({ key }) => key);

const payer = (key: string, value: string) => ({ debitParty: [{ key, value }] });
const payee = (key: string, value: string) => ({ creditParty: [{ key, value }] });

describe('a payment is refused, and nothing is created, with', () => {
  const missing = '400 validation mandatoryValueNotSupplied';
  const malformed = '400 validation formatError';
  const wrongLength = '400 validation lengthError';
  const sameParties = '400 businessRule samePartiesError';
  const unknown = '404 identification identifierError';

  /** The mistake, the body, the answer with its category and code, and the parameter that is named. */
  test.each([
    ['no amount', { amount: undefined }, missing, 'amount'],
    ['no currency', { currency: undefined }, missing, 'currency'],
    ['no party', { debitParty: undefined, creditParty: undefined }, missing, 'debitParty'],
    ['one account as both parties', { debitParty: good.creditParty }, sameParties, 'creditParty'],
    ['one subscriber as both parties', payee('msisdn', '251911223344'), sameParties, 'creditParty'],
    ['an amount that is a number', { amount: 10 }, malformed, 'amount'],
    ['a trailing zero', { amount: '10.50' }, malformed, 'amount'],
    ['five decimals', { amount: '1.00001' }, malformed, 'amount'],
    ['a negative amount', { amount: '-5' }, '400 validation negativeValue', 'amount'],
    ['an amount that is too long', { amount: '1'.repeat(24) }, wrongLength, 'amount'],
    ['an amount of zero', { amount: '0' }, '400 businessRule lessThanTransactionMinValue', 'amount'],
    ['an unknown currency', { currency: 'XQX' }, '400 validation currencyNotSupported', 'currency'],
    ['a currency in small letters', { currency: 'etb' }, malformed, 'currency'],
    ['an empty debitParty', { debitParty: [] }, wrongLength, 'debitParty'],
    ['a payer without msisdn', payer('walletid', '1'), missing, 'debitParty'],
    ['a payer with an invalid msisdn', payer('msisdn', '0911 22'), malformed, 'debitParty'],
    ['an unknown payee', payee('accountid', '1'), unknown, 'creditParty'],
    [
      'a payee who pays',
      payee('msisdn', '+251911000000'),
      '400 businessRule transactionTypeError',
      'creditParty',
    ],
    ['a long description', { descriptionText: 'x'.repeat(161) }, wrongLength, 'descriptionText'],
    ['an invalid date', { requestDate: 'today' }, malformed, 'requestDate'],
    ['an unknown authorisation code', { oneTimeCode: '1' }, unknown, 'authorisationCode'],
  ])('%s', async (_name, wrong, expected, parameter) => {
    const correlationId = randomUUID();

    const refused = await post({ ...good, ...wrong }, { 'x-correlationid': correlationId });

    expect(errorOf(refused)).toBe(expected);
    expect(parametersOf(refused)).toContain(parameter);
    expect((await simulator.call(`/responses/${correlationId}`)).status).toBe(404);
  });

  test('several problems, which are all named', async () => {
    const refused = await post({ debitParty: [{ key: 'msisdn' }] });

    expect(parametersOf(refused).toSorted()).toEqual(['amount', 'currency', 'debitParty.0.value']);
  });
});

describe('headers', () => {
  test.each([
    ['an X-CorrelationID that is not a UUID', { 'x-correlationid': 'pat_1' }],
    ['an X-Callback-URL that is not a URL', { 'x-callback-url': 'here' }],
    ['an X-Callback-URL that is not HTTP', { 'x-callback-url': 'ftp://127.0.0.1/x' }],
    ['an X-Date that is not a date', { 'x-date': 'yesterday' }],
    ['the X-Content-Hash of another body', { 'x-content-hash': sha256('{}') }],
  ])('a request with %s is refused', async (_name, headers) => {
    expect(errorOf(await post(good, headers))).toBe('400 validation formatError');
  });

  test.each([
    ['the X-Date of the schema', { 'x-date': '2026-05-04T08:00:00.000Z' }],
    ['the X-Date of the prose', { 'x-date': 'Mon, 04 May 2026 08:00:00 GMT' }],
    ['the right X-Content-Hash', { 'x-content-hash': sha256(JSON.stringify(good)).toUpperCase() }],
  ])('a request with %s is accepted', async (_name, headers) => {
    expect((await post(good, headers)).status).toBe(202);
  });
});

describe('an unreadable body is refused:', () => {
  test.each([
    ['broken JSON', '{"amount":', {}, 'formatError'],
    ['__proto__', '{"__proto__":{}}', {}, 'formatError'],
    ['an array', '[]', {}, 'formatError'],
    ['a form', 'amount=1', { 'content-type': 'application/x-www-form-urlencoded' }, 'formatError'],
    ['too large a body', JSON.stringify({ ...good, metadata: 'x'.repeat(70_000) }), {}, 'lengthError'],
  ])('%s', async (_name, body, headers, errorCode) => {
    expect(errorOf(await post(body, headers))).toBe(`400 validation ${errorCode}`);
  });
});

test('another type of transaction is refused', async () => {
  expect(errorOf(await simulator.call('/transactions/type/transfer', { body: good }))).toBe(
    '400 businessRule transactionTypeError',
  );
});

test.each([
  '/nowhere',
  '/transactions/UNKNOWN',
  `/responses/${randomUUID()}`,
  `/requeststates/${randomUUID()}`,
  '/statemententries/UNKNOWN',
])('%s is not found', async (path) => {
  expect(errorOf(await simulator.call(path))).toBe('404 identification identifierError');
});

test('an id that is not a UUID is malformed', async () => {
  expect(errorOf(await simulator.call('/requeststates/1'))).toBe('400 validation formatError');
});
