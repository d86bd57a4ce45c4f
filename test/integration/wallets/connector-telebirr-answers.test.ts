import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  readPrivateKey,
  readPublicKey,
  signMessage,
  verifyMessage,
} from '../../../src/wallets/telebirr/signature.ts';
import { telebirrId } from '../../../src/wallets/telebirr/telebirr-id.ts';
import { WalletCalls } from '../../../src/wallets/wallet-calls.ts';
import { callbackWith, paymentQuery, reversalQuery } from '../../support/wallet-queries.ts';
import { attemptId } from './gsma-subject.ts';
import { json } from './scripted-wallet.ts';
import {
  createTelebirr,
  merchantKeys,
  order,
  payment,
  reversalId,
  routes,
  settings,
  startTelebirr,
  success,
  telebirrKeys,
  token,
} from './telebirr-subject.ts';
import { shared } from '../../support/shared-stack.ts';
import { sharedFolder } from '../../support/shared-folder.ts';

const options = { signal: new AbortController().signal };
let time = new Date('2026-01-01T08:00:00Z');

const subject = shared(() => startTelebirr({}, () => time));
beforeEach(() => {
  for (const { route, good } of Object.values(subject.routes)) {
    subject.wallet.on(route, json(good.status, good.body));
  }
});

const pay = (over = {}) => subject.connector.initiate(payment(over), options);
const query = () => subject.connector.query(paymentQuery({ attemptId }), options);
const refund = (over = {}) =>
  subject.connector.reverse({ ...payment(over), reversalId, providerTransactionId: 'CKA1B2C3D4' }, options);
const lastBody = (route: RegExp) =>
  JSON.parse(subject.wallet.requestsTo(route).at(-1)!.body) as Record<string, unknown>;

describe('an order', () => {
  test('is signed, has a name of 32 letters and digits, and has the documented fields', async () => {
    const returnUrl = 'https://shop.example/back';
    const { exchanges } = await pay({ description: 'Tea & "cakes" #42', returnUrl, amount: '5.00' });

    const { headers } = subject.wallet.requestsTo(routes.preOrder).at(-1)!;
    const body = lastBody(routes.preOrder);
    expect(headers).toMatchObject({
      'x-app-key': 'c4182ef8-9249-458a-985e-06d191f4d505',
      authorization: 'Bearer the-access-token',
    });
    expect(body).toMatchObject({
      method: 'payment.preorder',
      timestamp: '1767254400',
      version: '1.0',
      sign_type: 'SHA256WithRSA',
      biz_content: {
        appid: '1234567890123456',
        merch_code: '000123',
        merch_order_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        notify_url: `https://gatehouse.example/callbacks/telebirr-sandbox/${attemptId}/unguessable-token`,
        redirect_url: returnUrl,
        title: 'Tea cakes 42',
        total_amount: '5',
        trans_currency: 'ETB',
        trade_type: 'Checkout',
        timeout_express: '5m',
      },
    });
    expect(verifyMessage(body, readPublicKey(merchantKeys.publicKey))).toBe('pss');
    expect(JSON.stringify(exchanges)).not.toContain(returnUrl);
  });

  test('leads to a page with a signature of its five fields', async () => {
    const { result } = await pay();

    if (result.kind !== 'accepted' || result.nextAction?.kind !== 'redirect') throw new Error(result.kind);
    const url = new URL(result.nextAction.url);
    const fields = Object.fromEntries(url.searchParams);
    expect(url.pathname).toBe('/telebirr/payment/web/paygate');
    expect(fields).toMatchObject({
      prepay_id: 'the-prepay-id',
      trade_type: 'Checkout',
      version: '1.0',
      sign_type: 'SHA256WithRSA',
    });
    const { trade_type: _type, version: _version, ...signed } = fields;
    expect(verifyMessage(signed, readPublicKey(merchantKeys.publicKey))).toBe('pss');
  });

  test.each([
    ['a prompt instead of a page', { channel: 'ussd' as const }, 'merchant_config'],
    ['another currency', { currency: 'USD' }, 'merchant_config'],
    ['three decimals', { amount: '1.005' }, 'invalid_request'],
    ['no amount', { amount: '0' }, 'invalid_request'],
  ])('for %s is refused before it is sent', async (_what, over, reason) => {
    const before = subject.wallet.requestsTo(routes.preOrder).length;

    expect((await pay(over)).result).toMatchObject({ kind: 'refused', reason });
    expect(subject.wallet.requestsTo(routes.preOrder)).toHaveLength(before);
  });
});

