import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { CheckoutService } from '../../../src/gen/gatehouse/v1/checkout_service_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import type { MerchantTermsSchema } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { PaymentOption } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { directPayment, registration } from '../../support/order-requests.ts';
import { failureOf } from '../../support/rpc-failure.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack, TestMerchant } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';

let stack: Stack;
let merchants: Client<typeof MerchantService>;
let orders: Client<typeof OrderService>;
beforeAll(async () => {
  stack = await startStack();
  merchants = stack.client(MerchantService, 'operator');
  orders = stack.client(OrderService, 'operator');
});
afterAll(() => stack.stop());

type Terms = MessageInitShape<typeof MerchantTermsSchema>;

const withTerms = async (terms: Terms): Promise<TestMerchant> => {
  const merchant = await stack.createMerchant();
  await merchants.updateMerchant({ merchantId: merchant.id, terms });
  return merchant;
};
const issuesOf = async (call: Promise<unknown>) => (await failureOf(call)).issues;

describe('a merchant is updated', () => {
  test('with what is said; the rest stays', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const terms = {
      sandboxPaymentOptions: [PaymentOption.WALLETA_USSD],
      currencies: ['ETB'],
      largestAmounts: [{ currency: 'ETB', amount: '500.50' }],
      requestsPerSecond: 7,
    };
    await merchants.updateMerchant({ merchantId, terms });

    const { merchant } = await merchants.updateMerchant({ merchantId, name: 'Other name' });

    expect(merchant).toMatchObject({ name: 'Other name', sessionLifetime: { seconds: 1800n }, terms });
    expect((await merchants.getMerchant({ merchantId })).merchant).toEqual(merchant);
  });

  test('and the change is in the audit log', async () => {
    const { id: merchantId } = await withTerms({ currencies: ['USD'], requestsPerSecond: 3 });

    const { entries } = await stack.client(AuditService, 'reader').listAuditEntries({ merchantId });

    expect(entries[0]).toMatchObject({
      action: 'merchant.update',
      details: { currencies: 'USD', requests_per_second: 3, largest_amounts: 'no limit' },
    });
  });

  test('but not by two who both began from the same state', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const { merchant: seen } = await merchants.getMerchant({ merchantId });
    const expectedUpdateTime = seen!.updateTime!;
    await merchants.updateMerchant({ merchantId, expectedUpdateTime, name: 'First' });

    const failure = await failureOf(
      merchants.updateMerchant({ merchantId, expectedUpdateTime, name: 'Second' }),
    );

    expect(failure).toMatchObject({ code: 'Aborted', reason: 'CHANGED_MEANWHILE' });
    expect((await merchants.getMerchant({ merchantId })).merchant?.name).toBe('First');
  });

  test.each<[string, Terms, string]>([
    ['a currency that is none', { currencies: ['XXX'] }, 'terms.currencies'],
    [
      'an amount that is none',
      { largestAmounts: [{ currency: 'ETB', amount: '-5' }] },
      'terms.largest_amounts',
    ],
    [
      'a currency with two amounts',
      { largestAmounts: ['1', '2'].map((amount) => ({ currency: 'ETB', amount })) },
      'terms.largest_amounts',
    ],
    ['an unknown option', { sandboxPaymentOptions: [99 as PaymentOption] }, 'terms.sandbox_payment_options'],
    ['a rate below nothing', { requestsPerSecond: -1 }, 'terms.requests_per_second'],
  ])('but not with %s', async (_name, terms, field) => {
    const { id: merchantId } = await stack.createMerchant();
    expect(Object.keys(await issuesOf(merchants.updateMerchant({ merchantId, terms })))).toEqual([field]);
  });

  test('with how customers reach it, and its checkout pages say so', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const contact = { phone: '0911 22 33 44', email: 'help@shop.example' };
    await merchants.updateMerchant({ merchantId, contact });
    const { checkoutUrl } = await orders.registerOrder(registration({ merchantId, orderNumber: 'T-1' }));
    const token = checkoutUrl.split('/').at(-1)!;

    const shown = await stack.client(CheckoutService, 'checkout').getCheckout({ token });
    const renamed = await merchants.updateMerchant({ merchantId, name: 'Other name' });
    const removed = await merchants.updateMerchant({ merchantId, contact: { phone: '8118' } });

    expect(shown.checkout?.merchantContact).toMatchObject(contact);
    expect(renamed.merchant?.contact).toMatchObject(contact);
    expect(removed.merchant?.contact).toMatchObject({ phone: '8118', email: '' });
  });

  test.each([
    [{ phone: '12' }, 'contact.phone'],
    [{ phone: '0911223344'.repeat(3) }, 'contact.phone'],
    [{ phone: 'call us' }, 'contact.phone'],
    [{ phone: '0911,22' }, 'contact.phone'],
    [{ email: 'shop.example' }, 'contact.email'],
    [{ email: 'help@shop' }, 'contact.email'],
    [{ email: 'help@shop.example?subject=x y' }, 'contact.email'],
    [{ email: `${'a'.repeat(250)}@b.example` }, 'contact.email'],
  ])('but not with the contact %j', async (contact, field) => {
    const { id: merchantId } = await stack.createMerchant();
    expect(Object.keys(await issuesOf(merchants.updateMerchant({ merchantId, contact })))).toEqual([field]);
  });

  test('but not with nothing', async () => {
    const { id: merchantId } = await stack.createMerchant();
    expect((await failureOf(merchants.updateMerchant({ merchantId }))).reason).toBe('INVALID_FIELDS');
  });
});

