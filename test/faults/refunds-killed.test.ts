import { expect, test } from '@jest/globals';
import pg from 'pg';
import { ApiKeyScope, ApiKeyService } from '../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import type { PaymentDesk } from '../integration/core/payment-desk.ts';
import type { WalletSide } from '../integration/wallets/wallet-processes.ts';
import { directPayment, registration } from '../support/order-requests.ts';
import { insist, waitUntil } from '../support/wait-until.ts';
import { startLoggingReceiver } from './logging-receiver.ts';
import type { LoggingReceiver } from './logging-receiver.ts';
import { openPaymentSite } from './payment-site.ts';
import type { Part, PaymentSite } from './payment-site.ts';
import { closersOfEachTest } from '../support/shared-stack.ts';
import { postJson } from '../support/post-json.ts';
import { sql } from '../support/sql.ts';

/*
 * Each round puts one refund at each step, kills one part of Gatehouse, releases everything, and starts the part
 * again. So every part is killed at every step. Other refunds, whose wallet refuses or loses answers, are in progress
 * at that moment.
 */

const parts = ['facade', 'core', 'wallets', 'simulator', 'webhooks', 'PostgreSQL', 'NATS'] as const;

/** Payers whose wallet refuses, loses the answer of a reversal that completes or fails, or fails the first one. */
const oddPayers = ['22', '23', '26', '28'];
/** The amount of each order is 100.50. The last part is more than is left unless an earlier part failed. */
const oddAmounts = ['40.00', '', '0.01'];

const cleanUps = closersOfEachTest();

const count = async ({ query }: PaymentDesk, sql: string, values: unknown[] = []): Promise<number> =>
  (await query<{ count: number }>(`select count(*)::int as count ${sql}`, values))[0]?.count ?? 0;

/** Leases whose worker was killed end now instead of after 45 s. */
async function endLeases({ query }: PaymentDesk): Promise<void> {
  // A row that core or webhooks have locked now does not belong to the killed process, and waiting for it could end
  // in a deadlock.
  await query(`update core.refunds set due_at = now() where id in (
    select id from core.refunds where due_at > now() and leased_until is not null for update skip locked)`);
  await query(`update webhooks.lanes set leased_until = now() where (merchant_id, environment, endpoint) in (
    select merchant_id, environment, endpoint from webhooks.lanes where lease_id is not null for update skip locked)`);
}

/** Retries happen now instead of after their pause. */
async function hurry({ query }: PaymentDesk): Promise<void> {
  await query(`update core.refunds set due_at = now() where id in (
    select id from core.refunds where due_at > now() and leased_until is null for update skip locked)`);
  await query(`update webhooks.deliveries set due_at = now() where (merchant_id, id) in (
    select merchant_id, id from webhooks.deliveries where state = 'PENDING' and due_at > now()
    for no key update skip locked)`);
  await query(`update webhooks.lanes set next_due_at = now(), resting_until = null where ctid in (
    select ctid from webhooks.lanes where lease_id is null and next_due_at > now()
    for no key update skip locked)`);
}

/** Refunds that the wallet decides. If only repeats were refused, the first request may have succeeded: a person decides. */
const undecided = (desk: PaymentDesk): Promise<number> =>
  count(
    desk,
    `from core.refunds where status = 'REVERSAL_DUE' and detail not like '%requested more than once%'`,
  );

interface Account {
  readonly phone: string;
  /** In minor units: COMPLETED refunds, the order's own sum, and all that are not FAILED. */
  readonly completed: number;
  readonly refunded: number;
  readonly held: number;
}

/** Compares the wallet's ledger with the refunds, to the cent. Gives every disagreement, and the sums. */
async function compare(desk: PaymentDesk, side: WalletSide) {
  const reversed = new Map<string, number>();
  for (const { payer, reversed: amount } of await side.charges())
    reversed.set(
      payer.replace(/^\+/, ''),
      (reversed.get(payer.replace(/^\+/, '')) ?? 0) + Math.round(Number(amount) * 100),
    );
  const accounts = await desk.query<Account>(`
    select substr(a.phone, 2) as phone, coalesce(o.refunded_minor_units, 0)::int as refunded,
      coalesce(sum(r.amount_minor_units) filter (where r.status = 'REVERSED'), 0)::int as completed,
      coalesce(sum(r.amount_minor_units) filter (where r.status not in ('REVERSAL_REFUSED', 'APPROVAL_DECLINED')), 0)::int as held
    from core.orders o join core.payment_attempts a on a.id = o.latest_attempt_id
    left join core.refunds r on r.merchant_id = o.merchant_id and r.order_id = o.id
    group by 1, 2`);
  const faults = accounts
    .filter(
      ({ phone, completed, refunded, held }) =>
        (reversed.get(phone) ?? 0) !== completed || refunded !== completed || held > 10_050,
    )
    .map((account) => `the ledger says ${reversed.get(account.phone)}: ${JSON.stringify(account)}`);
  const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, each) => total + each, 0);
  return { faults, ledger: sum(reversed.values()), ours: sum(accounts.map(({ completed }) => completed)) };
}

