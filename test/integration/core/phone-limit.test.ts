import { describe, expect, test, beforeEach } from '@jest/globals';
import { storedId } from '../../support/ids.ts';
import { phoneLockOf } from '../../../src/core/payments/phones/phone-limit.ts';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { failureOf, outcomeOf, waitAskedFor } from '../../support/rpc-failure.ts';
import type { TestMerchant } from '../../support/stack.ts';
import { browserSecret, outcomes, sharedPaymentDesk } from './payment-desk.ts';
import { connectToDatabase, holdLocks } from '../../support/database-connections.ts';
import { withPageWallet } from '../../support/simulated-wallets.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';

let phones = 0;

/** A phone that no other test prompts. */
const newPhone = (): string => `09112${String((phones += 1)).padStart(5, '0')}`;

const stack = sharedStack({
  cores: 2,
  facades: 0,
  settings: { GATEHOUSE_PHONE_PROMPTS_PER_10_MINUTES: '5', GATEHOUSE_WALLETS: withPageWallet() },
});
const desk = sharedPaymentDesk(stack);
let merchantId: string;
beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
});

const refusedForPhone = async (
  call: Promise<unknown>,
  reason: 'PHONE_BUSY' | 'PHONE_LIMIT' = 'PHONE_BUSY',
): Promise<void> => {
  expect(await failureOf(call)).toMatchObject({ code: 'ResourceExhausted', reason });
};

/** The number of concurrent calls with each outcome. */
async function countOutcomes(calls: readonly Promise<unknown>[]): Promise<Record<string, number>> {
  const outcomes = await Promise.all(calls.map(outcomeOf));
  return Object.fromEntries(
    [...Map.groupBy(outcomes, String)].map(([outcome, all]) => [outcome, all.length]),
  );
}

const e164Of = (phone: string): string => `+251${phone.slice(1)}`;
const attemptsOn = (phone: string) =>
  desk.query<{ id: string }>(sql`select id from core.payment_attempts where phone = ${e164Of(phone)}`);

/** Starts a payment that its wallet refuses, so that the phone can be prompted again. */
async function payAndFail(merchantId: string, orderNumber: string, phone: string): Promise<void> {
  const payment = await desk.startDirect({ merchantId, orderNumber, phone });
  await desk.settle(payment, outcomes.declined());
}

