import { Buffer } from 'node:buffer';
import { describe, expect, test } from '@jest/globals';
import { failureReasons } from '../../../src/wallets/connector/failure-reason.ts';
import { requestedWaitMs } from '../../../src/wallets/connector/requested-wait.ts';
import { correlationId } from '../../../src/wallets/gsma/correlation-id.ts';
import { callbackUrl, resourceUrl, tokenUrl } from '../../../src/wallets/gsma/gsma-settings.ts';
import { readReference, writeReference } from '../../../src/wallets/gsma/provider-reference.ts';
import { readCallback } from '../../../src/wallets/gsma/read-callback.ts';
import { gsmaSettings } from '../../integration/wallets/gsma-subject.ts';
import { judgeFailedState, readError } from '../../../src/wallets/gsma/read-error.ts';

const settings = gsmaSettings('', {
  baseUrl: 'https://wallet.example/mm/v1.2/',
  callbackBaseUrl: 'https://gatehouse.example/callbacks/',
});

describe('addresses', () => {
  test('of resources are the base URL and escaped segments', () => {
    expect(resourceUrl(settings, 'transactions', 'A/B?c').href).toBe(
      'https://wallet.example/mm/v1.2/transactions/A%2FB%3Fc',
    );
  });

  test.each([
    ['/v1/oauth/accesstoken', 'https://wallet.example/mm/v1.2/v1/oauth/accesstoken'],
    ['oauth/token', 'https://wallet.example/mm/v1.2/oauth/token'],
    ['https://login.example/token', 'https://login.example/token'],
  ])('of the token path %s are %s', (tokenPath, href) => {
    expect(tokenUrl({ ...settings, tokenPath }).href).toBe(href);
  });

  test('of callbacks name the request and contain the unguessable part', () => {
    expect(callbackUrl(settings, 'pat_1', 'token')).toBe('https://gatehouse.example/callbacks/pat_1/token');
  });
});

describe('correlationId', () => {
  test.each([
    ['pat_01k9z3t5y8e6wbv2n4m7q1h0cd', '019a7e3d-17c8-71b8-bd8a-a4a1ee18818d'],
    ['018F4A54-9B61-7CC1-9A5E-5B1F4B5D2A01', '018f4a54-9b61-7cc1-9a5e-5b1f4b5d2a01'],
  ])('of %s is %s', (id, uuid) => {
    expect(correlationId(id)).toBe(uuid);
  });

  test.each([[''], ['pat_'], ['pat_short'], ['order 17'], ['pat_01k9z3t5y8e6wbv2n4m7q1h0cu']])(
    'of %j is undefined',
    (id) => {
      expect(() => correlationId(id)).toThrow(TypeError);
    },
  );
});

describe('a reference to a request', () => {
  test('is parsed as it was written', () => {
    const reference = { collection: 'transactions', id: 'A/B%2F c'.replace(' ', '~') } as const;

    expect(readReference(writeReference(reference))).toEqual(reference);
  });

  test.each([
    ['transactions/%ZZ'],
    ['transactions/a%00b'],
    ['transactions/%20'],
    [`transactions/${'x'.repeat(257)}`],
  ])('%j is invalid', (link) => {
    expect(readReference(link)).toBeUndefined();
  });
});

describe('an error', () => {
  test.each([[null], [7], ['text'], [[]], [{}], [{ error: 'text' }], [{ errorCode: 'genericError' }]])(
    'is not found in %j',
    (json) => {
      expect(readError(json)).toBeUndefined();
    },
  );

  test('of every code in the contract has a verdict, and reasons come from the closed list', () => {
    const codes =
      'genericError dailyVolumeLimitExceeded dailyValueLimitExceeded weeklyVolumeLimitExceeded weeklyValueLimitExceeded monthlyVolumeLimitExceeded monthlyValueLimitExceeded accountMaxTotalVolumeExceeded accountMaxTotalValueExceeded lessThanTransactionMinValue greaterThanTransactionMaxValue maxBalanceExceeded samePartiesError duplicateRequest insufficientFunds incorrectState underPaymentNotAllowed overPaymentNotAllowed rateLimitError transactionTypeError noMandateAuthority linkViolation countryofOriginNotPermitted nationalityNotPermitted idDocumentNotSupported issuingCountryNotSupported quoteHasExpired identifierError lengthError formatError negativeValue currencyNotSupported mandatoryValueNotSupplied invalidOffset clientAuthorisationError requestDeclined servicingPartyAuthorisationError requestingPartyAuthorisationError'.split(
        ' ',
      );

    const verdicts = codes.map((errorCode) =>
      judgeFailedState(readError({ errorCategory: 'businessRule', errorCode })!),
    );

    const inconclusive = codes.filter((_code, index) => verdicts[index]!.kind === 'unknown');
    expect(inconclusive).toEqual(['duplicateRequest', 'rateLimitError', 'clientAuthorisationError']);
    for (const verdict of verdicts) {
      if (verdict.kind === 'declined') expect(failureReasons).toContain(verdict.reason);
      if (verdict.kind === 'unknown') expect(verdict.why).not.toBe('unrecognised_code');
    }
  });

  test('has the wallet’s text, cut to a length that can be stored', () => {
    const error = readError({
      errorCategory: 'businessRule',
      errorCode: 'insufficientFunds',
      errorDescription: 'x'.repeat(60_000),
      errorParameters: ['odd', { key: 1 }, { Key: 'ProviderCode', Value: 'y'.repeat(60_000) }],
    });

    const verdict = judgeFailedState(error!);

    if (verdict.kind !== 'declined') throw new Error(verdict.kind);
    expect(verdict.providerText).toHaveLength(256);
    expect(verdict.providerCode).toHaveLength(256);
  });
});

