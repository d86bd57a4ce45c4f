import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createAccountSeal } from '../../src/core/merchant-wallets/account-seal.ts';
import { MerchantWalletService } from '../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { MerchantService } from '../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { RefundService } from '../../src/gen/gatehouse/v1/refund_service_pb.js';
import { SettlementOutcome, SettlementService } from '../../src/gen/gatehouse/v1/settlement_service_pb.js';
import {
  WalletBreakerState,
  WalletStatusService,
} from '../../src/gen/gatehouse/v1/wallet_status_service_pb.js';
import { masterAccountKey } from '../../src/main/core-wallet-accounts.ts';
import { outcomes, sharedPaymentDesk } from '../integration/core/payment-desk.ts';
import type { HostedOrder, Payment } from '../integration/core/payment-desk.ts';
import { answer, startReceiver } from '../integration/webhooks/receivers.ts';
import type { Receiver } from '../integration/webhooks/receivers.ts';
import { openDashboardUsers } from '../support/dashboard-users.ts';
import { storedId } from '../support/ids.ts';
import { callSandbox } from '../support/sandbox-calls.ts';
import { sharedClient, sharedConnection, sharedStack } from '../support/shared-stack.ts';
import type { TestMerchant } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { sql } from '../support/sql.ts';
import { openExplanationSurfaces } from './explanation-surfaces.ts';
import type { ExplainedName, ExplanationSurfaces, Shown } from './explanation-surfaces.ts';

// Every fact that an order can wait for, frozen. gRPC tells all of them. REST, the command line and the dashboard show the same
// words, which one fact of each kind proves. The test plays the `wallets` process, so nothing moves while it asks.

const environment = Environment.SANDBOX;
const stack = sharedStack({ webhooks: 1, dashboards: 1 });
const desk = sharedPaymentDesk(stack);
const statuses = sharedClient(stack, WalletStatusService, 'wallets');
const settlements = sharedClient(stack, SettlementService, 'operator');
const merchants = sharedClient(stack, MerchantService, 'operator');
const merchantWallets = sharedClient(stack, MerchantWalletService, 'dashboard');

const superuser = sharedConnection(() => stack.databaseUrl);

let surfaces: ExplanationSurfaces;
let receiver: Receiver;
let signing: TestMerchant;
let orderCount = 0;

beforeAll(async () => {
  receiver = await startReceiver(answer(204));
  signing = await stack.createMerchant({ signsWebhooks: true });
  surfaces = await openExplanationSurfaces(stack);
});
afterAll(async () => {
  await surfaces.close();
  await receiver.close();
});

/** Waits until gRPC shows that the order waits for that fact. `facts`: the fact, its holder and the next step. */
async function shownFact(order: ExplainedName, facts: string): Promise<Shown> {
  const shown = await waitUntil(`${order.orderNumber} waits for ${facts}`, async () => {
    const now = await surfaces.grpc(order);
    return now.facts?.slice(0, 3).join(' ') === facts && now;
  });
  expect(shown.text).not.toMatch(/[a-z]{3}_[0-9a-z]{20}|\+?251\d|127\.0\.0\.1|undefined/);
  return shown;
}

const expectFact = async (order: ExplainedName, facts: string): Promise<string> =>
  (await shownFact(order, facts)).text;

/**
 * The same, and all surfaces show the same text. A due time that passes between two answers changes the text, so both
 * are then read again.
 */
async function expectEverywhere(
  order: ExplainedName,
  facts: string,
  asked: readonly ('rest' | 'cli' | 'dashboard')[] = ['rest', 'cli', 'dashboard'],
): Promise<string> {
  let text = '';
  for (const surface of asked) {
    const { told, shown } = await waitUntil(`${order.orderNumber} stands still`, async () => {
      const told = await shownFact(order, facts);
      const shown = await surfaces[surface](order);
      return isDeepStrictEqual(told, await surfaces.grpc(order)) && { told, shown };
    });
    expect({ surface, facts: told.facts, ...shown }).toEqual({ surface, ...told });
    text = told.text;
  }
  return text;
}

const nameOf = (merchant: TestMerchant, orderNumber: string, orderId: string): ExplainedName => ({
  merchant,
  orderNumber,
  orderId,
});

const nextNumber = (): string => `E-${(orderCount += 1)}`;

/** Without a webhook_url, an ended order waits for nothing at once. */
async function hosted(
  merchant = signing,
  webhookUrl = `${receiver.origin}/hook`,
): Promise<ExplainedName & { readonly order: HostedOrder }> {
  const orderNumber = nextNumber();
  const order = await desk.registerHosted({ merchantId: merchant.id, orderNumber, webhookUrl });
  return { ...nameOf(merchant, orderNumber, order.orderId), order };
}