describe('an answer', () => {
  const gateway = (errorCode: string, errorMsg = 'for +251911223344') => ({
    errorCode,
    errorMsg,
    errorSolution: '',
  });

  test.each([
    [500, gateway('60200099'), { kind: 'refused', reason: 'merchant_config' }],
    [400, gateway('49401024995'), { kind: 'refused', reason: 'invalid_request' }],
    [404, gateway('404', 'can not find api'), { kind: 'refused', reason: 'merchant_config' }],
    [404, gateway('404', 'no such order'), { kind: 'unknown', why: 'unrecognised_code' }],
    [500, gateway('500', 'can not find api'), { kind: 'unknown', why: 'server_error' }],
    [500, undefined, { kind: 'unknown', why: 'server_error' }],
    [429, undefined, { kind: 'unknown', why: 'rate_limited' }],
    [200, undefined, { kind: 'unknown', why: 'unreadable_answer' }],
    [200, [], { kind: 'unknown', why: 'unreadable_answer' }],
    [200, { code: '0', msg: 'success' }, { kind: 'unknown', why: 'unreadable_answer' }],
    [299, { result: 'FAIL', code: '60200087', msg: 'no' }, { kind: 'unknown', why: 'unrecognised_code' }],
    [500, gateway('49401024991'), { kind: 'unknown', why: 'server_error' }],
    [403, gateway('49401021002'), { kind: 'unknown', why: 'rate_limited' }],
    [200, { ...success({ prepay_id: 'x' }), code: '1' }, { kind: 'unknown', why: 'unrecognised_code' }],
    [299, success({ prepay_id: 'x' }), { kind: 'unknown', why: 'unexpected_status' }],
    [200, success({}), { kind: 'unknown', why: 'unreadable_answer' }],
    [200, success({ prepay_id: 'x', merch_order_id: 'other' }), { kind: 'unknown', why: 'inconsistent' }],
  ])('of %d %j has the outcome of the table', async (status, body, expected) => {
    subject.wallet.on(routes.preOrder, json(status, body));

    const { result } = await pay();

    expect(result).toMatchObject(expected);
    expect(JSON.stringify(result)).not.toContain('251911223344');
  });

  test.each([gateway('401'), undefined])(
    'of 401 with %j to a new token too means that the order was not created, and refuses the credentials',
    async (body) => {
      subject.wallet.on(routes.preOrder, json(401, body));
      const calls = new WalletCalls();

      expect(calls.keep(await pay())).toMatchObject({ kind: 'not_sent', why: 'no_token' });
      expect(calls.servedWith({}).areCredentialsRefused).toBe(true);
    },
  );
});

describe('a token', () => {
  test('lives for the difference of its two dates, whatever our clock and their time zone', async () => {
    const fresh = await startTelebirr({}, () => time);
    const count = () => fresh.wallet.requestsTo(routes.token).length;
    fresh.wallet.on(routes.token, json(200, token));
    const start = time;
    await fresh.connector.query(paymentQuery({ attemptId }), options);

    time = new Date(start.getTime() + 3_569_000);
    await fresh.connector.query(paymentQuery({ attemptId }), options);
    const before = count();
    time = new Date(start.getTime() + 3_571_000);
    await fresh.connector.query(paymentQuery({ attemptId }), options);

    expect([before, count()]).toEqual([1, 2]);
    time = start;
    await fresh.close();
  });
});

