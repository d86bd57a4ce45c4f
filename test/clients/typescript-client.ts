import { expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ConfigurationError,
  ConnectionError,
  ForbiddenError,
  Gatehouse,
  IdempotencyConflictError,
  InvalidRequestError,
  NotFoundError,
  ServerError,
  TimedOutError,
  TooManyRequestsError,
  UnauthorizedError,
  UnexpectedAnswerError,
  verifySvcSignature,
  verifyWebhook,
  WebhookVerificationError,
} from '../../clients/typescript/src/gatehouse-client.ts';
import type { GatehouseSettings } from '../../clients/typescript/src/gatehouse-client.ts';
import { waitUntil } from '../support/wait-until.ts';
import { newNumber, newPhone, requestsOf } from './client-site.ts';
import type { ClientSite } from './client-site.ts';

const root = join(import.meta.dirname, '..', '..');

interface SignatureVector {
  readonly name: string;
  readonly now: number;
  readonly secrets: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body_base64: string;
  readonly webhook_signature: string;
  readonly svc_signature: string;
}

const newOrder = () => ({
  order_number: newNumber(),
  return_url: 'https://shop.example/thanks',
  amount: '100.50',
  currency: 'ETB',
  reason: 'ሦስት መጻሕፍት',
  customer_phone: '0911223344',
});

const newPayment = () => ({
  payment_option: 'walleta_ussd',
  order_number: newNumber(),
  amount: '100.50',
  currency: 'ETB',
  phone: newPhone(),
});

/** The error with which a promise rejects. */
async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    return await promise.then((value) => new Error(`it gave ${JSON.stringify(value)}`));
  } catch (error) {
    return error;
  }
}

