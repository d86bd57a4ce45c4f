import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { accountReference } from '../../../src/wallets/mpesa-daraja/account-reference.ts';
import { callbackUrl } from '../../../src/wallets/mpesa-daraja/callback-url.ts';
import { answerTo, readStatus } from '../../../src/wallets/mpesa-daraja/confirm-payment.ts';
import { compactTime, readCompactTime } from '../../../src/wallets/mpesa-daraja/eat-time.ts';
import type { ResultNote } from '../../../src/wallets/mpesa-daraja/notes.ts';
import { noteOf, readNotes, writeNote } from '../../../src/wallets/mpesa-daraja/notes.ts';
import {
  readPayerStarted,
  readRegistration,
  validationReply,
} from '../../../src/wallets/mpesa-daraja/payer-started.ts';
import { readCallback } from '../../../src/wallets/mpesa-daraja/read-callback.ts';
import { readPushAnswer, readPushState } from '../../../src/wallets/mpesa-daraja/read-push.ts';
import { withQuery, writeReference } from '../../../src/wallets/mpesa-daraja/references.ts';
import {
  readCertificate,
  securityCredential,
} from '../../../src/wallets/mpesa-daraja/security-credential.ts';
import type { JsonAnswer } from '../../../src/wallets/connector/json-reply.ts';
import { callbackWith } from '../../support/wallet-queries.ts';

const at = new Date('2026-01-01T21:30:05Z');

const answered = (status: number, json: unknown): JsonAnswer => ({
  kind: 'answered',
  status,
  headers: { 'content-type': 'application/json' },
  body: { ok: true, json },
  isEmpty: false,
});
const error = (status: number, errorCode: string, errorMessage: string) =>
  answered(status, { requestId: '1', errorCode, errorMessage });
const state = (ResultCode: unknown) =>
  answered(200, { ResponseCode: '0', CheckoutRequestID: 'ws_CO_1', ResultCode });

describe('the answer to a payment request', () => {
  const noProduct = 'Invalid API call as no apiproduct match found';
  const spike = {
    fault: {
      faultstring: 'Spike arrest violation',
      detail: { errorcode: 'policies.ratelimit.SpikeArrestViolation' },
    },
  };
  const readAs = (answer: JsonAnswer): string => {
    const result = readPushAnswer(answer, at);
    return [result.kind, 'reason' in result ? result.reason : 'why' in result ? result.why : ''].join(' ');
  };

  test.each([
    [400, '400.002.02', 'Bad Request - Invalid Amount', 'refused invalid_request'],
    [400, '400.002.02', 'Bad Request - Invalid PhoneNumber', 'refused payer_not_found'],
    [400, '400.002.02', 'Bad Request - Invalid CallBackURL', 'refused merchant_config'],
    [400, '400.002.05', 'Invalid Request Payload', 'refused invalid_request'],
    [429, '400.002.02', 'Bad Request - Invalid Amount', 'unknown rate_limited'],
    [200, '400.002.02', 'Bad Request - Invalid Amount', 'unknown unrecognised_code'],
    [400, '404.001.03', 'Invalid Access Token', 'not_sent no_token'],
    [500, '404.001.03', 'Invalid Access Token', 'unknown server_error'],
    [404, '404.001.03', 'Invalid Access Token', 'not_sent no_token'],
    [401, '400.003.01', 'Invalid Access Token', 'not_sent no_token'],
    [500, '500.001.1001', '[Merchant] - Merchant does not exist', 'refused merchant_config'],
    [500, '500.001.1001', 'Wrong credentials', 'refused merchant_config'],
    [500, '500.001.1001', 'Unable to lock subscriber, a transaction is…', 'refused payer_busy'],
    [500, '500.001.1001', 'System internal error', 'unknown server_error'],
    [403, '403', noProduct, 'refused merchant_config'],
    [401, '401.003.01', `Error Occurred - Invalid Access Token - ${noProduct}`, 'refused merchant_config'],
    [401, '401.003.01', 'Error Occurred - Invalid Access Token - Invalid access token', 'not_sent no_token'],
    [500, '500.003.02', 'Try again', 'unknown rate_limited'],
    [500, '500.003.03', 'Try again', 'unknown rate_limited'],
    [500, '500.999.99', 'System is busy. Please try again', 'unknown rate_limited'],
    [503, '00.002.1001', 'Maintenance', 'unknown server_error'],
    [400, '400.999.99', 'What?', 'unknown unrecognised_code'],
  ])('is decided by code and text: %i %s "%s" is %s', (status, code, text, expected) => {
    expect(readAs(error(status, code, text))).toBe(expected);
  });

  test('is unknown when the gateway limits requests, or with a response code other than 0', () => {
    const accepted = { MerchantRequestID: '1', CheckoutRequestID: '2', ResponseCode: '1' };
    expect(readAs(answered(500, spike))).toBe('unknown rate_limited');
    expect(readAs(answered(200, accepted))).toBe('unknown unrecognised_code');
    expect(readAs(answered(202, { ...accepted, ResponseCode: '0' }))).toBe('unknown unexpected_status');
  });
});