describe('a query', () => {
  const paid = { kind: 'completed', providerTransactionId: 'CKA1B2C3D4', amount: '100.5', currency: 'ETB' };

  test.each([
    [{ order_status: 'PAY_SUCCESS' }, paid],
    [{ order_status: undefined, trade_status: 'Completed' }, paid],
    [{ order_status: 'REFUND_SUCCESS' }, paid],
    [{ order_status: 'REFUNDING' }, paid],
    [{ order_status: 'REFUND_FAILED' }, paid],
    [
      { order_status: undefined, orderStatus: 'PAY_SUCCESS', trans_id: undefined, transId: 'CKA1B2C3D4' },
      paid,
    ],
    [{ order_status: 'WAIT_PAY' }, { kind: 'pending' }],
    [{ order_status: 'PAYING' }, { kind: 'pending' }],
    [{ order_status: 'ACCEPTED' }, { kind: 'pending' }],
    [{ order_status: 'PENDING' }, { kind: 'pending' }],
    [{ order_status: 'PAY_FAILED' }, { kind: 'declined', reason: 'provider_error' }],
    [{ order_status: 'ORDER_CLOSED' }, { kind: 'timed_out' }],
    [{ order_status: 'PAY_CANCEL' }, { kind: 'unknown', why: 'unrecognised_status' }],
    [{ order_status: undefined }, { kind: 'unknown', why: 'unreadable_answer' }],
    [{ total_amount: undefined }, { kind: 'unknown', why: 'unreadable_answer' }],
    [{ trans_currency: undefined }, { kind: 'unknown', why: 'unreadable_answer' }],
    [
      { trans_id: undefined, payment_order_id: undefined },
      { kind: 'unknown', why: 'unreadable_answer' },
    ],
    [{ merch_order_id: 'other' }, { kind: 'unknown', why: 'inconsistent' }],
  ])('of an order with %j has the outcome of the table', async (over, expected) => {
    subject.wallet.on(routes.queryOrder, json(200, order(over)));

    expect((await query()).result).toMatchObject(expected);
  });

  test('whose signature is refused is unauthenticated, so that a check of the credentials finds it', async () => {
    subject.wallet.on(
      routes.queryOrder,
      json(500, { errorCode: '60200099', errorMsg: 'Verify the sign field failed' }),
    );

    expect((await query()).result).toMatchObject({ kind: 'unknown', why: 'unauthenticated' });
  });

  test.each([
    ['60330006', 'No data.'],
    ['60330007', 'The order was not found.'],
  ])(
    'of an order that telebirr does not know (%s %s) is unknown, recovery finds nothing, and no refund is sent',
    async (code, msg) => {
      subject.wallet.on(routes.queryOrder, json(299, { result: 'FAIL', code, msg }));
      const before = subject.wallet.requestsTo(routes.refund).length;

      expect((await query()).result).toMatchObject({ kind: 'unknown', why: 'not_found' });
      expect((await subject.connector.recover(attemptId, options)).result).toEqual({ kind: 'not_found' });
      expect((await refund()).result).toMatchObject({ kind: 'refused', reason: 'invalid_request' });
      expect((await queryRefund('100.5', 'refund/R1')).result).toMatchObject({
        kind: 'unknown',
        why: 'not_found',
      });
      expect(subject.wallet.requestsTo(routes.refund)).toHaveLength(before);
    },
  );

  test('of an order whose answer was lost gives its reference, if telebirr answers', async () => {
    const known = await subject.connector.recover(attemptId, options);
    subject.wallet.on(routes.queryOrder, json(500, undefined));
    const lost = await subject.connector.recover(attemptId, options);

    expect([known.result, lost.result]).toMatchObject([
      { kind: 'found', providerReference: telebirrId(attemptId) },
      { kind: 'unknown', why: 'server_error' },
    ]);
  });
});