describe('an order is registered by the terms', () => {
  test('up to the largest amount, and not above it', async () => {
    const { id: merchantId } = await withTerms({ largestAmounts: [{ currency: 'ETB', amount: '100' }] });

    await orders.registerOrder(registration({ merchantId, orderNumber: 'T-1', amount: '100.00' }));
    const issues = await issuesOf(
      orders.registerOrder(registration({ merchantId, orderNumber: 'T-2', amount: '100.01' })),
    );

    expect(Object.keys(issues)).toEqual(['amount']);
  });

  test('in its currencies only', async () => {
    const { id: merchantId } = await withTerms({ currencies: ['USD'] });

    await orders.registerOrder(registration({ merchantId, orderNumber: 'T-1', currency: 'USD' }));
    const issues = await issuesOf(orders.registerOrder(registration({ merchantId, orderNumber: 'T-2' })));

    expect(Object.keys(issues)).toEqual(['currency']);
  });

  test('and a repeat of one that was registered before is answered as before', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const first = await orders.registerOrder(registration({ merchantId }));
    await merchants.updateMerchant({ merchantId, terms: { currencies: ['USD'] } });
    let tries = 0;
    await waitUntil('the terms hold', async () =>
      orders.registerOrder(registration({ merchantId, orderNumber: `T-${++tries}` })).then(
        () => false,
        () => true,
      ),
    );

    const again = await orders.registerOrder(registration({ merchantId }));

    expect(again).toMatchObject({ repeated: true, checkoutUrl: first.checkoutUrl });
  });
});

test('a direct payment goes by the allowed options only, and the merchant API says so', async () => {
  const merchant = await withTerms({ sandboxPaymentOptions: [PaymentOption.WALLETB_USSD] });
  const merchantId = merchant.id;

  const issues = await issuesOf(orders.startDirectPayment(directPayment({ merchantId })));
  const response = await fetch(`${stack.facades[0]?.sandbox}/api/v1/direct?payment_option=walleta_ussd`, {
    method: 'POST',
    headers: { apiKey: merchant.testKey, 'content-type': 'application/json' },
    body: JSON.stringify({ order_number: 'D-7', amount: '5', currency: 'ETB', phone: '0911223344' }),
  });

  expect(Object.keys(issues)).toEqual(['payment_option']);
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { details: [{ field: 'payment_option', issue: 'must be one of walletb_ussd, which you may use' }] },
  ]);
});