describe('the answer to the query of a payment request', () => {
  test.each([
    ['0', 'paid'],
    [0, 'paid'],
    ['4999', 'pending'],
    ['1', 'declined insufficient_funds'],
    ['4', 'declined limit_exceeded'],
    ['17', 'declined limit_exceeded'],
    ['1001', 'declined payer_busy'],
    ['1019', 'timed_out'],
    ['1025', 'declined provider_error'],
    ['1032', 'declined declined_by_payer'],
    ['1037', 'timed_out'],
    ['2001', 'declined wrong_pin'],
    ['2028', 'declined merchant_config'],
    ['8006', 'declined account_state'],
    ['SFC_IC0003', 'declined merchant_config'],
    ['TP40087', 'declined wrong_pin'],
    ['26', 'unknown'],
    ['31337', 'unknown'],
  ])('is decided by the result code %p', (code, expected) => {
    const result = readPushState(state(code), 'ws_CO_1');

    expect(`${result.kind} ${'reason' in result ? result.reason : ''}`.trim()).toBe(expected);
  });

  test.each([500, 200])('is pending for "being processed" with status %p', (status) => {
    expect(
      readPushState(error(status, '500.001.1001', 'The transaction is being processed'), 'ws_CO_1'),
    ).toEqual({ kind: 'pending' });
  });

  test.each([
    ['it is about another request', state('0'), 'ws_CO_2', 'inconsistent'],
    ['its status is not 200', { ...state('0'), status: 500 }, 'ws_CO_1', 'server_error'],
    ['the access token is refused', error(401, '404.001.03', 'no'), 'ws_CO_1', 'unauthenticated'],
    ['queries come too fast', error(500, '500.003.02', 'Try again'), 'ws_CO_1', 'rate_limited'],
  ])('is unknown when %s', (_what, answer, checkout, why) => {
    expect(readPushState(answer, checkout)).toMatchObject({ kind: 'unknown', why });
  });
});

