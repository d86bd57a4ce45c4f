import { beforeAll, describe, expect, test } from '@jest/globals';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { v4, v7 } from 'uuid';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import {
  WalletBreakerState,
  WalletHealth,
  WalletWorkKind,
  WalletStatusService,
} from '../../../src/gen/gatehouse/v1/wallet_status_service_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { registration } from '../../support/order-requests.ts';
import { hiddenField } from '../../support/dashboard-visitor.ts';
import type { DashboardVisitor } from '../../support/dashboard-visitor.ts';
import { openDashboardDesk } from './dashboard-desk.ts';
import { newRandomId, noMerchantId } from '../../../src/contract/public-id.ts';
import { publicId, storedId } from '../../support/ids.ts';
import { insertRow } from '../../support/insert-row.ts';
import { sharedConnection, sharedStack } from '../../support/shared-stack.ts';
import { queryOnce } from '../../support/database-connections.ts';
import { sql } from '../../support/sql.ts';

let operator: DashboardVisitor;
let email: string;

const stack = sharedStack({ facades: 0, dashboards: 1, webhooks: 1 });
const superuser = sharedConnection(() => stack.databaseUrl);
beforeAll(async () => {
  const desk = openDashboardDesk(stack);
  const user = await desk.users.operator();
  ({ email } = user);
  operator = await desk.signedIn(user);
});

test.each(['/operator/reconciliations', '/operator/stray-payments/mer_x/stp_x/retry'])(
  'the form of %s is refused for another environment than sandbox and production',
  async (path) => {
    const answers = await Promise.all(
      ['Sandbox', 'live', ''].map((environment) =>
        operator.post(path, { environment, wallet: 'walleta', date: '2026-01-30' }),
      ),
    );

    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400]);
  },
);

test('a reconciliation shows the address of the user who started it', async () => {
  const fields = { environment: 'sandbox', wallet: 'walleta', date: '2026-01-31' };

  const started = await operator.post('/operator/reconciliations', fields);
  const one = await operator.get(started.headers.get('location') ?? '');
  const all = await operator.get('/operator/reconciliations');

  for (const page of [one, all]) {
    expect(page.body).toContain(email);
    expect(page.body).not.toContain('usr_');
  }
});

test('the invitation of an operator that was accepted meanwhile is not withdrawn, and the page says so', async () => {
  const path = '/operator/users';
  await operator.post(`${path}/invite`, { email: 'open@gateway.example' });

  const late = await operator.post(`${path}/take-back`, { email });
  const open = await operator.post(`${path}/take-back`, { email: 'open@gateway.example' });

  expect([late.status, open.status]).toEqual([409, 303]);
  expect(late.body).toContain('Somebody else changed this first');
  const { body } = await operator.get(path);
  expect([body.includes(email), body.includes('open@gateway.example</')]).toEqual([true, false]);
});

test('a request for help that was approved meanwhile is not withdrawn, and the page says so', async () => {
  const late = await operator.post('/operator/users/reject', { email, help: 'password' });

  expect(late.status).toBe(409);
  expect(late.body).toContain('This request no longer exists');
});

/** A row of the balances of a merchant, or of no merchant, at a wallet. */
const balanceOf = (
  merchantId: string,
  day: string,
  statementIn: number,
  own: Readonly<Record<string, unknown>> = {},
) =>
  insertRow(superuser, 'core.money_days', {
    ...{ environment: 'PRODUCTION', wallet: 'walleta', day, currency: 'ETB', reconciliation_id: v4() },
    merchant_id: storedId('mer', merchantId),
    ...{
      statement_in: statementIn,
      statement_out: 40,
      completed: 1200.5,
      strays: 0,
      reversals: 0,
      refunds: 40,
    },
    ...own,
  });

/** A reconciliation of the day before yesterday that has failed. */
const failedReconciliation = (wallet: string, detail: string, id = v4()) =>
  superuser.query(sql`
    insert into core.reconciliations (id, wallet, environment, day, status, scheduled, started_by, tries, entries, other_entries,
      differences, detail, created_at, updated_at)
    values (${id}, ${wallet}, 'PRODUCTION', (now() at time zone 'UTC')::date - 2, 'FAILED', false, 'core', 7,
      0, 0, 0, ${detail}, now(), now())`);

