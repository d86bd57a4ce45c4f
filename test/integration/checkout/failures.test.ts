import { afterEach, describe, expect, test } from '@jest/globals';
import { create } from '@bufbuild/protobuf';
import { MoneyNotReturnedSchema } from '../../../src/gen/gatehouse/v1/checkout_service_pb.js';
import {
  OrderStatus,
  PaymentAttemptSchema,
  PaymentAttemptStatus,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../../src/gen/health/v1/health_pb.js';
import { rpcError } from '../../../src/contract/error-reason.ts';
import { createCustomer, headingOf, payment } from '../../support/customer.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openCheckout, startCheckoutOverRpc, token } from './checkout-over-rpc.ts';
import type { CheckoutOverRpc } from './checkout-over-rpc.ts';

let running: CheckoutOverRpc | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

const failing = (error: Error) => ({
  checkout: {
    getCheckout: () => Promise.reject(error),
    submitCheckoutPayment: () => Promise.reject(error),
    cancelCheckout: () => Promise.reject(error),
  },
});

describe('while core cannot answer', () => {
  test.each([
    ['is unavailable', new ConnectError('gone', Code.Unavailable)],
    ['is too slow', rpcError('DEADLINE_EXCEEDED', 'late')],
    ['has lost its database', rpcError('DATABASE_UNAVAILABLE', 'secret detail')],
    ['fails unexpectedly', new ConnectError('secret detail', Code.Internal)],
    ['does not know our token', rpcError('INVALID_SERVICE_TOKEN', 'secret detail')],
  ])('the page asks the customer to refresh it when core %s', async (_name, error) => {
    running = await startCheckoutOverRpc(failing(error));
    const customer = createCustomer();

    const answers = [
      await customer.get(running.page),
      await customer.post(running.page, payment),
      await customer.post(`${running.page}/cancel`),
    ];

    for (const answer of answers) {
      expect([answer.status, headingOf(answer)]).toEqual([
        503,
        'We cannot reach our payment system right now',
      ]);
      expect(answer.body).toContain(`href="/c/${token}"`);
      expect(answer.body).not.toContain('secret detail');
      expect(answer.headers.get('retry-after')).toBe('5');
    }
  });

  test('the status address answers with JSON', async () => {
    running = await startCheckoutOverRpc(failing(new ConnectError('gone', Code.Unavailable)));

    const { status, headers, body } = await createCustomer().get(`${running.page}/status`);

    expect([status, headers.get('content-type')]).toEqual([503, 'application/json; charset=utf-8']);
    expect(JSON.parse(body)).toEqual({ code: 503, message: 'RPC_UNAVAILABLE' });
  });

  test('the page has the Retry-After of an overloaded core', async () => {
    running = await startCheckoutOverRpc(failing(rpcError('OVERLOADED', 'busy', { retryAfterMs: 1_500 })));

    const { status, headers } = await createCustomer().get(running.page);

    expect([status, headers.get('retry-after')]).toEqual([503, '2']);
  });

  test('the log has the reason and not the token', async () => {
    const { log, page, close } = (running = await startCheckoutOverRpc(
      failing(new ConnectError('gone', Code.Unavailable)),
    ));
    await createCustomer().get(page);
    await close();

    expect(log).toContainEqual(
      expect.objectContaining({ level: 40, route: '/c/:token', status: 503, reason: 'RPC_UNAVAILABLE' }),
    );
    expect(JSON.stringify(log)).not.toContain(token);
  });

  test.each([
    ['with unknown links', failing(rpcError('CHECKOUT_NOT_FOUND', 'unknown'))],
    ['with the link of one order', {}],
  ])('requests %s share log lines', async (_what, services) => {
    const { log, page, close } = (running = await startCheckoutOverRpc(services));
    for (let number = 0; number < 25; number += 1) await createCustomer().get(page);
    await close();

    expect(log.filter(({ msg }) => msg === 'request')).toHaveLength(20);
  });
});

const notPayable = (cause: string) => rpcError('ORDER_NOT_PAYABLE', 'no', { metadata: { cause } });

test.each([
  [rpcError('MERCHANT_SUSPENDED', 'no'), 403, 'This shop cannot take payments right now'],
  [rpcError('PRODUCTION_NOT_ACTIVATED', 'no'), 403, 'This shop cannot take payments right now'],
  [notPayable('order_is_final'), 409, 'This order can no longer be paid'],
  [notPayable('session_ended'), 409, 'The time to pay has run out'],
  [notPayable('too_many_attempts'), 409, 'This order has no attempts left'],
  [notPayable('option_not_allowed'), 409, 'This order cannot be paid with this wallet'],
  [notPayable('a_cause_of_a_newer_core'), 409, 'This order cannot be paid right now'],
])('the form says why the order takes no payment (%s)', async (refusal, status, title) => {
  running = await startCheckoutOverRpc({
    checkout: { submitCheckoutPayment: () => Promise.reject(refusal) },
  });

  const answer = await createCustomer().post(running.page, payment);

  expect(answer.status).toBe(status);
  expect(answer.body).toContain(title);
});

test('a request that the framework refuses is an error of the client, not of the server', async () => {
  running = await startCheckoutOverRpc({});
  const { status } = await fetch(running.page, { method: 'QUERY' });
  expect(status).toBe(400);
});

describe('unknown links', () => {
  test('with a malformed token are not sent to core', async () => {
    let calls = 0;
    running = await startCheckoutOverRpc({
      checkout: {
        getCheckout: () => {
          calls++;
          throw rpcError('CHECKOUT_NOT_FOUND', 'no');
        },
      },
    });
    const customer = createCustomer();
    for (const bad of ['a', 'a'.repeat(101), `${'a'.repeat(60)}.`, `${'a'.repeat(60)}%00%2f`]) {
      expect((await customer.get(`${running.url}/c/${bad}`)).status).toBe(404);
    }

    expect(calls).toBe(0);
  });

  test('too many from one address get 429, and valid links continue to work', async () => {
    running = await startCheckoutOverRpc(
      {
        checkout: {
          getCheckout: (request) => {
            if (request.token === token) return { checkout: openCheckout() };
            throw rpcError('CHECKOUT_NOT_FOUND', 'no');
          },
        },
      },
      { unknownLinksPerMinute: 3 },
    );
    const customer = createCustomer();
    const unknown = `${running.url}/c/${'u'.repeat(87)}`;
    const statuses: number[] = [];
    for (let visit = 0; visit < 5; visit += 1) statuses.push((await customer.get(unknown)).status);
    const refused = await customer.get(unknown);

    expect(statuses).toEqual([404, 404, 404, 429, 429]);
    expect(headingOf(refused)).toBe('Too many unknown links');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await customer.get(running.page)).status).toBe(200);
  });

  test('are counted by the address or the IPv6 /64 that a trusted balancer names', async () => {
    running = await startCheckoutOverRpc(failing(rpcError('CHECKOUT_NOT_FOUND', 'no')), {
      unknownLinksPerMinute: 1,
      trustedProxies: ['127.0.0.1'],
    });
    const { page } = running;
    const from = async (ip: string) => (await createCustomer().get(page, { 'x-forwarded-for': ip })).status;

    expect([await from('203.0.113.1'), await from('203.0.113.1'), await from('203.0.113.2')]).toEqual([
      404, 429, 404,
    ]);
    expect([await from('2001:db8::1'), await from('2001:db8::2'), await from('2001:db8:0:1::')]).toEqual([
      404, 429, 404,
    ]);
  });
});