async function direct(merchant = signing): Promise<ExplainedName & { readonly payment: Payment }> {
  const orderNumber = nextNumber();
  const payment = await desk.startDirect({ merchantId: merchant.id, orderNumber });
  return { ...nameOf(merchant, orderNumber, payment.orderId), payment };
}

let transactions = 0;
const completed = (amount?: string) => outcomes.completed(`TX-E-${(transactions += 1)}`, amount);

async function paidWithWebhook(merchant: TestMerchant, url = receiver.origin): Promise<ExplainedName> {
  const orderNumber = nextNumber();
  const order = await desk.registerHosted({
    merchantId: merchant.id,
    orderNumber,
    webhookUrl: `${url}/hook`,
  });
  await desk.settle(await desk.payHosted(order), completed());
  return nameOf(merchant, orderNumber, order.orderId);
}

/**
 * Reports like one `wallets` process that its wallets are available, or that their circuits are open. Replaces all
 * other reports.
 */
async function reportWallets(breaker: WalletBreakerState | 'silent'): Promise<void> {
  await desk.query('delete from core.wallet_statuses');
  if (breaker === 'silent') return;
  const wallets = ['walleta', 'walletb'].map((wallet) => ({ wallet, environment, breaker }));
  await statuses.reportWalletStatus({ instance: 'test', window: { seconds: 60n }, wallets });
}

describe('the explanation of a payment', () => {
  test('of the checkout follows it from the registration to a cancellation', async () => {
    await reportWallets(WalletBreakerState.CLOSED);
    const { order, ...name } = await hosted(signing, '');
    const registered = await expectFact(name, 'customer_payment payer order_expires');
    expect(registered).toMatch(
      /^The order waits for the customer to pay on its checkout page\. Unless it is paid, it expires at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\.$/,
    );
    await desk.checkout.getCheckout({ token: order.token, browserSecret: 'b'.repeat(43) });
    expect(await expectFact(name, 'customer_payment payer order_expires')).toBe(registered);

    const first = await desk.payHosted(order);
    await expectFact(name, 'request_sent wallets_process request_sent');
    const leased = await desk.take(first);
    await expectFact(name, 'wallet_answer wallet wallet_queried');
    await desk.record(leased, outcomes.pending('ref'));
    await expectEverywhere(name, 'payer_confirmation payer wallet_queried');
    await desk.query(sql`update core.payment_attempts set prompt_until = now() - interval '1 s'
      where id = ${storedId('pat', first.attemptId)}`);
    await expectFact(name, 'wallet_decision wallet wallet_queried');
    await desk.makeDue(first);
    await desk.settle(first, outcomes.unknown());
    await expectFact(name, 'wallet_outcome wallet wallet_queried');
    await desk.makeDue(first);
    await desk.settle(first, outcomes.declined());
    expect(await expectEverywhere(name, 'another_payment payer order_expires')).toContain(
      '(insufficient_funds)',
    );

    const second = await desk.payHosted(order);
    await desk.settle(second, outcomes.notReached());
    await expectFact(name, 'wallet_reached wallet request_sent');
    await desk.makeDue(second);
    await desk.settle(second, outcomes.timedOut());
    expect(await expectFact(name, 'another_payment payer order_expires')).toContain('(timed_out)');
    await desk.cancelHosted(order);
    expect(await expectEverywhere(name, 'nothing nobody none')).toMatch(/^The order failed \(cancelled\)/);
  });

  test('that is not sent names the open circuit or the missing wallets process', async () => {
    await reportWallets(WalletBreakerState.OPEN);
    const { payment, ...name } = await direct();
    await expectFact(name, 'wallet_recovery wallet wallet_checked');
    await reportWallets('silent');
    await expectFact(name, 'request_sent wallets_process request_sent');
    await desk.query(sql`update core.payment_attempts set due_at = now() - interval '1 min'
      where id = ${storedId('pat', payment.attemptId)}`);
    await expectFact(name, 'wallets_process operator process_started');
    await reportWallets(WalletBreakerState.CLOSED);
  });

  test("with the merchant's own account names its missing key, or the credentials that the wallet refuses", async () => {
    const { payment, ...name } = await direct();
    await desk.settle(payment, outcomes.notReached());
    const [account] = await desk.query<{ id: string }>(sql`
      insert into core.wallet_accounts (merchant_id, id, environment, wallet, state, open_values, endings, key_name,
        sealed_secrets, check_result, created_at)
      values (${storedId('mer', signing.id)}, gen_random_uuid(), 'SANDBOX', 'walleta', 'RETIRED', '{}', '{}',
        'k', '', 'REFUSED', now()) returning id`);
    await desk.query(sql`update core.payment_attempts set wallet_account_id = ${account?.id}
      where id = ${storedId('pat', payment.attemptId)}`);
    expect(await expectFact(name, 'wallet_account_key operator key_restored')).toBe(
      "The order waits, because the merchant's own account at Wallet A cannot be decrypted. An operator must restore its key.",
    );
    const of = {
      merchantId: storedId('mer', signing.id),
      environment: 'SANDBOX',
      wallet: 'walleta',
      id: account!.id,
    };
    const masterKey = Buffer.from(stack.ground.masterKey, 'hex');
    const sealed = createAccountSeal([masterAccountKey(masterKey)], randomBytes).seal({}, of);
    await desk.query(sql`update core.wallet_accounts
      set key_name = ${sealed.keyName}, sealed_secrets = ${sealed.sealedSecrets} where id = ${of.id}`);
    await expectFact(name, 'merchant_credentials merchant credentials_corrected');
  });

  test('that the merchant cannot take names the reason: no enabled wallet, a suspension, or an expired session', async () => {
    const merchant = await stack.createMerchant();
    const { orderId, ...name } = await hosted(merchant);
    const wallets = ['walleta', 'walletb'];
    for (const wallet of wallets)
      await merchantWallets.switchMerchantWallet({ merchantId: merchant.id, environment, wallet, on: false });
    await expectFact({ ...name, orderId }, 'no_wallet_offered merchant wallet_offered');
    await merchants.suspendMerchant({ merchantId: merchant.id, reason: 'test' });
    // The merchant API answers 403 to a suspended merchant.
    await expectEverywhere({ ...name, orderId }, 'merchant_suspended operator order_expires', [
      'cli',
      'dashboard',
    ]);

    const late = await hosted(signing, '');
    await desk.query(sql`update core.orders set expires_at = now(), sweep_at = now() + interval '1 hour'
      where id = ${storedId('ord', late.orderId)}`);
    await expectFact(late, 'expiry core order_expires');
    await desk.query(sql`
      update core.orders set sweep_at = now() where id = ${storedId('ord', late.orderId)}`);
    expect(await expectFact(late, 'nothing nobody none')).toMatch(/^The order expired unpaid/);
  });
});

