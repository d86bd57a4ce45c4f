import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { Environment, RefundStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { makeOperatorsOld } from '../../support/dashboard-users.ts';
import { hiddenField } from '../../support/dashboard-visitor.ts';
import type { DashboardVisitor } from '../../support/dashboard-visitor.ts';
import { ReportService } from '../../../src/gen/gatehouse/v1/report_service_pb.js';
import { storedId } from '../../support/ids.ts';
import { sharedClient, sharedMerchant, sharedStack } from '../../support/shared-stack.ts';
import { walletsOfCoreWithPaybill } from '../../support/simulated-wallets.ts';
import { addMembers } from '../../support/many-members.ts';
import { insist, waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { outcomes, sharedPaymentDesk } from '../core/payment-desk.ts';
import { sharedDashboardDesk } from './dashboard-desk.ts';

/** Payments at walletb that payers start go to an account of this merchant, and those at walleta to the operator's. */
const accountOwnerId = newRandomId('mer', new Date());
const stack = sharedStack({
  ...{ facades: 0, dashboards: 1, webhooks: 1 },
  settings: { GATEHOUSE_WALLETS: walletsOfCoreWithPaybill('174379', accountOwnerId) },
});
const desk = sharedDashboardDesk(stack);
const payments = sharedPaymentDesk(stack);
const refunds = sharedClient(stack, RefundService, 'reader');
const creating = sharedClient(stack, RefundService, 'operator');
const shop = sharedMerchant(stack);
let owner: DashboardVisitor;
let developer: DashboardVisitor;
let viewer: DashboardVisitor;

beforeAll(async () => {
  owner = await desk.signedIn(await desk.users.member(shop.id, MemberRole.OWNER));
  developer = await desk.signedIn(await desk.users.member(shop.id, MemberRole.DEVELOPER));
  viewer = await desk.signedIn(await desk.users.member(shop.id, MemberRole.VIEWER));
});

const environment = Environment.SANDBOX;
const at = (path: string): string => `/m/${shop.id}/sandbox/${path}`;
const plain = (body: string): string => body.replaceAll('\u00A0', ' ').replaceAll('&#39;', "'");

/** A COMPLETED order of 100.50 ETB. */
async function paidOrder(orderNumber: string): Promise<string> {
  const payment = await payments.startDirect({ merchantId: shop.id, orderNumber });
  await payments.settle(payment, outcomes.completed(`${shop.id}/${orderNumber}`));
  return payment.orderId;
}

/** Opens the form of an order, and returns the fields that it sends. */
async function openForm(visitor: DashboardVisitor, orderId: string) {
  const form = at(`orders/${orderId}/refund`);
  const page = (await visitor.get(form)).headers.get('location') ?? '';
  const answer = await visitor.get(page);
  return { form, page, body: plain(answer.body), refund_number: hiddenField(answer, 'refund_number') ?? '' };
}

/** Refunds through the form, and returns the path of the refund's page. */
async function refund(
  visitor: DashboardVisitor,
  orderId: string,
  amount: string,
  reason = 'Shoes came back',
) {
  const { form, refund_number } = await openForm(visitor, orderId);
  const { status, headers } = await visitor.post(form, { amount, reason, refund_number });
  expect(status).toBe(303);
  return headers.get('location') ?? '';
}

const refundsOf = async (orderId: string) =>
  (await refunds.listRefunds({ merchantId: shop.id, environment, orderId })).refunds;

type Outcome = Parameters<typeof payments.recordRefund>[1];

/** The wallet answers the refund in the path of a page. */
async function answer(page: string, outcome: Outcome): Promise<void> {
  const leased = await payments.takeRefund(page.split('/').at(-1) ?? '');
  await payments.recordRefund(leased, outcome);
}

const done: Outcome = { case: 'done', value: {} };

/** Sets the merchant's limit; core uses it within 5 seconds. */
async function setLimit(amount: string, orderId: string): Promise<void> {
  const merchants = stack.client(MerchantService, 'operator');
  const approvalLimits = amount === '' ? [] : [{ currency: 'ETB', amount }];
  await merchants.updateMerchant({ merchantId: shop.id, refundPolicy: { approvalLimits } });
  await waitUntil('core uses the limit', async () => {
    const asked = { merchantId: shop.id, environment, orderId };
    return (await refunds.getRefundable(asked)).approvalAbove === amount;
  });
}

describe('the stray payments of a merchant', () => {
  const strays = (visitor: DashboardVisitor, path: string) =>
    visitor.get(`/m/${accountOwnerId}/${path}`).then(({ status, body }) => ({ status, body: plain(body) }));

  test('are listed for its viewers, and those without an order only if they came to its own account', async () => {
    await payments.query(sql`
      insert into core.merchants (id, name, status, production_activated, session_lifetime_seconds, created_at, updated_at)
      values (${storedId('mer', accountOwnerId)}, 'Owner', 'ACTIVE', true, 3600, now(), now())`);
    const visitor = await desk.signedIn(await desk.users.member(accountOwnerId, MemberRole.VIEWER));
    const { orderId, ...payment } = await payments.startDirect({ merchantId: accountOwnerId });
    await payments.settle({ orderId, ...payment }, outcomes.completed('t-less', '99.00'));
    for (const wallet of ['walleta', 'walletb']) {
      const reported = { wallet, paymentOption: `${wallet}_ussd` };
      const id = await payments.reportFromMenu(accountOwnerId, `none-${wallet}`, reported);
      const [leased] = await payments.leaseFromMenu(wallet);
      await payments.confirmFromMenu(accountOwnerId, id, `none-${wallet}`, {
        leaseId: leased?.leaseId ?? '',
      });
    }

    const { body } = await strays(visitor, 'sandbox/stray-payments');

    expect(body.split('<tr>').slice(2)).toEqual([
      expect.stringMatching(/ETB 100\.50.+Reversal due.+names no order.+none-walletb/s),
      expect.stringMatching(new RegExp(`ETB 99\\.00.+amount or currency.+orders/${orderId}.+t-less`, 's')),
    ]);
    const link = `href="/m/${accountOwnerId}/sandbox/stray-payments"`;
    expect((await strays(visitor, 'sandbox/refunds')).body).toContain(link);
    expect((await strays(visitor, 'production/stray-payments')).body).toContain(
      'There are no stray payments.',
    );
    expect((await strays(viewer, 'sandbox/stray-payments')).status).toBe(404);
  });
});

describe('a refund', () => {
  test('is confirmed with phone and wallet, sent once however often the form is sent, and followed to its end', async () => {
    const orderId = await paidOrder('ONCE');
    const order = at(`orders/${orderId}`);
    expect(plain((await viewer.get(order)).body)).not.toContain('/refund"');
    const offer = plain((await developer.get(order)).body);
    expect(offer).toContain('Up to ETB 100.50 can be returned to the payer.');
    expect(offer).toContain(`href="${order}/refund"`);

    const { form, page, body, refund_number } = await openForm(developer, orderId);
    expect(body).toContain('name="amount" type="text" value="100.50"');
    const fields = { amount: '40.5', reason: 'Shoes <b>came</b> back', refund_number };
    const confirmation = await developer.post(`${form}/check`, fields);
    expect(plain(confirmation.body)).toMatch(
      /ETB 40\.50 will go back to \+2519\d+ by Wallet A, USSD\. This cannot be undone\./,
    );
    expect(confirmation.body).toContain('Shoes &lt;b&gt;came&lt;/b&gt; back');
    expect(hiddenField(confirmation, 'amount')).toBe('40.5');
    // On a busy machine, some wait for their turn until they are refused.
    const send = () =>
      waitUntil('the form is answered', async () => {
        const answer = await developer.post(form, fields);
        return [429, 503].includes(answer.status) ? undefined : answer;
      });
    const answers = await Promise.all(Array.from({ length: 20 }, send));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([303]));
    const [own, ...others] = new Set(answers.map(({ headers }) => headers.get('location')));
    expect(others).toEqual([]);
    expect(await refundsOf(orderId)).toMatchObject([{ amount: '40.50', refundNumber: refund_number }]);

    // The user returns to the form, and enters another amount with the same number.
    expect((await developer.get(page)).body).toContain('This form has already created a refund');
    const again = await developer.post(form, { ...fields, amount: '10' });
    expect([again.status, again.body.includes(`href="${own}"`)]).toEqual([409, true]);
    expect(await refundsOf(orderId)).toHaveLength(1);

    const state = async (path: string) =>
      JSON.parse((await developer.get(`${path}/state`)).body) as { state: string; isOver: boolean };
    const pending = await state(own!);
    expect(pending.isOver).toBe(false);
    expect((await state(order)).isOver).toBe(false);
    const waiting = plain((await viewer.get(order)).body);
    expect(waiting).toContain('Refunds of ETB 40.50 are pending.');
    expect(waiting).toMatch(
      new RegExp(`data-explanation>[^]*href="${own}">Show the refund[^]*<h2 id="facts"`),
    );
    await answer(own!, { case: 'pending', value: { providerReference: 'rv-1', detail: 'no answer' } });
    const unknown = plain((await developer.get(own!)).body);
    expect(unknown).toContain('Wallet A, USSD has not reported whether it returned the money.');
    expect(unknown).toContain('rv-1');
    expect((await developer.post(`${own}/query-wallet`)).status).toBe(303);
    expect((await state(own!)).state).not.toBe(pending.state);
    await answer(own!, done);

    expect((await state(own!)).isOver).toBe(true);
    const ended = plain((await viewer.get(own!)).body);
    expect(ended).toMatch(/Wallet A, USSD confirmed on .* that ETB 40\.50 went back to the payer\./);
    expect(ended).toContain('Requested by</dt><dd><bdi>Test person (');
    const paid = plain((await developer.get(order)).body);
    expect(paid).toContain('ETB 40.50 was refunded.');
    expect(paid).toContain('Refund of ETB 40.50 requested');
    expect(paid).toContain('ETB 40.50 refunded</bdi>');
    expect(paid).toContain('Up to ETB 60.00 can be returned to the payer.');
  });

  test('has a state that pages ask for, and so has an order without refunds, but no unknown order', async () => {
    const order = at(`orders/${await paidOrder('STATE')}`);

    const { status, body } = await viewer.get(`${order}/state`);
    const unknown = await viewer.get(at(`orders/${newRandomId('ord', new Date())}/state`));

    expect([status, JSON.parse(body)]).toEqual([200, { state: '', isOver: true }]);
    expect(unknown.status).toBe(404);
  });

  test('that is open keeps the state open, also with a full page of newer refunds', async () => {
    const orderId = await paidOrder('MANY');
    const order = { case: 'orderId', value: orderId } as const;
    const create = async (refundNumber: string): Promise<string> => {
      const asked = { merchantId: shop.id, environment, order, refundNumber, amount: '0.01', reason: 'x' };
      const { refund } = await insist(`${refundNumber} is created`, () => creating.createRefund(asked));
      return refund?.refundId ?? '';
    };
    const oldest = await create('MANY-0');
    const newer = await Promise.all(Array.from({ length: 50 }, (_, index) => create(`MANY-${index + 1}`)));
    const value = { reason: 'insufficient_funds', detail: 'x', definite: true };
    for (const leased of await payments.leaseRefunds())
      if (newer.includes(leased.refund?.refundId ?? ''))
        await payments.recordRefund(leased, { case: 'refused', value });

    const { body } = await viewer.get(at(`orders/${orderId}/state`));

    const { state, isOver } = JSON.parse(body) as { state: string; isOver: boolean };
    expect([state.includes(oldest), isOver]).toEqual([true, false]);
  });

  test('with a wrong amount or without a reason says what to enter, and creates nothing', async () => {
    const orderId = await paidOrder('WRONG');
    const { form, refund_number } = await openForm(developer, orderId);
    const check = async (amount: string, reason = 'x') => {
      const { status, body } = await developer.post(`${form}/check`, { amount, reason, refund_number });
      const errors = [...plain(body).matchAll(/class="error" id="[a-z]+-error">([^<]*)/g)];
      return [status, ...errors.map(([, text]) => text)];
    };

    expect(await check('100.51')).toEqual([400, 'Enter at most ETB 100.50.']);
    expect(await check('1,5')).toEqual([400, 'Use a point before the decimals. Enter 1.5 instead of 1,5.']);
    expect(await check('0')).toEqual([400, 'Enter an amount greater than zero.']);
    expect(await check('5', '')).toEqual([400, 'Fill in this field.']);
    expect(await check('0', '')).toEqual([400, 'Enter an amount greater than zero.', 'Fill in this field.']);
    const tooMuch = await developer.post(form, { amount: '100.51', reason: 'x', refund_number });
    expect([tooMuch.status, tooMuch.body.includes('The amount that can be refunded has changed.')]).toEqual([
      400,
      true,
    ]);
    expect(await refundsOf(orderId)).toEqual([]);
  });

  test('that the wallet refuses says why and what to do, and the order can be refunded again', async () => {
    const orderId = await paidOrder('REFUSED');
    const page = await refund(developer, orderId, '100.50');
    expect((await openForm(developer, orderId)).body).toContain('Refunds cover everything that was paid.');
    await answer(page, {
      case: 'refused',
      value: { reason: 'insufficient_funds', detail: 'float <i>too</i> low', definite: true },
    });

    const body = plain((await developer.get(page)).body);
    expect(body).toContain('the account that returns the payment has too little money. No money moved.');
    expect(body).toContain('If it is your own account, add money to it.');
    expect((await viewer.get(at(`orders/${orderId}`))).body).toContain(
      '<bdi>the account that returns the payment has too little money</bdi>',
    );
    expect(body).toContain('float &lt;i&gt;too&lt;/i&gt; low');
    expect((await openForm(developer, orderId)).body).toContain('value="100.50"');
  });

  test('needs a recent confirmation of the identity, and an order that was paid', async () => {
    const orderId = await paidOrder('PROOF');
    const late = await desk.signedIn(await desk.users.member(shop.id, MemberRole.DEVELOPER));
    const { form, refund_number } = await openForm(late, orderId);
    await desk.age(late, 11 * 60_000);
    const sent = await late.post(form, { amount: '1', reason: 'x', refund_number });
    expect([sent.status, sent.headers.get('location')]).toEqual([303, '/confirm']);
    expect(await refundsOf(orderId)).toEqual([]);

    const { orderId: unpaid } = await payments.startDirect({ merchantId: shop.id, orderNumber: 'UNPAID' });
    expect((await openForm(developer, unpaid)).body).toContain('The order is not completed');
    expect((await developer.get(at(`orders/${unpaid}`))).body).not.toContain('/refund"');
  });
});

describe('a refund above the limit', () => {
  test('waits for another owner: the person who requested it never approves, and the wallet gets nothing before', async () => {
    const orderId = await paidOrder('LIMIT');
    await setLimit('50', orderId);
    const { form, refund_number } = await openForm(owner, orderId);
    const fields = { amount: '50.01', reason: 'Big', refund_number };
    expect(plain((await owner.post(`${form}/check`, fields)).body)).toContain(
      'Refunds of an order above ETB 50.00 in total need a second person.',
    );
    const page = (await owner.post(form, fields)).headers.get('location') ?? '';
    const second = await desk.signedIn(await desk.users.member(shop.id, MemberRole.OWNER));

    const shown = await Promise.all([owner, second, developer, viewer].map((each) => each.get(page)));
    expect(shown.map(({ body }) => body.includes(`action="${page}/approve"`))).toEqual([
      false,
      true,
      false,
      false,
    ]);
    expect((await second.get(`/m/${shop.id}/sandbox`)).body).toContain('1 refund waiting');
    expect((await developer.post(`${page}/approve`)).status).toBe(403);
    expect((await second.post(`${page}/withdraw`)).status).toBe(403);
    await owner.post(`${page}/approve`);
    expect((await owner.get(page)).body).toContain('The person who requested a refund cannot approve it.');
    expect(await refundsOf(orderId)).toMatchObject([{ status: RefundStatus.AWAITING_APPROVAL }]);
    await second.post(`${page}/approve`);
    await second.post(`${page}/decline`);
    const approved = (await second.get(page)).body;
    expect(approved).toContain('This refund has already been approved or declined.');
    expect(approved).toContain('Approved by');
    expect(await refundsOf(orderId)).toMatchObject([{ status: RefundStatus.REQUESTED }]);

    const declined = await refund(owner, orderId, '1');
    await second.post(`${declined}/decline`, { reason: 'No\u2066' });
    const waiting = (await second.get(declined)).body;
    expect(waiting).not.toContain('This refund has already been');
    expect(waiting).toContain('The reason contains characters that cannot be stored.');
    await second.post(`${declined}/decline`, { reason: 'No' });
    expect((await owner.get(declined)).body).toContain('The refund was declined on');
    const withdrawn = await refund(owner, orderId, '2');
    await owner.post(`${withdrawn}/withdraw`);
    expect((await refundsOf(orderId)).map(({ status }) => RefundStatus[status])).toEqual([
      'FAILED',
      'FAILED',
      'REQUESTED',
    ]);
    const log = plain((await owner.get(`/m/${shop.id}/audit?kind=refund`)).body);
    expect(log).toContain('A refund of ETB 50.01 of the order LIMIT was requested: Big.');
    expect(log).toContain(`The refund ${refund_number} was approved.`);
    await setLimit('', orderId);
  });

  test('of a refund whose requester left the team says so', async () => {
    const orderId = await paidOrder('LEAVER');
    const user = await desk.users.member(shop.id, MemberRole.DEVELOPER);
    const page = await refund(await desk.signedIn(user), orderId, '1');
    expect((await owner.get(page)).body).toContain(user.email);
    await owner.post(`/m/${shop.id}/team/remove`, { email: user.email });

    expect((await owner.get(page)).body).toContain(`A user who left the team (${user.userId}).`);
  });

  test('of a role is set in the same form, and the confirmation names it', async () => {
    const orderId = await paidOrder('ROLE');
    const path = `/m/${shop.id}/refund-approval`;
    const seen = hiddenField(await owner.get(path), 'seen') ?? '';
    const fields = { limit_ETB: '50', developer_limit_ETB: '20', owner_limit_ETB: '90' };
    expect((await owner.post(path, { seen, ...fields })).status).toBe(303);
    const shown = (await owner.get(path)).body;
    for (const [name, value] of Object.entries(fields))
      expect(shown).toMatch(new RegExp(`name="${name}"[^>]*value="${value}"`));
    await waitUntil('core uses the limit', async () => {
      const asked = { merchantId: shop.id, environment, orderId };
      return (await refunds.getRefundable(asked)).approvalAbove === '50';
    });
    const confirmed = async (visitor: DashboardVisitor, amount: string) => {
      const { form, refund_number } = await openForm(visitor, orderId);
      return plain((await visitor.post(`${form}/check`, { amount, reason: 'Back', refund_number })).body);
    };

    expect(await confirmed(developer, '20.01')).toContain(
      'Your role can refund up to ETB 20.00 of an order alone.',
    );
    expect(await confirmed(developer, '20')).not.toContain('until an owner approves it');
    expect(await confirmed(owner, '90')).not.toContain('until an owner approves it');
    await refund(developer, orderId, '20.01');
    await refund(owner, orderId, '60');
    expect((await refundsOf(orderId)).map(({ status }) => RefundStatus[status])).toEqual([
      'REQUESTED',
      'AWAITING_APPROVAL',
    ]);
    await setLimit('', orderId);
  });

  test('is set by owners, and a wrong or outdated form changes nothing', async () => {
    const path = `/m/${shop.id}/refund-approval`;
    const limits = async () => {
      const { merchant } = await stack.client(MerchantService, 'reader').getMerchant({ merchantId: shop.id });
      return merchant?.refundPolicy?.approvalLimits.map(({ currency, amount }) => `${amount} ${currency}`);
    };
    const seen = hiddenField(await owner.get(path), 'seen') ?? '';

    const wrong = await owner.post(path, { seen, limit_ETB: 'a lot' });
    expect([wrong.status, wrong.body.includes('id="limit_ETB-error"')]).toEqual([400, true]);
    const tooFine = await owner.post(path, { seen, limit_ETB: '1000', limit_USD: '10.555' });
    expect(tooFine.status).toBe(400);
    expect(tooFine.body.match(/id="\w+-error">[^<]*/g)).toEqual([
      'id="limit_USD-error">Enter no more decimals than the currency has, such as 99.50 in ETB.',
    ]);
    expect((await owner.post(path, { seen, limit_ETB: '0.00' })).status).toBe(303);
    expect(await limits()).toEqual(['0 ETB']);
    expect((await owner.post(path, { seen, limit_ETB: '7' })).status).toBe(409);
    expect(await limits()).toEqual(['0 ETB']);
    expect((await owner.get(path)).body).toContain('value="0"');
    expect((await owner.post(path, { seen: hiddenField(await owner.get(path), 'seen') ?? '' })).status).toBe(
      303,
    );
    expect(await limits()).toEqual([]);
  });
});

describe('the list of refunds', () => {
  test('is filtered by status, day and order, and downloaded as CSV in which no formula runs', async () => {
    const orderId = await paidOrder('LIST-1');
    const [first, second] = [
      await refund(developer, orderId, '1', '=1+1'),
      await refund(developer, orderId, '2'),
    ];
    await answer(first, done);
    const found = async (query: string) => {
      const { status, body } = await viewer.get(`${at('refunds')}?${query}`);
      return status === 200
        ? [...body.matchAll(/href="([^"]*\/refunds\/rfd_[^"]*)"/g)].map(([, href]) => href)
        : status;
    };

    expect(await found('order=LIST-1')).toEqual([second, first]);
    expect(await found('order=LIST-1&state=completed')).toEqual([first]);
    expect(await found('order=LIST-1&state=pending&from=2020-01-01')).toEqual([second]);
    expect(await found('order=LIST-1&to=2020-01-01')).toEqual([]);
    expect(await found('order=NOT-THERE')).toEqual([]);
    expect(await found('from=yesterday')).toBe(400);
    expect(await found('from=2026-02-02&to=2026-02-01')).toBe(400);
    expect(await found('order=%C3%A9')).toBe(400);
    const { body: none } = await viewer.get(`/m/${shop.id}/production/refunds`);
    expect(none).toContain('No refunds yet');
    expect(none).toContain('Owners and developers refund paid orders.');
    const { headers, body } = await viewer.get(`${at('refunds')}.csv?order=LIST-1`);
    expect(headers.get('content-disposition')).toMatch(/^attachment; filename="refunds-sandbox-/);
    const [head, , line] = body.replace('\uFEFF', '').split('\r\n');
    expect(head).toContain('refund_id,refund_number,order_id,order_number,status,amount,currency,');
    expect(line).toContain(`,LIST-1,COMPLETED,1.00,ETB,walleta_ussd,`);
    expect(line).toContain(`,'=1+1,`);
  });
});

test('home shows the money that core counts as refunded', async () => {
  const orderId = await paidOrder('HOME');
  await answer(await refund(developer, orderId, '12.34'), done);
  const quarterMs = 900_000;
  const fromMs = Math.floor(Date.now() / quarterMs) * quarterMs - 4 * quarterMs;
  const span = { fromTime: timestampFromMs(fromMs), toTime: timestampFromMs(fromMs + 8 * quarterMs) };
  const counted = await waitUntil('core has counted the refunds', async () => {
    const { total, behindSince } = await stack
      .client(ReportService, 'reader')
      .getOrderReport({ merchantId: shop.id, environment, ...span });
    const rows = await refunds.listRefunds({
      merchantId: shop.id,
      environment,
      statuses: [RefundStatus.COMPLETED],
    });
    const cents = rows.refunds.reduce((sum, each) => sum + Math.round(Number(each.amount) * 100), 0);
    const [sum] = total?.refunded ?? [];
    return behindSince === undefined && sum?.amount === (cents / 100).toFixed(2) && sum.amount;
  });

  const home = plain((await viewer.get(`/m/${shop.id}/sandbox`)).body);
  expect(home).toMatch(new RegExp(`Refunded</dt><dd class="tile-value"><div>ETB ${counted}`));
});

describe('money that waits for a person', () => {
  test('is settled by two operators: one proposes with the wallet’s reference, and another confirms', async () => {
    const [first, second] = await Promise.all([desk.users.operator(), desk.users.operator()]);
    await makeOperatorsOld(stack);
    const proposer = await desk.signedIn(first);
    const confirmer = await desk.signedIn(second);
    const page = '/operator/settlements';
    const payment = await payments.startDirect({ merchantId: shop.id, orderNumber: 'UNDECIDED' });
    await payments.settle(payment, outcomes.unknown());
    const order = at(`orders/${payment.orderId}`);
    expect((await proposer.get(order)).body).not.toContain(`href="${page}"`);
    await payments.query(sql`update core.payment_attempts set created_at = created_at - interval '5 hours',
      prompt_until = prompt_until - interval '5 hours' where id = ${storedId('pat', payment.attemptId)}`);
    await payments.query(sql`update core.orders set expires_at = now() - interval '2 hours'
      where id = ${storedId('ord', payment.orderId)}`);
    expect((await viewer.get(order)).body).toMatch(
      /The payment started on .*, 5 hours(, \d+ minutes?)? ago\./,
    );
    expect((await viewer.get(at('orders?number=UNDECIDED'))).body).toMatch(
      /The wallet has not decided\. The order should have expired 2 hours(, \d+ minutes?)? ago\./,
    );
    const overview = (await proposer.get('/operator')).body;
    expect(overview).toContain('1 item waiting to be settled by hand.');
    // From the tile, and from the check of core.
    expect(overview.match(/<a href="\/operator\/settlements">See all/g)).toHaveLength(2);
    const proposal = {
      merchant_id: shop.id,
      kind: 'payment',
      subject_id: payment.attemptId,
      outcome: 'paid',
      reason: 'The wallet <b>answered</b> case 7',
      provider_reference: 'TX-UNDECIDED',
    };

    expect((await owner.post(`${page}/propose`, proposal)).status).toBe(404);
    const ofOperators = [
      `href="${page}"`,
      '<dt>Undecided because</dt><dd data-because lang="en"><bdi>no answer</bdi>',
    ];
    const [ofProposer, ofOwner] = [await proposer.get(order), await owner.get(order)];
    for (const part of ofOperators) {
      expect(ofProposer.body).toContain(part);
      expect(ofOwner.body).not.toContain(part);
    }
    expect((await proposer.get(page)).body).toContain('Latest answer: <bdi lang="en">no answer');
    const incomplete = await proposer.post(`${page}/propose`, { ...proposal, provider_reference: '' });
    expect(incomplete.status).toBe(400);
    expect(incomplete.body.match(/class="error" id="[a-z]+[^"]*">[^<]*/g)).toEqual([
      `class="error" id="provider_reference-${payment.attemptId}-error">Fill in this field.`,
    ]);
    const blank = await proposer.post(`${page}/propose`, { ...proposal, provider_reference: '\u00ad' });
    expect(blank.body).toContain('-error">Enter the wallet’s reference. If the order was paid,');
    expect(incomplete.body).toContain('value="The wallet &lt;b&gt;answered&lt;/b&gt; case 7"');
    expect(incomplete.body).toMatch(/value="paid" checked/);
    await proposer.post(`${page}/propose`, { ...proposal, outcome: 'notPaid' });
    const wrong = (await proposer.get(page)).body;
    await proposer.post(`${/action="([^"]*\/withdraw)"/.exec(wrong)?.[1]}`);
    await proposer.post(`${page}/propose`, proposal);
    const own = (await proposer.get(page)).body;
    expect(own).toContain('You proposed it, so another operator must confirm it.');
    expect(own).not.toContain('/confirm"');
    const shown = (await confirmer.get(page)).body;
    expect(shown).toContain('The wallet &lt;b&gt;answered&lt;/b&gt; case 7');
    const confirm = /action="([^"]*\/confirm)"/.exec(shown)?.[1] ?? '';
    await proposer.post(confirm);
    expect((await proposer.get(page)).body).toContain(
      'The operator who proposed a settlement cannot confirm it.',
    );
    await confirmer.post(confirm);
    const settled = (await confirmer.get(page)).body;

    expect(settled).toContain('The settlement is confirmed and carried out.');
    expect(settled).toContain('Nothing waits for a person.');
    expect(settled).toContain(`${first.email}, ${second.email}`);
    expect((await viewer.get(order)).body).toContain('badge-good">Completed');
    expect(plain((await proposer.get('/operator/audit?kind=settlement')).body)).toContain(
      'A second operator confirmed a settlement by hand, with the reference TX-UNDECIDED',
    );
  });
});

// The last test, because the shop keeps these users.
test('the page of a refund does not say that a member of a team of more than 500 users has left it', async () => {
  const page = await refund(developer, await paidOrder('LARGE-TEAM'), '5');
  await addMembers(stack.databaseUrl, shop.id, 501);

  const { body } = await owner.get(page);

  expect(body).toMatch(/Requested by<\/dt><dd><bdi>usr_[0-9a-z]{26}</);
});
