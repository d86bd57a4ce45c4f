import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { createMemoryJournal } from '../../../src/wallet-simulator/journal.ts';
import { startCallbackReceiver } from './callback-receiver.ts';
import { errorOf, simulatorOfFile, startSimulator } from './simulator-under-test.ts';
import type { Answer, Json } from './simulator-under-test.ts';

const journal = createMemoryJournal();
const simulator = simulatorOfFile({ journal });

/** Each test has a payer of its own, and a payment. */
let payer = '251911220000';
let toPayer: { readonly creditParty: readonly Json[] };
let reference: string;
beforeEach(async () => {
  payer = String(Number(payer) + 1);
  toPayer = { creditParty: [{ key: 'msisdn', value: payer }] };
  const { json } = await simulator.pay(payer);
  reference = String(json['objectReference']);
  simulator.time.pass(1_000);
});

const adjust = (body: Json, headers: Readonly<Record<string, string>> = {}, path = '/type/adjustment') =>
  simulator.call(`/transactions${path}`, { body: { amount: '100.5', currency: 'ETB', ...body }, headers });

/** The contract requires at least one party. */
const fromMerchant = { debitParty: [{ key: 'accountid', value: '2999' }] };
const ofPayment = (body: Json = {}, headers: Readonly<Record<string, string>> = {}) =>
  adjust({ originalTransactionReference: reference, ...fromMerchant, ...body }, headers);

const reverse = (body: Json = {}, headers: Readonly<Record<string, string>> = {}, of: string = reference) =>
  simulator.call(`/transactions/${of}/reversals`, { body: { type: 'reversal', ...body }, headers });

const outcome = async ({ status, json }: Pick<Answer, 'status' | 'json'>): Promise<string> => {
  simulator.time.pass(1_000);
  if (status !== 202) return `${status} ${String(json['errorCode'])}`;
  return String(
    (await simulator.call(`/transactions/${String(json['objectReference'])}`)).json['transactionStatus'],
  );
};

test.each([
  ['reversal', (headers: Record<string, string>) => reverse({}, headers), {}],
  [
    'adjustment',
    (headers: Record<string, string>) =>
      adjust({ originalTransactionReference: reference, ...toPayer, descriptionText: 'Sorry' }, headers),
    { currency: 'ETB', descriptionText: 'Sorry' },
  ],
])(
  'a %s returns the whole amount to the payer, sends a callback, and the payment stays completed',
  async (type, send, own) => {
    const receiver = await startCallbackReceiver();
    const accepted = await send({ 'x-callback-url': receiver.url });
    simulator.time.pass(1_000);
    const [callback] = await receiver.wait(1);
    await receiver.close();

    expect(accepted).toMatchObject({
      status: 202,
      json: { status: 'pending', notificationMethod: 'callback' },
    });
    expect(callback?.json).toMatchObject({
      type,
      originalTransactionReference: reference,
      transactionReference: accepted.json['objectReference'],
      transactionStatus: 'completed',
      amount: '100.5',
      debitParty: [{ key: 'accountid', value: '2999' }],
      creditParty: [{ key: 'msisdn', value: payer }],
      ...own,
    });
    expect(await simulator.charges(payer)).toMatchObject([{ amount: '100.5', reversed: '100.5' }]);
    expect(simulator.ledgers.walleta.balance(`msisdn@${payer}`, 'ETB')).toBe(1_005_000n);
    expect((await simulator.call(`/transactions/${reference}`)).json['transactionStatus']).toBe('completed');
  },
);

test.each([
  ['no type', { type: undefined }, 'validation mandatoryValueNotSupplied'],
  ['another type', { type: 'transfer' }, 'validation formatError'],
  ['another currency', { amount: '1', currency: 'USD' }, 'validation currencyNotSupported'],
  ['nothing', { amount: '0' }, 'businessRule lessThanTransactionMinValue'],
])('a reversal with %s is refused', async (_name, body, error) => {
  expect(errorOf(await reverse(body))).toBe(`400 ${error}`);
});

test('a reversal of an open payment, of a reversal, or of an unknown transaction is refused', async () => {
  const open = await simulator.pay(payer);
  const reversal = await reverse();
  simulator.time.pass(1);

  const errors = [];
  for (const what of [open.json['objectReference'], reversal.json['objectReference'], 'UNKNOWN'])
    errors.push(errorOf(await reverse({}, {}, String(what))));
  const notNow = '400 businessRule incorrectState';
  expect(errors).toEqual([notNow, notNow, '404 identification identifierError']);
});

