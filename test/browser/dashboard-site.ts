import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { noMerchantId } from '../../src/contract/public-id.ts';
import { AccountHelp, AccountService, MemberRole } from '../../src/gen/gatehouse/v1/account_service_pb.js';
import { Environment, OrderStatus } from '../../src/gen/gatehouse/v1/order_pb.js';
import { MerchantService } from '../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { RefundService } from '../../src/gen/gatehouse/v1/refund_service_pb.js';
import { RequestLogService } from '../../src/gen/gatehouse/v1/request_log_service_pb.js';
import {
  StrayPaymentService,
  StrayPaymentStatus,
} from '../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { launchChromium } from '../support/chromium.ts';
import { openDashboardUsers } from '../support/dashboard-users.ts';
import type { TestUser } from '../support/dashboard-users.ts';
import { storedId } from '../support/ids.ts';
import { directPayment, registration } from '../support/order-requests.ts';
import { callSandbox } from '../support/sandbox-calls.ts';
import { startStack } from '../support/stack.ts';
import type { Stack, TestMerchant } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { queryOnce } from '../support/database-connections.ts';
import { sql } from '../support/sql.ts';

/** The dashboard of a running Gatehouse, with a merchant that has data, and a browser to view it. */
export interface DashboardSite {
  readonly stack: Stack;
  readonly browser: Browser;
  readonly origin: string;
  readonly merchantId: string;
  readonly owner: TestUser;
  readonly operator: TestUser;
  /** Paths of one-time links that are all still valid. */
  readonly invitation: string;
  readonly reset: string;
  /** An order that a wallet paid. */
  readonly paidOrderId: string;
  /** A refund of that order that waits for the owner's approval. */
  readonly waitingRefundId: string;
  /** Opens a page in a browser of its own, in English unless told otherwise; the user is signed in. */
  readonly open: (user?: TestUser, options?: BrowserContextOptions) => Promise<Page>;
  readonly close: () => Promise<void>;
}

type Session = Awaited<ReturnType<BrowserContext['storageState']>>;

/** Texts of a merchant that would run if they were not shown as texts. */
const script = `<script>document.title='run'</script>"><img src=x onerror="document.title='run'">`;

export async function openDashboardSite(): Promise<DashboardSite> {
  const [stack, browser] = await Promise.all([
    startStack({ checkouts: 1, dashboards: 1, webhooks: 1, wallets: 1, walletTimeScale: 0.01 }),
    launchChromium(),
  ]);
  const origin = stack.dashboards[0]?.origin ?? '';
  const users = openDashboardUsers(stack);
  const accounts = stack.client(AccountService, 'operator');
  const merchant = await stack.createMerchant();
  const { id: merchantId } = merchant;
  await stack.client(MerchantService, 'operator').updateMerchant({ merchantId, name: 'W'.repeat(100) });
  const [owner, operator, other] = [
    await users.member(merchantId),
    await users.operator(),
    await users.member(merchantId, MemberRole.DEVELOPER),
  ];
  await accounts.setUserDisabled({ email: other.email, isDisabled: true });
  const email = `${'a-very-long-name-of-somebody'.repeat(2)}@department.shop.example`;
  const [invited, reset, paidOrderId] = await Promise.all([
    accounts.inviteUser({ email, merchantId, role: MemberRole.DEVELOPER }),
    stack.client(AccountService, 'dashboard').startPasswordReset({ email: owner.email }),
    makeOrders(stack, merchantId),
    refuseRequest(stack, merchant),
    refuseReversal(stack, merchant),
    countOrders(stack, merchantId),
    writeBalances(stack, merchantId),
  ]);
  // Another operator must approve it.
  await accounts.requestAccountHelp({ email: owner.email, help: AccountHelp.NEW_PASSWORD });
  await failWebhooks(stack, merchantId);
  const waitingRefundId = await refundAboveLimit(stack, merchantId, paidOrderId);
  /** The sessions by e-mail address. All pages of a user share one. */
  const sessions = new Map<string, Session>();
  const sessionOf = async (user: TestUser): Promise<Session> => {
    const known = sessions.get(user.email);
    if (known !== undefined) return known;
    const page = await openPage(browser, origin, user);
    const session = await page.context().storageState();
    await page.context().close();
    sessions.set(user.email, session);
    return session;
  };
  return {
    stack,
    browser,
    origin,
    merchantId,
    owner,
    operator,
    invitation: `/invitation/${invited.token}`,
    reset: `/reset/${reset.token}`,
    paidOrderId,
    waitingRefundId,
    open: async (user, options) =>
      openPage(browser, origin, undefined, {
        ...options,
        ...(user === undefined ? {} : { storageState: await sessionOf(user) }),
      }),
    close: async () => {
      await Promise.all([browser.close(), stack.stop()]);
    },
  };
}