describe('behind HTTPS', () => {
  const baseUrl = () => 'https://pay.example/checkout';

  test('the secret is a __Host- cookie, and the browser returns over HTTPS only', async () => {
    running = await startCheckoutOverRpc({}, { baseUrl });

    const { headers } = await createCustomer().get(running.page);

    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Host-gatehouse_checkout=[A-Za-z0-9_-]{43}; Max-Age=2678400; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      ),
    ]);
    expect(headers.get('strict-transport-security')).toBe('max-age=31536000');
  });

  test('every address on the page begins with the path of the public URL', async () => {
    running = await startCheckoutOverRpc({}, { baseUrl });

    const { body } = await createCustomer().get(running.page);
    const addresses = [...body.matchAll(/(?:src|href|action)="([^"]*)"/g)].map(([, address]) => address);

    expect(addresses.length).toBeGreaterThan(5);
    expect(addresses.filter((address) => address?.startsWith('/checkout/') !== true)).toEqual([]);
  });

  test('a form must come from the public origin', async () => {
    running = await startCheckoutOverRpc({}, { baseUrl });
    const { page, url } = running;
    const statusFrom = async (origin: string) =>
      (await createCustomer().post(page, payment, { origin })).status;

    expect([await statusFrom('https://pay.example'), await statusFrom(url)]).toEqual([303, 403]);
  });
});