describe('a phone', () => {
  test('has one payment to confirm at a time, at either wallet and in any notation, and the refusal has the wait', async () => {
    const phone = newPhone();
    const first = { merchantId, orderNumber: 'P-1', phone };
    const { attemptId } = await desk.startDirect(first);
    const again = { merchantId, orderNumber: 'P-2' };
    const second = desk.startDirect({ ...again, phone, paymentOption: 'walletb_ussd' });

    await refusedForPhone(second);
    expect(await waitAskedFor(second)).toBeGreaterThan(0);
    expect(await waitAskedFor(second)).toBeLessThanOrEqual(300);
    for (const same of [e164Of(phone), e164Of(phone).slice(1), phone.slice(1)])
      await refusedForPhone(desk.startDirect({ ...again, phone: same }));
    expect(await desk.startDirect(first)).toMatchObject({ attemptId });
  });

  test('is free again when the time to confirm has passed, although the wallet has not decided', async () => {
    const phone = newPhone();
    await desk.startDirect({ merchantId, orderNumber: 'P-1', phone });
    await desk.query(sql`
      update core.payment_attempts set prompt_until = now() where phone = ${e164Of(phone)}`);

    await desk.startDirect({ merchantId, orderNumber: 'P-2', phone });
  });

  test('is prompted at most five times in ten minutes, whatever the wallet answered', async () => {
    const phone = newPhone();
    for (let index = 1; index <= 5; index += 1) await payAndFail(merchantId, `P-${index}`, phone);

    const refused = desk.startDirect({ merchantId, orderNumber: 'P-6', phone });
    await refusedForPhone(refused, 'PHONE_LIMIT');
    expect(await waitAskedFor(refused)).toBeGreaterThan(180);
    expect(await waitAskedFor(refused)).toBeLessThanOrEqual(720);

    await desk.query(sql`
      update core.payment_attempts set created_at = now() - interval '10 minutes' where id =
        (select id from core.payment_attempts where phone = ${e164Of(phone)} order by created_at limit 1)`);
    await desk.startDirect({ merchantId, orderNumber: 'P-7', phone });
  });

  test('has a limit for each merchant in the sandbox, and one for all merchants in production', async () => {
    const [one, other] = await Promise.all([stack.createMerchant(), stack.createMerchant()]);
    const phone = newPhone();
    const pay = (merchant: TestMerchant, environment: Environment) =>
      desk.startDirect({ merchantId: merchant.id, phone, environment });

    await pay(one, Environment.SANDBOX);
    await pay(other, Environment.SANDBOX);
    await pay(one, Environment.PRODUCTION);
    await refusedForPhone(pay(other, Environment.PRODUCTION));
  });

  test('is not prompted from a checkout either while it is busy, and the checkout stays free for another phone', async () => {
    const phone = newPhone();
    await desk.startDirect({ merchantId, orderNumber: 'P-1', phone });
    const hosted = await desk.registerHosted({ merchantId, orderNumber: 'P-2' });

    await refusedForPhone(desk.payHosted(hosted, 'walleta_wallet', phone));

    const elsewhere = { token: hosted.token, browserSecret: browserSecret('x') };
    expect((await desk.checkout.getCheckout(elsewhere)).checkout?.usableHere).toBe(true);
    const paid = await desk.payHosted(hosted, 'walleta_wallet', newPhone());
    expect(paid.attemptId).toMatch(/^pat_/);
  });

  test('is not prompted by payments on a page of the wallet, so they neither count nor wait', async () => {
    const phone = newPhone();
    const payOnPage = async (orderNumber: string) => {
      const hosted = await desk.registerHosted({ merchantId, orderNumber });
      await desk.payHosted(hosted, 'telebirr_wallet', phone);
      return hosted;
    };

    for (let index = 0; index < 7; index += 1) await payOnPage(`T-${index}`);
    await desk.startDirect({ merchantId, orderNumber: 'P-1', phone });
    const { token } = await payOnPage('T-8');

    const page = await desk.checkout.getCheckout({ token, browserSecret: browserSecret() });
    expect(page.checkout).toMatchObject({ opensPage: true, latestAttempt: { phone: e164Of(phone) } });
    await refusedForPhone(desk.startDirect({ merchantId, orderNumber: 'P-2', phone }));
    await desk.query(
      sql`update core.payment_attempts set status = 'SUCCEEDED' where phone = ${e164Of(phone)} and prompt_place = 'NO_PROMPT'`,
    );
    const [{ has_paid: hasPaid } = {}] = await desk.query<{ has_paid: boolean }>(sql`
      select has_paid from core.phone_prompts(
        array[${e164Of(phone)}], array['SANDBOX'::core.environment], array[${storedId('mer', merchantId)}::uuid], 9, '1 hour')`);
    expect(hasPaid).toBe(false);
  });
});

describe('in production', () => {
  const { PRODUCTION } = Environment;

  /** Moves the phone's prompts into the past, as if the time had passed. */
  const age = (phone: string, seconds: number) =>
    desk.query(sql`update core.payment_attempts
      set created_at = created_at - ${seconds} * interval '1 second',
        prompt_until = prompt_until - ${seconds} * interval '1 second'
      where phone = ${e164Of(phone)}`);
  const open = (merchantId: string, orderNumber: string) =>
    desk.registerHosted({ merchantId, orderNumber, environment: PRODUCTION });

  test('a merchant that the phone has paid, and a page with the hash of its network, are told from strangers', async () => {
    const [mine, stranger, shop] = await Promise.all(Array.from({ length: 3 }, () => stack.createMerchant()));
    const phone = newPhone();
    const pay = async (merchant: TestMerchant | undefined, orderNumber: string): Promise<void> => {
      await desk.startDirect({ merchantId: merchant!.id, orderNumber, phone, environment: PRODUCTION });
      await age(phone, 300);
    };
    await pay(mine, 'before');
    await desk.query(sql`update core.payment_attempts
      set status = 'SUCCEEDED', due_at = null, created_at = now() - interval '30 days'
      where phone = ${e164Of(phone)}`);
    await pay(stranger, 'theirs');
    const { token } = await open(shop!.id, 'page');
    const customer = { browserSecret: browserSecret(), customerNetwork: '192.0.2.1' };
    await desk.checkout.submitCheckoutPayment({ token, phone, paymentOption: 'walleta_ussd', ...customer });
    await age(phone, 300);

    await pay(mine, 'again');

    const prompts = await desk.query(sql`select prompt_place as kind, network from core.payment_attempts
      where phone = ${e164Of(phone)} order by created_at`);
    expect(prompts.slice(1)).toEqual([
      { kind: 'COMMON', network: null },
      { kind: 'COMMON', network: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/) },
      { kind: 'OWN', network: null },
    ]);
  });

  test('payments that wait for their merchant’s share of the connections do not keep another merchant from the phone', async () => {
    const other = await stack.createMerchant();
    const numbers = Array.from({ length: 40 }, (_, index) => `E-${index}`);
    for (const orderNumber of numbers) await open(merchantId, orderNumber);
    const hosted = await open(other.id, 'P-1');
    // The locks of the orders are held, as by payments that take long.
    const release = await holdLocks(
      stack.databaseUrl,
      sql`select from core.orders where merchant_id = ${storedId('mer', merchantId)} for update`,
    );
    const pay = (orderNumber: string, phone: string) =>
      desk.startDirect({ merchantId, orderNumber, phone, environment: PRODUCTION });
    const phone = newPhone();
    // More than both cores let run.
    const held = numbers.slice(0, 20).map((orderNumber) => pay(orderNumber, newPhone()));
    await waitUntil('payments wait for the locks', async () => (await desk.lockWaits()) >= 6);
    const waiting = countOutcomes(numbers.slice(20).map((orderNumber) => pay(orderNumber, phone)));
    for (let count = 0; count < 10; count += 1) await open(other.id, `P-${count + 2}`);

    const paid = await desk.payHosted(hosted, 'walleta_ussd', phone);

    await release();
    await Promise.all(held);
    expect(paid.attemptId).toMatch(/^pat_/);
    expect(Object.keys(await waiting)).toEqual(['PHONE_BUSY']);
  });

  test('prompts that the payer confirms are not counted', async () => {
    const phone = newPhone();
    for (let index = 1; index <= 12; index += 1) {
      await desk.startDirect({ merchantId, orderNumber: `C-${index}`, phone, environment: PRODUCTION });
      await desk.query(sql`
        update core.payment_attempts set status = 'SUCCEEDED', due_at = null where phone = ${e164Of(phone)}`);
    }
    expect(await attemptsOn(phone)).toHaveLength(12);
  });
});

