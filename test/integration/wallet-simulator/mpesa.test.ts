import { constants, publicEncrypt } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { mpesaDaraja } from '../../../src/wallet-simulator/mpesa-daraja/mpesa-daraja.ts';
import { startInline } from '../../support/inline-process.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { startMpesaSimulator } from '../wallets/mpesa-simulator.ts';
import { certificate, credentials, securityKey } from '../wallets/mpesa-subject.ts';
import { startCallbackReceiver } from './callback-receiver.ts';
import { shared } from '../../support/shared-stack.ts';
import { postJson } from '../../support/post-json.ts';

// Prompts last long enough for a person, whose part the test plays.
const started = shared(() => startMpesaSimulator(mpesaDaraja, { interactive: true, timeScale: 0.5 }));
const receiver = shared(() => startCallbackReceiver());
let token = '';
beforeAll(async () => {
  token = await newToken();
});

const basic = (secret: string): string =>
  `Basic ${Buffer.from(`${credentials.consumer_key}:${secret}`).toString('base64')}`;
const askToken = (secret: string, origin = started.baseUrl) =>
  fetch(`${origin}/oauth/v1/generate?grant_type=client_credentials`, {
    headers: { authorization: basic(secret) },
  });

async function newToken(): Promise<string> {
  const { access_token: issued } = (await (await askToken(credentials.consumer_secret)).json()) as {
    access_token: string;
  };
  return issued;
}

async function post(path: string, body: object, bearer = token): Promise<{ status: number; json: unknown }> {
  const response = await postJson(`${started.baseUrl}${path}`, body, { authorization: `Bearer ${bearer}` });
  return { status: response.status, json: await response.json() };
}

const timestamp = '20260101120000';
const passwordOf = (passkey: string): string =>
  Buffer.from(`${credentials.short_code}${passkey}${timestamp}`).toString('base64');
const pushBody = (over: object = {}) => ({
  BusinessShortCode: credentials.short_code,
  Password: passwordOf(credentials.passkey),
  Timestamp: timestamp,
  TransactionType: 'CustomerPayBillOnline',
  Amount: 10,
  PartyA: '254711000001',
  PartyB: credentials.short_code,
  PhoneNumber: '254711000001',
  CallBackURL: receiver.url,
  AccountReference: 'ORDER1',
  TransactionDesc: 'Payment',
  ...over,
});
const push = (over: object = {}) => post('/mpesa/stkpush/v1/processrequest', pushBody(over));

describe('a token of the simulated M-Pesa', () => {
  test('is refused with an empty 400 for wrong keys', async () => {
    const response = await askToken('wrong');

    expect([response.status, await response.text()]).toEqual([400, '']);
  });

  test('expires when the next one is issued', async () => {
    const previous = token;
    token = await newToken();

    expect(await post('/mpesa/stkpush/v1/processrequest', pushBody(), previous)).toMatchObject({
      status: 404,
      json: { errorCode: '404.001.03', errorMessage: 'Invalid Access Token' },
    });
  });
});

test.each([
  ['a wrong passkey', { Password: passwordOf('wrong') }, '500.001.1001', 'Wrong credentials'],
  ['another time than in the password', { Timestamp: '20260101120001' }, '500.001.1001', 'Wrong credentials'],
  ['an unknown short code', { BusinessShortCode: '999999' }, '500.001.1001', 'Merchant does not exist'],
  ['a fraction', { Amount: '10.5' }, '400.002.02', 'Invalid Amount'],
  ['too much', { Amount: 250_001 }, '400.002.02', 'Invalid Amount'],
  ['a foreign number', { PhoneNumber: '251911000000' }, '400.002.02', 'Invalid PhoneNumber'],
  [
    'a URL with a refused word',
    { CallBackURL: 'https://pay.example/mpesa' },
    '400.002.02',
    'Invalid CallBackURL',
  ],
  ['no description', { TransactionDesc: '' }, '400.002.02', 'Invalid TransactionDesc'],
  ['a large body', { TransactionDesc: 'x'.repeat(1 << 20) }, '400.002.05', 'Invalid Request Payload'],
])('a payment request is refused for %s', async (_what, over, errorCode, text) => {
  expect(await push(over)).toMatchObject({
    json: { errorCode, errorMessage: expect.stringContaining(text) },
  });
});

