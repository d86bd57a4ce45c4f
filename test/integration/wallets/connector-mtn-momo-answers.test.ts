import { beforeEach, describe, expect, test } from '@jest/globals';
import { validate, version } from 'uuid';
import { checkWallet } from '../../../src/wallets/check-wallet.ts';
import { mtnMomo } from '../../../src/wallets/mtn-momo/mtn-momo.ts';
import { referenceId } from '../../../src/wallets/mtn-momo/reference-id.ts';
import { WalletCalls } from '../../../src/wallets/wallet-calls.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { callbackWith, paymentQuery, reversalQuery } from '../../support/wallet-queries.ts';
import {
  attemptId,
  createMtn,
  payment,
  reversalId,
  routes,
  settings,
  startMtn,
  status,
} from './mtn-momo-subject.ts';
import { answer, json } from './scripted-wallet.ts';
import { closersOfEachTest, shared } from '../../support/shared-stack.ts';

const options = { signal: new AbortController().signal };

const closers = closersOfEachTest();
const subject = shared(() => startMtn());
beforeEach(() => {
  for (const { route, good } of Object.values(subject.routes)) {
    subject.wallet.on(route, json(good.status, good.body));
  }
});

/** Another wallet than that of the other tests, which has issued no token yet. */
const startFresh = async () => {
  const fresh = await startMtn();
  closers.push(fresh.close);
  return fresh;
};

const declined = (reason: string) => ({ kind: 'declined', reason });

const pay = () => subject.connector.initiate(payment(), options);
const query = () => subject.connector.query(paymentQuery({ attemptId }), options);
const refund = () =>
  subject.connector.reverse(
    { ...payment({ amount: '40.00' }), reversalId, providerTransactionId: '23503452' },
    options,
  );

describe('the X-Reference-Id', () => {
  test('is a UUID of version 4, the same for the same id, and another for each other id', () => {
    const ids = Array.from({ length: 1_000 }, () => newRandomId('pat', new Date('2026-01-01T00:00:00Z')));

    const references = ids.map(referenceId);

    expect(new Set(references).size).toBe(ids.length);
    expect(references.every((reference) => validate(reference) && version(reference) === 4)).toBe(true);
    expect(ids.map(referenceId)).toEqual(references);
    expect(() => referenceId('invoice 7')).toThrow(TypeError);
  });
});

describe('a request', () => {
  test('to pay has the headers and the body of the API, without plus and special characters', async () => {
    await subject.connector.initiate(
      payment({ description: `Tom's "Café" <${'x'.repeat(200)}>`, amount: '5.00' }),
      options,
    );

    const { headers, body } = subject.wallet.requestsTo(routes.initiate).at(-1)!;
    expect(headers).toMatchObject({
      authorization: 'Bearer the-access-token',
      'x-reference-id': referenceId(attemptId),
      'x-target-environment': 'sandbox',
      'ocp-apim-subscription-key': 'the-collection-key',
      'x-callback-url': `https://gatehouse.example/callbacks/mtn-sandbox/${attemptId}/unguessable-token`,
      'content-type': 'application/json',
    });
    const sent = JSON.parse(body) as Record<string, string>;
    expect(sent).toMatchObject({
      amount: '5',
      currency: 'EUR',
      externalId: attemptId,
      payer: { partyIdType: 'MSISDN', partyId: '256770001122' },
    });
    expect(sent['payerMessage']).toMatch(/^Tom s Café x+$/);
    expect(sent['payerMessage']!.length).toBeLessThanOrEqual(128);
  });

  test('for a token has a length of 0 and Basic credentials, and each product has its own', async () => {
    await pay();
    await refund();

    const tokens = [routes.collectionToken, routes.disbursementToken].map(
      (route) => subject.wallet.requestsTo(route).at(-1)!.headers,
    );
    expect(tokens.map((headers) => headers['content-length'])).toEqual(['0', '0']);
    expect(tokens.map((headers) => headers['ocp-apim-subscription-key'])).toEqual([
      'the-collection-key',
      'the-disbursement-key',
    ]);
  });

  test('to refund names the payment by its X-Reference-Id, and has another for itself', async () => {
    await refund();

    const { headers, body } = subject.wallet.requestsTo(routes.reverse).at(-1)!;
    expect(headers['x-reference-id']).toBe(referenceId(reversalId));
    expect(JSON.parse(body)).toMatchObject({
      amount: '40',
      externalId: reversalId,
      referenceIdToRefund: referenceId(attemptId),
    });
  });

  test.each([
    ['another currency', { currency: 'ETB' }, 'merchant_config'],
    ['no amount', { amount: '0.00' }, 'invalid_request'],
    ['no phone number', { payerPhone: '0770001122' }, 'invalid_request'],
  ])('with %s is refused before it is sent', async (_what, over, reason) => {
    const before = subject.wallet.requestsTo(routes.initiate).length;

    const { result } = await subject.connector.initiate(payment(over), options);

    expect(result).toMatchObject({ kind: 'refused', reason });
    expect(subject.wallet.requestsTo(routes.initiate)).toHaveLength(before);
  });
});