describe("telebirr's signature", () => {
  const { sign: _sign, ...unsigned } = order();
  const tampered = { ...order({ total_amount: '1.00' }), sign: order().sign };

  test.each([
    ['is missing', unsigned],
    ['is of other values', tampered],
  ])('that %s leaves a success undecided, unless signatures are not verified', async (problem, body) => {
    const trusting = await startTelebirr({ verify_answers: false }, () => time);
    subject.wallet.on(routes.queryOrder, json(200, body));
    trusting.wallet.on(routes.queryOrder, json(200, body));

    const { result, exchanges } = await query();
    const trusted = await trusting.connector.query(paymentQuery({ attemptId }), options);
    await trusting.close();

    expect(result).toMatchObject({ kind: 'unknown', why: 'unreadable_answer' });
    expect(JSON.stringify(result)).toContain(problem === 'is missing' ? 'is missing' : 'is not valid');
    expect(exchanges.at(-1)).toMatchObject({ status: 200 });
    expect(trusted.result.kind).toBe('completed');
  });
});

describe('a refund', () => {
  test('names the order and has a number of its own', async () => {
    const { result } = await refund();

    expect(result).toEqual({ kind: 'accepted', providerReference: 'refund/R1', queryNow: true });
    expect(lastBody(routes.refund)).toMatchObject({
      method: 'payment.refund',
      biz_content: {
        merch_order_id: telebirrId(attemptId),
        refund_request_no: telebirrId(reversalId),
        actual_amount: '100.5',
        trans_currency: 'ETB',
      },
    });
  });

  test.each([
    ['a limit on requests', 403, '49401021002', 'no_connection', 90_000, false],
    ['a refused signature', 401, '60200099', 'unauthenticated', 0, true],
    ['a refused signature in the documented form', 500, '60200099', 'unauthenticated', 0, true],
  ])('is not sent after %s', async (_, status, code, why, retryAfterMs, areCredentialsRefused) => {
    const error = { errorCode: code, errorMsg: 'no', errorSolution: '' };
    subject.wallet.on(routes.queryOrder, json(status, error, { 'retry-after': '90' }));
    const calls = new WalletCalls();

    const result = calls.keep(await refund());

    expect(result).toMatchObject({ kind: 'not_sent', why });
    expect(calls.servedWith({})).toMatchObject({ areCredentialsRefused, retryAfterMs });
  });

  test('whose answer was lost is requested again under the same number, because telebirr has no query for it', async () => {
    const { result, exchanges } = await subject.connector.recover('stp_01k9z3t5y8e6wbv2n4m7q1h0cd', options);

    expect([result, exchanges]).toEqual([{ kind: 'not_found' }, []]);
  });

  test.each([
    ['REFUND_SUCCESS', 'accepted'],
    ['REFUND_DUPLICATED', 'accepted'],
    ['REFUND_FAILED', 'refused provider_error'],
    ['REFUND_PONDERED', 'unknown'],
  ])('with the status %s is %s', async (status, expected) => {
    subject.wallet.on(routes.refund, json(200, success({ refund_status: status })));

    const { result } = await refund();

    expect(`${result.kind} ${result.kind === 'refused' ? result.reason : ''}`.trim()).toBe(expected);
  });

  test.each([
    ['is being refunded', { order_status: 'REFUNDING' }, 'accepted'],
    ['was refunded', { order_status: 'REFUND_SUCCESS' }, 'accepted'],
    ['was not paid', { order_status: 'WAIT_PAY' }, 'refused'],
    ['was paid with less', { total_amount: '100.49' }, 'refused'],
    ['has an unknown status', { merch_order_id: 'other' }, 'not_sent'],
    ['is shown without its amount', { total_amount: undefined }, 'not_sent'],
    [
      'was refunded, and is shown without its amount',
      { order_status: 'REFUND_SUCCESS', total_amount: undefined, trans_currency: undefined },
      'not_sent',
    ],
  ])('of an order that %s is not sent', async (_what, over, kind) => {
    subject.wallet.on(routes.queryOrder, json(200, order(over)));
    const before = subject.wallet.requestsTo(routes.refund).length;

    expect((await refund()).result.kind).toBe(kind);
    expect(subject.wallet.requestsTo(routes.refund)).toHaveLength(before);
  });

  test.each([
    ['REFUND_SUCCESS', 'completed'],
    ['REFUNDING', 'pending'],
    ['PAY_SUCCESS', 'pending'],
    ['ORDER_CLOSED', 'unknown'],
  ])('of an order with the status %s is %s, and is not sent again', async (status, kind) => {
    subject.wallet.on(routes.queryOrder, json(200, order({ order_status: status })));
    const before = subject.wallet.requestsTo(routes.refund).length;

    expect((await queryRefund('100.5', 'refund/R1')).result.kind).toBe(kind);
    expect(subject.wallet.requestsTo(routes.refund)).toHaveLength(before);
  });

  test.each([
    // The answer to the repeated request, and the outcome.
    [{ refund_status: 'REFUND_FAILED' }, { kind: 'refused' }],
    [{ refund_status: 'REFUNDING' }, { kind: 'pending' }],
    [{ refund_status: 'REFUND_SUCCESS' }, { kind: 'completed', money: { amount: '100.5' } }],
    [{ refund_status: 'REFUND_DUPLICATED', refund_time: '1' }, { kind: 'completed' }],
    [{ refund_status: 'REFUND_DUPLICATED' }, { kind: 'unknown', why: 'inconsistent' }],
    [
      { refund_status: 'REFUND_SUCCESS', merch_order_id: 'other' },
      { kind: 'unknown', why: 'inconsistent' },
    ],
  ])(
    'of an order whose last refund failed is asked for by its own number, and %j has the outcome %j',
    async (repeated, outcome) => {
      subject.wallet.on(routes.queryOrder, json(200, order({ order_status: 'REFUND_FAILED' })));
      subject.wallet.on(routes.refund, json(200, success(repeated)));
      const before = subject.wallet.requestsTo(routes.refund).length;

      expect((await queryRefund('100.5', 'refund/R2')).result).toMatchObject(outcome);
      expect(subject.wallet.requestsTo(routes.refund)).toHaveLength(before + 1);
      expect(lastBody(routes.refund)).toMatchObject({
        biz_content: { refund_request_no: telebirrId(reversalId), actual_amount: '100.5' },
      });
    },
  );

  test('is not refused because telebirr refuses the repeated request, which is only a question', async () => {
    subject.wallet.on(routes.queryOrder, json(200, order({ order_status: 'REFUND_FAILED' })));
    subject.wallet.on(routes.refund, json(400, { errorCode: '49401024995', errorMsg: 'no' }));

    expect((await queryRefund('100.5', 'refund/R2')).result).toMatchObject({
      kind: 'unknown',
      why: 'unrecognised_code',
    });
  });

  test.each([
    ['the whole', '100.5'],
    ['a part', '40'],
  ])(
    'of %s that telebirr reported as done is completed, is not sent again, and the order may show an earlier failure',
    async (_what, amount) => {
      subject.wallet.on(routes.queryOrder, json(200, order({ order_status: 'REFUND_FAILED' })));
      const before = subject.wallet.requestsTo(routes.refund).length;

      expect((await queryRefund(amount, 'refund/R2/done')).result).toMatchObject({
        kind: 'completed',
        money: { amount, currency: 'ETB' },
      });
      expect(subject.wallet.requestsTo(routes.refund)).toHaveLength(before);
    },
  );

  test.each(['30', '100.5'])(
    'of %s stays open while the order is shown without its amount, because that was paid back once only',
    async (amount) => {
      subject.wallet.on(
        routes.queryOrder,
        json(200, order({ order_status: 'REFUND_SUCCESS', total_amount: undefined })),
      );

      expect((await queryRefund(amount, 'refund/R2')).result).toMatchObject({
        kind: 'unknown',
        why: 'unreadable_answer',
      });
    },
  );
});