/** A transaction that locks the row of an order, and thereby holds back the events of every later transaction. */
async function holdOrder(url: string, orderNumber: string) {
  const client = new pg.Client({ connectionString: url });
  // A test may kill the server.
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin; set local idle_in_transaction_session_timeout = 0');
  const { rows } = await client.query<{ pid: number }>(sql`
    select pg_backend_pid() as pid from core.orders where order_number = ${orderNumber} for update`);
  return { pid: rows[0]?.pid, letGo: () => client.end().catch(() => undefined) };
}
type HeldOrder = Awaited<ReturnType<typeof holdOrder>>;

interface Till {
  readonly site: PaymentSite;
  readonly receiver: LoggingReceiver;
  readonly merchantId: string;
  readonly apiKey: string;
  readonly databaseUrl: string;
}

interface Reply {
  readonly status: number;
  readonly text: string;
}

async function post({ site, apiKey }: Till, path: string, body: object): Promise<Reply> {
  const response = await postJson(`${site.sandbox}/api/v1/${path}`, body, { apiKey });
  return { status: response.status, text: await response.text() };
}

/** Repeats the request with the same refund_number until the answer is final, as a shop would. */
const refund = (till: Till, orderNumber: string, refundNumber: string, amount = '') =>
  insist(`${refundNumber} is answered`, async () => {
    const body = { order_number: orderNumber, refund_number: refundNumber, reason: 'Came back' };
    const reply = await post(till, 'refund', amount === '' ? body : { ...body, amount });
    if (reply.status !== 201 && reply.status !== 400) throw new Error(reply.text);
    return reply;
  });

/** Paid orders of 100.50 ETB whose webhooks go to the receiver. Returns the wallet's id of each transaction. */
async function payOrders(
  { site: { desk }, receiver, merchantId }: Till,
  phones: ReadonlyMap<string, string>,
) {
  const pay = async (orderNumber: string, phone: string): Promise<void> => {
    const paymentOption = phone.startsWith('25170') ? 'walletb_ussd' : 'walleta_ussd';
    await desk.orders.registerOrder(
      registration({ merchantId, orderNumber, webhookUrl: `${receiver.origin}/hook` }),
    );
    await desk.orders.startDirectPayment(directPayment({ merchantId, orderNumber, phone, paymentOption }));
  };
  // Core refuses some of so many calls on a busy machine. Their repeats are answered like the first ones.
  await Promise.all(
    [...phones].map(([orderNumber, phone]) =>
      insist(`the payment of ${orderNumber} is started`, () => pay(orderNumber, phone)),
    ),
  );
  await waitUntil(
    'every order is paid',
    async () => (await count(desk, `from core.orders where status <> 'COMPLETED'`)) === 0,
  );
  const rows = await desk.query<{ order_number: string; transaction: string }>(`
    select o.order_number, a.provider_transaction_id as transaction
    from core.orders o join core.payment_attempts a on a.id = o.latest_attempt_id`);
  return new Map(rows.map(({ order_number: orderNumber, transaction }) => [orderNumber, transaction]));
}

/** A refund at its step, and whether it is still at that step. */
interface AtStep {
  readonly step: string;
  readonly orderNumber: string;
  readonly isThere: () => Promise<boolean> | boolean;
}

