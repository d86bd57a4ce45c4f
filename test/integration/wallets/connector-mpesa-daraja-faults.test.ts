import { describe, expect, test } from '@jest/globals';
import { mpesaDaraja as simulator } from '../../../src/wallet-simulator/mpesa-daraja/mpesa-daraja.ts';
import { checkWallet } from '../../../src/wallets/check-wallet.ts';
import { SharedTokens } from '../../../src/wallets/connector/access-tokens.ts';
import { mpesaDaraja } from '../../../src/wallets/mpesa-daraja/mpesa-daraja.ts';
import { writeNote } from '../../../src/wallets/mpesa-daraja/notes.ts';
import { closersOfEachTest, shared } from '../../support/shared-stack.ts';
import { reversalQuery } from '../../support/wallet-queries.ts';
import { describeFaultTolerance, readStatement } from './connector-conformance.ts';
import { startFaultySubject } from './faulty-subject.ts';
import type { FaultySubject } from './faulty-subject.ts';
import { startMpesaSimulator } from './mpesa-simulator.ts';
import { buildMpesaPayment, mpesaOptions, mpesaSecrets, mpesaSettings } from './mpesa-subject.ts';
import { json } from './scripted-wallet.ts';
import type { Behaviour } from './scripted-wallet.ts';

const conversation = {
  OriginatorConversationID: '7619-37765134-1',
  ConversationID: 'AG_20260101_1',
  ResponseCode: '0',
  ResponseDescription: 'Accept the service request successfully.',
};
const push = {
  MerchantRequestID: '29115-1',
  CheckoutRequestID: 'ws_CO_1',
  ResponseCode: '0',
  ResponseDescription: 'Success. Request accepted for processing',
};

const token = { access_token: 'the-access-token', expires_in: '3599' };
const routes: FaultySubject['routes'] = {
  initiate: { route: /POST \/mpesa\/stkpush\/v1\/processrequest/, good: { status: 200, body: push } },
  query: {
    route: /POST \/mpesa\/stkpushquery\/v1\/query/,
    good: { status: 200, body: { ...push, ResultCode: '4999', ResultDesc: 'still under processing' } },
  },
  reverse: { route: /POST \/mpesa\/reversal\/v1\/request/, good: { status: 200, body: conversation } },
  queryReversal: {
    route: /POST \/mpesa\/transactionstatus\/v1\/query/,
    good: { status: 200, body: conversation },
  },
  statement: {
    route: /POST \/pulltransactions\/v1\/query/,
    good: { status: 200, body: { ResponseRefID: '1', ResponseCode: '1001', Response: [[]] } },
  },
  recover: { route: /POST \/nowhere/, good: { status: 200, body: {} } },
  health: { route: /GET \/oauth\/v1\/generate/, good: { status: 200, body: token } },
};

// The statement of the last 48 hours is read in January.
const now = () => new Date('2026-01-02T00:00:00Z');
const create = await mpesaDaraja.load();

const startSubject = (pull = true) =>
  startFaultySubject(
    {
      routes,
      secrets: mpesaSecrets,
      payment: buildMpesaPayment(),
      references: {
        payment: JSON.stringify({ checkout: 'ws_CO_1', at: 0 }),
        reversal: JSON.stringify({ sent: { ids: ['7619-37765134-9'], at: 0 } }),
        transaction: 'NLJ7RT61SV',
      },
    },
    (origin) => create({ ...mpesaSettings(origin), pull }, mpesaOptions(pull ? { now } : {})),
  );

describeFaultTolerance(
  'the M-Pesa connector for Kenya',
  ['initiate', 'query', 'reverse', 'queryReversal', 'statement', 'health'],
  () => startSubject(),
);

const closers = closersOfEachTest();
const start = async (pull = false): Promise<FaultySubject> => {
  const subject = await startSubject(pull);
  closers.push(subject.close);
  return subject;
};
const { signal } = new AbortController();

