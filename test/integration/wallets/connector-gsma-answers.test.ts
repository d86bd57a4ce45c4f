import { describe, expect, test } from '@jest/globals';
import {
  attemptId,
  buildPayment,
  requestState,
  requestStateId,
  reversalStateId,
  routes,
  transaction,
  gsmaOfEachTest,
} from './gsma-subject.ts';
import { paymentQuery, reversalQuery } from '../../support/wallet-queries.ts';
import { json } from './scripted-wallet.ts';

const options = { signal: new AbortController().signal };
const keysAndValues = (values: Readonly<Record<string, string>>) =>
  Object.entries(values).map(([key, value]) => ({ key, value }));
const error = (
  errorCategory: string,
  errorCode: string,
  parameters: Readonly<Record<string, string>> = {},
) => ({
  errorCategory,
  errorCode,
  errorDescription: 'Said the wallet of +251911223344',
  errorDateTime: '2026-01-01T08:00:00Z',
  errorParameters: keysAndValues(parameters),
});
const declined = (reason: string) => ({ kind: 'declined', reason });
const undecided = (why: string) => ({ kind: 'unknown', why });

const subject = gsmaOfEachTest();

const initiate = async () => (await subject.connector.initiate(buildPayment(), options)).result;
const query = async (providerReference = `requeststates/${requestStateId}`) =>
  (await subject.connector.query(paymentQuery({ attemptId, providerReference }), options)).result;

describe('an acknowledgement', () => {
  test.each(['pending', 'completed', 'failed', 'whatever'])(
    'of status %s is accepted, and only a query decides',
    async (status) => {
      subject.wallet.on(routes.initiate, json(202, requestState({ status })));

      expect(await initiate()).toEqual({
        kind: 'accepted',
        providerReference: `requeststates/${requestStateId}`,
        queryNow: status !== 'pending',
      });
    },
  );

  test('that is the finished transaction is accepted, and only a query decides', async () => {
    subject.wallet.on(routes.initiate, json(201, transaction()));

    expect(await initiate()).toEqual({
      kind: 'accepted',
      providerReference: 'transactions/REF-1',
      queryNow: true,
    });
  });

  test.each([
    [400, error('businessRule', 'insufficientFunds'), 'insufficient_funds'],
    [400, error('businessRule', 'dailyValueLimitExceeded'), 'limit_exceeded'],
    [400, error('businessRule', 'greaterThanTransactionMaxValue'), 'limit_exceeded'],
    [400, error('businessRule', 'incorrectState'), 'account_state'],
    [400, error('businessRule', 'genericError'), 'provider_error'],
    [400, error('businessRule', 'genericError', { providerCode: 'expired' }), 'provider_error'],
    [400, error('validation', 'formatError'), 'invalid_request'],
    [400, error('validation', 'genericError'), 'invalid_request'],
    [400, error('validation', 'currencyNotSupported'), 'invalid_request'],
    [401, error('authorisation', 'requestDeclined'), 'declined_by_payer'],
    [401, error('authorisation', 'requestDeclined', { providerCode: 'wrongPin' }), 'wrong_pin'],
    [401, error('authorisation', 'requestingPartyAuthorisationError'), 'merchant_config'],
    [403, error('authorisation', 'servicingPartyAuthorisationError'), 'merchant_config'],
    [404, error('identification', 'identifierError'), 'payer_not_found'],
  ])('of status %i with %j is a refusal', async (status, body, reason) => {
    subject.wallet.on(routes.initiate, json(status, body));

    expect(await initiate()).toMatchObject({
      kind: 'refused',
      reason,
      providerText: 'Said the wallet of +2519*****344',
    });
    expect(subject.wallet.requestsTo(routes.initiate)).toHaveLength(1);
  });

  test.each([
    ['camel case', { errorCategory: 'businessRule', errorCode: 'insufficientFunds' }],
    ['Pascal case', { ErrorCategory: 'BusinessRule', ErrorCode: 'InsufficientFunds' }],
    ['capitals', { ERRORCATEGORY: 'BUSINESSRULE', ERRORCODE: 'INSUFFICIENTFUNDS' }],
    ['within error', { error: { errorCategory: 'businessRule', errorCode: 'insufficientFunds' } }],
    [
      'within ErrorReference',
      { ErrorReference: { ErrorCategory: 'businessRule', errorCode: 'InsufficientFunds' } },
    ],
    [
      'beside nulls',
      { error: null, errorCategory: 'businessRule', errorCode: 'insufficientFunds', errorParameters: null },
    ],
  ])('with an error spelled in %s is understood', async (_spelling, body) => {
    subject.wallet.on(routes.initiate, json(400, body));

    expect(await initiate()).toMatchObject({
      kind: 'refused',
      reason: 'insufficient_funds',
      providerCode: 'businessrule/insufficientfunds',
    });
  });

  test.each([
    [400, error('businessRule', 'duplicateRequest'), 'duplicate_request'],
    [409, error('businessRule', 'duplicateRequest'), 'duplicate_request'],
    [400, error('businessRule', 'rateLimitError'), 'rate_limited'],
    [429, error('businessRule', 'insufficientFunds'), 'rate_limited'],
    [400, error('businessRule', 'somethingNew'), 'unrecognised_code'],
    [400, error('somethingNew', 'insufficientFunds'), 'unrecognised_code'],
    [400, error('internal', 'genericError'), 'unrecognised_code'],
    [500, error('internal', 'genericError'), 'server_error'],
    [500, error('businessRule', 'insufficientFunds'), 'server_error'],
    [503, error('serviceUnavailable', 'genericError'), 'server_error'],
    [403, error('authorisation', 'clientAuthorisationError'), 'unauthenticated'],
    [400, { errorCategory: 'businessRule' }, 'unexpected_status'],
    [400, { errorCategory: 7, errorCode: ['insufficientFunds'] }, 'unexpected_status'],
    [200, transaction(), 'unexpected_status'],
    [202, requestState({ serverCorrelationId: 'not-a-uuid' }), 'unreadable_answer'],
    [202, requestState({ serverCorrelationId: undefined }), 'unreadable_answer'],
    [201, transaction({ transactionReference: '..' }), 'unreadable_answer'],
  ])('of status %i with %j decides nothing', async (status, body, why) => {
    subject.wallet.on(routes.initiate, json(status, body));

    expect(await initiate()).toMatchObject({ kind: 'unknown', why });
    expect(subject.wallet.requestsTo(routes.initiate)).toHaveLength(1);
  });
});