describe('an acknowledgement', () => {
  const error = (code: string) => ({ code, message: 'for +256770001122' });

  test.each([
    [400, undefined, 'invalid_request'],
    [400, error('VALIDATION_ERROR'), 'invalid_request'],
    [403, { statusCode: 403, message: 'Forbidden' }, 'merchant_config'],
    [403, error('FORBIDDEN'), 'merchant_config'],
    [404, { statusCode: 404, message: 'Resource not found' }, 'merchant_config'],
    [404, error('PAYER_NOT_FOUND'), 'payer_not_found'],
    [500, error('NOT_ALLOWED'), 'merchant_config'],
    [500, error('INVALID_CURRENCY'), 'merchant_config'],
    [500, error('INVALID_CALLBACK_URL_HOST'), 'merchant_config'],
    [500, error('PAYER_NOT_FOUND'), 'payer_not_found'],
    [500, 'PAYEE_NOT_ALLOWED_TO_RECEIVE', 'merchant_config'],
  ])('of %d %j is a refusal', async (code, body, reason) => {
    subject.wallet.on(routes.initiate, json(code, body));

    const { result } = await pay();

    expect(result).toMatchObject({ kind: 'refused', reason });
    expect(JSON.stringify(result)).not.toContain('256770001122');
  });

  test.each([
    [409, error('RESOURCE_ALREADY_EXIST'), 'duplicate_request'],
    [409, error('SOMETHING_NEW'), 'unrecognised_code'],
    [400, error('SOMETHING_NEW'), 'unrecognised_code'],
    [403, error('SOMETHING_NEW'), 'unrecognised_code'],
    [404, { message: 'Not found' }, 'unexpected_status'],
    [429, undefined, 'rate_limited'],
    [401, { statusCode: 401, message: 'Access denied' }, 'unauthenticated'],
    [500, error('INTERNAL_PROCESSING_ERROR'), 'server_error'],
    [500, error('SOMETHING_NEW'), 'server_error'],
    [503, error('SERVICE_UNAVAILABLE'), 'server_error'],
    [503, error('NOT_ALLOWED'), 'server_error'],
    [202, {}, 'unreadable_answer'],
  ])('of %d %j decides nothing', async (code, body, why) => {
    subject.wallet.on(routes.initiate, json(code, body));

    expect((await pay()).result).toMatchObject({ kind: 'unknown', why });
  });

  test.each([200, 403])(
    'of %i with a web page instead of a token counts against the wallet, and nothing is sent',
    async (code) => {
      const fresh = await startFresh();
      fresh.wallet.on(routes.collectionToken, answer(code, 'text/html', '<html>Request Rejected</html>'));
      const calls = new WalletCalls();

      const result = calls.keep(await fresh.connector.initiate(payment(), options));

      expect(result).toMatchObject({ kind: 'not_sent', why: 'no_token' });
      expect(calls.servedWith({})).toMatchObject({ areCredentialsRefused: false, isWalletHealthy: false });
      expect(fresh.wallet.requestsTo(routes.initiate)).toEqual([]);
    },
  );

  test.each([401, 500])(
    'of %i with login_failed to a request for a token refuses the credentials',
    async (code) => {
      const fresh = await startFresh();
      fresh.wallet.on(routes.collectionToken, json(code, { error: 'login_failed' }));
      const calls = new WalletCalls();

      const sent = calls.keep(await fresh.connector.initiate(payment(), options));
      const asked = calls.keep(await fresh.connector.query(paymentQuery({ attemptId }), options));

      expect([sent, asked]).toMatchObject([
        {
          kind: 'not_sent',
          why: 'unauthenticated',
          detail: expect.stringContaining('check the subscription key'),
        },
        { kind: 'unknown', why: 'unauthenticated' },
      ]);
      expect(calls.servedWith({})).toMatchObject({ areCredentialsRefused: true, isWalletHealthy: true });
      expect(await checkWallet(fresh.connector, options.signal)).toMatchObject({ credentials: 'refused' });
    },
  );
});