/** Opens a page in a browser of its own, signed in only if a user is given. */
export async function openPage(
  browser: Browser,
  origin: string,
  user?: TestUser,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const { locale = 'en' } = options;
  const context = await browser.newContext({ locale, viewport: { width: 1280, height: 740 }, ...options });
  await context.addCookies([{ name: 'gatehouse_dashboard_language', value: locale, url: origin }]);
  const page = await context.newPage();
  if (user !== undefined) await signIn(page, origin, user);
  return page;
}

/** Signs in and opens the first page. */
async function signIn(page: Page, origin: string, user: TestUser): Promise<void> {
  await page.goto(`${origin}/sign-in`);
  await page.locator('#email').fill(user.email);
  await page.locator('#password').fill(user.password);
  await page.locator('main button[type=submit]').first().click();
  await page.locator('.menu-user').waitFor();
}

/** Orders with long and with dangerous texts, and one that is paid, whose id is returned. */
async function makeOrders(stack: Stack, merchantId: string): Promise<string> {
  const orders = stack.client(OrderService, 'writer');
  for (const [index, own] of [
    {},
    { reason: script, businessName: script },
    { amount: '999999999999.99' },
  ].entries())
    await orders.registerOrder(
      registration({ merchantId, orderNumber: `SHOP-${index}-${'n'.repeat(index * 20)}`, ...own }),
    );
  await orders.registerOrder(registration({ merchantId, orderNumber: `<b>"bold"</b>` }));
  const { order } = await orders.startDirectPayment(
    directPayment({ merchantId, orderNumber: 'PAID-1', phone: '0911000001' }),
  );
  await waitUntil('the payment is over', async () => {
    const key = { case: 'orderNumber' as const, value: 'PAID-1' };
    const found = await orders.getOrder({ merchantId, environment: Environment.SANDBOX, key });
    return found.order?.status === OrderStatus.COMPLETED;
  });
  return order?.orderId ?? '';
}

/** A refund with a dangerous reason that waits for approval, because it is above the merchant's limit. */
async function refundAboveLimit(stack: Stack, merchantId: string, orderId: string): Promise<string> {
  const scope = { merchantId, environment: Environment.SANDBOX };
  const refunds = stack.client(RefundService, 'writer');
  const approvalLimits = [{ currency: 'ETB', amount: '20' }];
  const refundPolicy = { approvalLimits };
  await stack.client(MerchantService, 'operator').updateMerchant({ merchantId, refundPolicy });
  await waitUntil('core uses the limit', async () => {
    const { approvalAbove } = await refunds.getRefundable({ ...scope, orderId });
    return approvalAbove === '20';
  });
  const order = { case: 'orderId' as const, value: orderId };
  const asked = { ...scope, order, refundNumber: 'RF-1', amount: '30', reason: script };
  const { refund } = await refunds.createRefund(asked);
  return refund?.refundId ?? '';
}

/** A month of numbers for the charts. */
async function countOrders(stack: Stack, merchantId: string): Promise<void> {
  await queryOnce(
    stack.databaseUrl,
    sql`
      insert into core.order_counts (merchant_id, environment, type, quarter, currency, payment_option, reason, events, minor_units)
      select ${storedId('mer', merchantId)}, 'SANDBOX', type::core.order_event_type,
        date_trunc('hour', now()) - h * interval '1 hour', currency, option, reason,
        (1 + (h * 7919 + ascii(reason || type)) % n), case when type = 'COMPLETED' then (1 + (h * 7919) % 40) * 12345 else 0 end
      from generate_series(1, 700) h, (values
        ('CREATED', '', '', '', 60), ('COMPLETED', 'ETB', 'walleta_ussd', '', 40), ('COMPLETED', 'USD', 'walletb_ussd', '', 9),
        ('PAYMENT_DECLINED', '', 'walleta_ussd', 'insufficient_funds', 6), ('FAILED', '', 'walletb_ussd', 'timed_out', 4),
        ('EXPIRED', '', '', 'session_ended', 5)) as kinds (type, currency, option, reason, n)
      on conflict do nothing`,
  );
}

/**
 * An API request that is refused. A busy gateway answers 503, and its log keeps only a share of the requests, so it is repeated until it
 * is in the log.
 */
async function refuseRequest(stack: Stack, merchant: TestMerchant): Promise<void> {
  const log = stack.client(RequestLogService, 'reader');
  const body = {
    order_number: 'W-1',
    amount: '1.005',
    currency: 'ETB',
    reason: '<script>alert(1)</script>',
    customer_phone: '0911223344',
    return_url: 'https://shop.example/',
  };
  const filter = { merchantId: merchant.id, environment: Environment.SANDBOX, orderNumber: 'W-1' };
  let polls = 0;
  await waitUntil('the refused request is in the log', async () => {
    // The facade reports about once a second.
    if (polls++ % 20 === 0) await callSandbox(stack, merchant, 'register', body);
    const { requests } = await log.listApiRequests(filter);
    return requests.some(({ status }) => status === 400);
  });
}