test('partial refunds, with or without the payment and beside reversals, never exceed what was paid', async () => {
  const outcomes = [];
  for (const answer of [
    await ofPayment({ amount: '40' }),
    await adjust({ amount: '30', ...toPayer }),
    // 30.5 of the payment are left, although its own refunds returned only 40.
    await ofPayment({ amount: '30.6' }),
    await reverse({ amount: '30.6' }),
    await adjust({ amount: '30.6', ...toPayer }),
    await ofPayment({ amount: '30.5' }),
    await adjust({ amount: '0.1', ...toPayer }),
  ])
    outcomes.push(await outcome(answer));

  const tooMuch = '400 greaterThanTransactionMaxValue';
  expect(outcomes).toEqual(['completed', 'completed', tooMuch, tooMuch, tooMuch, 'completed', tooMuch]);
  expect(simulator.ledgers.walleta.balance(`msisdn@${payer}`, 'ETB')).toBe(1_005_000n);
});

test.each<[string, () => Json, string]>([
  ['no party', () => ({}), '400 mandatoryValueNotSupplied'],
  ['no payer and no payment', () => fromMerchant, '400 mandatoryValueNotSupplied'],
  ['no amount', () => ({ ...toPayer, amount: undefined }), '400 mandatoryValueNotSupplied'],
  ['another currency', () => ({ ...toPayer, currency: 'USD' }), '400 greaterThanTransactionMaxValue'],
  [
    'a payer as the source',
    () => ({ ...toPayer, debitParty: [{ key: 'msisdn', value: '251911000001' }] }),
    '400 transactionTypeError',
  ],
  [
    'one account as both parties',
    () => ({ ...toPayer, debitParty: toPayer.creditParty }),
    '400 samePartiesError',
  ],
  ['an unknown payment', () => ({ ...toPayer, originalTransactionReference: 'NONE' }), '404 identifierError'],
])('a refund with %s is refused', async (_name, body, expected) => {
  expect(await outcome(await adjust(body()))).toBe(expected);
});

test('a refund of a payment to another payee is refused', async () => {
  const other = { creditParty: [{ key: 'msisdn', value: '251911000001' }] };

  expect(await outcome(await ofPayment(other))).toBe('404 identifierError');
});

describe('the number of the payer selects the outcome of a refund', () => {
  test.each([
    ['22', '400', 'undefined'],
    ['23', '500', 'completed'],
    ['26', '202', 'failed'],
    ['28', '500', 'failed'],
  ])('%s: status %s, then %s', async (digits, status, ends) => {
    const number = `2519000000${digits}`;
    const credited = { creditParty: [{ key: 'msisdn', value: number }] };
    const paid = await simulator.pay(number);
    simulator.time.pass(1_000);
    for (const body of [
      credited,
      { ...fromMerchant, originalTransactionReference: paid.json['objectReference'] },
    ]) {
      const correlationId = randomUUID();

      const answer = await adjust({ ...body, amount: '10' }, { 'x-correlationid': correlationId });
      simulator.time.pass(1_000);
      const { json } = await simulator.call(`/responses/${correlationId}`);
      const found = await simulator.call(String(json['link']));

      expect([answer.status, found.json['transactionStatus']].map(String)).toEqual([status, ends]);
      // The first refund of row 26 fails, however it names the payment.
      if (digits === '26') break;
    }
  });
});

describe('POST /transactions, with the type in the body', () => {
  test.each([
    ['merchantpay', 'completed'],
    ['adjustment', 'completed'],
    ['transfer', '400 transactionTypeError'],
    ['gift', '400 formatError'],
    [undefined, '400 mandatoryValueNotSupplied'],
  ])('the type %s has the outcome "%s"', async (type, expected) => {
    const parties = type === 'merchantpay' ? { debitParty: toPayer.creditParty } : toPayer;

    const answer = await adjust({ type, ...parties }, {}, '');

    expect(await outcome(answer)).toBe(expected);
    if (expected !== 'completed') return;
    const { json } = await simulator.call(`/transactions/${String(answer.json['objectReference'])}`);
    expect(json['type']).toBe(type);
  });
});

test('a payment that names the payee only is made by the authenticated payer', async () => {
  const body = { creditParty: [{ key: 'accountid', value: '2999' }] };

  const answer = await adjust(body, {}, '/type/merchantpay');

  expect(await outcome(answer)).toBe('completed');
  expect(await simulator.charges('251911000000')).toMatchObject([{ amount: '100.5' }]);
});

test('a refund without a payment survives a restart with its outcome', async () => {
  await adjust({ ...toPayer, amount: '10' });
  await simulator.pay('251900000028');
  simulator.time.pass(1_000);
  await adjust({ creditParty: [{ key: 'msisdn', value: '251900000028' }], amount: '10' });

  const restarted = await startSimulator({ journal, time: simulator.time });
  restarted.time.pass(1_000);
  await restarted.close();

  expect(restarted.ledgers.walleta.balance(`msisdn@${payer}`, 'ETB')).toBe(100_000n);
  expect(restarted.ledgers.walleta.balance('msisdn@251900000028', 'ETB')).toBe(0n);
});