describe('a query', () => {
  const completed = requestState({ status: 'completed', objectReference: 'REF-1' });

  test('of an undecided request is pending, until the wallet abandons it', async () => {
    const expiryTime = '2026-01-01T08:03:00Z';
    subject.wallet.on(routes.requestState, json(200, requestState({ objectReference: 'REF-1', expiryTime })));

    expect(await query()).toEqual({ kind: 'pending', expiresAt: new Date(expiryTime) });
  });

  test('of a completed request reads the transaction, which decides the outcome', async () => {
    subject.wallet.on(routes.requestState, json(200, completed));
    subject.wallet.on(
      routes.transaction,
      json(
        200,
        transaction({ amount: '100.50', fees: [{ feeType: 'levy', feeAmount: '1.10', feeCurrency: 'ETB' }] }),
      ),
    );

    expect(await query()).toEqual({
      kind: 'completed',
      providerTransactionId: 'REF-1',
      amount: '100.5',
      currency: 'ETB',
      fees: [{ amount: '1.1', currency: 'ETB' }],
    });
  });

  test('reports another amount and currency unchanged', async () => {
    subject.wallet.on(routes.requestState, json(200, completed));
    subject.wallet.on(
      routes.transaction,
      json(200, transaction({ amount: '12345678901234567.8901', currency: 'USD' })),
    );

    expect(await query()).toMatchObject({
      kind: 'completed',
      amount: '12345678901234567.8901',
      currency: 'USD',
    });
  });

  test('by the transaction reads the transaction only', async () => {
    subject.wallet.on(routes.transaction, json(200, transaction()));

    expect(await query('transactions/REF-1')).toMatchObject({ kind: 'completed' });
    expect(subject.wallet.requestsTo(routes.requestState)).toEqual([]);
  });

  test.each([
    [error('businessRule', 'insufficientFunds'), declined('insufficient_funds')],
    [error('authorisation', 'requestDeclined', { ProviderCode: 'WrongPin' }), declined('wrong_pin')],
    [error('authorisation', 'requestDeclined', { other: 'wrongPin' }), declined('declined_by_payer')],
    [error('businessRule', 'genericError', { providerCode: 'expired' }), { kind: 'timed_out' }],
    [error('internal', 'genericError'), declined('provider_error')],
    [undefined, declined('provider_error')],
    [error('businessRule', 'somethingNew'), undecided('unrecognised_code')],
    [error('businessRule', 'duplicateRequest'), undecided('duplicate_request')],
    [{ reason: 'no' }, undecided('unrecognised_code')],
  ])('of a request that failed with %j returns the reason', async (because, expected) => {
    subject.wallet.on(routes.requestState, json(200, requestState({ status: 'failed', error: because })));

    expect(await query()).toMatchObject(expected);
  });

  test.each([
    [{ errorCategory: 'businessRule', errorCode: 'insufficientFunds' }, declined('insufficient_funds')],
    [{ errorCode: 'genericError', providerCode: 'expired' }, { kind: 'timed_out' }],
    [{ errorCode: 'somethingNew' }, undecided('unrecognised_code')],
    [{ colour: 'blue' }, declined('provider_error')],
  ])('of a transaction that failed, with the metadata %j, returns the reason', async (values, expected) => {
    const metadata = keysAndValues(values);
    subject.wallet.on(routes.transaction, json(200, transaction({ transactionStatus: 'failed', metadata })));

    expect(await query('transactions/REF-1')).toMatchObject(expected);
  });

  test.each([
    ['an unknown status', requestState({ status: 'underReview' }), 'unrecognised_status'],
    ['completed without a transaction', requestState({ status: 'completed' }), 'inconsistent'],
    [
      'completed without a name of it',
      requestState({ status: 'completed', objectReference: '' }),
      'inconsistent',
    ],
    ['another request', requestState({ serverCorrelationId: reversalStateId }), 'inconsistent'],
    ['a status that is not a text', requestState({ status: true }), 'unreadable_answer'],
  ])('whose request state is %s decides nothing', async (_what, body, why) => {
    subject.wallet.on(routes.requestState, json(200, body));

    expect(await query()).toMatchObject({ kind: 'unknown', why });
  });

  test.each([
    ['an unknown status', transaction({ transactionStatus: 'underReview' }), 'unrecognised_status'],
    ['another transaction', transaction({ transactionReference: 'REF-2' }), 'inconsistent'],
    [
      'of another order',
      transaction({ requestingOrganisationTransactionReference: 'pat_other' }),
      'inconsistent',
    ],
    ['no payment', transaction({ type: 'deposit' }), 'inconsistent'],
    ['an amount as a number', transaction({ amount: 100.5 }), 'unreadable_answer'],
    ['an amount with an exponent', transaction({ amount: '1e2' }), 'unreadable_answer'],
    ['a negative amount', transaction({ amount: '-100.5' }), 'unreadable_answer'],
    ['no currency', transaction({ currency: undefined }), 'unreadable_answer'],
    ['a currency in small letters', transaction({ currency: 'etb' }), 'unreadable_answer'],
  ])('whose transaction is %s decides nothing', async (_what, body, why) => {
    subject.wallet.on(routes.requestState, json(200, completed));
    subject.wallet.on(routes.transaction, json(200, body));

    expect(await query()).toMatchObject({ kind: 'unknown', why });
  });

  test.each([
    ['of another order', transaction({ requestingOrganisationTransactionReference: 'pat_other' }), 200],
    ['unknown', error('identification', 'identifierError'), 404],
  ])('whose reference is %s asks by our id, and keeps the reference found', async (_what, body, status) => {
    const link = `/requeststates/${reversalStateId}`;
    const ofOurs = { serverCorrelationId: reversalStateId, objectReference: 'REF-2' };
    subject.wallet.on(routes.transaction, json(status, body));
    subject.wallet.on(routes.responses, json(200, { link }));
    subject.wallet.on(
      routes.reversalState,
      json(200, requestState(ofOurs)),
      json(200, requestState({ ...ofOurs, status: 'completed' })),
    );
    subject.wallet.on(
      /GET \/mm\/transactions\/REF-2/,
      json(200, transaction({ transactionReference: 'REF-2' })),
    );

    expect(await query('transactions/REF-1')).toEqual({ kind: 'pending', providerReference: link.slice(1) });
    expect(await query('transactions/REF-1')).toMatchObject({ providerTransactionId: 'REF-2' });
  });

  const failed = { status: 'failed', error: error('businessRule', 'insufficientFunds') };
  const expired = { expiryTime: '2026-01-01T08:03:00Z' };
  test.each([
    ['failed', 'another', 'completed', failed, '/transactions/REF-1'],
    ['failed', 'the same', 'declined', failed, `/requeststates/${requestStateId}`],
    ['failed', 'an unreadable', 'declined', failed, '/'],
    ['expired', 'another', 'completed', expired, '/transactions/REF-1'],
    ['expired', 'the same', 'pending', expired, `/requeststates/${requestStateId}`],
    ['has time', 'another', 'pending', { expiryTime: '9999-01-01T00:00:00Z' }, '/transactions/REF-1'],
  ])(
    'of a request that %s, with %s reference for our id, is %s',
    async (_what, _which, kind, state, link) => {
      subject.wallet.on(routes.requestState, json(200, requestState(state)));
      subject.wallet.on(routes.responses, json(200, { link }));
      subject.wallet.on(routes.transaction, json(200, transaction()));

      expect(await query()).toMatchObject({ kind });
    },
  );

  test.each([
    [400, error('businessRule', 'insufficientFunds'), 'unrecognised_code'],
    [401, error('authorisation', 'requestDeclined'), 'unauthenticated'],
    [404, error('identification', 'identifierError'), 'not_found'],
    [429, {}, 'rate_limited'],
    [500, error('internal', 'genericError'), 'server_error'],
  ])('that is itself answered %i with %j decides nothing', async (status, body, why) => {
    subject.wallet.on(routes.requestState, json(status, body));

    expect(await query()).toMatchObject({ kind: 'unknown', why });
  });

  test('whose transaction has another status than 200 decides nothing', async () => {
    subject.wallet.on(routes.requestState, json(200, completed));
    subject.wallet.on(routes.transaction, json(202, transaction()));

    expect(await query()).toMatchObject({ kind: 'unknown', why: 'unexpected_status' });
  });

  test('is pending while the transaction of a completed request still is', async () => {
    subject.wallet.on(routes.requestState, json(200, completed));
    subject.wallet.on(routes.transaction, json(200, transaction({ transactionStatus: 'Pending' })));

    expect(await query()).toEqual({ kind: 'pending' });
  });

  test.each([
    [''],
    ['REF-1'],
    ['accounts/2999'],
    ['requeststates/not-a-uuid'],
    ['transactions/..'],
    ['transactions/%2e%2e'],
  ])('by the reference %j sends no request', async (providerReference) => {
    expect(await query(providerReference)).toMatchObject({ kind: 'unknown', why: 'not_found' });
    expect(subject.wallet.requests).toEqual([]);
  });
});