test('balances show both sides of each day, and only days with a difference on request', async () => {
  const { id: merchantId } = await stack.createMerchant();
  await balanceOf(merchantId, '2026-03-01', 1200.5);
  await balanceOf(merchantId, '2026-03-02', 1000.5);
  await balanceOf(noMerchantId, '2026-03-03', 1200.5);
  await insertRow(superuser, 'core.money_day_corrections', {
    ...{ environment: 'PRODUCTION', wallet: 'walleta', day: '2026-03-01', currency: 'ETB' },
    ...{
      merchant_id: storedId('mer', merchantId),
      reconciliation_id: v4(),
      corrected_at: '2026-03-03T06:30:00Z',
    },
    ...{ statement_in: 1000.5, statement_out: 40, completed: 1200.5, strays: 0, reversals: 0, refunds: 40 },
  });
  await failedReconciliation('walleta', 'HTTP 403: <no access>');
  const all = await operator.get('/operator/balances?environment=production');
  const different = await operator.get('/operator/balances?environment=production&different=1');
  const sandbox = await operator.get('/operator/balances?environment=sandbox');
  const datesIn = ({ body }: typeof all) => Array.from(body.matchAll(/>(2026-03-0\d)</g), ([, day]) => day);

  expect(datesIn(all)).toEqual(['2026-03-03', '2026-03-02', '2026-03-01']);
  expect(datesIn(different)).toEqual(['2026-03-02']);
  expect(datesIn(sandbox)).toEqual([]);
  expect(all.body).toContain('Days without a balance');
  expect(all.body).toContain('HTTP 403: &lt;no access&gt;');
  expect(different.body).not.toContain('Days without a balance');
  expect(all.body).toContain('No merchant');
  expect(all.body).toContain(`/operator/merchants/${merchantId}`);
  expect(different.body).toContain('\u2212ETB\u00a0200.00');
  expect(different.body).not.toContain('Corrected');
  expect(all.body).toMatch(/Corrected [^<]+<\/a>, before: \u2212ETB\u00a0200\.00</);
});

test("a balance, a missing day and a run of a merchant's own account name that account", async () => {
  const { id: merchantId } = await stack.createMerchant();
  const reconciliation = storedId('rec', newRandomId('rec', new Date()));
  await balanceOf(merchantId, '2026-02-01', 5, {
    wallet: 'walleta/accountid <3001>',
    reconciliation_id: reconciliation,
  });
  await superuser.query(sql`insert into core.payee_accounts
    values (${storedId('mer', merchantId)}, gen_random_uuid(), 'PRODUCTION', 'walleta', 'accountid <3001>')`);
  await failedReconciliation('walleta/accountid <3001>', '', reconciliation);

  const balances = await operator.get('/operator/balances?environment=production');
  const runs = await operator.get('/operator/reconciliations?environment=production');
  const one = await operator.get(`/operator/reconciliations/${publicId('rec', reconciliation)}`);

  // Once for the missing day, and once for the balance.
  expect(balances.body.match(/<bdi>accountid &lt;3001&gt;<\/bdi>/g)).toHaveLength(2);
  expect(balances.body).toContain('own account was removed');
  for (const { body } of [runs, one]) expect(body).toContain('accountid &lt;3001&gt;');
});