describe('two accounts that use one app of M-Pesa', () => {
  const started = shared(() => startMpesaSimulator(simulator));
  let payers = 0;
  const newPayer = () => `+2547083${(payers += 1).toString().padStart(5, '0')}`;

  /** Sends twenty payments with each of two connectors at once, and returns all acknowledgements and exchanges. */
  async function sendWithBoth(tokens: readonly [SharedTokens, SharedTokens]) {
    const connectors = tokens.map((sharedTokens) =>
      create(mpesaSettings(started.baseUrl), mpesaOptions({ sharedTokens })),
    );
    try {
      const answers = await Promise.all(
        connectors.flatMap((connector) =>
          Array.from({ length: 20 }, () =>
            connector.initiate(buildMpesaPayment({ payerPhone: newPayer() }), { signal }),
          ),
        ),
      );
      return {
        results: answers.map(({ result }) =>
          'why' in result ? `${result.kind} ${result.why}` : result.kind,
        ),
        exchanges: answers.flatMap(({ exchanges }) => exchanges),
      };
    } finally {
      await Promise.all(connectors.map((connector) => connector.close()));
    }
  }

  test('share one access token within a process, so that neither ends the token of the other', async () => {
    const tokens = new SharedTokens();

    const { results, exchanges } = await sendWithBoth([tokens, tokens]);

    expect(new Set(results)).toEqual(new Set(['accepted']));
    expect(exchanges.filter(({ status }) => status !== 200)).toEqual([]);
  });

  test('in two processes end the tokens of each other, which refuses no payment', async () => {
    const { results } = await sendWithBoth([new SharedTokens(), new SharedTokens()]);

    for (const result of results) expect(['accepted', 'not_sent no_token']).toContain(result);
  });
});

describe('the statement', () => {
  const row = (index: number) => ({
    transactionId: `NLJ${String(index).padStart(7, '0')}`,
    ...{ trxDate: '2026-01-01T10:13:00Z', msisdn: 254_708_374_149, sender: 'A PAYER WITH A LONG NAME' },
    ...{ transactiontype: 'c2b-pay-bill-debit', billreference: `INVOICE-${index}`, amount: '168.00' },
    organizationname: 'An organisation with a long name',
  });
  const page = (rows: readonly object[]) =>
    json(200, { ResponseRefID: '1', ResponseCode: rows.length === 0 ? '1001' : '1000', Response: [rows] });
  const period = { from: new Date('2026-01-01T00:00:00Z'), to: new Date('2026-01-02T00:00:00Z') };
  const startWith = async (...pages: readonly [Behaviour, ...Behaviour[]]) => {
    const subject = await start(true);
    subject.wallet.on(routes.statement.route, ...pages);
    return subject;
  };

  test('is read with a thousand transactions on a page', async () => {
    const rows = Array.from({ length: 1_000 }, (_, index) => row(index));
    const { connector } = await startWith(page(rows), page([]));

    const pages = await readStatement(connector, period);

    expect(pages.flatMap(({ entries }) => entries)).toHaveLength(1_000);
  });

  test('that repeats its transactions is not taken for the whole', async () => {
    const { connector } = await startWith(page([row(1), row(2)]));
    const entries: unknown[] = [];
    const read = async () => {
      for await (const part of connector.statement(period, { signal })) entries.push(...part.entries);
    };

    await expect(read()).rejects.toMatchObject({ reason: { why: 'inconsistent' } });
    expect(entries).toHaveLength(2);
  });

  test('without an end does not prevent the check of credentials, and a held token says nothing about the wallet', async () => {
    const pages = Array.from({ length: 9 }, (_, index) => page([row(index)]));
    const { wallet, connector } = await startWith(page([row(9)]), ...pages);

    const checks = [await checkWallet(connector, signal), await checkWallet(connector, signal)];

    expect(checks).toMatchObject([
      { health: 'available', credentials: 'accepted', detail: '' },
      { health: 'unreported', credentials: 'accepted', detail: '' },
    ]);
    expect(wallet.requestsTo(routes.statement.route)).toHaveLength(2);
  });

  test.each([
    ['has an unknown response code', json(200, { ResponseCode: '7', Response: [[row(1)]] })],
    ['is no statement', json(200, { ResponseCode: '1000', Response: row(1) })],
  ])(
    'that is searched for a payment and %s leaves no transaction in the exchanges',
    async (_name, answer) => {
      const { connector } = await startWith(answer);

      const { result, exchanges } = await connector.recover(buildMpesaPayment().attemptId, { signal });

      expect(result.kind).toBe('unknown');
      expect(exchanges.map(({ purpose }) => purpose)).toEqual(['token', 'recover']);
      expect(JSON.stringify(exchanges)).not.toContain('NLJ0000001');
    },
  );
});