describe('the explanation of money that does not pay the order', () => {
  test('in another amount follows it until it is returned, refused, or settled by operators', async () => {
    const { payment, ...name } = await direct();
    const { strayPaymentId } = await desk.settle(payment, completed('99.00'));
    await expectFact(name, 'request_sent wallets_process request_sent');
    const leased = await desk.takeReversal(strayPaymentId);
    await expectFact(name, 'money_returned wallet wallet_queried');
    const value = { reason: 'account_state', definite: true };
    await desk.recordReversal(leased, { case: 'refused', value });
    await expectFact(name, 'return_decision operator return_decided');
    await settlements.proposeSettlement({
      merchantId: name.merchant.id,
      subject: { case: 'strayPaymentId', value: strayPaymentId },
      outcome: SettlementOutcome.RETURNED,
      reason: 'The provider answered our case',
      providerReference: 'CASE-7',
    });
    await expectFact(name, 'settlement_confirmation operator settlement_confirmed');
  });

  test('that came late says that a checkout order cannot be paid until it is returned', async () => {
    const { order, ...name } = await hosted(signing, '');
    const payment = await desk.payHosted(order);
    await desk.settle(payment, outcomes.declined());
    await desk.makeDue(payment);
    const { strayPaymentId } = await desk.settle(payment, completed());
    const leased = await desk.takeReversal(strayPaymentId);
    const text = await expectFact(name, 'money_returned wallet wallet_queried');
    expect(text).toContain('It accepts no other payment before that.');
    await desk.recordReversal(leased, { case: 'done', value: {} });
    await expectFact(name, 'another_payment payer order_expires');
  });
});

