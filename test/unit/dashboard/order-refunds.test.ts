import { create } from '@bufbuild/protobuf';
import { expect, test } from '@jest/globals';
import { directoryOf } from '../../../src/contract/wallet-directory.ts';
import { order as english } from '../../../src/dashboard/language/english/order.ts';
import { orders } from '../../../src/dashboard/language/english/orders.ts';
import { orderRefunds } from '../../../src/dashboard/payments/order-refunds.ts';
import { refundsIn } from '../../../src/dashboard/payments/refund-states.ts';
import {
  OrderEventSchema,
  OrderSchema,
  OrderStatus,
  RefundSchema,
  RefundStatus,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import { WalletRefunds, WalletSchema } from '../../../src/gen/gatehouse/v1/wallet_service_pb.js';

/** The refund part of the page of a paid order of 100.50 ETB that has these refunds. */
function shown(
  ways: WalletRefunds,
  refunds: readonly (readonly [string, RefundStatus])[],
  refunded = '0.00',
) {
  const wallet = create(WalletSchema, {
    wallet: 'mine',
    englishName: 'My Wallet',
    paymentOptions: ['mine_ussd'],
    refunds: ways,
  });
  const writing = { words: orders, language: 'en', timeZone: 'UTC', wallets: directoryOf([wallet]) } as const;
  const order = create(OrderSchema, {
    status: OrderStatus.COMPLETED,
    deducted: '100.50',
    currency: 'ETB',
    paymentOption: 'mine_ussd',
    refunded,
  });
  const events = refunds.flatMap(([amount, status], index) =>
    // The last event of a refund has its current state.
    [RefundStatus.REQUESTED, status].map((each) =>
      create(OrderEventSchema, {
        refund: create(RefundSchema, { refundId: `rfd_${index}`, amount, currency: 'ETB', status: each }),
      }),
    ),
  );
  const { facts, isOpen, offer } = orderRefunds(
    order,
    refundsIn({ events, refunds: [] }),
    english.refunds,
    writing,
  );
  const plain = (text: string): string => text.replaceAll('\u00A0', ' ');
  return [facts.map(plain).join(' '), isOpen, offer?.isPossible, plain(offer?.text ?? '')];
}

const { COMPLETED, FAILED, AWAITING_APPROVAL, UNKNOWN } = RefundStatus;

const { ANY_PART, NONE, WHOLE } = WalletRefunds;
const upTo = (amount: string) => `Up to ETB ${amount} can be returned to the payer.`;
const asWhole = 'ETB 100.50 can be returned to the payer. This wallet returns a payment only as a whole.';
const notHere =
  'My Wallet cannot return payments through Gatehouse. Return the money to the customer in another way.';

test.each<[string, ReturnType<typeof shown>, ReturnType<typeof shown>]>([
  ['nothing is refunded yet', shown(ANY_PART, []), ['', false, true, upTo('100.50')]],
  [
    'the latest refund failed',
    shown(
      ANY_PART,
      [
        ['40', COMPLETED],
        ['60.50', FAILED],
      ],
      '40.00',
    ),
    ['ETB 40.00 was refunded. The latest refund, of ETB 60.50, failed.', false, true, upTo('60.50')],
  ],
  [
    'an earlier refund failed',
    shown(
      ANY_PART,
      [
        ['60.50', FAILED],
        ['40', COMPLETED],
      ],
      '40.00',
    ),
    ['ETB 40.00 was refunded.', false, true, upTo('60.50')],
  ],
  [
    'parts are refunded and pending',
    shown(
      ANY_PART,
      [
        ['40', COMPLETED],
        ['10.25', UNKNOWN],
        ['0.25', AWAITING_APPROVAL],
      ],
      '40.00',
    ),
    ['ETB 40.00 was refunded. Refunds of ETB 10.50 are pending.', true, true, upTo('50.00')],
  ],
  [
    'nothing is left',
    shown(ANY_PART, [['100.50', COMPLETED]], '100.50'),
    ['ETB 100.50 was refunded.', false, false, 'Refunds cover everything that was paid.'],
  ],
  ['only whole payments return', shown(WHOLE, []), ['', false, true, asWhole]],
  ['the wallet returns nothing', shown(NONE, []), ['', false, false, notHere]],
])('the page of a paid order offers a refund, or says why not: %s', (_case, got, wanted) => {
  expect(got).toEqual(wanted);
});
