import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  changeTypes,
  subscribedTypes,
  subscriptionsOf,
  typesOf,
} from '../../../src/webhooks/domain/webhook-endpoint.ts';
import type { SubscribedSince, Subscription } from '../../../src/webhooks/domain/webhook-endpoint.ts';

const minute = 60_000;
const event = {
  merchantId: 'mer_1',
  environment: 'SANDBOX',
  eventTypes: ['order.completed'],
  occurredAt: 1_000 * minute,
} as const;
const subscription = (own: Partial<Subscription> = {}): Subscription => ({
  merchantId: 'mer_1',
  environment: 'SANDBOX',
  endpointId: 'whe_1',
  url: 'https://shop.example/hook',
  eventType: '*',
  since: new Date(0),
  ...own,
});
const since = (minutes: number): Date => new Date(event.occurredAt + minutes * minute);

test.each([
  ['to every type', {}, true, true],
  ['to the type of the event', { eventType: 'order.completed' }, true, true],
  ['to another type', { eventType: 'order.failed' }, false, false],
  ['of another merchant', { merchantId: 'mer_2' }, false, false],
  ['of another environment', { environment: 'PRODUCTION' }, false, false],
  ['from two minutes before the event', { since: since(-2) }, true, true],
  ['from about the time of the event', { since: since(0.5) }, true, false],
  ['from two minutes after the event', { since: since(2) }, false, false],
] as const)(
  'whether an event reaches a subscription is certain, possible or excluded: %s',
  (_name, own, isPossible, isCertain) => {
    const all = [subscription(own)];
    expect(subscriptionsOf(event, all, 'possible')).toHaveLength(isPossible ? 1 : 0);
    expect(subscriptionsOf(event, all, 'certain')).toHaveLength(isCertain ? 1 : 0);
  },
);

test('an endpoint with a subscription to every type and one to this type receives the event once', () => {
  const twice = [
    subscription({ eventType: 'order.completed' }),
    subscription(),
    subscription({ endpointId: 'whe_2' }),
  ];
  const found = subscriptionsOf(event, twice, 'possible').map(({ endpointId }) => endpointId);
  expect(found).toEqual(['whe_1', 'whe_2']);
});

test.each([
  [['*'], 'order.completed'],
  [['*', 'payment_link.completed'], 'order.completed'],
  [['order.completed'], 'order.completed'],
  [['payment_link.completed'], 'payment_link.completed'],
  [['order.completed', 'payment_link.completed'], 'payment_link.completed'],
  [['payment_link.created'], undefined],
] as const)('of a paid payment link, an endpoint of the types %j receives %s', (chosen, received) => {
  const paidLink = { ...event, eventTypes: ['payment_link.completed', 'order.completed'] } as const;
  const found = subscriptionsOf(
    paidLink,
    chosen.map((eventType) => subscription({ eventType })),
    'possible',
  );
  expect(found.map(({ eventType }) => eventType)).toEqual(received === undefined ? [] : [received]);
});

const wanted = fc.subarray([...subscribedTypes]);

/** The start of a type at an endpoint, by either subscription. */
const receivesSince = (types: SubscribedSince, type: (typeof subscribedTypes)[number]): Date | undefined =>
  [types.get(type), types.get('*')]
    .filter((at) => at !== undefined)
    .sort((a, b) => a.getTime() - b.getTime())[0];

test('after any changes, an endpoint receives the latest types, each since it was first received without a break', () => {
  fc.assert(
    fc.property(fc.array(wanted, { minLength: 1, maxLength: 8 }), (changes) => {
      let types: SubscribedSince = new Map();
      for (const [index, change] of changes.entries()) {
        const before = types;
        const at = new Date(index * minute);
        types = changeTypes(before, change, at);
        expect(typesOf(types)).toEqual(change);
        for (const type of subscribedTypes) {
          const isReceived = change.length === 0 || change.includes(type);
          const expected = isReceived ? (receivesSince(before, type) ?? at) : undefined;
          expect(receivesSince(types, type)).toEqual(expected);
        }
      }
    }),
  );
});