/** The tests of the TypeScript client at a site. */
export function testTypeScriptClient(site: () => ClientSite): void {
  const client = (settings: Partial<GatehouseSettings> = {}): Gatehouse =>
    new Gatehouse({ apiKey: site().test_key, baseUrl: site().sandbox_url, ...settings });
  const clientWithFault = (fault: string, settings: Partial<GatehouseSettings> = {}) => {
    const run = newNumber();
    const gatehouse = client({ baseUrl: `${site().faulty_url}/${fault}/${run}/`, ...settings });
    return { gatehouse, requests: () => requestsOf(site(), run) };
  };

  const payAndRefund = async (fault: string): Promise<void> => {
    const { gatehouse, requests } = clientWithFault(fault, { timeoutSeconds: 120, retries: 5 });
    const [order, payment, refundNumber] = [newOrder(), newPayment(), newNumber()];

    const [registered, started] = await Promise.all([gatehouse.register(order), gatehouse.direct(payment)]);
    const paid = await gatehouse.wait(payment.order_number, { timeoutSeconds: 120 });
    const refund = await gatehouse.refund({
      order_number: payment.order_number,
      refund_number: refundNumber,
      amount: '40',
      reason: 'One book came back',
    });
    const decided = await waitUntil('the refund is decided', async () => {
      const found = await gatehouse.verifyRefund(refundNumber);
      return found.status !== 'PENDING' && found;
    });

    expect(registered.checkout_url).toMatch(/^https?:\/\/.+\/c\/.+/);
    expect(await client().register(order)).toEqual(registered);
    // A repeat may find that the customer has already paid.
    expect(started.payment_status).toMatch(fault === 'none' ? /^PENDING$/ : /^(PENDING|COMPLETED)$/);
    expect(paid).toMatchObject({ status: 'COMPLETED', deducted: '100.50', payment_type: 'DIRECT' });
    expect(refund).toMatchObject({ order_number: payment.order_number, amount: '40.00' });
    expect(decided.status).toBe('COMPLETED');
    const seen = await requests();
    const attempts = { none: 1, 'first-two-broken': 3, 'never-waits': 1 }[fault] ?? 2;
    for (const path of ['/api/v1/register', '/api/v1/direct', '/api/v1/refund']) {
      const made = seen.filter((each) => each.path.split('?')[0] === path);
      // A busy machine may add a 429 or 500. A success is never repeated.
      const answers = made.map(({ answered }) => answered);
      expect([path, answers.length >= attempts, answers.at(-1)]).toEqual([path, true, 201]);
      expect(answers.slice(0, -1).filter((status) => status !== 0 && status !== 429 && status < 500)).toEqual(
        [],
      );
      for (const header of ['idempotency-key', 'x-request-id'])
        expect(new Set(made.map(({ headers }) => headers[header])).size).toBe(1);
    }
    const waits = seen.filter(({ path, headers }) => path === '/api/v1/verify' && headers['prefer']);
    expect(waits[0]?.headers['prefer']).toBe('wait=30');
  };

  test('a registration, a direct payment and a refund are made once each, whatever fault the gateway has', async () => {
    const faults = ['none', 'first-answer-lost', 'first-two-broken', 'first-limited', 'never-waits'];
    await Promise.all(faults.map(payAndRefund));
  });

  test('when the time to wait has passed, the client returns the order in its current state', async () => {
    const order = newOrder();
    await client().register(order);
    const { gatehouse, requests } = clientWithFault('none');
    expect((await gatehouse.wait(order.order_number, { timeoutSeconds: 1 })).status).toBe('PENDING');
    // The gateway waits, so the client does not ask at intervals.
    expect((await requests()).length).toBeLessThanOrEqual(2);
    expect((await client().verify(order.order_number)).reason).toBe(order.reason);
    expect(await client().explain(order.order_number)).toMatchObject({
      order_number: order.order_number,
      waiting_for: 'customer_payment',
      held_by: 'payer',
      next: 'order_expires',
    });
  });

  test.each([
    ['unavailable-for-a-while', 15, 1, ServerError],
    ['silent', 0.2004, 0.1, TimedOutError],
  ] as const)(
    'a wait does not repeat a request after its end, at a gateway with the fault %s',
    async (fault, timeoutSeconds, waitSeconds, kind) => {
      const { gatehouse, requests } = clientWithFault(fault, { timeoutSeconds });
      const failure = await failureOf(gatehouse.wait('a', { timeoutSeconds: waitSeconds }));
      expect(failure).toBeInstanceOf(kind);
      expect((await requests()).length).toBe(1);
    },
  );

  test('an error has its own class, the answer of the gateway, and the request id', async () => {
    const gatehouse = client();
    const invalid = await failureOf(
      gatehouse.register({ ...newOrder(), order_number: 'a b', amount: '0' }, { requestId: 'mine-1' }),
    );
    expect(invalid).toBeInstanceOf(InvalidRequestError);
    expect(invalid).toMatchObject({
      name: 'InvalidRequestError',
      status: 400,
      apiMessage: 'Bad request',
      requestId: 'mine-1',
      details: [{ field: 'order_number' }, { field: 'amount' }],
    });
    expect((invalid as Error).message).toMatch(
      /^400 Bad request: order_number must .*; amount .* \(request id mine-1\)$/,
    );
    const missing = await failureOf(gatehouse.verify(newNumber()));
    expect(missing).toBeInstanceOf(NotFoundError);
    expect(missing).toMatchObject({ isUnknownNumber: true });
    const elsewhere = client({ baseUrl: `${site().sandbox_url}/shop` });
    expect(await failureOf(elsewhere.verify(newNumber()))).toMatchObject({ isUnknownNumber: false });
    const forbidden = client({ apiKey: site().key_without_refunds }).verifyRefund(newNumber());
    expect(await failureOf(forbidden)).toBeInstanceOf(ForbiddenError);
    const conflict = clientWithFault('conflicting-key');
    expect(await failureOf(conflict.gatehouse.register(newOrder()))).toMatchObject({
      name: IdempotencyConflictError.name,
      requestId: 'of-the-gateway',
    });
    expect((await conflict.requests()).length).toBe(1);
  });

  test('the client explains that a key belongs to the other environment, and does not send it when it knows the environment', async () => {
    const live = { apiKey: site().live_key };
    const refused = await failureOf(client(live).verify(newNumber()));
    expect(refused).toBeInstanceOf(UnauthorizedError);
    expect((refused as Error).message).toContain(
      'a live key (svc_live_…) works only at the production address',
    );
    expect((refused as Error).message).not.toContain(site().live_key);
    const both = { sandbox: site().sandbox_url, production: site().production_url };
    expect(client({ baseUrl: both }).environment).toBe('sandbox');
    expect((await failureOf(client({ baseUrl: both }).verify('none'))) as Error).toBeInstanceOf(
      NotFoundError,
    );
    for (const settings of [
      { ...live, environment: 'sandbox' },
      { apiKey: 'secret' },
      { apiKey: '' },
      { baseUrl: 'pay.example' },
      { retries: -1 },
    ] as const)
      expect(() => client(settings)).toThrow(ConfigurationError);
  });

  test.each([
    ['limited-for-minutes', {}, TooManyRequestsError, { retryAfter: 300, mayHaveHappened: false }, 1],
    ['limited-without-time', {}, TooManyRequestsError, { retryAfter: undefined }, 1],
    ['answer-lost-then-limited', {}, TooManyRequestsError, { mayHaveHappened: true }, 2],
    [
      'always-unavailable',
      { retries: 1 },
      ServerError,
      { status: 503, details: [], mayHaveHappened: true },
      2,
    ],
    ['another-site', {}, UnexpectedAnswerError, { status: 200, mayHaveHappened: true }, 1],
    ['another-json', {}, UnexpectedAnswerError, { status: 200 }, 1],
    ['redirecting', {}, UnexpectedAnswerError, { status: 302 }, 1],
    ['silent', { retries: 1, timeoutSeconds: 0.2 }, TimedOutError, { mayHaveHappened: true }, 2],
    ['dripping', { retries: 0, timeoutSeconds: 0.5 }, TimedOutError, { mayHaveHappened: true }, 1],
  ] as const)(
    'a gateway with the fault %s causes the documented error after the documented number of attempts',
    async (...row) => {
      const [fault, settings, kind, facts, attempts] = row;
      const { gatehouse, requests } = clientWithFault(fault, settings);

      const failure = await failureOf(gatehouse.register(newOrder()));

      expect(failure).toBeInstanceOf(kind);
      expect(failure).toMatchObject({ name: kind.name, ...facts, requestId: expect.stringMatching(/./) });
      const seen = await requests();
      expect(seen.length).toBe(attempts);
      expect(seen[0]?.headers['user-agent']).toMatch(/^gatehouse-client-typescript\/\d/);
    },
  );

  test('an address without a listener is a ConnectionError, an id that no header holds is never sent, and an aborted call fails with its own reason', async () => {
    const nobody = client({ baseUrl: 'http://127.0.0.1:1', retries: 0 });
    expect(await failureOf(nobody.verify('a'))).toBeInstanceOf(ConnectionError);
    for (const value of ['', 'order\n42', '№42']) {
      const { gatehouse, requests } = clientWithFault('none');
      for (const options of [{ requestId: value }, { idempotencyKey: value }])
        expect(await failureOf(gatehouse.register(newOrder(), options))).toMatchObject({
          name: 'ConfigurationError',
          mayHaveHappened: false,
        });
      expect(await requests()).toEqual([]);
    }
    const leaving = clientWithFault('silent');
    const reason = new Error('the customer left');
    const left = AbortSignal.abort(reason);
    expect(await failureOf(leaving.gatehouse.verify('a', { signal: left }))).toBe(reason);
  });

  test('signatures of webhooks are verified as in the test vectors', async () => {
    const file = join(root, 'clients/signature-vectors.json');
    const { vectors } = JSON.parse(await readFile(file, 'utf8')) as { vectors: readonly SignatureVector[] };
    const judge = async (verified: Promise<{ type: string }>): Promise<string> => {
      const outcome = await failureOf(verified.then(({ type }) => Promise.reject(new Error(type))));
      if (outcome instanceof WebhookVerificationError) return outcome.reason;
      return (outcome as Error).message === 'order.completed' ? 'genuine' : String(outcome);
    };
    for (const { name, now, secrets, headers, body_base64, ...expected } of vectors) {
      const webhook = {
        headers,
        body: Buffer.from(body_base64, 'base64'),
        secrets,
        now: new Date(now * 1000),
      };
      const judged = {
        webhook_signature: await judge(verifyWebhook(webhook)),
        svc_signature: await judge(verifySvcSignature(webhook)),
      };
      expect([name, judged]).toEqual([name, expected]);
    }
    expect(vectors.length).toBeGreaterThan(40);
    for (const secrets of [[], ['secret'], ['whsec_']])
      expect(await failureOf(verifyWebhook({ headers: new Headers(), body: '', secrets }))).toBeInstanceOf(
        ConfigurationError,
      );
  });

  test('a webhook of the running gateway passes the verification of both signatures, and a changed one fails', async () => {
    const [url, payment] = [`${site().mailbox_url}/${newNumber()}`, newPayment()];
    await client().register({ ...newOrder(), order_number: payment.order_number, webhook_url: url });
    await client().direct(payment);
    const webhook = await waitUntil('the webhook has arrived', async () => {
      const arrived = (await (await fetch(url)).json()) as {
        headers: Record<string, string>;
        body_base64: string;
      }[];
      return arrived[0];
    });
    const body = Buffer.from(webhook.body_base64, 'base64');
    const received = { headers: webhook.headers, body, secrets: [site().signing_secret] };

    const event = await verifyWebhook(received);

    expect(event).toMatchObject({
      type: 'order.completed',
      data: await client().verify(payment.order_number),
    });
    expect(await verifySvcSignature(received)).toEqual(event);
    body[body.length - 2] = 0x20;
    for (const verify of [verifyWebhook, verifySvcSignature])
      expect(await failureOf(verify(received))).toBeInstanceOf(WebhookVerificationError);
  });
}
