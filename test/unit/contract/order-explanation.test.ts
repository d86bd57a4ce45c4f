import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { formatCursor } from '../../../src/contract/event-cursor.ts';
import { explainOrder } from '../../../src/contract/explain-order.ts';
import { holderText, orderExplanationText } from '../../../src/contract/order-explanation-text.ts';
import {
  OrderExplanationSchema,
  OrderFact,
  OrderFactHolder,
  OrderFactHolderSchema,
  OrderFactSchema,
  OrderNextStep,
  OrderNextStepSchema,
} from '../../../src/gen/gatehouse/v1/order_explanation_pb.js';
import { OrderStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';

const numbersOf = (schema: { readonly values: readonly { readonly number: number }[] }): number[] =>
  schema.values.map(({ number }) => number);
const facts = {
  walletName: 'Wallet A',
  orderStatus: OrderStatus.FAILED,
  reason: 'wrong_pin',
  subjectId: 'stp_1',
};

test('every fact, next step and holder has short sentences, with and without a time', () => {
  const nextTime = timestampFromDate(new Date('2026-03-01T12:30:05.700Z'));
  const ofFacts = numbersOf(OrderFactSchema).map((waitingFor) =>
    orderExplanationText({ ...facts, waitingFor, next: OrderNextStep.NONE }),
  );
  const textOf = (next: OrderNextStep, own = {}) =>
    orderExplanationText({ ...facts, ...own, waitingFor: OrderFact.EXPIRY, next });
  const ofSteps = numbersOf(OrderNextStepSchema).flatMap((next) => [
    textOf(next),
    textOf(next, { nextTime }),
  ]);
  const holders = numbersOf(OrderFactHolderSchema).map((heldBy) =>
    holderText({ heldBy, walletName: 'Wallet A' }),
  );

  expect(new Set(ofFacts).size).toBe(ofFacts.length);
  expect(new Set(holders).size).toBe(holders.length);
  for (const text of [...ofFacts, ...ofSteps]) {
    expect(text).toMatch(/^[A-Z].*[.]$/);
    for (const sentence of text.split(/(?<=[.]) /))
      expect(sentence.split(' ').length).toBeLessThanOrEqual(25);
  }
  expect(textOf(OrderNextStep.WALLET_QUERIED, { nextTime })).toBe(
    'The time to pay has ended without a payment. Gatehouse queries Wallet A at 2026-03-01 12:30:05 UTC.',
  );
});

const explanation = (waitingFor: OrderFact) =>
  create(OrderExplanationSchema, { waitingFor, orderStatus: OrderStatus.COMPLETED });
const nothing = explanation(OrderFact.NOTHING);

test("core's fact takes precedence over that of webhooks", async () => {
  const ofWebhooks = { ...explanation(OrderFact.WEBHOOK_SECRET), orderStatus: OrderStatus.UNSPECIFIED };
  const unread = (): never => {
    throw new Error('the webhooks were read');
  };
  const refund = explanation(OrderFact.REFUND_DECISION);

  expect(await explainOrder(refund, unread)).toBe(refund);
  expect(await explainOrder(nothing, () => Promise.resolve(nothing))).toBe(nothing);
  expect(await explainOrder(nothing, () => Promise.resolve(ofWebhooks))).toEqual({
    ...ofWebhooks,
    orderStatus: OrderStatus.COMPLETED,
  });
});

test('a webhooks process that does not answer makes the fact unknown, and another failure is not hidden', async () => {
  const fail = (code: Code) => () => Promise.reject(new ConnectError('no', code));

  expect(await explainOrder(nothing, fail(Code.Unavailable))).toMatchObject({
    waitingFor: OrderFact.WEBHOOKS_UNKNOWN,
    heldBy: OrderFactHolder.OPERATOR,
    orderStatus: OrderStatus.COMPLETED,
  });
  await expect(explainOrder(nothing, fail(Code.Internal))).rejects.toThrow('no');
});

test('an ended order waits until `webhooks` has read its last event, if both report their positions', async () => {
  const at = (xid: string, position: string) => formatCursor({ xid, position });
  const join = async (last: string, read: string) => {
    const ended = { ...nothing, eventCursor: last };
    const joined = await explainOrder(ended, () => Promise.resolve({ ...nothing, eventCursor: read }));
    return joined === ended ? 'nothing' : OrderFact[joined.waitingFor];
  };

  expect(await join(at('7', '12'), at('7', '11'))).toBe('EVENT_READ');
  expect(await join(at('7', '12'), at('6', '99'))).toBe('EVENT_READ');
  expect(await join(at('7', '12'), at('0', '0'))).toBe('EVENT_READ');
  expect(await join(at('7', '12'), at('7', '12'))).toBe('nothing');
  expect(await join(at('7', '12'), at('8', '1'))).toBe('nothing');
  expect(await join(at('7', '12'), '')).toBe('nothing');
  expect(await join('', at('1', '1'))).toBe('nothing');
  expect(await join(at('7', '12'), 'of a later version')).toBe('nothing');
});
