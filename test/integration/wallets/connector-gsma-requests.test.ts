import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { paymentQuery } from '../../support/wallet-queries.ts';
import { attemptId, buildPayment, routes, gsmaOfEachTest } from './gsma-subject.ts';
import { json } from './scripted-wallet.ts';

const options = { signal: new AbortController().signal };
/** The UUID that `attemptId` is written from. */
const attemptUuid = '019a7e3d-17c8-71b8-bd8a-a4a1ee18818d';
const reversalId = '018f4a54-9b61-7cc1-9a5e-5b1f4b5d2a01';

const subject = gsmaOfEachTest({}, () => new Date('2026-01-01T08:00:01.234Z'));

const onlyRequestTo = (route: RegExp) => {
  const found = subject.wallet.requestsTo(route);
  expect(found).toHaveLength(1);
  return found[0]!;
};

test('a payment is requested with every header of the contract', async () => {
  await subject.connector.initiate(buildPayment(), options);

  const { headers, body } = onlyRequestTo(routes.initiate);
  expect(headers).toMatchObject({
    accept: 'application/json',
    authorization: 'Bearer the-access-token',
    'content-type': 'application/json',
    'x-api-key': 'the-api-key',
    'x-callback-url': `https://gatehouse.example/callbacks/walleta/${attemptId}/unguessable-token`,
    'x-client-id': 'the-client',
    'x-content-hash': createHash('sha256').update(body).digest('hex'),
    'x-correlationid': attemptUuid,
    'x-date': '2026-01-01T08:00:01.234Z',
  });
});

test('a payment request has the body of the contract, and an amount without trailing zeros', async () => {
  await subject.connector.initiate(buildPayment({ amount: '100.50' }), options);

  expect(JSON.parse(onlyRequestTo(routes.initiate).body)).toEqual({
    amount: '100.5',
    currency: 'ETB',
    debitParty: [{ key: 'msisdn', value: '251911223344' }],
    creditParty: [{ key: 'accountid', value: '2999' }],
    requestingOrganisationTransactionReference: attemptId,
    descriptionText: 'Invoice 42',
    requestDate: '2026-01-01T08:00:00.000Z',
  });
});

test('a prompt in the wallet application is a payment with the subtype wallet', async () => {
  await subject.connector.initiate(buildPayment({ channel: 'wallet_app' }), options);

  expect(JSON.parse(onlyRequestTo(routes.initiate).body)).toMatchObject({ subType: 'wallet' });
});

test('a description is put on one line and cut between characters', async () => {
  const description = `first\nsecond ${'\u{1F6D2}'.repeat(100)}`;

  await subject.connector.initiate(buildPayment({ description }), options);

  const { descriptionText } = JSON.parse(onlyRequestTo(routes.initiate).body) as { descriptionText: string };
  expect(descriptionText).toBe(`first second ${'\u{1F6D2}'.repeat(73)}`);
});

test('a payment without a description is sent without one', async () => {
  await subject.connector.initiate(buildPayment({ description: ' ' }), options);

  expect(JSON.parse(onlyRequestTo(routes.initiate).body)).not.toHaveProperty('descriptionText');
});

test.each([
  ['a currency the wallet is not configured for', { currency: 'KES' }, 'merchant_config'],
  ['an amount that is not a decimal', { amount: '1e3' }, 'invalid_request'],
  ['more decimals than the contract has', { amount: '0.00001' }, 'invalid_request'],
  ['more digits than the contract has', { amount: '1'.repeat(19) }, 'invalid_request'],
])('%s is refused without a request to the wallet', async (_what, over, reason) => {
  const { result, exchanges } = await subject.connector.initiate(buildPayment(over), options);

  expect(result).toMatchObject({ kind: 'refused', reason });
  expect(exchanges).toEqual([]);
  expect(subject.wallet.requests).toEqual([]);
});

test('an id that contains no UUID is an error of the caller, and nothing is sent', async () => {
  const payment = buildPayment({ attemptId: 'order 17' });

  await expect(subject.connector.initiate(payment, options)).rejects.toThrow(
    'neither an id of Gatehouse nor a UUID',
  );

  expect(subject.wallet.requests).toEqual([]);
});

test('a reversal names the transaction, the returned amount, and its own id', async () => {
  await subject.connector.reverse(
    {
      reversalId,
      attemptId,
      providerTransactionId: 'REF-1',
      amount: '50.00',
      currency: 'ETB',
      description: 'paid too late',
      requestedAt: new Date('2026-01-01T09:00:00.000Z'),
      callbackToken: 'another-token',
    },
    options,
  );

  const { headers, body } = onlyRequestTo(routes.reverse);
  expect(headers).toMatchObject({
    'x-correlationid': reversalId,
    'x-callback-url': `https://gatehouse.example/callbacks/walleta/${reversalId}/another-token`,
    'x-content-hash': createHash('sha256').update(body).digest('hex'),
  });
  expect(JSON.parse(body)).toEqual({
    type: 'reversal',
    amount: '50',
    currency: 'ETB',
    requestingOrganisationTransactionReference: reversalId,
    descriptionText: 'paid too late',
    requestDate: '2026-01-01T09:00:00.000Z',
  });
});

test('a transaction id with a slash stays one segment of the path', async () => {
  subject.wallet.on(/GET \/mm\/transactions\/A%2F\.\.%2FB/, json(404, {}));

  await subject.connector.query(
    paymentQuery({ attemptId, providerReference: 'transactions/A%2F..%2FB' }),
    options,
  );

  expect(subject.wallet.requestsTo(/GET \/mm\/transactions\/A%2F\.\.%2FB/)).toHaveLength(1);
});

test('a lost request is queried by the UUID that it was sent with', async () => {
  await subject.connector.recover(attemptId, options);

  expect(onlyRequestTo(routes.responses).target).toBe(`/mm/responses/${attemptUuid}`);
});

test('a heartbeat is requested without an access token', async () => {
  await subject.connector.health(options);

  expect(onlyRequestTo(routes.heartbeat).headers).not.toHaveProperty('authorization');
  expect(subject.wallet.requestsTo(routes.token)).toEqual([]);
});

test('an access token is requested with the client credentials grant', async () => {
  await subject.connector.recover(attemptId, options);

  const { headers, body } = onlyRequestTo(routes.token);
  expect(body).toBe('grant_type=client_credentials');
  expect(headers).toMatchObject({
    authorization: `Basic ${Buffer.from('the-client:the-client-secret').toString('base64')}`,
    'content-type': 'application/x-www-form-urlencoded',
  });
});

test('the exchanges of a payment are complete, without secrets or whole phone numbers', async () => {
  const { exchanges } = await subject.connector.initiate(buildPayment(), options);

  expect(exchanges.map(({ purpose, method, status }) => [purpose, method, status])).toEqual([
    ['token', 'POST', 200],
    ['initiate', 'POST', 202],
  ]);
  const [, initiate] = exchanges;
  expect(initiate!.requestBody).toContain('"value":"25191****344"');
  expect(initiate!.requestHeaders).toMatchObject({ 'x-correlationid': attemptUuid });
  expect(initiate!.requestHeaders).not.toHaveProperty('authorization');
  expect(initiate!.requestHeaders).not.toHaveProperty('x-callback-url');
  expect(exchanges[0]!.responseBody).toContain('[masked]');
});