describe('a recovery', () => {
  const recover = async () => (await subject.connector.recover(attemptId, options)).result;

  test.each([
    ['/transactions/REF-1', 'transactions/REF-1'],
    ['transactions/REF-1', 'transactions/REF-1'],
    [`/mm/requeststates/${requestStateId}`, `requeststates/${requestStateId}`],
    ['https://elsewhere.example/v1/transactions/REF-1', 'transactions/REF-1'],
  ])('by the link %s finds %s', async (link, providerReference) => {
    subject.wallet.on(routes.responses, json(200, { link }));

    expect(await recover()).toEqual({ kind: 'found', providerReference });
  });

  test.each([['/accounts/2999'], ['/transactions/'], ['/transactions/../heartbeat/..'], ['']])(
    'by the link %j decides nothing',
    async (link) => {
      subject.wallet.on(routes.responses, json(200, { link }));

      expect(await recover()).toMatchObject({ kind: 'unknown', why: 'unreadable_answer' });
    },
  );

  test('of a request that the wallet does not know finds nothing', async () => {
    subject.wallet.on(routes.responses, json(404, error('identification', 'identifierError')));

    expect(await recover()).toEqual({ kind: 'not_found' });
  });

  test('answered with a 404 that is not that of the contract decides nothing', async () => {
    subject.wallet.on(routes.responses, json(404, { message: 'no route' }));

    expect(await recover()).toMatchObject({ kind: 'unknown', why: 'not_found' });
  });
});