describe('a message of M-Pesa becomes a note without phone numbers', () => {
  const pushMessage = (ResultCode: unknown, Item?: object[]) => ({
    Body: {
      stkCallback: {
        MerchantRequestID: '1',
        CheckoutRequestID: 'ws_CO_1',
        ResultCode,
        ...(Item && { CallbackMetadata: { Item } }),
      },
    },
  });
  const receipt = { Name: 'MpesaReceiptNumber', Value: 'NLJ7RT61SV' };
  const read = (body: string, path = '') =>
    readCallback(callbackWith(body, { headers: {}, url: `/callbacks/mpesa/id/…${path}` }), []);
  const accepted = { status: 200, body: '{"ResultCode":0,"ResultDesc":"Accepted"}' };

  test.each([
    [
      'a success, with its items in any order and one without a value',
      pushMessage(0, [{ Name: 'Balance' }, receipt, { Name: 'PhoneNumber', Value: 254_700_000_000 }]),
      'completed',
      { about: 'push', checkout: 'ws_CO_1', code: '0', receipt: 'NLJ7RT61SV' },
    ],
    ['a failure', pushMessage(1032), 'failed', { about: 'push', checkout: 'ws_CO_1', code: '1032' }],
    [
      'a success in Ethiopia',
      { Envelope: pushMessage('0', [receipt]) },
      'completed',
      { about: 'push', checkout: 'ws_CO_1', code: '0', receipt: 'NLJ7RT61SV' },
    ],
    [
      'the answer to a status query',
      {
        Result: {
          ResultCode: 0,
          OriginatorConversationID: '1-2-3',
          ConversationID: 'AG_1',
          ResultParameters: {
            ResultParameter: [
              { Key: 'DebitPartyName', Value: '254700000000 - John' },
              { Key: 'DebitPartyCharges', Value: 'Fee|KES|22.40' },
              { Key: 'TransactionStatus', Value: 'Completed' },
              { Key: 'Amount', Value: 100 },
              { Key: 'ReceiptNo', Value: 'NLJ7RT61SV' },
            ],
          },
        },
      },
      'completed',
      {
        about: 'result',
        ids: ['1-2-3', 'AG_1'],
        code: '0',
        receipt: 'NLJ7RT61SV',
        amount: '100',
        fee: '22.4',
        status: 'Completed',
      },
    ],
    [
      'the result of a reversal, with a single parameter',
      {
        Result: {
          ResultCode: 'R000001',
          ConversationID: 'AG_1',
          TransactionID: 'NLJ7RT61SW',
          ResultParameters: { ResultParameter: { Key: 'OriginalTransactionID', Value: 'NLJ7RT61SV' } },
        },
      },
      'failed',
      {
        ...{ about: 'result', ids: ['AG_1'], code: 'R000001' },
        ...{ transaction: 'NLJ7RT61SW', original: 'NLJ7RT61SV' },
      },
    ],
    [
      'a success whose receipt is no receipt',
      pushMessage(0, [{ ...receipt, Value: '../..' }]),
      'completed',
      { about: 'push', checkout: 'ws_CO_1', code: '0' },
    ],
    [
      'an answer with blanks, a long status and no receipt',
      {
        Result: {
          ResultCode: 0,
          ConversationID: 'AG_1',
          ResultParameters: {
            ResultParameter: [
              { Key: 'Amount', Value: ' 100 ' },
              { Key: 'ReceiptNo', Value: '../..' },
              { Key: 'TransactionStatus', Value: 'x'.repeat(40) },
            ],
          },
        },
      },
      'completed',
      { about: 'result', ids: ['AG_1'], code: '0', amount: '100', status: 'x'.repeat(32) },
    ],
    [
      'a conversation that is too long',
      { Result: { ResultCode: 0, ConversationID: 'x'.repeat(65) } },
      'unreadable',
      undefined,
    ],
    ['any other message', { hello: 'world' }, 'unreadable', undefined],
  ])('%s', (_what, message, announced, expected) => {
    const note = noteOf(message);
    const hint = read(JSON.stringify(message));

    expect(note).toEqual(expected);
    expect(hint).toMatchObject({ queryNow: true, announced, reply: accepted });
    expect(hint.note).toEqual(note && writeNote(note));
    expect(hint.exchange.problem).toBe(note ? undefined : 'the callback is not a message of M-Pesa');
    if (note === undefined) return;
    expect(writeNote(note).length).toBeLessThan(800);
    expect(readNotes(['not a note', writeNote(note)])).toEqual([note]);
  });

  test('but not one that its request waited too long, which announces no outcome', () => {
    const hint = read(JSON.stringify(pushMessage(0, [receipt])), '/timeout');

    expect(hint).toMatchObject({ queryNow: true, announced: 'other', reply: accepted });
    expect([hint.note, hint.exchange.problem]).toEqual([undefined, undefined]);
    for (const path of ['', '/timeout'])
      expect(read('{"broken', path).exchange.problem).toBe('the callback is broken JSON');
  });
});