describe('a query', () => {
  test.each([
    ['text', '100.50', '23503452'],
    ['shortened text', '100.5', '23503452'],
    ['a number', 100.5, 23503452],
  ])('reads an amount that is %s', async (_form, amount, financialTransactionId) => {
    subject.wallet.on(
      routes.query,
      json(200, status({ status: 'SUCCESSFUL', amount, financialTransactionId })),
    );

    expect((await query()).result).toEqual({
      kind: 'completed',
      providerTransactionId: '23503452',
      amount: '100.5',
      currency: 'EUR',
      fees: [],
    });
  });

  test('keeps a transaction id that is a number with more digits than JavaScript has', async () => {
    const paid = status({ status: 'SUCCESSFUL', amount: '100.5', financialTransactionId: 'id' });
    const body = JSON.stringify(paid).replace('"id"', '12345678901234567891');
    subject.wallet.on(routes.query, answer(200, 'application/json', body));

    expect((await query()).result).toMatchObject({ providerTransactionId: '12345678901234567891' });
  });

  test.each([
    ['NOT_ENOUGH_FUNDS', declined('insufficient_funds')],
    ['PAYER_LIMIT_REACHED', declined('limit_exceeded')],
    ['PAYER_NOT_FOUND', declined('payer_not_found')],
    ['APPROVAL_REJECTED', declined('declined_by_payer')],
    [{ code: 'PAYMENT_NOT_APPROVED', message: 'no' }, declined('declined_by_payer')],
    ['SENDER_ACCOUNT_NOT_ACTIVE', declined('account_state')],
    [{ code: 'PAYEE_NOT_FOUND' }, declined('merchant_config')],
    ['INTERNAL_PROCESSING_ERROR', declined('provider_error')],
    [undefined, declined('provider_error')],
    ['EXPIRED', { kind: 'timed_out' }],
    [{ code: 'COULD_NOT_PERFORM_TRANSACTION' }, { kind: 'timed_out' }],
    ['SOMETHING_NEW', { ...declined('provider_error'), providerCode: 'SOMETHING_NEW' }],
    ['RESOURCE_ALREADY_EXIST', { kind: 'unknown', why: 'unrecognised_code' }],
  ])('of a failed payment with the reason %j returns our reason', async (reason, expected) => {
    subject.wallet.on(routes.query, json(200, status({ status: 'FAILED', reason })));

    expect((await query()).result).toMatchObject(expected);
  });

  test.each([
    ['another status', status({ status: 'UNDER_REVIEW' }), 'unrecognised_status'],
    ['another payment', status({ externalId: 'pat_other', status: 'SUCCESSFUL' }), 'inconsistent'],
    ['success without a transaction', status({ status: 'SUCCESSFUL' }), 'unreadable_answer'],
    [
      'an amount in words',
      status({ status: 'SUCCESSFUL', financialTransactionId: '1', amount: 'ten' }),
      'unreadable_answer',
    ],
    ['no status', {}, 'unreadable_answer'],
    ['no JSON', undefined, 'unreadable_answer'],
  ])('with %s is unknown', async (_what, body, why) => {
    subject.wallet.on(routes.query, json(200, body));

    expect((await query()).result).toMatchObject({ kind: 'unknown', why });
  });

  test.each(['PENDING', 'Pending'])('with the status %s is pending', async (text) => {
    subject.wallet.on(routes.query, json(200, status({ status: text })));

    expect((await query()).result).toEqual({ kind: 'pending' });
  });

  test('of an id that MTN does not know is unknown, and recovery finds nothing', async () => {
    subject.wallet.on(routes.query, json(404, { code: 'RESOURCE_NOT_FOUND', message: 'not found' }));

    expect((await query()).result).toMatchObject({ kind: 'unknown', why: 'not_found' });
    expect((await subject.connector.recover(attemptId, options)).result).toEqual({ kind: 'not_found' });
  });

  test.each([
    [404, { statusCode: 404, message: 'Resource not found' }, 'unexpected_status'],
    [404, { code: 'SOMETHING_NEW' }, 'unrecognised_code'],
    [500, { code: 'RESOURCE_NOT_FOUND' }, 'server_error'],
  ])('of %d %j does not mean that MTN does not know the id', async (code, body, why) => {
    subject.wallet.on(routes.query, json(code, body));

    expect((await query()).result).toMatchObject({ kind: 'unknown', why });
    expect((await subject.connector.recover(attemptId, options)).result).toMatchObject({
      kind: 'unknown',
      why,
    });
  });
});