describe('a person decides a prompt', () => {
  test.each([
    ['approve', '254711000011', '0', 1],
    ['decline', '254711000012', '1032', 0],
    ['time_out', '254711000013', '1037', 0],
    ['lose_answer', '254711000014', '0', 1],
  ] as const)('%s', async (decision, payer, code, charges) => {
    const over = { PartyA: payer, PhoneNumber: payer, CallBackURL: `${receiver.url}/${decision}` };
    const { json } = await push(over);
    const busy = await push(over);
    const prompt = started.wallet.prompts(payer)[0];

    const done = started.wallet.decide(prompt?.id ?? '', decision);
    const { CheckoutRequestID } = json as { CheckoutRequestID: string };
    const queried = await post('/mpesa/stkpushquery/v1/query', { ...pushBody(), CheckoutRequestID });

    expect(done).toBe('done');
    expect(busy.json).toMatchObject({ errorMessage: expect.stringContaining('Unable to lock subscriber') });
    expect(queried.json).toMatchObject({ ResultCode: code });
    expect(started.wallet.charges(payer)).toHaveLength(charges);
    const told = () => receiver.received.filter(({ path }) => path.endsWith(decision));
    if (decision === 'lose_answer') expect(told()).toEqual([]);
    else await waitUntil('the callback arrived', () => told().length === 1);
  });
});

describe('a request of an initiator', () => {
  const credential = (password: string): string =>
    publicEncrypt({ key: certificate, padding: constants.RSA_PKCS1_PADDING }, Buffer.from(password)).toString(
      'base64',
    );
  const common = (name: string, password = credentials.initiator_password) => ({
    Initiator: credentials.initiator_name,
    InitiatorName: credentials.initiator_name,
    SecurityCredential: credential(password),
    PartyA: credentials.short_code,
    Remarks: 'remarks',
    ResultURL: `${receiver.url}/${name}`,
    QueueTimeOutURL: `${receiver.url}/${name}`,
  });
  const resultOf = (name: string) =>
    waitUntil('the result arrived', () => {
      const [message] = receiver.received.filter(({ path }) => path.endsWith(`/${name}`));
      return message === undefined ? undefined : (JSON.parse(message.raw) as { Result: object }).Result;
    });

  test('with a wrong password is acknowledged, and refused in its result', async () => {
    const body = { ...common('wrong', 'guess'), CommandID: 'TransactionStatusQuery', IdentifierType: '4' };

    const { json } = await post('/mpesa/transactionstatus/v1/query', {
      ...body,
      TransactionID: 'NLJ7RT61SV',
    });

    expect(json).toMatchObject({ ResponseCode: '0' });
    expect(await resultOf('wrong')).toMatchObject({ ResultCode: 2001 });
  });

  test('pays out once, and the balance shows that', async () => {
    const body = {
      ...common('payout'),
      OriginatorConversationID: 'our-payout-1',
      CommandID: 'BusinessPayment',
      Amount: 20,
      PartyB: '254711000021',
    };
    const first = await post('/mpesa/b2c/v3/paymentrequest', body);
    const second = await post('/mpesa/b2c/v3/paymentrequest', body);
    const result = await resultOf('payout');
    await post('/mpesa/accountbalance/v1/query', {
      ...common('balance'),
      CommandID: 'AccountBalance',
      IdentifierType: '4',
    });

    expect(first.json).toMatchObject({ OriginatorConversationID: 'our-payout-1', ResponseCode: '0' });
    expect(second).toMatchObject({ status: 500, json: { errorCode: '500.002.1001' } });
    expect(result).toMatchObject({ ResultCode: 0, OriginatorConversationID: 'our-payout-1' });
    expect(JSON.stringify(await resultOf('balance'))).toContain('Utility Account|KES|');
  });
});

test('the first wallet also answers at the root, for clients that drop the path of a base URL', async () => {
  const simulator = await startInline('wallet-simulator', {
    GATEHOUSE_SIMULATOR_PORT: '0',
    GATEHOUSE_SIMULATOR_CREDENTIALS: JSON.stringify({
      mpesa: { protocol: 'mpesa-daraja', ...credentials, security_key: securityKey },
      mpesaet: { protocol: 'mpesa-ethiopia', ...credentials, security_key: securityKey },
    }),
  });
  const origin = String(simulator.ready['origin']);
  const ethiopia = `${origin}/v1/token/generate?grant_type=client_credentials`;
  const headers = { authorization: basic(credentials.consumer_secret) };

  const answers = [
    await askToken(credentials.consumer_secret, origin),
    await askToken(credentials.consumer_secret, `${origin}/mpesa`),
    await fetch(ethiopia, { headers }),
    await fetch(`${origin}/mpesaet/certificate.cer`),
  ];

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(await answers[3]?.text()).toBe(certificate);
  await simulator.stop();
});
