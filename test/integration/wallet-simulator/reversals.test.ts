import { beforeEach, expect, test } from '@jest/globals';
import { startCallbackReceiver } from './callback-receiver.ts';
import { errorOf, simulatorOfFile } from './simulator-under-test.ts';
import type { Json } from './simulator-under-test.ts';

const simulator = simulatorOfFile();

/** Each test has a payer of its own, and a payment. */
let payer = '251911220000';
let reference: string;
beforeEach(async () => {
  payer = String(Number(payer) + 1);
  const { json } = await simulator.pay(payer);
  reference = String(json['objectReference']);
  simulator.time.pass(1_000);
});

const reverse = (body: Json = {}, headers: Readonly<Record<string, string>> = {}, of: string = reference) =>
  simulator.call(`/transactions/${of}/reversals`, { body: { type: 'reversal', ...body }, headers });

test('a reversal returns the whole amount to the payer, sends a callback, and the payment stays completed', async () => {
  const receiver = await startCallbackReceiver();
  const accepted = await reverse({}, { 'x-callback-url': receiver.url });
  simulator.time.pass(1_000);
  const [callback] = await receiver.wait(1);
  await receiver.close();

  expect(accepted).toMatchObject({
    status: 202,
    json: { status: 'pending', notificationMethod: 'callback' },
  });
  expect(callback?.json).toMatchObject({
    type: 'reversal',
    originalTransactionReference: reference,
    transactionReference: accepted.json['objectReference'],
    transactionStatus: 'completed',
    amount: '100.5',
    debitParty: [{ key: 'accountid', value: '2999' }],
    creditParty: [{ key: 'msisdn', value: payer }],
  });
  expect(await simulator.charges(payer)).toMatchObject([{ amount: '100.5', reversed: '100.5' }]);
  expect(simulator.ledgers.walleta.balance(`msisdn@${payer}`, 'ETB')).toBe(1_005_000n);
  expect((await simulator.call(`/transactions/${reference}`)).json['transactionStatus']).toBe('completed');
});

test('reversals can return a part, then the rest, and no more', async () => {
  const part = await reverse({ amount: '100', currency: 'ETB' });
  const tooMuch = await reverse({ amount: '0.6' });
  const rest = await reverse();
  const nothingLeft = await reverse();
  simulator.time.pass(1_000);

  expect([part.status, rest.status]).toEqual([202, 202]);
  expect(errorOf(tooMuch)).toBe('400 businessRule greaterThanTransactionMaxValue');
  expect(errorOf(nothingLeft)).toBe('400 businessRule incorrectState');
  expect(await simulator.charges(payer)).toMatchObject([{ reversed: '100.5' }]);
});

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