const queryRefund = (amount: string, providerReference: string) =>
  subject.connector.queryReversal(
    reversalQuery({ attemptId, reversalId, providerTransactionId: 'x', amount, providerReference }),
    options,
  );

/** The order shows one state for all its refunds, so a part is queried by its own number. */
describe('a refund of a part', () => {
  test.each(['PAY_SUCCESS', 'REFUND_SUCCESS', 'REFUNDING'])(
    'is sent for an order that is %s',
    async (status) => {
      subject.wallet.on(routes.queryOrder, json(200, order({ order_status: status })));

      const { result } = await refund({ amount: '40.00' });

      expect(result).toMatchObject({ kind: 'accepted', providerReference: 'refund/R1' });
      expect(lastBody(routes.refund)).toMatchObject({ biz_content: { actual_amount: '40' } });
    },
  );

  test.each([
    ['REFUND_SUCCESS', {}, 'refund/R1/done'],
    ['REFUND_DUPLICATED', { refund_time: '1767258000000' }, 'refund/R1/done'],
    ['REFUND_DUPLICATED', {}, 'refund/R1'],
  ])('that is acknowledged with %s %j is recorded as %s', async (status, over, providerReference) => {
    const content = { refund_status: status, refund_order_id: 'R1', ...over };
    subject.wallet.on(routes.refund, json(200, success(content)));

    expect((await refund({ amount: '40' })).result).toMatchObject({ kind: 'accepted', providerReference });
  });

  test.each([
    // The state of the order, the answer to the repeated request, the outcome.
    ['PAY_SUCCESS', undefined, { kind: 'pending' }],
    ['REFUND_SUCCESS', { refund_status: 'REFUND_SUCCESS' }, { kind: 'completed', money: { amount: '40' } }],
    ['REFUNDING', { refund_status: 'REFUND_DUPLICATED', refund_time: '1' }, { kind: 'completed' }],
    ['REFUND_FAILED', { refund_status: 'REFUND_FAILED' }, { kind: 'refused' }],
    ['REFUND_SUCCESS', { refund_status: 'REFUNDING' }, { kind: 'pending' }],
    ['REFUNDING', { refund_status: 'REFUND_DUPLICATED' }, { kind: 'pending' }],
    ['REFUND_SUCCESS', { refund_status: 'REFUND_DUPLICATED' }, { kind: 'unknown', why: 'inconsistent' }],
    ['REFUND_FAILED', { refund_status: 'REFUND_DUPLICATED' }, { kind: 'unknown', why: 'inconsistent' }],
    ['REFUND_SUCCESS', { refund_status: 'REFUND_PONDERED' }, { kind: 'unknown', why: 'unrecognised_status' }],
  ])('of an order that is %s, repeated with %j, has the outcome %j', async (status, repeated, outcome) => {
    const before = subject.wallet.requestsTo(routes.refund).length;
    subject.wallet.on(routes.queryOrder, json(200, order({ order_status: status })));
    subject.wallet.on(routes.refund, json(200, success(repeated ?? {})));

    expect((await queryRefund('40', 'refund/R1')).result).toMatchObject(outcome);
    expect(subject.wallet.requestsTo(routes.refund)).toHaveLength(before + (repeated === undefined ? 0 : 1));
  });
});

