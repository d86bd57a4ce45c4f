import { create } from '@bufbuild/protobuf';
import { afterEach, describe, expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import {
  LeasedReversalSchema,
  StrayPaymentSchema,
} from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { mpesaDaraja as simulator } from '../../../src/wallet-simulator/mpesa-daraja/mpesa-daraja.ts';
import { createCallbackTokens } from '../../../src/wallets/callback-token.ts';
import { accountReference } from '../../../src/wallets/mpesa-daraja/account-reference.ts';
import { mpesaDaraja } from '../../../src/wallets/mpesa-daraja/mpesa-daraja.ts';
import { taskOfStrayPayment } from '../../../src/wallets/reversal-task.ts';
import { serveReversal } from '../../../src/wallets/serve-reversal.ts';
import type { PaymentOutcome, ReversalOutcome } from '../../../src/wallets/connector/outcomes.ts';
import type { PaymentRequest, WalletConnector } from '../../../src/wallets/connector/wallet-connector.ts';
import { callbackWith } from '../../support/wallet-queries.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { startCallbackListener } from './callback-listener.ts';
import { payInMenu, startMpesaSimulator } from './mpesa-simulator.ts';
import { buildMpesaPayment, mpesaOptions, mpesaSettings } from './mpesa-subject.ts';
import { shared } from '../../support/shared-stack.ts';

const options = { signal: new AbortController().signal };

let connector: WalletConnector;
/** The advance of the connector's clock, so that a query without an answer is repeated at once. */
let aheadMs = 0;

const createConnector = await mpesaDaraja.load();
const connect = (pull: boolean): WalletConnector =>
  createConnector(
    { ...mpesaSettings(started.baseUrl), pull },
    mpesaOptions({
      callbackBaseUrl: () => callbacks.baseUrl,
      now: () => new Date(Date.now() + aheadMs),
      timeouts: { connectMs: 1_000, callMs: 2_000 },
    }),
  );

const started = shared(() => startMpesaSimulator(simulator));
const callbacks = shared(() => startCallbackListener((callback) => connector.parseCallback(callback)));

afterEach(async () => {
  await connector.close();
  aheadMs = 0;
});

const paymentOf = (digits: string): PaymentRequest =>
  buildMpesaPayment({ payerPhone: `+2547000000${digits}` });
const chargesOf = ({ attemptId }: PaymentRequest) =>
  started.wallet.charges().filter((charge) => charge.merchant_reference === accountReference(attemptId));

async function send(payment: PaymentRequest): Promise<string | undefined> {
  const { result } = await connector.initiate(payment, options);
  return result.kind === 'accepted' ? result.providerReference : undefined;
}

/** Queries once, and replaces the reference as core does. */
function asker(payment: PaymentRequest, reference: string | undefined, notes = callbacks.notesOf) {
  let newest = reference;
  return async (): Promise<PaymentOutcome> => {
    const { attemptId, amount, currency, callbackToken } = payment;
    const { result } = await connector.query(
      {
        ...{ attemptId, amount, currency, callbackToken, callbackNotes: notes(attemptId) },
        ...(newest === undefined ? {} : { providerReference: newest }),
      },
      options,
    );
    if (result.kind === 'pending') newest = result.providerReference ?? newest;
    return result;
  };
}

const untilNot = (kind: PaymentOutcome['kind'], ask: () => Promise<PaymentOutcome>) =>
  waitUntil(`the payment is no longer ${kind}`, async () => {
    const result = await ask();
    return result.kind === kind ? undefined : result;
  });

const untilCompleted = (ask: () => Promise<PaymentOutcome>) =>
  waitUntil('the payment is completed', async () => {
    const result = await ask();
    return result.kind === 'completed' ? result : undefined;
  });

/** Queries until the receipt was asked for. Returns the reference then. */
const untilAsked = (ask: () => Promise<PaymentOutcome>): Promise<string> =>
  waitUntil('the question was asked', async () => {
    const outcome = await ask();
    const reference = outcome.kind === 'pending' ? outcome.providerReference : undefined;
    return reference?.includes('asked') === true ? reference : undefined;
  });

async function pay(payment: PaymentRequest): Promise<Extract<PaymentOutcome, { kind: 'completed' }>> {
  const outcome = await untilNot('pending', asker(payment, await send(payment)));
  if (outcome.kind !== 'completed') throw new Error(`not completed but ${JSON.stringify(outcome)}`);
  return outcome;
}

test.each([true, false])('the statement and recovery depend on the setting pull (%p)', (pull) => {
  connector = connect(pull);

  expect(connector.capabilities).toMatchObject({ statement: pull, recovery: pull });
  expect(mpesaDaraja.capabilities).toMatchObject({ statement: true, recovery: true });
});

describe('a payment whose receipt no callback delivered', () => {
  test.each([
    ['10', 'the callback was lost'],
    ['21', 'the callback claimed a failure'],
  ])('stays unknown after our query reported it as paid, and is not failed (%s: %s)', async (digits) => {
    connector = connect(false);
    const payment = paymentOf(digits);

    const outcome = await untilNot('pending', asker(payment, await send(payment)));

    expect(outcome).toMatchObject({ kind: 'unknown', detail: expect.stringContaining('receipt') });
    expect(chargesOf(payment)).toHaveLength(1);
  });

  test.each(['10', '21'])(
    'is completed with the receipt from the statement, if that is available (%s)',
    async (digits) => {
      connector = connect(true);
      const payment = paymentOf(digits);

      const outcome = await pay(payment);

      expect(outcome.providerTransactionId).toBe(chargesOf(payment)[0]?.transaction_reference);
    },
  );
});

test('a payment request whose answer was lost is found in the statement, if that is available', async () => {
  connector = connect(true);
  const payment = paymentOf('14');
  expect(await send(payment)).toBeUndefined();

  const reference = await waitUntil('the statement shows the payment', async () => {
    const { result } = await connector.recover(payment.attemptId, options);
    return result.kind === 'found' ? result.providerReference : undefined;
  });
  const outcome = await untilNot('pending', asker(payment, reference));

  expect(outcome.kind).toBe('completed');
  expect(chargesOf(payment)).toHaveLength(1);
});

test('a payment that is found in the statement keeps no exchange with the payment of another payer', async () => {
  connector = connect(true);
  const [own, other] = [paymentOf('10'), paymentOf('10')];
  const otherReceipt = (await pay(other)).providerTransactionId;

  const { providerTransactionId } = await pay(own);
  const found = await connector.recover(own.attemptId, options);
  const missing = await connector.recover(newRandomId('pat', new Date()), options);

  expect(found.result.kind).toBe('found');
  expect(missing.result.kind).toBe('unknown');
  const text = JSON.stringify([found.exchanges, missing.exchanges]);
  expect(text).toContain(providerTransactionId);
  expect(text).not.toContain(otherReceipt);
  expect(text).not.toContain(accountReference(other.attemptId));
  const bodies = [...found.exchanges, ...missing.exchanges].map(({ responseBody }) => responseBody);
  expect(bodies.filter((body) => body.includes(providerTransactionId))).toHaveLength(1);
  expect(bodies.at(-1)).toMatch(/^[0-9]+ transactions, none is this payment$/);
});

test('a status query whose answer was lost is repeated after a minute', async () => {
  connector = connect(false);
  const payment = paymentOf('32');
  const ask = asker(payment, await send(payment));
  await untilAsked(ask);
  const before = await ask();

  aheadMs = 61_000;
  const outcome = await untilNot('pending', ask);

  expect(before.kind).toBe('pending');
  expect(outcome.kind).toBe('completed');
});

test('a receipt is kept when later callbacks have taken the place of the note that gave it', async () => {
  connector = connect(false);
  const payment = paymentOf('00');
  let stored = 'push';
  const ask = asker(payment, await send(payment), (id) =>
    callbacks.notesOf(id).filter((note) => note.includes(`"about":"${stored}"`)),
  );
  await untilAsked(ask);

  stored = 'result';
  const outcome = await untilNot('pending', ask);

  expect(outcome).toMatchObject({
    kind: 'completed',
    providerTransactionId: chargesOf(payment)[0]?.transaction_reference,
  });
});

test.each([
  ['was acknowledged', false],
  ['was not acknowledged', true],
])(
  'payments of other amounts with the same account reference do not decide the payment of a prompt that %s',
  async (_, isLost) => {
    connector = connect(false);
    const others = [];
    for (const amount of ['50', '60']) others.push(await pay({ ...paymentOf('00'), amount }));
    const confirmations = others.map(({ providerTransactionId: receipt }) =>
      JSON.stringify({ about: 'confirmation', code: '0', receipt }),
    );
    let isPushKnown = false;
    const payment = paymentOf('00');
    const reference = await send(payment);
    const ask = asker(payment, isLost ? undefined : reference, (id) => [
      ...confirmations,
      ...callbacks.notesOf(id).filter((note) => isPushKnown || !note.includes('"about":"push"')),
    ]);

    const early = await untilNot('pending', ask);
    isPushKnown = true;
    const outcome = await untilCompleted(ask);

    const detail = expect.stringContaining(`${others[1]!.providerTransactionId} shows 60`);
    expect(early).toMatchObject({ kind: 'unknown', detail });
    expect(outcome.providerTransactionId).toBe(chargesOf(payment)[0]?.transaction_reference);
  },
);

test('a payment whose receipt no callback gave is found in the statement behind another one with its account reference', async () => {
  connector = connect(true);
  const payment = paymentOf('10');
  await payInMenu(started.baseUrl, 'Kenya', { reference: accountReference(payment.attemptId), amount: '50' });
  const receipt = await waitUntil(
    'the payer has paid from the menu',
    () => chargesOf(payment)[0]?.transaction_reference,
  );
  const confirmation = JSON.stringify({ about: 'confirmation', code: '0', receipt });
  const ask = asker(payment, await send(payment), (id) => [confirmation, ...callbacks.notesOf(id)]);

  const outcome = await untilCompleted(ask);

  expect(outcome.amount).toBe('100');
  expect(outcome.providerTransactionId).not.toBe(receipt);
});

test.each([
  ['another request', 'ws_CO_OTHER', '0'],
  ['a failure of the request', undefined, '1032'],
])('a receipt in the callback of %s is not that of the payment', async (_what, other, code) => {
  connector = connect(false);
  const { providerTransactionId: receipt } = await pay({ ...paymentOf('00'), amount: '50' });
  const payment = paymentOf('00');
  const reference = (await send(payment)) ?? '';
  const { checkout } = JSON.parse(reference) as { checkout: string };
  const note = JSON.stringify({ about: 'push', checkout: other ?? checkout, code, receipt });

  const outcome = await untilNot(
    'pending',
    asker(payment, reference, () => [note]),
  );

  expect(outcome).toMatchObject({ kind: 'unknown', why: 'not_found' });
});

describe('forged messages', () => {
  const result = (ids: string, receipt: string) => ({
    Result: {
      ResultCode: 0,
      OriginatorConversationID: ids,
      ResultParameters: {
        ResultParameter: [
          { Key: 'TransactionStatus', Value: 'Completed' },
          { Key: 'Amount', Value: 100 },
          { Key: 'ReceiptNo', Value: receipt },
        ],
      },
    },
  });
  const push = (checkout: string, receipt: string) => ({
    Body: {
      stkCallback: {
        CheckoutRequestID: checkout,
        ResultCode: 0,
        CallbackMetadata: { Item: [{ Name: 'MpesaReceiptNumber', Value: receipt }] },
      },
    },
  });
  const noteOf = (message: object): string =>
    connector.parseCallback(callbackWith(JSON.stringify(message), { headers: {} })).note ?? '';

  test('complete nothing without a query of ours, and only an answer to our own query counts', async () => {
    connector = connect(false);
    const open = paymentOf('20');
    const paid = paymentOf('10');
    const [openReference, paidReference] = [await send(open), await send(paid)];
    const checkoutOf = (text = '') => (JSON.parse(text) as { checkout: string }).checkout;
    const forged = (reference: string | undefined) => () => [
      noteOf(push(checkoutOf(reference), 'FORGED1234')),
      noteOf(result('invented', 'FORGED1234')),
    ];

    const ofOpen = await asker(open, openReference, forged(openReference))();
    const ask = asker(paid, paidReference, forged(paidReference));
    const asked = await untilAsked(ask);
    // The simulator's genuine answer says that it knows no such receipt.
    const genuine = await waitUntil('the question was answered', () => callbacks.notesOf(paid.attemptId)[0]);
    const ofPaid = await asker(paid, asked, () => [...forged(paidReference)(), genuine])();

    expect(ofOpen.kind).toBe('pending');
    expect(ofPaid).toMatchObject({ kind: 'unknown', why: 'inconsistent' });
    expect(chargesOf(open)).toEqual([]);
  });

  test('with another receipt do not prevent the genuine one from completing the payment', async () => {
    connector = connect(false);
    const payment = paymentOf('00');
    const reference = (await send(payment)) ?? '';
    const { checkout } = JSON.parse(reference) as { checkout: string };
    const forged = noteOf(push(checkout, 'FORGED1234'));

    const ask = asker(payment, reference, (id) => [forged, ...callbacks.notesOf(id)]);

    const outcome = await untilCompleted(ask);

    expect(outcome.providerTransactionId).toBe(chargesOf(payment)[0]?.transaction_reference);
  });
});

describe('a reversal', () => {
  async function reverse(payment: PaymentRequest) {
    const { providerTransactionId, amount, currency } = await pay(payment);
    const reversalId = newRandomId('stp', new Date());
    const { attemptId, callbackToken } = payment;
    const common = { reversalId, attemptId, providerTransactionId, amount, currency, callbackToken };
    const { result } = await connector.reverse(
      { ...common, description: 'given back', requestedAt: new Date() },
      options,
    );
    let newest = result.kind === 'accepted' ? result.providerReference : '';
    const ask = async (): Promise<ReversalOutcome> => {
      const { result: outcome } = await connector.queryReversal(
        { ...common, providerReference: newest, callbackNotes: callbacks.notesOf(reversalId) },
        options,
      );
      if (outcome.kind === 'pending') newest = outcome.providerReference ?? newest;
      return outcome;
    };
    return { kind: result.kind, ask, common };
  }
  const settled = (ask: () => Promise<ReversalOutcome>) =>
    waitUntil('the reversal is settled', async () => {
      const outcome = await ask();
      return outcome.kind === 'pending' ? undefined : outcome;
    });

  test('whose result was lost is settled by a status query about its conversation', async () => {
    connector = connect(false);
    const payment = paymentOf('33');
    const { ask } = await reverse(payment);
    expect((await ask()).kind).toBe('pending');

    aheadMs = 61_000;

    expect((await settled(ask)).kind).toBe('completed');
    expect(chargesOf(payment)[0]?.reversed).toBe('100');
  });

  test('whose acknowledgement was lost is settled when later callbacks have taken the place of the note that named it', async () => {
    connector = connect(false);
    const { common } = await reverse(paymentOf('00'));
    const notes = () => callbacks.notesOf(common.reversalId);
    const claim = await waitUntil('the result arrives', () =>
      notes().find((note) => note.includes('"original"')),
    );
    const query = async (callbackNotes: readonly string[], reference: object) =>
      (await connector.queryReversal({ ...common, ...reference, callbackNotes }, options)).result;
    const asked = await query([claim], {});
    if (asked.kind !== 'pending') throw new Error(`not pending but ${asked.kind}`);

    const later = await waitUntil('the answer to the question arrives', () => {
      const others = notes().filter((note) => note !== claim);
      return others.length > 0 && others;
    });

    const reference = { providerReference: asked.providerReference };
    expect((await query(later, reference)).kind).toBe('completed');
  });

  test('whose acknowledgement was lost is settled by its callback, although the statement could be searched', async () => {
    connector = connect(true);
    const payment = paymentOf('00');
    const { common } = await reverse(payment);
    await waitUntil('the result arrives', () => callbacks.notesOf(common.reversalId).length > 0);
    const { reversalId, providerTransactionId, amount, currency } = common;
    const strayPayment = create(StrayPaymentSchema, {
      merchantId: newRandomId('mer', new Date()),
      ...{ strayPaymentId: reversalId, providerTransactionId, amount, currency },
    });
    const tokens = createCallbackTokens(Buffer.alloc(32, 7), 'mpesa-sandbox');
    let providerReference = '';

    await waitUntil('the reversal is done', async () => {
      const callbackNotes = [...callbacks.notesOf(reversalId)];
      const lease = { strayPayment, reversalId, sentBefore: true, providerReference, callbackNotes };
      const task = taskOfStrayPayment(create(LeasedReversalSchema, lease));
      const { outcome } = await serveReversal({ connector, tokens, now: () => new Date() }, task, options);
      if (outcome.case === 'pending') providerReference = outcome.value.providerReference ?? '';
      return outcome.case === 'done';
    });

    expect(chargesOf(payment)[0]?.reversed).toBe('100');
  });

  test('of a payment that was reversed before is unknown, because the statement cannot distinguish a second reversal', async () => {
    connector = connect(false);
    const payment = paymentOf('00');
    const { ask, common } = await reverse(payment);
    await settled(ask);
    const again = { ...common, reversalId: newRandomId('stp', new Date()) };

    const { result } = await connector.reverse(
      { ...again, description: 'again', requestedAt: new Date() },
      options,
    );
    if (result.kind !== 'accepted') throw new Error(`not accepted but ${result.kind}`);
    const outcome = await settled(async () => {
      const { providerReference } = result;
      const callbackNotes = callbacks.notesOf(again.reversalId);
      return (await connector.queryReversal({ ...again, providerReference, callbackNotes }, options)).result;
    });

    expect(outcome).toMatchObject({ kind: 'unknown', why: 'inconsistent' });
    expect(chargesOf(payment)[0]?.reversed).toBe('100');
  });

  test('of an amount with a fraction is not sent', async () => {
    connector = connect(false);
    const payment = paymentOf('00');
    const { providerTransactionId } = await pay(payment);
    const reversalId = newRandomId('stp', new Date());

    const { result } = await connector.reverse(
      { ...payment, reversalId, providerTransactionId, amount: '100.5' },
      options,
    );

    expect(result.kind).toBe('refused');
    expect(chargesOf(payment)[0]?.reversed).toBe('0');
  });
});