test("a day of a merchant's own account is compared from the page of balances", async () => {
  const { id: merchantId } = await stack.createMerchant();
  const account = v7();
  await superuser.query(sql`
    insert into core.wallet_accounts (merchant_id, id, environment, wallet, state, open_values, endings, key_name, sealed_secrets,
      check_result, created_at)
    values (${storedId('mer', merchantId)}, ${account}, 'SANDBOX', 'walleta', 'CURRENT', '{}', '{}', 'test',
      '', 'ACCEPTED', now())`);
  await superuser.query(sql`insert into core.payee_accounts
    values (${storedId('mer', merchantId)}, ${account}, 'SANDBOX', 'walleta', 'accountid 3002')`);
  await balanceOf(merchantId, '2026-02-03', 5, { environment: 'SANDBOX', wallet: 'walleta/accountid 3002' });
  const path = '/operator/balances?environment=sandbox';

  const { body } = await operator.get(path);
  const form = formFieldsOf(body, '2026-02-03');
  const started = await operator.post('/operator/reconciliations', form);
  const run = await operator.get(started.headers.get('location') ?? '');
  const unknown = await operator.post('/operator/reconciliations', { ...form, payee: 'accountid 9999' });

  expect(form).toEqual({
    environment: 'sandbox',
    wallet: 'walleta',
    payee: 'accountid 3002',
    date: '2026-02-03',
  });
  expect(run.body).toContain('accountid 3002');
  expect(run.body).toContain('2026-02-03');
  expect(unknown.status).toBe(400);
  expect(unknown.body).toContain('The statement of accountid 9999 cannot be read.');
});

/** The hidden fields of the form that compares this day. */
function formFieldsOf(page: string, day: string): Record<string, string> {
  const forms = page.split('<form').filter((form) => form.includes(`value="${day}"`));
  const fields = Array.from(
    (forms[0] ?? '').matchAll(/name="([^"]+)" value="([^"]*)"/g),
    ([, name = '', value = '']) => [name, value],
  );
  return Object.fromEntries(fields.filter(([name]) => name !== '_csrf' && name !== 'form_id')) as Record<
    string,
    string
  >;
}

test.each<readonly [string, Readonly<Record<string, string>>]>([
  ['/operator/merchants', { name: 'Once' }],
  ['/operator/reconciliations', { environment: 'sandbox', wallet: 'walleta', date: '2026-01-29' }],
])('a form to %s that is sent twice has its effect once', async (path, fields) => {
  const form_id = hiddenField(await operator.get(path), 'form_id') ?? '';
  const send = () => operator.post(path, { ...fields, form_id });

  const statuses = (await Promise.all([send(), send()])).map(({ status }) => status);

  expect(statuses.sort()).toEqual([303, 409]);
});

test('a form whose fields were corrected on the same page is another form', async () => {
  const form_id = hiddenField(await operator.get('/operator/merchants'), 'form_id') ?? '';
  const send = (name: string) => operator.post('/operator/merchants', { form_id, name });

  const statuses = [await send('Twice'), await send('Twice, corrected')].map(({ status }) => status);

  expect(statuses).toEqual([303, 303]);
});

test('an operator creates a merchant, sets its terms, suspends and resumes it, and an outdated form changes nothing', async () => {
  const made = await operator.post('/operator/merchants', { name: 'Sheger <b>Books</b>' });
  const path = made.headers.get('location') ?? '';
  const seen = async () => hiddenField(await operator.get(path), 'seen') ?? '';
  const fields = { seen: await seen(), name: 'Sheger <b>Books</b>', minutes: '45', largest: 'etb 5000' };

  const saved = await operator.post(`${path}/terms`, fields);
  const late = await operator.post(`${path}/terms`, { ...fields, name: 'Mine' });
  const page = (await operator.get(path)).body;
  await operator.post(`${path}/suspend`, { seen: await seen(), reason: 'asked for by the bank' });
  const suspended = (await operator.get(path)).body;
  await operator.post(`${path}/resume`, { seen: await seen() });
  const resumed = (await operator.get(path)).body;

  expect([saved.status, late.status]).toEqual([303, 409]);
  expect(late.body).toContain('<h1><bdi>Sheger &lt;b&gt;Books&lt;/b&gt;</bdi></h1>');
  expect(late.body).toContain('Another operator changed this merchant');
  for (const [body, value] of [
    [late.body, 'Mine'],
    [page, 'ETB 5000'],
  ] as const)
    expect(body).toContain(`value="${value}"`);
  expect(suspended).toContain('badge-bad">Suspended<');
  expect(resumed).toContain('badge-good">Active<');
});