describe('with two cores', () => {
  test('twenty checkouts, twenty registered orders and twenty direct payments for one phone prompt it once', async () => {
    const phone = newPhone();
    const register = (letter: string) =>
      Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          desk.registerHosted({ merchantId, orderNumber: `${letter}-${index}` }),
        ),
      );
    const checkouts = await register('H');
    await register('R');

    const counts = await countOutcomes(
      checkouts.flatMap((order, index) => [
        desk.payHosted(order, 'walleta_ussd', phone),
        desk.startDirect({ merchantId, orderNumber: `R-${index}`, phone }),
        desk.startDirect({ merchantId, orderNumber: `D-${index}`, phone }),
      ]),
    );

    expect(counts).toEqual({ done: 1, PHONE_BUSY: 59 });
    expect(await attemptsOn(phone)).toHaveLength(1);
  });

  test('batches with the same phones in any sequence neither cause a deadlock nor prompt a phone twice', async () => {
    const some = Array.from({ length: 50 }, newPhone);

    const counts = await countOutcomes(
      Array.from({ length: 6 }, (_, round) =>
        (round % 2 === 0 ? some : some.toReversed()).map((phone) =>
          desk.startDirect({ merchantId, orderNumber: `B-${round}-${phone}`, phone }),
        ),
      ).flat(),
    );

    expect(counts).toEqual({ done: 50, PHONE_BUSY: 250 });
    for (const phone of some) expect(await attemptsOn(phone)).toHaveLength(1);
  });

  // In production another merchant's payment holds the phone.
  test.each([
    ['sandbox', 'SANDBOX'],
    ['production', 'PRODUCTION'],
  ] as const)(
    'a core that hangs while it holds a phone in the %s blocks payments of that phone only',
    async (_name, name) => {
      const environment = Environment[name];
      const holder = name === 'SANDBOX' ? merchantId : (await stack.createMerchant()).id;
      const [held, free] = [newPhone(), newPhone()];
      const hanging = await connectToDatabase(stack.databaseUrl);
      try {
        const phone = {
          phone: `+251${held.slice(1)}`,
          environment: name,
          merchantId: `mer_${holder.slice(4)}`,
        } as const;
        await hanging.query(sql`select pg_advisory_lock(${phoneLockOf(phone)})`);

        const waiting = desk.startDirect({ merchantId, environment, orderNumber: 'H-1', phone: held });
        await desk.startDirect({ merchantId, environment, orderNumber: 'H-2', phone: free });

        await refusedForPhone(waiting);
        expect(await attemptsOn(held)).toEqual([]);
      } finally {
        await hanging.end();
      }
      await desk.startDirect({ merchantId, environment, orderNumber: 'H-1', phone: held });
    },
  );
});