// The code of a missing role is also that of the successful reversal in the samples of Safaricom's portal.
test.each([
  ['names the reversed payment, is asked about', { original: 'NLJ7RT61SV' }, 'pending', 1],
  ['names no payment, refuses the reversal', {}, 'refused', 0],
])('a result with the code 21 that %s', async (_name, over, kind, questions) => {
  const { connector, wallet } = await start();
  const note = { about: 'result' as const, ids: ['AG_1'], code: '21', transaction: 'NLJ7RT61SW', ...over };
  const query = reversalQuery({
    ...{ reversalId: '018f4a54-9b61-7cc1-9a5e-5b1f4b5d2a01', providerTransactionId: 'NLJ7RT61SV' },
    providerReference: JSON.stringify({ sent: { ids: ['AG_1'], at: 0 } }),
    callbackNotes: [writeNote(note)],
  });

  const { result } = await connector.queryReversal(query, { signal });

  expect(result.kind).toBe(kind);
  expect(wallet.requestsTo(routes.queryReversal.route)).toHaveLength(questions);
});

describe('a reversal, and an access token that is refused', () => {
  const invalidToken = { requestId: '1', errorCode: '404.001.03', errorMessage: 'Invalid Access Token' };
  const reversal = (payment: ReturnType<typeof buildMpesaPayment>) => ({
    reversalId: '018f4a54-9b61-7cc1-9a5e-5b1f4b5d2a01',
    ...{ attemptId: payment.attemptId, callbackToken: payment.callbackToken },
    ...{ providerTransactionId: 'NLJ7RT61SV', amount: '100', currency: 'KES' },
    ...{ description: 'given back', requestedAt: new Date() },
  });

  test('has the address of results, and another one for messages that it waited too long', async () => {
    const { connector, payment, wallet } = await start();

    await connector.reverse(reversal(payment), { signal });

    const { body = '{}' } = wallet.requestsTo(routes.reverse.route)[0] ?? {};
    const sent = JSON.parse(body) as Record<string, string>;
    expect(sent['ResultURL']).toMatch(/^https:\/\/gatehouse\.example\/callbacks\/wallet\/[^/]+\/[^/]+$/);
    expect(sent['QueueTimeOutURL']).toBe(`${sent['ResultURL']}/timeout`);
  });

  test.each([
    ['', json(200, token)],
    [', and the next one is not issued', json(503, {})],
  ])(
    'after a refused new access token, a payment and a reversal count as not sent%s',
    async (_name, secondToken) => {
      const { connector, payment, wallet } = await start();
      wallet.on(/POST .*/, json(404, invalidToken));
      const notSent = { kind: 'not_sent', why: 'no_token' };

      wallet.on(routes.health.route, json(200, token), secondToken);
      const { result: sent } = await connector.initiate(payment, { signal });
      wallet.on(routes.health.route, json(200, token), secondToken);
      const { result: reversed } = await connector.reverse(reversal(payment), { signal });

      expect(sent).toMatchObject(notSent);
      expect(reversed).toMatchObject(notSent);
    },
  );
});