describe('a reversal', () => {
  const reversal = { reversalId: '018f4a54-9b61-7cc1-9a5e-5b1f4b5d2a01', providerTransactionId: 'REF-1' };
  const reversalTransaction = (over: Readonly<Record<string, unknown>> = {}) => ({
    type: 'reversal',
    transactionReference: 'REV-1',
    originalTransactionReference: 'REF-1',
    transactionStatus: 'completed',
    ...over,
  });
  /** Queries a reversal whose request has this state. */
  const queryInState = async (state: Readonly<Record<string, unknown>>) => {
    const body = requestState({ serverCorrelationId: reversalStateId, ...state });
    subject.wallet.on(routes.reversalState, json(200, body));
    const providerReference = `requeststates/${reversalStateId}`;
    const query = reversalQuery({ ...reversal, providerReference });
    return (await subject.connector.queryReversal(query, options)).result;
  };
  const queryReversal = (body: unknown, status = 200) => {
    subject.wallet.on(/GET \/mm\/transactions\/REV-1/, json(status, body));
    return queryInState({ status: 'completed', objectReference: 'REV-1' });
  };

  test('is open while its own transaction is, and with another status than 200', async () => {
    const unexpected = { kind: 'unknown', why: 'unexpected_status' };

    expect(await queryReversal(reversalTransaction({ transactionStatus: 'Pending' }))).toEqual({
      kind: 'pending',
    });
    expect(await queryReversal(reversalTransaction(), 202)).toMatchObject(unexpected);
  });

  test('is completed when its own transaction is, whether that repeats the amount or not', async () => {
    for (const withoutMoney of [{}, { amount: '5.00' }, { currency: 'ETB' }])
      expect(await queryReversal(reversalTransaction(withoutMoney))).toEqual({
        kind: 'completed',
        providerTransactionId: 'REV-1',
      });
    expect(await queryReversal(reversalTransaction({ amount: '5.00', currency: 'ETB' }))).toEqual({
      kind: 'completed',
      providerTransactionId: 'REV-1',
      money: { amount: '5', currency: 'ETB' },
    });
  });

  test.each([
    ['of another transaction', reversalTransaction({ originalTransactionReference: 'REF-2' })],
    ['that is a payment', reversalTransaction({ type: 'merchantpay' })],
    ['that is another transaction', reversalTransaction({ transactionReference: 'REV-2' })],
    ['under another id', reversalTransaction({ requestingOrganisationTransactionReference: 'rev_other' })],
  ])('%s decides nothing', async (_what, body) => {
    expect(await queryReversal(body)).toMatchObject({ kind: 'unknown', why: 'inconsistent' });
  });

  test('whose reference is of another reversal is asked about by our id', async () => {
    subject.wallet.on(routes.responses, json(200, { link: '/transactions/REV-2' }));
    subject.wallet.on(
      /GET \/mm\/transactions\/REV-2/,
      json(200, reversalTransaction({ transactionReference: 'REV-2' })),
    );

    expect(
      await queryReversal(reversalTransaction({ requestingOrganisationTransactionReference: 'rev_other' })),
    ).toEqual({ kind: 'completed', providerTransactionId: 'REV-2' });
  });

  test('that expired is refused', async () => {
    const because = error('businessRule', 'genericError', { providerCode: 'expired' });

    expect(await queryInState({ status: 'failed', error: because })).toMatchObject({
      ...{ kind: 'refused', reason: 'provider_error', providerCode: 'expired' },
    });
  });

  test('of a transaction without a usable id is refused without a request to the wallet', async () => {
    const { result } = await subject.connector.reverse(
      { ...buildPayment(), ...reversal, providerTransactionId: '..' },
      options,
    );

    expect(result).toMatchObject({ kind: 'refused', reason: 'invalid_request' });
    expect(subject.wallet.requests).toEqual([]);
  });
});

test.each([
  ['available', { kind: 'available' }],
  ['degraded', { kind: 'degraded', detail: 'the wallet says it is degraded' }],
  ['unavailable', { kind: 'unavailable', detail: 'the wallet says it is unavailable' }],
  ['asleep', { kind: 'unavailable', detail: 'the wallet says it is asleep' }],
])('a heartbeat of status %s is understood', async (serviceStatus, expected) => {
  subject.wallet.on(routes.heartbeat, json(200, { serviceStatus }));

  expect((await subject.connector.health(options)).result).toEqual(expected);
});

test.each([
  [401, 'unreported'],
  [404, 'unreported'],
  [405, 'unreported'],
  [501, 'unreported'],
  [408, 'unavailable'],
  [429, 'unavailable'],
  [500, 'unavailable'],
  [503, 'unavailable'],
])('a heartbeat answered %d is %s, because not every wallet has one', async (status, expected) => {
  subject.wallet.on(routes.heartbeat, json(status, error('internal', 'genericError')));

  expect((await subject.connector.health(options)).result.kind).toBe(expected);
});