test('the receipt of a payment from the menu of the phone has no row for its unknown number', async () => {
  const attempt = { paymentOption: 'walleta_ussd', phone: '' };
  const latestAttempt = create(PaymentAttemptSchema, { ...attempt, status: PaymentAttemptStatus.SUCCEEDED });
  const paid = openCheckout(
    { status: OrderStatus.COMPLETED, paymentOption: 'walleta_ussd' },
    { latestAttempt },
  );
  running = await startCheckoutOverRpc({ checkout: { getCheckout: () => ({ checkout: paid }) } });

  const { body } = await createCustomer().get(running.page);

  expect(body).toContain('Paid with');
  expect(body).not.toContain('Mobile number');
});

test.each([
  ['40.00', 'ETB\u00a040.00'],
  ['0.00', undefined],
])('the receipt of a payment of which %s was refunded shows %j', async (refunded, shown) => {
  const paid = openCheckout({ status: OrderStatus.COMPLETED, deducted: '100.50', refunded });
  running = await startCheckoutOverRpc({ checkout: { getCheckout: () => ({ checkout: paid }) } });

  const { body } = await createCustomer().get(running.page);

  expect(/Refunded<\/dt><dd><bdi>(.*?)</.exec(body)?.[1]).toBe(shown);
});

describe('the way back to the shop', () => {
  test.each(['', 'javascript:alert(1)', ' https://shop.example', 'data:text/html,x'])(
    'is not a link when the return_url is %j',
    async (returnUrl) => {
      running = await startCheckoutOverRpc({
        checkout: { getCheckout: () => ({ checkout: openCheckout({ status: 4, returnUrl }) }) },
      });

      const { body } = await createCustomer().get(running.page);

      expect(body).toContain('The time to pay has run out');
      expect(body).toContain('You can close this page.');
      expect(body).not.toMatch(/javascript:|data:|http-equiv="refresh"|data-return/);
    },
  );
});

test('the page shows the end of the session in time, and that nothing was paid only after core has expired the order', async () => {
  const endsAtMs = 1_000_000_000_000;
  let status = OrderStatus.PENDING;
  let nowMs = endsAtMs - 1;
  running = await startCheckoutOverRpc(
    {
      checkout: {
        getCheckout: () => ({ checkout: openCheckout({ status, expireTime: timestampFromMs(endsAtMs) }) }),
      },
    },
    { now: () => new Date(nowMs) },
  );
  const customer = createCustomer();

  const before = await customer.get(running.page);
  nowMs += 1;
  const after = await customer.get(running.page);
  status = OrderStatus.EXPIRED;
  const expired = await customer.get(running.page);

  expect(before.body).toContain('1 second');
  expect([headingOf(after), headingOf(expired)]).toEqual(Array(2).fill('The time to pay has run out'));
  expect(after.body).toMatch(/data-follow=[^]+do not pay again until this page shows the result/);
  expect([after.body, expired.body].map((body) => body.includes('Nothing was paid'))).toEqual([false, true]);
});

test('the page does not say that the time has run out while a payment from the menu of the phone is confirmed', async () => {
  const checkout = openCheckout({}, { attemptsLeft: 0 });
  running = await startCheckoutOverRpc({ checkout: { getCheckout: () => ({ checkout }) } });

  const page = await createCustomer().get(running.page);

  expect(headingOf(page)).toBe('Your payment is being checked');
  expect(page.body).toMatch(/data-follow=[^]+do not pay again until this page shows the result/);
});

