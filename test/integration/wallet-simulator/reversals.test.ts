import { beforeEach, expect, test } from '@jest/globals';
import { shared } from '../../support/shared-stack.ts';
import { startCallbackReceiver } from './callback-receiver.ts';
import { startSimulator } from './simulator-under-test.ts';
import type { Json } from './simulator-under-test.ts';

const simulator = shared(
  () => startSimulator(),
  ({ close }) => close(),
);

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
  expect(tooMuch).toMatchObject({ status: 400, json: { errorCode: 'greaterThanTransactionMaxValue' } });
  expect(nothingLeft).toMatchObject({ status: 400, json: { errorCode: 'incorrectState' } });
  expect(await simulator.charges(payer)).toMatchObject([{ reversed: '100.5' }]);
});

test.each([
  ['no type', { type: undefined }, 'mandatoryValueNotSupplied'],
  ['another type', { type: 'transfer' }, 'formatError'],
  ['another currency', { amount: '1', currency: 'USD' }, 'currencyNotSupported'],
  ['nothing', { amount: '0' }, 'lessThanTransactionMinValue'],
])('a reversal with %s is refused', async (_name, body, errorCode) => {
  expect(await reverse(body)).toMatchObject({ status: 400, json: { errorCode } });
});

test('a reversal of an open payment, of a reversal, or of an unknown transaction is refused', async () => {
  const open = await simulator.pay(payer);
  const reversal = await reverse();
  simulator.time.pass(1);

  for (const [of, status, errorCode] of [
    [open.json['objectReference'], 400, 'incorrectState'],
    [reversal.json['objectReference'], 400, 'incorrectState'],
    ['UNKNOWN', 404, 'identifierError'],
  ] as const)
    expect(await reverse({}, {}, String(of))).toMatchObject({ status, json: { errorCode } });
});