describe('a refund', () => {
  const failed = (reason: unknown) => ({ status: 'FAILED', reason });
  const done = { status: 'SUCCESSFUL', financialTransactionId: '77' };

  test.each([
    [done, { kind: 'completed', providerTransactionId: '77' }],
    [{ status: 'SUCCESSFUL' }, { kind: 'completed', providerTransactionId: '' }],
    [
      { ...done, amount: '1e3' },
      { kind: 'unknown', why: 'unreadable_answer' },
    ],
    [failed('NOT_ENOUGH_FUNDS'), { kind: 'refused', reason: 'insufficient_funds' }],
    [failed('PAYEE_NOT_FOUND'), { kind: 'refused', reason: 'payer_not_found' }],
    [failed('PAYEE_NOT_ALLOWED_TO_RECEIVE'), { kind: 'refused', reason: 'account_state' }],
    [failed('PAYER_NOT_FOUND'), { kind: 'refused', reason: 'merchant_config' }],
    [failed('SENDER_ACCOUNT_NOT_ACTIVE'), { kind: 'refused', reason: 'merchant_config' }],
    [failed({ code: 'EXPIRED' }), { kind: 'refused', reason: 'provider_error' }],
    [failed('SOMETHING_NEW'), { kind: 'refused', reason: 'provider_error', providerCode: 'SOMETHING_NEW' }],
    [failed('RESOURCE_NOT_FOUND'), { kind: 'unknown', why: 'unrecognised_code' }],
    [{ status: 'Pending' }, { kind: 'pending' }],
    [{ status: 'UNDER_REVIEW' }, { kind: 'unknown', why: 'unrecognised_status' }],
    [
      { ...done, externalId: attemptId },
      { kind: 'unknown', why: 'inconsistent' },
    ],
  ])('with %j has the outcome of the table', async (over, expected) => {
    subject.wallet.on(routes.queryReversal, json(200, status({ externalId: reversalId, ...over })));
    const query = reversalQuery({ reversalId, providerTransactionId: '23503452' });

    expect((await subject.connector.queryReversal(query, options)).result).toMatchObject(expected);
  });

  test('to a payer who has no wallet any more is refused for that reason at once', async () => {
    subject.wallet.on(routes.reverse, json(500, { code: 'PAYEE_NOT_FOUND' }));

    const { result } = await subject.connector.reverse(
      { ...payment(), reversalId, providerTransactionId: '23503452' },
      options,
    );

    expect(result).toMatchObject({ kind: 'refused', reason: 'payer_not_found' });
  });

  test('without credentials of Disbursement is refused, and the capabilities say so', async () => {
    const {
      disbursement_subscription_key: _key,
      disbursement_api_user: _user,
      disbursement_api_key: _apiKey,
      ...collectionOnly
    } = settings(`${subject.wallet.origin}/momo`);
    const connector = createMtn(collectionOnly, 'https://gatehouse.example/callbacks');

    const { result, exchanges } = await connector.reverse(
      { ...payment(), reversalId, providerTransactionId: '23503452' },
      options,
    );

    expect(result).toMatchObject({ kind: 'refused', reason: 'merchant_config' });
    expect(exchanges).toEqual([]);
    expect([connector.capabilities.reversal, mtnMomo.capabilities.reversal]).toEqual([false, true]);
    await connector.close();
  });
});

test('settings with only a part of the Disbursement credentials are refused', () => {
  const { disbursement_api_key: _key, ...partial } = settings('http://127.0.0.1:1');

  expect(() => createMtn(partial, 'https://gatehouse.example')).toThrow(/all of disbursement_/);
});

describe('a callback', () => {
  test.each([
    ['Failed', 'failed'],
    ['PENDING', 'other'],
    [undefined, 'unreadable'],
  ])('with the status %s announces %s', (text, announced) => {
    const body = JSON.stringify(status({ status: text }));

    expect(subject.connector.parseCallback(callbackWith(body, { method: 'PUT' })).announced).toBe(announced);
  });

  test.each(['PUT', 'POST'])('by %s is a reason to query', (method) => {
    const body = JSON.stringify(status({ status: 'SUCCESSFUL', financialTransactionId: 5 }));
    const hint = subject.connector.parseCallback(callbackWith(body, { method }));

    expect(hint).toMatchObject({
      queryNow: true,
      announced: 'completed',
      reply: { status: 200 },
    });
  });

  test('is not requested when another host is registered, because MTN would refuse the payment', async () => {
    const connector = createMtn(
      settings(`${subject.wallet.origin}/momo`, { provider_callback_host: 'old.example' }),
      'https://gatehouse.example/callbacks',
    );

    await connector.initiate(payment(), options);
    const health = await connector.health(options);

    expect(subject.wallet.requestsTo(routes.initiate).at(-1)!.headers).not.toHaveProperty('x-callback-url');
    expect(health.result).toMatchObject({ kind: 'degraded', detail: expect.stringContaining('old.example') });
    await connector.close();
  });
});