describe('whatever else is wrong with a request, the terms are told at once', () => {
  const terms = {
    sandboxPaymentOptions: [PaymentOption.WALLETB_USSD],
    currencies: ['ETB'],
    largestAmounts: [{ currency: 'ETB', amount: '100' }],
  };

  test('by core, when it only checks and when it would register', async () => {
    const { id: merchantId } = await withTerms(terms);
    const wrong = { merchantId, amount: '100.01', reason: '' };
    const unread = { merchantId, amount: '', currency: 'USD' };

    for (const validateOnly of [true, false]) {
      const both = await issuesOf(orders.registerOrder(registration({ ...wrong, validateOnly })));
      const without = await issuesOf(orders.registerOrder(registration({ ...unread, validateOnly })));
      expect([both, without].map((issues) => Object.keys(issues).sort())).toEqual([
        ['amount', 'reason'],
        ['amount', 'currency'],
      ]);
    }
  });

  test('by core, when nothing else is wrong and it only checks', async () => {
    const { id: merchantId } = await withTerms(terms);
    const check = (own: object) =>
      orders.startDirectPayment(directPayment({ merchantId, ...own, validateOnly: true }));

    await check({ paymentOption: PaymentOption.WALLETB_USSD, amount: '100' });
    const issues = await issuesOf(check({ paymentOption: PaymentOption.WALLETA_USSD, amount: '101' }));

    expect(Object.keys(issues).sort()).toEqual(['amount', 'payment_option']);
  });

  test('by the merchant API', async () => {
    const merchant = await withTerms(terms);
    const sandbox = stack.facades[0]?.sandbox;
    const ask = async (path: string, body: object) => {
      const response = await fetch(`${sandbox}${path}`, {
        method: 'POST',
        headers: { apiKey: merchant.testKey, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const { details = [] } = (await response.json()) as { details?: readonly { field: string }[] };
      return [response.status, ...details.map(({ field }) => field)];
    };

    const direct = { order_number: 'D-8', amount: '101', currency: 'ETB' };
    expect(await ask('/api/v1/direct?payment_option=walleta_ussd', direct)).toEqual([
      400,
      'payment_option',
      'amount',
      'phone',
    ]);
    const order = { order_number: 'T-8', amount: '101', currency: 'ETB', customer_phone: '0911223344' };
    expect(await ask('/api/v1/register', { ...order, return_url: 'https://shop.example/' })).toEqual([
      400,
      'amount',
      'reason',
    ]);
  });
});

test('a checkout offers and takes the allowed options only', async () => {
  const { id: merchantId } = await withTerms({ sandboxPaymentOptions: [PaymentOption.WALLETB_USSD] });
  const { checkoutUrl } = await orders.registerOrder(registration({ merchantId }));
  const token = checkoutUrl.slice(checkoutUrl.lastIndexOf('/') + 1);
  const checkouts = stack.client(CheckoutService, 'checkout');

  const { checkout } = await checkouts.getCheckout({ token });
  const issues = await issuesOf(
    checkouts.submitCheckoutPayment({
      token,
      browserSecret: 'a'.repeat(43),
      paymentOption: PaymentOption.WALLETA_USSD,
      phone: '0911223344',
    }),
  );

  expect(checkout?.paymentOptions).toEqual([PaymentOption.WALLETB_USSD]);
  expect(Object.keys(issues)).toEqual(['payment_option']);
});

test("a key makes no more requests a second than its merchant's terms grant", async () => {
  const merchant = await withTerms({ requestsPerSecond: 2 });
  const ask = async (): Promise<number> => {
    const response = await fetch(`${stack.facades[0]?.sandbox}/api/v1/verify`, {
      method: 'POST',
      headers: { apiKey: merchant.testKey, 'content-type': 'application/json' },
      body: '{"order_number":"none"}',
    });
    return response.status;
  };

  const statuses = await Promise.all(Array.from({ length: 12 }, ask));

  // Twelve at once may lie across the end of a second.
  expect(statuses.filter((status) => status === 404).length).toBeLessThanOrEqual(4);
  expect(statuses).toContain(429);
});