describe('a notification', () => {
  const fields = { merch_order_id: telebirrId(attemptId), trade_status: 'Completed', total_amount: '100.50' };
  const parse = (body: string) => subject.connector.parseCallback(callbackWith(body, { headers: {} }));

  test.each([
    ['pss', 'Completed', 'completed'],
    ['pkcs1', 'PAY_SUCCESS', 'completed'],
    ['pss', 'Failure', 'failed'],
    ['pss', 'PAY_FAILED', 'failed'],
    ['pss', 'Paying', 'other'],
  ] as const)(
    'signed with %s and of the status %s announces %s, and is still only a reason to query',
    (padding, status, announced) => {
      const told = { ...fields, trade_status: status };
      const sign = signMessage(told, readPrivateKey(telebirrKeys.privateKey), padding);

      expect(parse(JSON.stringify({ ...told, sign, sign_type: 'SHA256WithRSA' }))).toMatchObject({
        queryNow: true,
        announced,
        reply: { status: 200, body: '{"code":0,"msg":"success"}' },
      });
    },
  );

  const formOf = (text: string): string => encodeURIComponent(text);
  test.each<[string, (signed: Record<string, string>) => string]>([
    ['a form', (signed) => new URLSearchParams(signed).toString()],
    ['a form whose only name is the JSON', (signed) => formOf(JSON.stringify(signed))],
    [
      'such a form in which the padding of the signature is not escaped',
      (signed) => formOf(JSON.stringify(signed)).replaceAll('%3D', '='),
    ],
  ])('is read from %s', (_what, bodyOf) => {
    const sign = signMessage(fields, readPrivateKey(telebirrKeys.privateKey), 'pss');

    expect(parse(bodyOf({ ...fields, sign, sign_type: 'SHA256WithRSA' }))).toMatchObject({
      announced: 'completed',
    });
  });

  test('that is neither JSON nor a form announces nothing, and is still a reason to query', () => {
    const hint = parse('{"merch_order_id":');

    expect(hint).toMatchObject({ queryNow: true, announced: 'unreadable', reply: { status: 200 } });
    expect(hint.exchange.problem).toMatch(/neither JSON nor a form/);
  });

  test.each([
    ['without a signature', {}],
    [
      'signed with another key',
      { sign: signMessage(fields, readPrivateKey(merchantKeys.privateKey), 'pss') },
    ],
  ])('%s announces nothing', (_what, over) => {
    const hint = parse(JSON.stringify({ ...fields, ...over }));

    expect(hint).toMatchObject({ queryNow: true, announced: 'other' });
    expect(hint.exchange.problem).toMatch(/signature/);
  });
});

