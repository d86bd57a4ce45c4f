import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DescService } from '@bufbuild/protobuf';
import { durationMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CheckoutService } from '../../../src/gen/gatehouse/v1/checkout_service_pb.js';
import { CheckSubject, DiagnosticsService } from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { OrderStatus, PaymentAttemptStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { PayerPaymentService } from '../../../src/gen/gatehouse/v1/payer_payment_service_pb.js';
import { PaymentAttemptService } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import type { GrpcTransport } from '../../../src/platform/rpc/grpc-transport.ts';
import type { Role } from '../../../src/contract/roles.ts';
import { storedId } from '../../support/ids.ts';
import { directPayment, registration } from '../../support/order-requests.ts';
import { startProcess } from '../../support/gatehouse-process.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { failureOf } from '../../support/rpc-failure.ts';
import { beginLateEvent } from './late-event.ts';
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';

const shiftedClock = pathToFileURL(resolve(import.meta.dirname, '../../support/shifted-clock.ts')).href;
const hourMs = 60 * 60_000;
const clocks = [
  ['an hour ahead', hourMs],
  ['an hour behind', -hourMs],
] as const;

let phones = 0;
const newPhone = (): string => `09113${String((phones += 1)).padStart(5, '0')}`;

const stack = sharedStack({ facades: 0, settings: { GATEHOUSE_PHONE_PROMPTS_PER_10_MINUTES: '2' } });
const desk = sharedPaymentDesk(stack);

describe.each(clocks)('a core whose clock is %s', (_name, shiftMs) => {
  let core: GatehouseProcess;
  const transports: GrpcTransport[] = [];
  let orders: Client<typeof OrderService>;

  beforeAll(async () => {
    core = await startProcess('core', {
      ...stack.coreSettings,
      NODE_OPTIONS: `--import ${shiftedClock}`,
      TEST_CLOCK_SHIFT_MS: String(shiftMs),
    });
    orders = clientOf(OrderService, 'writer');
  });
  afterAll(async () => {
    for (const transport of transports) transport.close();
    await core.stop();
  });

  const clientOf = <S extends DescService>(service: S, role: Role): Client<S> => {
    const transport = createGrpcTransport({
      addresses: [String(core.ready['grpc'])],
      token: stack.tokens[role],
    });
    transports.push(transport);
    return createClient(service, transport);
  };

  const pay = async (merchantId: string, orderNumber: string, phone: string) => {
    const { order, paymentAttempt } = await orders.startDirectPayment(
      directPayment({ merchantId, orderNumber, phone }),
    );
    return { merchantId, orderId: order?.orderId ?? '', attemptId: paymentAttempt?.paymentAttemptId ?? '' };
  };

  test('really has such a clock', () => {
    const said = Date.parse(String(core.ready['time']));
    expect(Math.abs(said - Date.now() - shiftMs)).toBeLessThan(hourMs / 2);
  });

  test('reports for how long events have waited by the clock of the database', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const open = await beginLateEvent(stack.databaseUrl);
    try {
      await orders.registerOrder(registration({ merchantId, orderNumber: 'C-waits' }));
      const { checks } = await clientOf(DiagnosticsService, 'operator').diagnose({});

      const facts = checks.find(({ subject }) => subject === CheckSubject.EVENT_RELAY)?.facts;
      const lag = facts?.case === 'eventRelay' ? facts.value.lag : undefined;
      const lagMs = lag === undefined ? 0 : durationMs(lag);
      expect(lagMs).toBeGreaterThan(0);
      expect(lagMs).toBeLessThan(hourMs / 2);
    } finally {
      await open.end();
    }
  });

  test('sends the time of the database with a checkout', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const { checkoutUrl } = await orders.registerOrder(registration({ merchantId, orderNumber: 'C-time' }));
    const token = checkoutUrl.split('/').at(-1) ?? '';

    const { checkout } = await clientOf(CheckoutService, 'checkout').getCheckout({ token });

    const readMs = checkout?.readTime === undefined ? 0 : timestampMs(checkout.readTime);
    expect(Math.abs(readMs - Date.now())).toBeLessThan(hourMs / 2);
  });

  test('starts payments that are due at once, with a full session and a prompt of three minutes', async () => {
    const { id: merchantId } = await stack.createMerchant();

    const payment = await pay(merchantId, 'C-1', newPhone());

    const [times] = await desk.query(sql`
      select a.due_at <= now() as due, a.prompt_until - a.created_at = interval '3 minutes' as prompt,
        o.expires_at between now() + interval '29 minutes' and now() + interval '30 minutes' as session
      from core.payment_attempts a join core.orders o on o.id = a.order_id
      where a.id = ${storedId('pat', payment.attemptId)}`);
    expect(times).toEqual({ due: true, prompt: true, session: true });
    expect((await desk.take(payment)).paymentAttempt?.status).toBe(PaymentAttemptStatus.SENT);
  });

  test('prompts a phone once at a time and twice in ten minutes, together with the other core', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const phone = newPhone();
    const first = await pay(merchantId, 'C-1', phone);

    const busy = await failureOf(desk.startDirect({ merchantId, orderNumber: 'C-2', phone }));
    await desk.settle(first, outcomes.declined());
    await desk.settle(await desk.startDirect({ merchantId, orderNumber: 'C-3', phone }), outcomes.declined());
    const often = await failureOf(pay(merchantId, 'C-4', phone));

    expect(busy.reason).toBe('PHONE_BUSY');
    expect(often.reason).toBe('PHONE_LIMIT');
  });

  test('neither ends an order before its time nor accepts a payment after it', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const payment = await desk.startDirect({ merchantId, orderNumber: 'C-1', phone: newPhone() });
    const leased = await desk.take(payment);
    const payments = clientOf(PaymentAttemptService, 'wallets');
    const checkout = clientOf(CheckoutService, 'checkout');
    const open = await desk.registerHosted({ merchantId, orderNumber: 'C-2' });
    const over = await desk.registerHosted({ merchantId, orderNumber: 'C-3' });
    // The sweep is blocked, so that the payments arrive before it.
    await desk.query(sql`update core.orders set expires_at = now(), sweep_at = now() + interval '1 hour'
      where id = ${storedId('ord', over.orderId)}`);
    const submit = (token: string) =>
      checkout.submitCheckoutPayment({
        token,
        browserSecret: 'b'.repeat(43),
        paymentOption: 'walleta_ussd',
        phone: newPhone(),
      });

    const { order } = await payments.recordPaymentOutcome({
      merchantId,
      paymentAttemptId: payment.attemptId,
      leaseId: leased.leaseId,
      outcome: outcomes.notReached(),
    });
    await submit(open.token);
    const late = await failureOf(submit(over.token));

    expect(order?.status).toBe(OrderStatus.PENDING);
    expect(late.reason).toBe('ORDER_NOT_PAYABLE');
  });

  // A query that is given up would be missing later, when the clocks are right again.
  test('queries an ended attempt for a day, and a payment that a payer started for three, by both clocks', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const payment = await desk.startDirect({ merchantId, orderNumber: 'C-1', phone: newPhone() });
    await desk.settle(payment, outcomes.declined());
    await desk.query(sql`update core.payment_attempts
      set due_at = now(), updated_at = now() - interval '24 hours 30 minutes'
      where id = ${storedId('pat', payment.attemptId)}`);
    const { leaseId } = await desk.take(payment);
    const payerPaymentId = await desk.reportFromMenu(merchantId, 'C-2');
    await desk.query("update core.payer_payments set created_at = now() - interval '3 days 30 minutes'");
    const [leased] = await desk.leaseFromMenu();

    await clientOf(PaymentAttemptService, 'wallets').recordPaymentOutcome({
      ...{ merchantId, paymentAttemptId: payment.attemptId, leaseId },
      outcome: outcomes.unknown('no answer'),
    });
    await clientOf(PayerPaymentService, 'wallets').recordPayerPaymentOutcome({
      ...{ payerPaymentId, leaseId: leased?.leaseId ?? '' },
      outcome: { case: 'unknown', value: { detail: 'no answer' } },
    });

    const isQueried = shiftMs < 0;
    const stored = await desk.query(sql`
      select due_at is not null as queried from core.payment_attempts where id = ${storedId('pat', payment.attemptId)}
      union all select due_at is not null from core.payer_payments where id = ${storedId('ppm', payerPaymentId)}`);
    expect(stored).toEqual([{ queried: isQueried }, { queried: isQueried }]);
  });

  // Twenty recent exchanges delay the next query. What is recent is decided by the times in their ids.
  test("stores exchanges with the database's time, from reports and from callbacks", async () => {
    const { id: merchantId } = await stack.createMerchant();
    const payment = await desk.startDirect({ merchantId, orderNumber: 'C-1', phone: newPhone() });
    const leased = await desk.take(payment);
    const payments = clientOf(PaymentAttemptService, 'wallets');
    const attempt = { merchantId, paymentAttemptId: payment.attemptId };

    await payments.recordPaymentOutcome({
      ...{ ...attempt, leaseId: leased.leaseId, outcome: outcomes.pending('r-1') },
      exchanges: [{ purpose: 'initiate' }],
    });
    await payments.hastenPaymentAttempt({ ...attempt, exchange: { purpose: 'callback' } });

    const stored = await desk.query(sql`
      select uuid_extract_timestamp(id) between now() - interval '30 minutes' and now() + interval '1 second' as now
      from core.wallet_exchanges where payment_attempt_id = ${storedId('pat', payment.attemptId)}`);
    expect(stored).toEqual([{ now: true }, { now: true }]);
  });
});