describe('Retry-After', () => {
  const now = new Date('2026-01-01T08:00:00Z');

  test.each([
    ['7', 7_000],
    ['Thu, 01 Jan 2026 08:00:30 GMT', 30_000],
    ['Thu, 01 Jan 2026 07:00:00 GMT', 0],
    ['999999999', 86_400_000],
    ['soon', undefined],
    [undefined, undefined],
  ])('%s means %s ms', (header, milliseconds) => {
    expect(requestedWaitMs(header === undefined ? {} : { 'retry-after': header }, now)).toBe(milliseconds);
  });

  test.each([
    ['hours ahead', 5],
    ['hours behind', -5],
  ])('as a date is relative to the clock of a wallet that is %s', (_name, hours) => {
    const itsTime = now.getTime() + hours * 3_600_000;
    const dateAfter = (seconds: number): string => new Date(itsTime + seconds * 1000).toUTCString();

    expect(requestedWaitMs({ 'retry-after': dateAfter(30), date: dateAfter(0) }, now)).toBe(30_000);
    expect(requestedWaitMs({ 'retry-after': dateAfter(-30), date: dateAfter(0) }, now)).toBe(0);
  });

  test('as a date beside an unreadable one is relative to our clock', () => {
    const header = new Date(now.getTime() + 30_000).toUTCString();

    expect(requestedWaitMs({ 'retry-after': header, date: 'today' }, now)).toBe(30_000);
  });
});

describe('a callback', () => {
  const receivedAt = new Date('2026-01-01T08:00:00Z');
  const read = (
    body: string,
    headers: Readonly<Record<string, string>> = { 'content-type': 'application/json' },
  ) =>
    readCallback(
      {
        method: 'PUT',
        url: '/walleta/pat_1',
        headers: { ...headers, authorization: 'Basic x' },
        body: Buffer.from(body),
        receivedAt,
      },
      ['the-api-key'],
    );
  const transaction = {
    transactionReference: 'REF-1',
    transactionStatus: 'completed',
    type: 'merchantpay',
    amount: '100.5',
    currency: 'ETB',
    requestingOrganisationTransactionReference: 'pat_1',
    debitParty: [{ key: 'msisdn', value: '+251911223344' }],
  };

  test('about a success announces it, gets 204, and is stored masked', () => {
    const hint = read(JSON.stringify({ ...transaction, transactionStatus: 'Completed', key: 'the-api-key' }));

    expect(hint).toMatchObject({ queryNow: true, announced: 'completed' });
    expect(hint.reply).toEqual({ status: 204, body: '' });
    expect(hint.exchange.requestBody).toContain('+2519*****344');
    expect(hint.exchange.requestBody).not.toContain('the-api-key');
    expect(hint.exchange.requestHeaders).toEqual({ 'content-type': 'application/json' });
    expect(hint.exchange).not.toHaveProperty('problem');
  });

  test('that is only an error announces a failure', () => {
    const hint = read('{"ErrorCategory":"businessRule","ErrorCode":"insufficientFunds"}');

    expect(hint).toMatchObject({ queryNow: true, announced: 'failed' });
  });

  test.each([
    ['of another status', JSON.stringify({ ...transaction, transactionStatus: 'pending' }), 'other'],
    ['that is cut off', JSON.stringify(transaction).slice(0, -5), 'unreadable'],
    ['empty', '', 'unreadable'],
    ['of another shape', '{"hello":"world"}', 'unreadable'],
  ])('%s causes a query all the same', (_what, body, announced) => {
    expect(read(body)).toMatchObject({ queryNow: true, announced });
  });

  test('of another content type is not parsed, and causes a query all the same', () => {
    const hint = read(JSON.stringify(transaction), { 'content-type': 'text/plain' });

    expect(hint).toMatchObject({ queryNow: true, announced: 'unreadable' });
    expect(hint.exchange.problem).toBe('the callback is not JSON but text/plain');
  });

  test('is stored up to 16 kB', () => {
    expect(read('x'.repeat(10_000_000)).exchange.requestBody).toHaveLength(16 * 1024);
  });
});