describe('the answer to a status query', () => {
  const note: ResultNote = {
    ...{ about: 'result' as const, ids: ['AG_1'], code: '0', receipt: 'NLJ7RT61SV' },
    ...{ status: 'Completed', amount: '100' },
  };
  const asked = [{ ids: ['AG_1'], at: 0, of: 'NLJ7RT61SV' }];

  test.each([
    ['another receipt', { receipt: 'AAAAAAAAAA' }, 'unanswered'],
    ['no receipt', { receipt: undefined }, 'unanswered'],
    ['no amount', { amount: undefined }, 'unanswered'],
    ['a result code', { code: '2001' }, 'unanswered'],
    ['an unknown status', { status: 'Levitating' }, 'unanswered'],
    ['no status', { status: undefined }, 'unanswered'],
    ['Initiated', { status: 'Initiated' }, 'open'],
    ['Pending Authorized', { status: 'Pending Authorized' }, 'open'],
    ['Cancelled', { status: 'Cancelled' }, 'ended'],
    ['Expired', { status: 'Expired' }, 'ended'],
    ['Completed', {}, 'completed'],
  ])('with %s decides no more than it states', (_what, over, kind) => {
    expect(readStatus({ ...note, ...(over as Partial<ResultNote>) }, 'NLJ7RT61SV', 'KES').kind).toBe(kind);
  });

  test('adds the fee of the payer', () => {
    expect(readStatus({ ...note, fee: '22.4' }, undefined, 'KES')).toEqual({
      ...{ kind: 'completed', receipt: 'NLJ7RT61SV', amount: '100', currency: 'KES' },
      fees: [{ amount: '22.4', currency: 'KES' }],
    });
    expect(readStatus({ ...note, fee: '0' }, undefined, 'KES')).toMatchObject({ fees: [] });
  });

  test('counts only for our acknowledged conversation, and for the receipt that it was about', () => {
    expect(answerTo(asked, 'NLJ7RT61SV', [note])).toBe(note);
    const newer = { ...note, ids: ['AG_3', 'AG_1'] };
    expect(answerTo(asked, 'NLJ7RT61SV', [note, newer])).toBe(newer);
    expect(answerTo(asked, 'NLJ7RT61SV', [{ ...note, ids: ['AG_2'] }])).toBeUndefined();
    expect(answerTo(asked, 'AAAAAAAAAA', [note])).toBeUndefined();
    expect(answerTo(undefined, 'NLJ7RT61SV', [note])).toBeUndefined();
  });

  test('after two questions has a reference of at most 800 characters', () => {
    const id = 'x'.repeat(64);
    const question = { ids: [id, id], at: Date.now(), of: id };
    const reference = { checkout: id, at: Date.now(), paid: true as const, receipt: id };
    const asks = withQuery(withQuery(withQuery([], question), question), question);

    expect(asks).toHaveLength(2);
    expect(writeReference({ ...reference, asked: asks }).length).toBeLessThanOrEqual(800);
  });
});

test('times are in East Africa Time', () => {
  expect(compactTime(at)).toBe('20260102003005');
  expect(readCompactTime('20260102003005')).toEqual(at);
  expect(readCompactTime('20261302003005')).toBeUndefined();
});

test('the account reference is the random end of the id, in 12 letters and digits', () => {
  expect(accountReference('pat_01k9z3t5y8e6wbv2n4m7q1h0cd')).toBe('V2N4M7Q1H0CD');
  expect(accountReference('018f4a54-9b61-7cc1-9a5e-5b1f4b5d2a01')).toBe('5B1F4B5D2A01');
});