test('an operator finds a merchant by a part of its name, also on later pages', async () => {
  const merchants = stack.client(MerchantService, 'operator');
  for (let number = 100; number <= 150; number += 1)
    await merchants.createMerchant({ name: `Branch ${number} of a chain` });
  const branches = (body: string): number => [...body.matchAll(/<bdi>Branch \d+ of a chain<\/bdi>/g)].length;

  const all = (await operator.get('/operator/merchants')).body;
  const one = (await operator.get('/operator/merchants?text=branch+117')).body;
  const chain = (await operator.get('/operator/merchants?text=of+a+chain')).body;
  const [, older = ''] = /href="(\/operator\/merchants\?[^"]*page=[^"]*)"/.exec(chain) ?? [];
  const later = (await operator.get(older.replaceAll('&amp;', '&'))).body;
  const none = (await operator.get('/operator/merchants?text=nothing-like-it')).body;

  expect(all).toContain('role="search"');
  expect([one, chain, later].map(branches)).toEqual([1, 50, 1]);
  expect(later).toContain('href="/operator/merchants?text=of+a+chain"');
  expect(none).toContain('No merchant has this text in its name.');
});

test('a form of terms with several mistakes shows all of them at once, and changes nothing', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const path = `/operator/merchants/${merchantId}`;
  const seen = hiddenField(await operator.get(path), 'seen') ?? '';
  const form = { seen, name: 'Other name', minutes: 'many', email: 'nobody', currencies: 'XYZ', rate: '10' };

  const { status, body } = await operator.post(`${path}/terms`, form);

  expect(status).toBe(400);
  expect([...body.matchAll(/id="(\w+)-error"/g)].map(([, field]) => field)).toEqual([
    'minutes',
    'email',
    'currencies',
  ]);
  const { merchant } = await stack.client(MerchantService, 'reader').getMerchant({ merchantId });
  expect(merchant?.name).not.toBe('Other name');
});

test('a change of the name keeps a wallet that is no longer configured, and the seconds of the time to pay', async () => {
  const { id: merchantId } = await stack.createMerchant();
  await superuser.query(sql`
    update core.merchants set production_payment_options = '{walletz_ussd}', session_lifetime_seconds = 330
    where id = ${storedId('mer', merchantId)}`);
  const path = `/operator/merchants/${merchantId}`;
  const page = await operator.get(path);
  const fields: Record<string, string> = {
    seen: hiddenField(page, 'seen') ?? '',
    minutes: '6',
    name: 'Other name',
  };
  for (const [, name = '', value = ''] of page.body.matchAll(/name="(\w+)" value="(\w+)" checked/g))
    fields[name] = value;

  const saved = await operator.post(`${path}/terms`, fields);

  const { merchant } = await stack.client(MerchantService, 'reader').getMerchant({ merchantId });
  expect(saved.status).toBe(303);
  expect(merchant).toMatchObject({
    name: 'Other name',
    sessionLifetime: { seconds: 330n },
    terms: { sandboxPaymentOptions: [], productionPaymentOptions: ['walletz_ussd'] },
  });
});

test('balances are shown in pages', async () => {
  const { id: merchantId } = await stack.createMerchant();
  await superuser.query(sql`
    insert into core.money_days (environment, wallet, day, merchant_id, currency, reconciliation_id, statement_in, statement_out,
      completed, strays, reversals, refunds)
    select 'PRODUCTION', 'walleta', date '2025-01-01' + i, ${storedId('mer', merchantId)}, 'ETB',
      gen_random_uuid(), i, 0, i, 0, 0, 0
    from generate_series(1, 120) i`);
  const seen: string[] = [];
  const pages: string[] = [];
  for (
    let next: string | undefined = '/operator/balances?environment=production';
    next !== undefined && pages.length < 9;
  ) {
    pages.push(next);
    const { body } = await operator.get(next);
    seen.push(...Array.from(body.matchAll(/>(2025-\d\d-\d\d)</g), ([, day = '']) => day));
    next = /button-quiet" href="([^"]*page=[^"]*)"/.exec(body)?.[1]?.replaceAll('&amp;', '&');
  }

  expect(seen).toHaveLength(120);
  expect(new Set(seen).size).toBe(120);
});