/** Puts one refund at each step. The locked rows and the frozen `wallets` keep them there. */
async function placeAtSteps(till: Till, round: string, transactions: ReadonlyMap<string, string>) {
  const { site, receiver, databaseUrl } = till;
  const { desk, proxy, side, signal } = site;
  const placed: AtStep[] = [];
  let begun = 0;
  const held: HeldOrder[] = [];
  const asked: Promise<unknown>[] = [];
  const pathOf = (orderNumber: string) => `/transactions/${transactions.get(orderNumber)}/reversals`;
  const hasRow = (orderNumber: string, condition: string) => async () =>
    (await count(desk, `from core.refunds where order_number = $1 and ${condition}`, [orderNumber])) === 1;
  /** Whether the payer has the money, and the proxy holds the wallet's answer. */
  const isReturnedInSilence = async (orderNumber: string) => {
    if (!proxy.isHeld(pathOf(orderNumber))) return false;
    const [row] = await desk.query<{ phone: string }>(sql`
      select substr(a.phone, 2) as phone from core.orders o join core.payment_attempts a on a.id = o.latest_attempt_id
      where o.order_number = ${orderNumber}`);
    const charges = await side.charges();
    return charges.some(({ payer, reversed }) => payer.endsWith(row?.phone ?? '') && reversed === '100.5');
  };
  const isWaitedFor =
    ({ pid }: HeldOrder) =>
    async () =>
      (await count(desk, `from pg_stat_activity where $1 = any (pg_blocking_pids(pid))`, [pid])) > 0;
  const place = async (
    step: string,
    put: (orderNumber: string) => Promise<AtStep['isThere']>,
  ): Promise<void> => {
    const orderNumber = `${round}-${begun}`;
    begun += 1;
    const isThere = await put(orderNumber);
    await waitUntil(`${orderNumber} is ${step}`, isThere);
    placed.push({ step, orderNumber, isThere });
  };
  const ask = async (orderNumber: string): Promise<void> => {
    expect((await refund(till, orderNumber, `${orderNumber}-r`)).status).toBe(201);
  };

  const isFirstHeld = place('published, and its webhook not answered', async (orderNumber) => {
    const isOurs = (body: Buffer) => body.includes('refund.completed') && body.includes(`"${orderNumber}"`);
    receiver.behave(({ body }) => (isOurs(body) ? 'hold' : 'take'));
    await ask(orderNumber);
    return () => receiver.exchanges.some(({ body, answer }) => isOurs(body) && answer === undefined);
  });
  await Promise.all([
    isFirstHeld,
    place('sent, and not received by the wallet', async (orderNumber) => {
      proxy.hold(pathOf(orderNumber), 'before the server');
      await ask(orderNumber);
      return () => proxy.isHeld(pathOf(orderNumber));
    }),
    place('returned by the wallet, and not answered', async (orderNumber) => {
      proxy.hold(pathOf(orderNumber), 'before the answer');
      await ask(orderNumber);
      return () => isReturnedInSilence(orderNumber);
    }),
    // The events of a locked order hold back all later ones, so the first refund's webhook must be in progress.
    place('answered, and not recorded', async (orderNumber) => {
      proxy.hold(pathOf(orderNumber), 'before the answer');
      await ask(orderNumber);
      await waitUntil(`${orderNumber} is returned`, () => isReturnedInSilence(orderNumber));
      await isFirstHeld;
      const order = await holdOrder(databaseUrl, orderNumber);
      held.push(order);
      proxy.pass(pathOf(orderNumber));
      return isWaitedFor(order);
    }),
  ]);
  await place('requested, and not created', async (orderNumber) => {
    const order = await holdOrder(databaseUrl, orderNumber);
    held.push(order);
    asked.push(ask(orderNumber));
    return isWaitedFor(order);
  });
  await place('recorded, and its event not published', async (orderNumber) => {
    await ask(orderNumber);
    const isHidden = async () =>
      (await count(
        desk,
        `from core.order_events e join core.orders o on o.merchant_id = e.merchant_id and o.id = e.order_id
         where o.order_number = $1 and e.type = 'REFUND_COMPLETED' and e.xid >= pg_snapshot_xmin(pg_current_snapshot())`,
        [orderNumber],
      )) === 1;
    return isHidden;
  });
  await place('created, and not sent', async (orderNumber) => {
    signal('wallets', 'SIGSTOP');
    await ask(orderNumber);
    return hasRow(orderNumber, `status = 'REVERSAL_DUE' and not maybe_sent`);
  });
  return {
    placed,
    /** Answers are lost, orders are unlocked, and the receiver accepts webhooks. */
    letGo: async () => {
      const lost = proxy.loseHeld();
      await Promise.all(held.map((each) => each.letGo()));
      receiver.behave(() => 'take');
      receiver.release();
      return lost;
    },
    asked,
  };
}

/** The first webhooks of refunds by order, in the order of arrival, without repeats. */
function webhooksByOrder({ exchanges }: LoggingReceiver) {
  const bodies = new Map<string, Set<string>>();
  for (const { eventId, body } of exchanges)
    bodies.set(eventId, (bodies.get(eventId) ?? new Set()).add(body.toString()));
  const events = [...bodies.values()].map(
    ([body = '{}']) =>
      JSON.parse(body) as {
        type: string;
        sequence: number;
        data: { order_number: string; refund_number?: string; status: string };
      },
  );
  return {
    changed: [...bodies].filter(([, each]) => each.size > 1).map(([id]) => id),
    events,
    outOfOrder: [...Map.groupBy(events, ({ data }) => data.order_number)].filter(([, own]) =>
      own.some(({ sequence }, index) => index > 0 && sequence <= (own[index - 1]?.sequence ?? 0)),
    ),
  };
}