test('the explanation of a refund follows its approval, the request, an unknown outcome and the completion', async () => {
  const approvalLimits = [{ currency: 'ETB', amount: '0' }];
  const merchant = await stack.createMerchant({ signsWebhooks: true });
  await merchants.updateMerchant({ merchantId: merchant.id, refundPolicy: { approvalLimits } });
  const order = await paidWithWebhook(merchant);
  await expectFact(order, 'nothing nobody none');
  const { refundId } = await desk.refund(merchant.id, order.orderNumber);
  await expectEverywhere(order, 'refund_approval merchant refund_approved');
  const approver = stack.client(RefundService, 'dashboard');
  const { userId } = await openDashboardUsers(stack).member(merchant.id);
  await approver.approveRefund(
    { merchantId: merchant.id, refundId },
    { headers: { 'x-gatehouse-actor': userId } },
  );
  await expectFact(order, 'request_sent wallets_process request_sent');
  const record = async (outcome: Parameters<typeof desk.recordRefund>[1]) =>
    desk.recordRefund(await desk.takeRefund(refundId), outcome);
  await record({ case: 'pending', value: { providerReference: 'r', detail: 'no answer' } });
  await expectFact(order, 'refund_decision wallet wallet_queried');
  await desk.query(sql`update core.refunds set due_at = now() where id = ${storedId('rfd', refundId)}`);
  await record({ case: 'done', value: {} });
  await expectFact(order, 'nothing nobody none');
});

test('the explanation of a webhook covers a missing secret, a refusal, a paused endpoint, abandonment and delivery', async () => {
  const merchant = await stack.createMerchant();
  const order = await paidWithWebhook(merchant);
  await expectFact(order, 'webhook_secret merchant secret_created');
  // The delivery is marked when its first attempt finds no secret.
  const listed = await waitUntil('the list shows that a secret is missing', async () => {
    const { stdout } = await surfaces.commandLine.run('webhook', 'deliveries', merchant.id);
    return stdout.includes('waiting for a secret') && stdout;
  });
  expect(listed).not.toContain('due ');
  receiver.behave(answer(500));
  const webhooks = stack.webhookClient('operator');
  await webhooks.rotateSigningSecret({ merchantId: merchant.id, environment });
  await expectEverywhere(order, 'webhook_accepted merchant webhook_sent');
  const endpoint = { merchantId: merchant.id, environment, endpoint: receiver.origin };
  await webhooks.pauseEndpoint({ ...endpoint, reason: 'repair' });
  await expectFact(order, 'webhook_endpoint_resumed merchant endpoint_resumed');
  const [row] = await desk.query<{ id: string }>(sql`
    update webhooks.deliveries set state = 'GIVEN_UP', due_at = null, given_up_at = now()
    where order_id = ${order.orderId} returning id`);
  await expectFact(order, 'webhook_redelivery merchant webhook_redelivered');
  receiver.behave(answer(204));
  await webhooks.resumeEndpoint(endpoint);
  await webhooks.redeliverDelivery({ merchantId: merchant.id, deliveryId: row?.id ?? '' });
  expect(await expectFact(order, 'nothing nobody none')).toBe('The order is paid, and waits for nothing.');
});

test('an order that has just ended waits for its webhooks to be created', async () => {
  await waitUntil('the first event was read', async () => {
    const rows = await superuser.query(`
      select from webhooks.event_readers where reader = 'intake' and cursor <> ''`);
    return rows.rowCount === 1;
  });
  // The reader cannot move while its row is locked.
  await superuser.query('begin');
  await superuser.query("select from webhooks.event_readers where reader = 'intake' for update");
  const order = await paidWithWebhook(signing);
  const text = await expectEverywhere(order, 'event_read webhooks_process webhooks_created');
  await superuser.query('rollback');

  expect(text).toBe(
    'The order has ended. It waits for Gatehouse to create its webhooks. That takes some seconds.',
  );
  await expectFact(order, 'nothing nobody none');
});

test('an unknown order is answered as in verify, and no merchant sees another merchant’s order', async () => {
  const other = await stack.createMerchant();
  const order = await hosted();
  const bodies = [
    { order_number: order.orderNumber },
    { order_number: 'none' },
    {},
    { order_number: 7 },
    { order_number: 'a b' },
  ];
  for (const body of bodies)
    expect(await callSandbox(stack, other, 'explain', body)).toEqual(
      await callSandbox(stack, other, 'verify', body),
    );
  expect((await callSandbox(stack, { testKey: 'svc_test_none' }, 'explain', {})).status).toBe(401);
});

test('without a webhooks process, an ended order says that its webhooks are unknown', async () => {
  const { order: checkout, ...order } = await hosted();
  await desk.cancelHosted(checkout);
  await stack.webhooks[0]?.stop();
  for (const surface of ['rest', 'cli', 'dashboard'] as const)
    expect((await surfaces[surface](order)).text).toBe(
      'The order has ended. No webhooks process of Gatehouse answers, so it is unknown whether its webhooks wait. Ask again later.',
    );
});