describe('the settings', () => {
  test.each([
    ['private_key', { private_key: 'not a key' }],
    ['telebirr_public_key', { telebirr_public_key: 'not a key' }],
  ])('name %s when it is not a key, without its value', (name, over) => {
    const create = () => createTelebirr(settings('http://127.0.0.1:1', over), 'https://gatehouse.example');

    expect(create).toThrow(`${name} must be an RSA key`);
    expect(create).not.toThrow(/not a key/);
  });

  const pem = (key: KeyObject): string =>
    key.export({ type: key.type === 'private' ? 'pkcs8' : 'spki', format: 'pem' }).toString();
  /** Its primes would take seconds to find, and nobody looks for them. */
  const longKey = (): KeyObject =>
    createPublicKey({
      key: { kty: 'RSA', n: Buffer.alloc(513, 0xff).toString('base64url'), e: 'AQAB' },
      format: 'jwk',
    });

  /** A key whose parts are valid numbers of other lengths than usual. */
  const oddKey = (part: 'e' | 'p' | 'dp'): KeyObject => {
    const usual = createPrivateKey(merchantKeys.privateKey).export({ format: 'jwk' });
    return createPrivateKey({ key: { ...usual, [part]: usual.n }, format: 'jwk' });
  };

  test.each([
    ['of another kind', 'private_key', () => generateKeyPairSync('ed25519').privateKey],
    ['too short to sign', 'private_key', () => generateKeyPairSync('rsa', { modulusLength: 512 }).privateKey],
    ['too long to be fast', 'telebirr_public_key', longKey],
    ['slow by its exponent', 'private_key', () => oddKey('e')],
    ['slow by a prime', 'private_key', () => oddKey('p')],
    ['slow by the exponent of a prime', 'private_key', () => oddKey('dp')],
  ])('refuse a key that is %s', (_what, name, keyOf) => {
    const over = { [name]: pem(keyOf()) };
    const create = () => createTelebirr(settings('http://127.0.0.1:1', over), 'https://gatehouse.example');

    expect(create).toThrow(`${name} must be an RSA key of 1024 to 4096 bits`);
  });

  const file = join(sharedFolder(), 'ca.pem');
  test('read a file of certificates, and refuse one that is missing or contains none', async () => {
    const create = () =>
      createTelebirr(settings('http://127.0.0.1:1', { ca_file: file }), 'https://gatehouse.example');

    expect(create).toThrow(`ca_file ${file} cannot be read (ENOENT)`);
    await writeFile(file, 'no certificate');
    expect(create).toThrow(`ca_file ${file} must contain whole PEM certificates`);
    await writeFile(file, rootCertificates[0] ?? '');
    await create().close();
  });
});
