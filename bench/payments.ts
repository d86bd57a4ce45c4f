/**
 * Measures what each step of a payment costs core and PostgreSQL, from the registration of an order to the wallet's answer. It runs one
 * core and a durable PostgreSQL. The clients of checkout and wallets are in this process. Registrations and look-ups are sent one by one
 * here. The facade sends them in batches, which cost less.
 */
import { CheckoutService } from '../src/gen/gatehouse/v1/checkout_service_pb.js';
import { Environment } from '../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../src/gen/gatehouse/v1/order_service_pb.js';
import { PaymentAttemptService } from '../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { LeasedPaymentAttempt } from '../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { registration } from '../test/support/order-requests.ts';
import { startStack } from '../test/support/stack.ts';
import { benchmark, wholeNumber } from './command-line.ts';
import { latenciesOf, load } from './latencies.ts';
import { cpuSecondsOf, familyOf } from './load/process-usage.ts';
import { createCleanUps } from './system/clean-ups.ts';
import { startEmptyPostgres } from './system/empty-postgres.ts';

interface Options {
  readonly payments: number;
  readonly inFlight: number;
  readonly merchants: number;
}

const options = benchmark('bench:payments', 'Measures what each step of a payment costs core and PostgreSQL.')
  .option('--payments <number>', 'payments of the measured round', wholeNumber, 2_000)
  .option('--in-flight <number>', 'calls at the same time', wholeNumber, 32)
  .option('--merchants <number>', 'merchants that the payments belong to', wholeNumber, 20)
  .parse()
  .opts<Options>();

const environment = Environment.SANDBOX;
const paymentOption = 'walleta_ussd';
const browserSecret = 'b'.repeat(43);
const warmUpPayments = 300;
const leasedAtOnce = 100;
const responseBody = '{"status":"SUCCESSFUL"}';

const cleanUps = createCleanUps();
try {
  const postmaster = await startEmptyPostgres(({ remove }) => cleanUps.add(remove));
  // The stack starts a broker of its own for `webhooks`.
  const stack = await startStack({ ownProcesses: true, facades: 0, webhooks: 1 });
  cleanUps.add(stack.stop);
  const orders = stack.client(OrderService, 'writer');
  const checkout = stack.client(CheckoutService, 'checkout');
  const wallets = stack.client(PaymentAttemptService, 'wallets');
  const merchantIds: string[] = [];
  while (merchantIds.length < options.merchants) merchantIds.push((await stack.createMerchant()).id);
  const corePid = stack.cores[0]?.pid ?? 0;
  const cpuNow = () => ({ core: cpuSecondsOf([corePid]), postgres: cpuSecondsOf(familyOf(postmaster)) });

  /** Makes a call for each item, some at a time, and prints what one cost. */
  async function step<Item>(
    name: string,
    items: readonly Item[],
    call: (item: Item, index: number) => Promise<unknown>,
  ): Promise<void> {
    const latencies: number[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      for (let index = next++; index < items.length; index = next++) {
        const begunMs = performance.now();
        await call(items[index] as Item, index);
        latencies.push(performance.now() - begunMs);
      }
    };
    const before = cpuNow();
    const begunMs = performance.now();
    await Promise.all(Array.from({ length: options.inFlight }, work));
    const seconds = (performance.now() - begunMs) / 1000;
    const after = cpuNow();
    const { p50, p99 } = latenciesOf(latencies);
    const each = (cpuSeconds: number): string =>
      `${Math.round((cpuSeconds * 1e6) / items.length)}`.padStart(6);
    console.log(
      `${name.padEnd(30)}${(items.length / seconds).toFixed(0).padStart(6)}/s  p50 ${p50.toFixed(1).padStart(6)} ms  ` +
        `p99 ${p99.toFixed(1).padStart(6)} ms  core ${each(after.core - before.core)} µs  ` +
        `PostgreSQL ${each(after.postgres - before.postgres)} µs`,
    );
  }

  let registered = 0;
  const leaseAll = async (count: number): Promise<LeasedPaymentAttempt[]> => {
    const leased: LeasedPaymentAttempt[] = [];
    while (leased.length < count) {
      const asked = { environment, paymentOptions: [paymentOption], maxAttempts: leasedAtOnce };
      leased.push(...(await wallets.leasePaymentAttempts({ ...asked, lease: { seconds: 300n } })).attempts);
    }
    return leased;
  };
  const record = (
    { merchantId, leaseId, paymentAttempt }: LeasedPaymentAttempt,
    outcome: NonNullable<Parameters<typeof wallets.recordPaymentOutcome>[0]['outcome']>,
  ) =>
    wallets.recordPaymentOutcome({
      ...{ merchantId, leaseId, paymentAttemptId: paymentAttempt?.paymentAttemptId ?? '', outcome },
      exchanges: [
        {
          purpose: 'query',
          method: 'GET',
          url: 'https://wallet.example/payments/1',
          status: 200,
          responseBody,
        },
      ],
    });

  const pay = async (count: number): Promise<void> => {
    const numbers = Array.from({ length: count }, () => (registered += 1));
    const tokens: string[] = [];
    await step('register an order', numbers, async (number, index) => {
      const merchantId = merchantIds[number % merchantIds.length] ?? '';
      const { checkoutUrl } = await orders.registerOrder(
        registration({ merchantId, orderNumber: `P-${number}` }),
      );
      tokens[index] = checkoutUrl.split('/').at(-1) ?? '';
    });
    await step('show its checkout', tokens, (token) => checkout.getCheckout({ token, browserSecret }));
    await step('start the payment', tokens, (token, index) =>
      checkout.submitCheckoutPayment({
        ...{ token, browserSecret, paymentOption },
        phone: `09${String(10_000_000 + (numbers[index] ?? 0)).padStart(8, '0')}`,
      }),
    );
    let leased = await leaseAll(count);
    await step('record that it is pending', leased, (each) =>
      record(each, { case: 'pending', value: { providerReference: 'reference' } }),
    );
    await step('show its checkout meanwhile', tokens, (token) =>
      checkout.getCheckout({ token, browserSecret }),
    );
    await step('take a callback', leased, ({ merchantId, paymentAttempt }) =>
      wallets.hastenPaymentAttempt({
        ...{ merchantId, paymentAttemptId: paymentAttempt?.paymentAttemptId ?? '' },
        exchange: { purpose: 'callback', requestBody: responseBody },
      }),
    );
    leased = await leaseAll(count);
    await step('record that it is completed', leased, (each) => {
      const { amount, currency, paymentAttempt } = each;
      const providerTransactionId = `T-${paymentAttempt?.paymentAttemptId ?? ''}`;
      return record(each, { case: 'completed', value: { providerTransactionId, amount, currency } });
    });
    await step('show its checkout afterwards', tokens, (token) =>
      checkout.getCheckout({ token, browserSecret }),
    );
  };
  console.log(`warm-up (${load()})`);
  await pay(warmUpPayments);
  console.log(`${options.payments} payments, ${options.inFlight} calls at the same time (${load()})`);
  await pay(options.payments);
} finally {
  await cleanUps.run();
}