test.each([/no recovery holds back payments/gi, /no money waits for a person/gi])(
  'the overview says %s once',
  async (sentence) => {
    const { body } = await operator.get('/operator');

    expect(body.match(sentence)).toHaveLength(1);
  },
);

/** A `wallets` process reports wallet A of the sandbox. */
const reportWalletA = (health: WalletHealth, instance = 'wallets-1') =>
  stack.client(WalletStatusService, 'wallets').reportWalletStatus({
    instance,
    window: durationFromMs(300_000),
    wallets: [
      {
        wallet: 'walleta',
        environment: Environment.SANDBOX,
        health,
        breaker: WalletBreakerState.CLOSED,
      },
    ],
  });

test('a wallet whose process is silent is not shown as healthy, neither on its page nor on the overview', async () => {
  await reportWalletA(WalletHealth.UP);
  const path = '/operator/wallets?environment=sandbox';
  const before = await operator.get(path);
  await queryOnce(
    stack.databaseUrl,
    `update core.wallet_statuses set reported_at = now() - interval '10 minutes'`,
  );

  const after = await operator.get(path);
  const overview = await operator.get('/operator');
  await reportWalletA(WalletHealth.UP, 'wallets-2');
  const replaced = await operator.get(path);

  expect(before.body).toContain('badge-good">Up<');
  expect(after.body).not.toContain('badge-good');
  expect(after.body).toContain('class="badge">Unknown<');
  expect(after.body).toMatch(/No report for 1[01] minutes(, \d+ seconds?)?\..* Start it again\./);
  expect(replaced.body).toMatch(/No report for 1[01] minutes(, \d+ seconds?)?, but another process reports/);
  expect(overview.body).toContain('Unknown, because no recent report exists: Wallet A (Sandbox).');
});

test('a wallet whose health is unknown is not shown as up', async () => {
  await reportWalletA(WalletHealth.UNTOLD);

  const overview = await operator.get('/operator');

  expect(overview.body).toContain('1 wallet reported. None is down, and all are in use.');
});

test('a wallet is shown with its work in progress, and the limit of each kind', async () => {
  const wallet = { wallet: 'walleta', environment: Environment.PRODUCTION };
  const window = durationFromMs(300_000);
  const work = [
    { kind: WalletWorkKind.PAYMENTS, inFlight: 32, maxInFlight: 32 },
    { kind: WalletWorkKind.REVERSALS, inFlight: 0, maxInFlight: 32 },
    { kind: WalletWorkKind.PAYER_PAYMENTS, inFlight: 1, maxInFlight: 32 },
  ];
  const reports = stack.client(WalletStatusService, 'wallets');
  await reports.reportWalletStatus({ instance: 'new', window, wallets: [{ ...wallet, work }] });
  await reports.reportWalletStatus({
    ...{ instance: 'release 0.1.0', window },
    wallets: [{ ...wallet, inFlight: 5, places: 64 }],
  });

  const { body } = await operator.get('/operator/wallets?environment=production');

  expect(body.match(/[^<>]*\d+ of \d+/g)).toEqual([
    'Payments: 32 of 32',
    'Reversals: 0 of 32',
    'Payer-started: 1 of 32',
    '5 of 64',
  ]);
});

