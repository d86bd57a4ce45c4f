import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import {
  basic,
  clientHeaders,
  credentials,
  requestToken,
  simulatorOfFile,
  tokenLifetimeSeconds,
} from './simulator-under-test.ts';

const simulator = simulatorOfFile({ gsma: ['walleta', 'walletb'] });

const balance = (headers: Readonly<Record<string, string>>) =>
  simulator.send('/some/where/walleta/accounts/balance', { headers });

const freshToken = async (): Promise<string> =>
  String((await requestToken(simulator.send, 'walleta')).json['access_token']);

describe('POST /v1/oauth/accesstoken', () => {
  test('gives a bearer token to a client that authenticates by HTTP Basic', async () => {
    const answer = await requestToken(simulator.send, 'walleta');

    expect(answer).toMatchObject({
      status: 200,
      json: { access_token: expect.any(String), token_type: 'Bearer', expires_in: tokenLifetimeSeconds },
    });
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('accepts the client id and secret in the form too', async () => {
    const answer = await simulator.send('/some/where/walleta/v1/oauth/accesstoken', {
      body: 'grant_type=client_credentials&client_id=client-a&client_secret=secret-a',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });

    expect(answer.status).toBe(200);
  });

  test.each([
    ['a wrong secret', { headers: { authorization: basic('client-a', 'wrong') } }, 401, 'invalid_client'],
    [
      'a foreign client',
      { headers: { authorization: basic('client-b', 'secret-b') } },
      401,
      'invalid_client',
    ],
    ['no credentials', { headers: { authorization: '' } }, 401, 'invalid_client'],
    ['no grant type', { body: 'scope=all' }, 400, 'invalid_request'],
    ['another grant type', { body: 'grant_type=password' }, 400, 'unsupported_grant_type'],
    ['a JSON body', { headers: { 'content-type': 'application/json' } }, 400, 'invalid_request'],
  ])("answers %s with OAuth's error", async (_name, request, status, error) => {
    expect(await requestToken(simulator.send, 'walleta', request)).toMatchObject({ status, json: { error } });
  });
});

describe('a request', () => {
  test.each(['x-api-key', 'authorization'])('without %s is refused with 401', async (name) => {
    const { [name]: _left, ...headers } = clientHeaders('walleta', await freshToken());

    const answer = await balance(headers);

    expect(answer).toMatchObject({
      status: 401,
      json: {
        errorCategory: 'authorisation',
        errorCode: 'clientAuthorisationError',
        errorDescription: expect.any(String),
        errorDateTime: simulator.time.now().toISOString(),
        errorParameters: [{ key: expect.any(String), value: expect.any(String) }],
      },
    });
    expect(String((answer.json['errorParameters'] as { key: string }[])[0]?.key).toLowerCase()).toBe(name);
  });

  test('needs no X-Client-Id, but refuses a wrong one', async () => {
    const { 'x-client-id': _left, ...headers } = clientHeaders('walleta', await freshToken());

    const answers = [await balance(headers), await balance({ ...headers, 'x-client-id': 'client-b' })];

    expect(answers.map(({ status }) => status)).toEqual([200, 401]);
  });

  test('with the credentials of the other wallet is refused', async () => {
    const answer = await balance({ ...clientHeaders('walletb', await freshToken()) });

    expect(answer.status).toBe(401);
  });

  test('with a token is answered until the token expires', async () => {
    const headers = clientHeaders('walleta', await freshToken());
    simulator.time.pass(tokenLifetimeSeconds * 1_000 - 1);
    const before = await balance(headers);
    simulator.time.pass(1);
    const after = await balance(headers);

    expect([before.status, after.status]).toEqual([200, 401]);
    expect(after.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
  });

  test('is refused after all tokens were made to expire, until the client has a new one', async () => {
    const old = clientHeaders('walleta', await freshToken());

    await simulator.send('/simulator/tokens/expire', { method: 'POST' });

    expect((await balance(old)).status).toBe(401);
    expect((await balance(clientHeaders('walleta', await freshToken()))).status).toBe(200);
  });
});

test("a client that uses the path of the GSMA's sandbox, and sends no client id, pays by polling", async () => {
  const base = '/some/where/walleta/2/oauth/simulator/v1.2/mm';
  const { ['x-client-id']: _id, ...headers } = clientHeaders('walleta', await freshToken());
  const send = (path: string, method = 'GET', body?: object) =>
    simulator.send(`${base}${path}`, {
      method,
      ...(body === undefined ? {} : { body }),
      headers: { ...headers, 'x-correlationid': randomUUID() },
    });

  const asked = await send('/transactions/type/merchantpay', 'POST', {
    amount: '16',
    currency: 'USD',
    debitParty: [{ key: 'msisdn', value: '+251900000100' }],
    creditParty: [{ key: 'accountid', value: '2999' }],
  });
  simulator.time.pass(2_000);
  const state = await send(`/requeststates/${String(asked.json['serverCorrelationId'])}`);

  expect([asked.status, state.status, state.json['status']]).toEqual([202, 200, 'completed']);
});

test('the heartbeat needs the API key and no token', async () => {
  const { clientId, apiKey } = credentials.walletb;
  const path = '/some/where/walletb/heartbeat';

  const answer = await simulator.send(path, { headers: { 'x-client-id': clientId, 'x-api-key': apiKey } });

  expect(answer).toMatchObject({ status: 200, json: { serviceStatus: 'available' } });
  expect(answer.headers.get('x-date')).toBe(simulator.time.now().toISOString());
  expect((await simulator.send(path)).status).toBe(401);
});