/** Money of no order, which its wallet does not return. */
async function refuseReversal(stack: Stack, merchant: TestMerchant): Promise<void> {
  const body = { order_number: 'S-1', amount: '7', currency: 'ETB', phone: '+251900000027' };
  await callSandbox(stack, merchant, 'direct?payment_option=walleta_ussd', body);
  const statuses = [StrayPaymentStatus.REVERSAL_REFUSED];
  const strays = stack.client(StrayPaymentService, 'reader');
  await waitUntil(
    'the wallet has refused',
    async () => (await strays.listStrayPayments({ statuses })).strayPayments[0],
  );
}

/**
 * A host that a user paused, one that does not answer, two signing secrets, and webhook endpoints of which one waits.
 */
async function failWebhooks(stack: Stack, merchantId: string): Promise<void> {
  const own = { merchantId, environment: Environment.SANDBOX };
  const webhooks = stack.webhookClient('operator');
  await webhooks.rotateSigningSecret(own);
  await webhooks.rotateSigningSecret(own);
  const endpoint = 'https://there-is-no-such-shop.example';
  await webhooks.sendTestEvent({ ...own, url: `${endpoint}/hook` });
  await webhooks.pauseEndpoint({ ...own, endpoint, reason: '<i>moving</i>' });
  await webhooks.sendTestEvent({
    ...own,
    url: `http://127.0.0.1:9/${'a-long-path-without-an-end'.repeat(8)}`,
  });
  const endpoints = stack.webhookEndpointClient('operator');
  const long = `https://there-is-no-such-shop.example/${'a-long-path-without-an-end'.repeat(8)}`;
  const { webhookEndpoint } = await endpoints.createWebhookEndpoint({
    ...own,
    url: long,
    description: script,
  });
  const { webhookEndpointId = '' } = webhookEndpoint ?? {};
  await endpoints.rotateWebhookEndpointSecret({ merchantId, webhookEndpointId });
  const waiting = await endpoints.createWebhookEndpoint({
    ...{ ...own, url: 'http://127.0.0.1:9/', withoutSecret: true, eventTypes: ['refund.failed'] },
  });
  await endpoints.testWebhookEndpoint({
    merchantId,
    webhookEndpointId: waiting.webhookEndpoint?.webhookEndpointId ?? '',
  });
  await waitUntil('a test waits for its secret', async () => {
    const { awaitedSecrets } = await endpoints.listWebhookEndpoints({ merchantId });
    return awaitedSecrets.length === 1;
  });
  await waitUntil('the webhook was tried', async () => {
    const { deliveries } = await webhooks.listDeliveries({ merchantId });
    return deliveries.some(({ attemptCount }) => attemptCount > 0);
  });
}

/**
 * Balances of the sandbox with wide amounts: of an ended day, one with and one without a difference, and of the running day. One day has none. Core compares the
 * days of the last week again, which would replace them.
 */
async function writeBalances(stack: Stack, merchantId: string): Promise<void> {
  const [merchant, none] = [storedId('mer', merchantId), storedId('mer', noMerchantId)];
  await queryOnce(
    stack.databaseUrl,
    sql`
      insert into core.money_days (environment, wallet, day, merchant_id, currency, reconciliation_id, statement_in, statement_out,
        completed, strays, reversals, refunds)
      select 'SANDBOX', 'walleta', (now() at time zone 'UTC')::date - days_ago, merchant_id, 'ETB', gen_random_uuid(), statement_in, 40,
        1234567890.5, 0, 0, 40
      from (values (0, ${merchant}::uuid, 1234567890.5), (10, ${merchant}::uuid, 1000.5), (10, ${none}::uuid, 1234567890.5))
        as made (days_ago, merchant_id, statement_in)`,
  );
  await queryOnce(
    stack.databaseUrl,
    sql`
      insert into core.money_day_corrections (environment, wallet, day, merchant_id, currency, reconciliation_id, corrected_at,
        statement_in, statement_out, completed, strays, reversals, refunds)
      select 'SANDBOX', 'walleta', (now() at time zone 'UTC')::date - 10, ${merchant}, 'ETB', gen_random_uuid(), now() - interval '7 days', before,
        40, 1234567890.5, 0, 0, 40
      from (values (990.5), (1234567890.5)) as made (before)`,
  );
  // An older day than those that core compares again.
  await queryOnce(
    stack.databaseUrl,
    `insert into core.reconciliations (id, wallet, environment, day, status, scheduled, started_by, tries, entries, other_entries,
       differences, detail, created_at, updated_at)
     select gen_random_uuid(), 'walleta', 'SANDBOX', (now() at time zone 'UTC')::date - 12, 'FAILED', false, 'core', 7, 0, 0, 0,
       'GET https://wallet.example/statement/merchant-account/2026: HTTP 403 Forbidden: "the account may not read statements"', now(), now()`,
  );
}