test.each([
  ['ahead', 2 * 3_600_000],
  ['behind', -2 * 3_600_000],
])(
  'a clock that is two hours %s changes no page, because core sends its own time',
  async (_which, aheadMs) => {
    const readMs = 1_000_000_000_000;
    let leftMs = 1_000;
    const checkoutNow = () =>
      openCheckout({ expireTime: timestampFromMs(readMs + leftMs) }, { readTime: timestampFromMs(readMs) });
    running = await startCheckoutOverRpc(
      { checkout: { getCheckout: () => ({ checkout: checkoutNow() }) } },
      { now: () => new Date(readMs + aheadMs) },
    );
    const customer = createCustomer();

    const before = await customer.get(running.page);
    leftMs = 0;
    const after = await customer.get(running.page);

    expect(before.body).toContain('1 second');
    expect(headingOf(after)).toBe('The time to pay has run out');
  },
);

describe('readyz', () => {
  test('answers 200 while core serves and 503 otherwise, and healthz always answers 200', async () => {
    let status = ServingStatus.SERVING;
    const started = (running = await startCheckoutOverRpc({ health: { check: () => ({ status }) } }));
    const { url } = started;
    const probe = async (path: string) => (await createCustomer().get(url + path)).status;

    expect([await probe('/readyz'), await probe('/healthz')]).toEqual([200, 200]);
    status = ServingStatus.NOT_SERVING;
    await waitUntil('readyz says 503', async () => (await probe('/readyz')) === 503);
    expect(await probe('/healthz')).toBe(200);
  });

  test('answers 503 while the process drains, when pages are still served and no connection is kept', async () => {
    running = await startCheckoutOverRpc({ health: { check: () => ({ status: ServingStatus.SERVING }) } });
    running.drain.abort();

    const ready = await createCustomer().get(`${running.url}/readyz`);
    const page = await createCustomer().get(running.page);

    expect([ready.status, page.status]).toEqual([503, 200]);
    expect([ready, page].map(({ headers }) => headers.get('connection'))).toEqual(['close', 'close']);
  });
});

describe('while a wallet holds money that does not pay the order', () => {
  test.each([
    [{ status: OrderStatus.PENDING }, false, 'on its way back to you. Please do not pay in another way'],
    [{ status: OrderStatus.PENDING }, true, 'Please do not pay again. Contact Abeba Trading'],
    [
      { status: OrderStatus.EXPIRED },
      false,
      'This order was not paid. Your wallet took ETB 99.00, which is on its way',
    ],
    [{ status: OrderStatus.FAILED }, true, 'has not sent it back. Contact Abeba Trading'],
  ])(
    'the page of an order that is %j says so (reversal refused: %s), and never says that nothing was paid',
    async (order, reversalRefused, words) => {
      const moneyNotReturned = create(MoneyNotReturnedSchema, {
        amount: '99.00',
        currency: 'ETB',
        reversalRefused,
      });
      const checkout = openCheckout(order, { moneyNotReturned });
      running = await startCheckoutOverRpc({
        checkout: {
          getCheckout: () => ({ checkout }),
          submitCheckoutPayment: () => Promise.reject(rpcError('MONEY_NOT_RETURNED', 'not back')),
        },
      });
      const customer = createCustomer();

      const page = await customer.get(running.page);
      const sent = await customer.post(running.page, payment);

      expect(page.status).toBe(200);
      expect(page.body.replaceAll(/\s+/g, ' ').replaceAll('&nbsp;', ' ')).toContain(words);
      expect(page.body).toContain('A-1');
      expect(page.body).not.toContain('Nothing was paid');
      expect(page.body).not.toContain('name="phone"');
      expect([sent.status, sent.headers.get('location')]).toEqual([303, `/c/${token}`]);
    },
  );
});

