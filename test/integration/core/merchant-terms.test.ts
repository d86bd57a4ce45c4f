import { describe, expect, test, beforeEach } from '@jest/globals';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { CheckoutService } from '../../../src/gen/gatehouse/v1/checkout_service_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import type { MerchantTermsSchema } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { directPayment, registration } from '../../support/order-requests.ts';
import { failureOf, refusalOf, wrongFields } from '../../support/rpc-failure.ts';
import type { TestMerchant } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sharedStack, sharedClient } from '../../support/shared-stack.ts';

const stack = sharedStack();
const merchants = sharedClient(stack, MerchantService, 'operator');
const orders = sharedClient(stack, OrderService, 'operator');
let merchantId: string;
beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
});

type Terms = MessageInitShape<typeof MerchantTermsSchema>;

const withTerms = async (terms: Terms): Promise<TestMerchant> => {
  const merchant = await stack.createMerchant();
  await merchants.updateMerchant({ merchantId: merchant.id, terms });
  return merchant;
};
/** The answer of the merchant API: the status, the body and the fields with an issue. */
const post = async ({ testKey }: TestMerchant, path: string, body: object) => {
  const response = await fetch(`${stack.facades[0]?.sandbox}${path}`, {
    method: 'POST',
    headers: { apiKey: testKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { details?: readonly { field: string; issue: string }[] };
  return {
    status: response.status,
    answer,
    fields: (answer.details ?? []).map(({ field }) => field).join(' '),
  };
};

describe('a merchant is updated', () => {
  test('only in the given fields', async () => {
    const terms = {
      sandboxPaymentOptions: ['walleta_ussd'],
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

  test('but the second of two updates from the same state is refused', async () => {
    const { merchant: seen } = await merchants.getMerchant({ merchantId });
    const expectedUpdateTime = seen!.updateTime!;
    await merchants.updateMerchant({ merchantId, expectedUpdateTime, name: 'First' });

    const failure = await failureOf(
      merchants.updateMerchant({ merchantId, expectedUpdateTime, name: 'Second' }),
    );

    expect(failure).toMatchObject({ code: 'Aborted', reason: 'CHANGED_MEANWHILE' });
    expect((await merchants.getMerchant({ merchantId })).merchant?.name).toBe('First');
  });

  test('but not with an invalid term or contact', async () => {
    const largest = (...amounts: string[]) => ({
      largestAmounts: amounts.map((amount) => ({ currency: 'ETB', amount })),
    });
    const wrongTerms: [Terms, string][] = [
      [{ currencies: ['XXX'] }, 'terms.currencies'],
      [largest('-5'), 'terms.largest_amounts'],
      [largest('1', '2'), 'terms.largest_amounts'],
      [{ sandboxPaymentOptions: ['walletc_ussd'] }, 'terms.sandbox_payment_options'],
      [{ requestsPerSecond: -1 }, 'terms.requests_per_second'],
    ];
    for (const [terms, field] of wrongTerms)
      expect(await wrongFields(merchants.updateMerchant({ merchantId, terms }))).toBe(field);
    for (const phone of ['12', '0911223344'.repeat(3), 'call us', '0911,22'])
      expect(await wrongFields(merchants.updateMerchant({ merchantId, contact: { phone } }))).toBe(
        'contact.phone',
      );
    const emails = [
      'shop.example',
      'help@shop',
      'help@shop.example?subject=x y',
      `${'a'.repeat(250)}@b.example`,
    ];
    for (const email of emails)
      expect(await wrongFields(merchants.updateMerchant({ merchantId, contact: { email } }))).toBe(
        'contact.email',
      );
    expect(await refusalOf(merchants.updateMerchant({ merchantId }))).toBe('INVALID_FIELDS');
  });

  test('with a contact for customers, which its checkout pages show', async () => {
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
});

describe('an order is registered by the terms', () => {
  test('up to the largest amount, and not above it', async () => {
    const { id: merchantId } = await withTerms({ largestAmounts: [{ currency: 'ETB', amount: '100' }] });

    await orders.registerOrder(registration({ merchantId, orderNumber: 'T-1', amount: '100.00' }));
    expect(
      await wrongFields(
        orders.registerOrder(registration({ merchantId, orderNumber: 'T-2', amount: '100.01' })),
      ),
    ).toBe('amount');
  });

  test('in its currencies only', async () => {
    const { id: merchantId } = await withTerms({ currencies: ['USD'] });

    await orders.registerOrder(registration({ merchantId, orderNumber: 'T-1', currency: 'USD' }));
    expect(await wrongFields(orders.registerOrder(registration({ merchantId, orderNumber: 'T-2' })))).toBe(
      'currency',
    );
  });

  test('and a repeat of one that was registered before is answered as before', async () => {
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

test('a direct payment and a checkout accept the allowed options only, and the merchant API lists them', async () => {
  const merchant = await withTerms({ sandboxPaymentOptions: ['walletb_ussd'] });
  const { id } = merchant;
  expect(await wrongFields(orders.startDirectPayment(directPayment({ merchantId: id })))).toBe(
    'payment_option',
  );
  const body = { order_number: 'D-7', amount: '5', currency: 'ETB', phone: '0911223344' };
  expect(await post(merchant, '/api/v1/direct?payment_option=walleta_ussd', body)).toMatchObject({
    status: 400,
    answer: {
      details: [
        {
          field: 'payment_option',
          issue: 'must be one of walletb_ussd: no other payment option is enabled for this merchant',
        },
      ],
    },
  });

  const { checkoutUrl } = await orders.registerOrder(registration({ merchantId: id }));
  const token = checkoutUrl.slice(checkoutUrl.lastIndexOf('/') + 1);
  const checkouts = stack.client(CheckoutService, 'checkout');
  const { checkout } = await checkouts.getCheckout({ token });
  expect(checkout?.paymentOptions).toEqual(['walletb_ussd']);
  const payment = {
    token,
    browserSecret: 'a'.repeat(43),
    paymentOption: 'walleta_ussd',
    phone: '0911223344',
  };
  expect(await wrongFields(checkouts.submitCheckoutPayment(payment))).toBe('payment_option');
});

describe('all violated terms are reported at once', () => {
  const terms = {
    sandboxPaymentOptions: ['walletb_ussd'],
    currencies: ['ETB'],
    largestAmounts: [{ currency: 'ETB', amount: '100' }],
  };

  test('by core together with other invalid fields, when it only checks and when it would register', async () => {
    const { id } = await withTerms(terms);
    const wrong = { merchantId: id, amount: '100.01', reason: '' };
    const unread = { merchantId: id, amount: '', currency: 'USD' };
    for (const validateOnly of [true, false]) {
      const fieldsOf = (own: typeof wrong | typeof unread) =>
        wrongFields(orders.registerOrder(registration({ ...own, validateOnly })));
      expect([await fieldsOf(wrong), await fieldsOf(unread)]).toEqual(['amount reason', 'amount currency']);
    }
  });

  test('by core when no field is invalid and it only checks', async () => {
    const { id } = await withTerms(terms);
    const check = (own: object) =>
      orders.startDirectPayment(directPayment({ merchantId: id, ...own, validateOnly: true }));
    await check({ paymentOption: 'walletb_ussd', amount: '100' });
    const both = { paymentOption: 'walleta_ussd', amount: '101' };
    expect(await wrongFields(check(both))).toBe('amount payment_option');
  });

  test('by the merchant API', async () => {
    const merchant = await withTerms(terms);
    const direct = { order_number: 'D-8', amount: '101', currency: 'ETB' };
    expect(await post(merchant, '/api/v1/direct?payment_option=walleta_ussd', direct)).toMatchObject({
      ...{ status: 400, fields: 'payment_option amount phone' },
    });
    const order = { ...direct, customer_phone: '0911223344', return_url: 'https://shop.example/' };
    expect(await post(merchant, '/api/v1/register', order)).toMatchObject({
      ...{ status: 400, fields: 'amount reason' },
    });
  });
});

test("a key makes at most as many requests a second as its merchant's terms allow", async () => {
  const merchant = await withTerms({ requestsPerSecond: 2 });
  const ask = () => post(merchant, '/api/v1/verify', { order_number: 'none' });
  const statuses = (await Promise.all(Array.from({ length: 12 }, ask))).map(({ status }) => status);
  // Twelve concurrent requests may fall into two seconds.
  expect(statuses.filter((status) => status === 404).length).toBeLessThanOrEqual(4);
  expect(statuses).toContain(429);
});