test('ledger and records agree to the cent and every webhook arrives when any part is killed at any step of a refund', async () => {
  const site = await openPaymentSite({
    cores: 1,
    wallets: 1,
    facades: 1,
    webhooks: 1,
    timeScale: 0.02,
    holdsAnswers: true,
    ownServers: true,
  });
  cleanUps.push(site.close);
  const { desk, side, stack } = site;
  const receiver = await startLoggingReceiver();
  cleanUps.push(receiver.close);
  const { id: merchantId, testKey: apiKey } = await stack.createMerchant();
  await stack.webhookClient('operator').rotateSigningSecret({ merchantId, environment: Environment.SANDBOX });
  const keys = stack.client(ApiKeyService, 'operator');
  for (const { apiKeyId } of (await keys.listApiKeys({ merchantId })).apiKeys)
    await keys.setApiKeyScopes({ merchantId, apiKeyId, scopes: [ApiKeyScope.REFUNDS] });
  const databaseUrl = site.databaseUrl;
  const till: Till = { site, receiver, merchantId, apiKey, databaseUrl };

  const phones = new Map<string, string>();
  const steps = 7;
  for (const [round, part] of parts.entries())
    for (let step = 0; step < steps; step += 1) {
      const payer = `1${String(round * 100 + step).padStart(6, '0')}`;
      phones.set(`${part}-${step}`, `${step % 2 === 0 ? '25190' : '25170'}${payer}`);
    }
  for (const odd of oddPayers)
    for (const prefix of ['25190', '25170']) phones.set(`${prefix}-${odd}`, `${prefix}00000${odd}`);
  const transactions = await payOrders(till, phones);

  const seen: { readonly part: Part; readonly steps: readonly string[]; readonly lost: number }[] = [];
  const oddOrders = [...phones.keys()].filter((orderNumber) => /^25/.test(orderNumber));
  const replies: Promise<Reply>[] = [];
  for (const part of parts) {
    const { placed, letGo, asked } = await placeAtSteps(till, part, transactions);
    for (const orderNumber of oddOrders.splice(0, 2))
      for (const [index, amount] of oddAmounts.entries())
        replies.push(refund(till, orderNumber, `${orderNumber}-${index}`, amount));
    const areThere = await Promise.all(placed.map(async ({ isThere }) => await isThere()));
    const reached = placed.filter((_, index) => areThere[index]).map(({ step }) => step);

    const startAgain = await site.kill(part);
    const lost = await letGo();
    if (part !== 'wallets') site.signal('wallets', 'SIGCONT');
    await startAgain();

    seen.push({ part, steps: reached, lost });
    await insist('leases end', () => endLeases(desk));
    await Promise.all(asked);
    await waitUntil(`every refund of the round of ${part} is decided`, async () => {
      await hurry(desk);
      return (await undecided(desk)) === 0;
    });
  }
  const answered = await Promise.all(replies);
  await waitUntil('every refund is decided', async () => {
    await hurry(desk);
    return (await undecided(desk)) === 0;
  });
  await waitUntil('every webhook is delivered', async () => {
    await hurry(desk);
    const ends = await count(
      desk,
      `from core.order_events where type in ('COMPLETED', 'REFUND_COMPLETED', 'REFUND_FAILED')`,
    );
    return (await count(desk, `from webhooks.deliveries where state = 'DELIVERED'`)) === ends;
  });

  // Every part was killed at every step, and each lost two answers of the wallet.
  expect(seen.map(({ part, steps: reached, lost }) => [part, reached.length, lost])).toEqual(
    parts.map((part) => [part, steps, 2]),
  );
  const { faults, ledger, ours } = await compare(desk, side);
  expect(faults).toEqual([]);
  expect(ledger).toBe(ours);
  for (const orderNumber of [...phones.keys()].filter((each) => !/^25/.test(each))) {
    const { text } = await post(till, 'refund/verify', { refund_number: `${orderNumber}-r` });
    expect(text).toContain('"status":"COMPLETED","amount":"100.50"');
  }
  const refused = answered.filter(({ status }) => status === 400);
  expect(
    refused.map(({ text }) => text).filter((text) => !/must be at most|already cover/.test(text)),
  ).toEqual([]);
  expect(await count(desk, `from core.refunds where status = 'REVERSAL_REFUSED'`)).toBeGreaterThan(0);

  const { changed, events, outOfOrder } = webhooksByOrder(receiver);
  expect(changed).toEqual([]);
  expect(outOfOrder).toEqual([]);
  const told = events.filter(({ type }) => type.startsWith('refund.'));
  const ends = await desk.query<{ refund_number: string }>(`
    select refund_number from core.refunds where status <> 'REVERSAL_DUE'`);
  expect(told.map(({ data }) => data.refund_number).sort()).toEqual(
    ends.map(({ refund_number: number }) => number).sort(),
  );
  console.log(
    `${site.kills()} kills at ${steps} steps each; ${told.length} refunds ended, ${refused.length} refused as too much; ledger ${ledger / 100}, records ${ours / 100}`,
  );
});