describe('the limit on payment forms', () => {
  const fromAddress =
    (address: string, customer = createCustomer()) =>
    (url: string) =>
      customer.post(url, payment, { 'x-forwarded-for': address, 'sec-fetch-site': 'same-origin' });

  test('counts each browser at a page, and each network, before a call to core, and gives the wait of up to ten minutes', async () => {
    let asked = 0;
    const submitCheckoutPayment = () => {
      asked += 1;
      return { checkout: openCheckout() };
    };
    running = await startCheckoutOverRpc(
      { checkout: { submitCheckoutPayment } },
      { paymentLimits: { perBrowser: 2, perPage: 0, perNetwork: 3 }, trustedProxies: ['127.0.0.1'] },
    );
    const { page } = running;
    const otherPage = page.replace(token, 'U'.repeat(87));
    const browser = createCustomer();

    const answers = [
      await fromAddress('192.0.2.1', browser)(page),
      await fromAddress('192.0.2.2', browser)(page),
      await fromAddress('192.0.2.3', browser)(page),
      await fromAddress('192.0.2.1', browser)(otherPage),
      await fromAddress('192.0.2.1', browser)(otherPage),
      await fromAddress('192.0.2.1')(page.replace(token, 'V'.repeat(87))),
    ];

    expect(answers.map(({ status }) => status)).toEqual([303, 303, 429, 303, 303, 429]);
    expect(asked).toBe(4);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.map(headingOf)).toEqual([
      'This payment was tried too often',
      'Too many payments from your internet connection',
    ]);
    // Another connection helps only against the limit of the network.
    expect(refused.map(({ body }) => body.includes('another internet connection'))).toEqual([false, true]);
    for (const { headers, body } of refused) {
      const waitSeconds = Number(headers.get('retry-after'));
      expect(waitSeconds % 60).toBe(0);
      expect(waitSeconds).toBeGreaterThan(5 * 60);
      expect(body).toContain(`try again in ${waitSeconds / 60} minutes`);
    }
  });

  test('lets the paying customer try again, however many forms another person with the link sends', async () => {
    running = await startCheckoutOverRpc(
      {},
      { paymentLimits: { perBrowser: 2, perPage: 0, perNetwork: 0 }, trustedProxies: ['127.0.0.1'] },
    );
    const { page } = running;
    const payer = fromAddress('192.0.2.1');
    const other = fromAddress('192.0.2.2');

    const paid = await payer(page);
    const others = [await other(page), await other(page), await other(page)];
    const again = await payer(page);

    expect([paid, ...others, again].map(({ status }) => status)).toEqual([303, 303, 303, 429, 303]);
  });

  test('has a limit for all browsers of a page, above which only the payer may continue, and does not count towards the address', async () => {
    const seen = { payments: 0, payerSecret: '' };
    running = await startCheckoutOverRpc(
      {
        checkout: {
          getCheckout: ({ browserSecret }) => ({
            checkout: openCheckout({}, { boundHere: browserSecret === seen.payerSecret }),
          }),
          submitCheckoutPayment: () => {
            seen.payments += 1;
            return { checkout: openCheckout() };
          },
        },
      },
      { paymentLimits: { perBrowser: 2, perPage: 3, perNetwork: 5 }, trustedProxies: ['127.0.0.1'] },
    );
    const { page } = running;
    const payer = createCustomer();
    const statusOf = async (customer: typeof payer, url = page): Promise<number> =>
      (await fromAddress('192.0.2.1', customer)(url)).status;

    const first = await statusOf(payer);
    seen.payerSecret = payer.cookies.get('gatehouse_checkout') ?? '';
    const strangers: number[] = [];
    for (let number = 0; number < 10; number += 1) strangers.push(await statusOf(createCustomer()));
    const again = [await statusOf(payer), await statusOf(payer)];
    const neighbour = await statusOf(createCustomer(), page.replace(token, 'U'.repeat(87)));

    expect(first).toBe(303);
    expect(strangers).toEqual([303, 303, ...Array.from({ length: 8 }, () => 429)]);
    expect(again).toEqual([303, 429]);
    expect(neighbour).toBe(303);
    expect(seen.payments).toBe(5);
  });

  test('counts the forms of the sandbox apart, so that they cannot use up the payments of a shared network', async () => {
    running = await startCheckoutOverRpc({}, { paymentLimits: { perBrowser: 0, perPage: 0, perNetwork: 2 } });
    const { page } = running;
    const statusesAt = async (url: string): Promise<number[]> => {
      const statuses: number[] = [];
      for (let number = 0; number < 3; number += 1)
        statuses.push((await createCustomer().post(url, payment)).status);
      return statuses;
    };

    // The first byte of a token is its environment.
    const sandbox = await statusesAt(page.replace(token, 'A'.repeat(87)));
    const production = await statusesAt(page.replace(token, `AQ${'A'.repeat(85)}`));

    expect([sandbox, production]).toEqual([
      [303, 303, 429],
      [303, 303, 429],
    ]);
  });

  test('counts no page for a form that the limit of its network refuses, so that one client cannot fill the memory', async () => {
    running = await startCheckoutOverRpc(
      {},
      { paymentLimits: { perBrowser: 1, perPage: 0, perNetwork: 1 }, trustedProxies: ['127.0.0.1'] },
    );
    const { page } = running;
    const otherPage = page.replace(token, 'U'.repeat(87));
    const browser = createCustomer();

    const answers = [
      await fromAddress('192.0.2.1', browser)(page),
      await fromAddress('192.0.2.1', browser)(otherPage),
      await fromAddress('192.0.2.2', browser)(otherPage),
    ];

    expect(answers.map(({ status }) => status)).toEqual([303, 429, 303]);
  });

  test('does not count forms with an unknown link, so that they cannot block the customers of a shared address', async () => {
    running = await startCheckoutOverRpc(
      {
        checkout: {
          submitCheckoutPayment: (request) => {
            if (request.token === token) return { checkout: openCheckout() };
            throw rpcError('CHECKOUT_NOT_FOUND', 'no');
          },
        },
      },
      { paymentLimits: { perBrowser: 1, perPage: 0, perNetwork: 1 }, unknownLinksPerMinute: 3 },
    );
    const { page } = running;
    const unknown = page.replace(token, 'u'.repeat(87));
    const forged = createCustomer();

    const refused = await Promise.all(Array.from({ length: 20 }, () => forged.post(unknown, payment)));
    const paid = await createCustomer().post(page, payment);
    const next = await createCustomer().post(page, payment);

    expect(refused.every(({ status }) => status === 404 || status === 429)).toBe(true);
    expect([paid.status, next.status]).toEqual([303, 429]);
  });

  test('counts no form with an unknown link, not even before core answers', async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<undefined>();
    let asked = 0;
    const refuseOthers = async (request: { readonly token: string }) => {
      if (request.token === token) return { checkout: openCheckout() };
      asked += 1;
      await answered;
      throw rpcError('CHECKOUT_NOT_FOUND', 'no');
    };
    running = await startCheckoutOverRpc(
      { checkout: { getCheckout: refuseOthers, submitCheckoutPayment: refuseOthers } },
      { paymentLimits: { perBrowser: 0, perPage: 1, perNetwork: 1 } },
    );
    const { page } = running;
    const forged = createCustomer().post(page.replace(token, 'u'.repeat(87)), payment);
    await waitUntil('core is asked', () => asked === 1);

    const paid = await createCustomer().post(page, payment);
    answer(undefined);

    expect([(await forged).status, paid.status]).toEqual([404, 303]);
  });

  test('counts no form that core could not answer, so that customers can pay when it works again', async () => {
    let isDown = true;
    running = await startCheckoutOverRpc(
      {
        checkout: {
          submitCheckoutPayment: () => {
            if (isDown) throw rpcError('OVERLOADED', 'no');
            return { checkout: openCheckout() };
          },
        },
      },
      { paymentLimits: { perBrowser: 1, perPage: 1, perNetwork: 1 } },
    );
    const { page } = running;
    const customer = createCustomer();

    const unanswered = [await customer.post(page, payment), await customer.post(page, payment)];
    isDown = false;
    const paid = await customer.post(page, payment);
    const next = await createCustomer().post(page, payment);

    expect([...unanswered, paid, next].map(({ status }) => status)).toEqual([503, 503, 303, 429]);
  });
});