describe('orders of all merchants', () => {
  const path = '/operator/orders';
  const linksIn = (body: string): string[] =>
    [...body.matchAll(/href="(\/m\/[^"]*\/orders\/ord_[a-z0-9]+)"/g)].map(([, href = '']) => href);

  test('are found by number, id and phone, in both environments, and lead to their page', async () => {
    const orders = stack.client(OrderService, 'writer');
    const merchants = [
      await stack.createMerchant(),
      await stack.createMerchant({ productionActivated: true }),
    ];
    const environments = [Environment.SANDBOX, Environment.PRODUCTION];
    const made: string[] = [];
    for (const [index, { id: merchantId }] of merchants.entries()) {
      const environment = environments[index]!;
      const own = { merchantId, environment, orderNumber: 'SHARED-1', customerPhone: '0944000001' };
      const { order } = await orders.registerOrder(registration(own));
      made.unshift(`/m/${merchantId}/${['sandbox', 'production'][index]}/orders/${order?.orderId}`);
    }
    const find = async (text: string): Promise<string[]> =>
      linksIn((await operator.get(`${path}?${new URLSearchParams({ text }).toString()}`)).body);

    expect(await find('SHARED-1')).toEqual(made);
    expect(await find('+251 944 000 001')).toEqual(made);
    expect(await find(made[0]!.split('/').at(-1)!)).toEqual([made[0]]);
    expect(await find('SHARED')).toEqual([]);
    expect((await operator.get(made[0]!)).status).toBe(200);
  });

  test('a search that cannot be run says why, and one without results says so', async () => {
    const long = await operator.get(`${path}?text=${'x'.repeat(65)}`);
    const none = await operator.get(`${path}?text=no-such-order`);

    expect([long.status, none.status]).toEqual([400, 200]);
    expect(long.body).toContain('id="text-error">Enter 1 to 64 characters.');
    expect(none.body).toContain('No orders match.');
    expect((await operator.get(`${path}?text=x&page=nonsense`)).status).toBe(400);
  });
});

describe('failing endpoints', () => {
  const path = '/operator/endpoints';
  const pausedEndpoint = async (merchantId: string, endpoint: string, reason: string): Promise<void> => {
    const webhooks = stack.webhookClient('operator');
    const environment = Environment.SANDBOX;
    await webhooks.sendTestEvent({ merchantId, environment, url: `${endpoint}/hook` });
    await webhooks.pauseEndpoint({ merchantId, environment, endpoint, reason });
  };
  const endpointsIn = (body: string): string[] =>
    [...body.matchAll(/<bdi>(https:\/\/shop-\d+\.example)<\/bdi>/g)].map(([, endpoint = '']) => endpoint);

  test('are listed with their merchant and the reason, and lead to that merchant’s webhooks', async () => {
    const merchant = await stack.createMerchant();
    await pausedEndpoint(merchant.id, 'https://shop-0.example', '<b>moving</b> house');

    const page = await operator.get(path);
    const production = await operator.get(`${path}?environment=production`);

    const link = `/m/${merchant.id}/sandbox/webhooks?endpoint=https%3A%2F%2Fshop-0.example`;
    expect(page.body).toContain(`href="${link}"`);
    expect(page.body).toContain('&lt;b&gt;moving&lt;/b&gt; house');
    expect((await operator.get(link)).status).toBe(200);
    expect(endpointsIn(production.body)).toEqual([]);
  });

  test('of a merchant that core does not know are listed with its id, and lead to no page', async () => {
    const unknown = newRandomId('mer', new Date());
    await superuser.query(sql`
      insert into webhooks.lanes (merchant_id, environment, endpoint, created_at, paused_at)
      values (${unknown}, 'SANDBOX', 'https://shop-1.example', now(), now())`);

    const page = await operator.get(path);

    expect(page.status).toBe(200);
    expect(page.body).toContain(`${unknown}</`);
    expect(page.body).not.toMatch(new RegExp(`href="[^"]*${unknown}`));
  });

  test('are each on exactly one of the pages', async () => {
    const merchant = await stack.createMerchant();
    const all = Array.from({ length: 52 }, (_, index) => `https://shop-${100 + index}.example`);
    await superuser.query(sql`
      insert into webhooks.lanes (merchant_id, environment, endpoint, created_at, paused_at)
      select ${merchant.id}, 'SANDBOX', unnest(${all}::text[]), now(), now()`);

    const first = await operator.get(path);
    const next = /href="(\/operator\/endpoints\?[^"]*page=[^"]*)"/.exec(first.body)?.[1] ?? '';
    const second = await operator.get(next.replaceAll('&amp;', '&'));

    const seen = [...endpointsIn(first.body), ...endpointsIn(second.body)];
    expect(endpointsIn(first.body)).toHaveLength(50);
    expect(seen.filter((endpoint) => all.includes(endpoint)).sort()).toEqual(all);
  });
});