test('a callback URL has no word that M-Pesa refuses, and names the same path', () => {
  const url = callbackUrl(
    'https://pay.example/callbacks/mpesa-production/',
    'pat_01cmdexe',
    'mer_1.aSQLqueryExec-',
  );

  expect(url).not.toMatch(/mpesa|safaricom|exec?|cmd|sql|query/i);
  expect(decodeURIComponent(new URL(url).pathname)).toBe(
    '/callbacks/mpesa-production/pat_01cmdexe/mer_1.aSQLqueryExec-',
  );
});

test('a certificate must contain an RSA key', () => {
  expect(() => readCertificate('not a certificate')).toThrow(TypeError);
});

test('a password of the initiator must fit into the key of the certificate', () => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });

  expect(securityCredential(publicKey, 'p'.repeat(117))).toHaveLength(172);
  expect(() => securityCredential(publicKey, 'p'.repeat(118))).toThrow('must be at most 117 bytes');
});

describe('a payer-started payment', () => {
  const message = {
    TransactionType: 'Pay Bill',
    TransID: 'RKL51ZDR4F',
    TransTime: '20260102003005',
    TransAmount: '5.00',
    BusinessShortCode: '600966',
    BillRefNumber: ' ORDER-42 ',
    MSISDN: '254700000000',
    FirstName: 'NICHOLAS',
  };
  const read = (body: unknown) =>
    readPayerStarted(
      { method: 'POST', url: '/c2b', headers: {}, body: Buffer.from(JSON.stringify(body)), receivedAt: at },
      'KES',
      [],
    );

  test('is parsed with its receipt, amount, reference and time', () => {
    const result = read(message);

    expect(result).toMatchObject({
      kind: 'payment',
      payment: {
        providerTransactionId: 'RKL51ZDR4F',
        amount: '5',
        currency: 'KES',
        reference: 'ORDER-42',
        payee: '600966',
        occurredAt: at,
      },
    });
    expect(JSON.stringify(result)).not.toContain('254700000000');
  });

  test.each([
    ['a message without an amount', { ...message, TransAmount: undefined }],
    ['a negative amount', { ...message, TransAmount: '-5' }],
    ['an invalid receipt', { ...message, TransID: '../..' }],
    ['a list', []],
  ])('is refused from %s', (_what, body) => {
    expect(read(body)).toMatchObject({ kind: 'unreadable' });
  });

  test.each([
    ['accept', '0', 'Accepted'],
    ['refused_payer', 'C2B00011', 'Rejected'],
    ['unknown_reference', 'C2B00012', 'Rejected'],
    ['wrong_amount', 'C2B00013', 'Rejected'],
    ['unknown_payee', 'C2B00015', 'Rejected'],
    ['other', 'C2B00016', 'Rejected'],
  ] as const)('after the decision %s is answered with %s', (decision, ResultCode, ResultDesc) => {
    const { status, body } = validationReply(decision);
    expect({ status, ...JSON.parse(body) }).toEqual({ status: 200, ResultCode, ResultDesc });
  });
});

const refusedUrl = error(400, '400.002.02', 'Bad Request - Invalid CallBackURL');

test.each([
  ['0', answered(200, { ResponseCode: '0' }), { kind: 'registered' }],
  ['00000000', answered(200, { ResponseCode: '00000000' }), { kind: 'registered' }],
  ['200 in its header', answered(200, { header: { responseCode: 200 } }), { kind: 'registered' }],
  ['1', answered(200, { ResponseCode: '1' }), { kind: 'unknown' }],
  ['0 and another status', answered(202, { ResponseCode: '0' }), { kind: 'unknown' }],
  [
    'a second time',
    error(500, '500.003.1001', 'Urls are already registered'),
    { kind: 'already_registered' },
  ],
  ['a refusal', refusedUrl, { kind: 'refused', reason: 'merchant_config', providerCode: '400.002.02' }],
  ['another error', error(500, '500.003.1001', 'Internal Server Error'), { kind: 'unknown' }],
])('reads a registration of URLs that is answered with %s', (_code, answer, expected) => {
  expect(readRegistration(answer)).toMatchObject(expected);
});
