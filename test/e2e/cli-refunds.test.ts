import { beforeEach, describe, expect, test } from '@jest/globals';
import { RefundService } from '../../src/gen/gatehouse/v1/refund_service_pb.js';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { SettlementOutcome, SettlementService } from '../../src/gen/gatehouse/v1/settlement_service_pb.js';
import { sharedAccountDesk } from '../integration/core/account-desk.ts';
import { outcomes, sharedPaymentDesk } from '../integration/core/payment-desk.ts';
import { makeOperatorsOld } from '../support/dashboard-users.ts';
import { storedId } from '../support/ids.ts';
import { sharedClient, sharedStack } from '../support/shared-stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { sql } from '../support/sql.ts';
import { sharedCommandLine, widthOf } from './cli-harness.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);
const dashboard = sharedClient(stack, RefundService, 'dashboard');
const accounts = sharedAccountDesk(stack);
const settlements = sharedClient(stack, SettlementService, 'dashboard');

const cli = sharedCommandLine(stack);
let merchantId: string;

beforeEach(async () => {
  await desk.clear();
  ({ id: merchantId } = await stack.createMerchant());
  const payment = await desk.startDirect({ merchantId, orderNumber: 'D-1' });
  await desk.settle(payment, outcomes.completed('t-1'));
});

/** The wallet decides the next refund that is due. */
async function decide(outcome: 'done' | 'refused'): Promise<void> {
  const leased = await waitUntil('a refund is due', async () => (await desk.leaseRefunds(1))[0]);
  const value = { reason: 'account_state', detail: 'it is closed', definite: true };
  await desk.recordRefund(
    leased,
    outcome === 'done' ? { case: 'done', value: {} } : { case: 'refused', value },
  );
}

const reason = 'Shoes came back';
const create = (...args: readonly string[]) =>
  cli.run('refund', 'create', merchantId, 'D-1', '--reason', reason, ...args);

describe('refund create', () => {
  test('returns a part, and waits for the outcome with --wait', async () => {
    const [completed] = await Promise.all([create('--amount', '40.5', '--wait'), decide('done')]);
    const [refused] = await Promise.all([create('--wait', '30s'), decide('refused')]);

    expect(completed.exitCode).toBe(0);
    const [, number = ''] = /^The refund_number is (cli-[0-9a-f-]{36})$/m.exec(completed.stderr) ?? [];
    expect(completed.stdout).toMatch(new RegExp(`^Refund number +${number}$`, 'm'));
    expect(completed.stdout).toMatch(/^Status +completed$/m);
    expect(completed.stdout).toMatch(/^Amount +40\.50 ETB$/m);
    expect(completed.stdout).toMatch(/^Requested by +operator:/m);
    expect(refused.exitCode).toBe(1);
    expect(refused.stdout).toMatch(/^Amount +60\.00 ETB$/m);
    expect(refused.stdout).toMatch(/^Wallet's answer +account_state: it is closed$/m);
    expect(refused.stdout).toMatch(
      /new refund_number:\ngatehouse refund create mer_\S+ ord_\S+ --environment/,
    );
    expect(widthOf(refused.stdout.replace(/^gatehouse .*$/gm, ''))).toBeLessThanOrEqual(100);
  });

  test('returns the same refund for the same number, and refuses other values with exit code 4', async () => {
    const first = await cli.json(
      ...[
        'refund',
        'create',
        merchantId,
        'D-1',
        '--reason',
        reason,
        '--refund-number',
        'R-1',
        '--amount',
        '10',
      ],
    );
    const again = await create('--refund-number', 'R-1', '--amount', '10.00');
    const other = await create('--refund-number', 'R-1', '--amount', '11');
    const tooMuch = await create('--amount', '90.51');
    const unknown = await cli.run('refund', 'create', merchantId, 'D-9', '--reason', 'x');

    expect(first).toMatchObject({ refund_number: 'R-1', status: 'requested', amount: '10.00' });
    expect(again.stdout).toContain(String(first['refund_id']));
    expect(again.stderr).toContain('An earlier request had already created this refund.');
    expect(other).toMatchObject({
      exitCode: 4,
      stderr: expect.stringContaining('use another --refund-number'),
    });
    expect(tooMuch).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('amount: ') });
    expect(unknown).toMatchObject({ exitCode: 3, stdout: '' });
  });

  test('stops waiting after the given time with exit code 1, and the refund continues', async () => {
    const { exitCode, stdout, stderr } = await create('--wait', '1s');

    expect(exitCode).toBe(1);
    expect(stderr).toContain('The wallet has not decided within 1 s.');
    expect(stdout).toMatch(/^gatehouse refund show mer_\S+ rfd_\S+$/m);
  });
});

describe('refund show and list', () => {
  test('find a refund by its number and its id, and the order lists it', async () => {
    await create('--refund-number', 'R-1', '--amount', '40.50');
    await decide('done');

    const byNumber = await cli.run('refund', 'show', merchantId, 'R-1');
    const [id = ''] = /rfd_\w{26}/.exec(byNumber.stdout) ?? [];
    const byId = await cli.json('refund', 'show', merchantId, id);
    const none = await cli.run('refund', 'show', merchantId, 'R-1', '-e', 'live');
    const listed = await cli.run('refund', 'list', '--merchant', merchantId, '--status', 'completed');
    const others = await cli.run('refund', 'list', '--merchant', merchantId, '--status', 'failed');
    const json = await cli.json('refund', 'list', '--order', String(byId['order_id']));
    const order = await cli.run('order', 'show', merchantId, 'D-1');

    expect(byId).toMatchObject({ refund_id: id, refund_number: 'R-1', status: 'completed' });
    expect(none).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('refund list --merchant') });
    expect(listed.stdout).toContain(id);
    expect(widthOf(listed.stdout)).toBeLessThanOrEqual(100);
    expect(others.stdout).toBe('No refunds match.\n');
    expect(json).toMatchObject({ refunds: [{ refund_id: id }], next_page_token: '' });
    expect(order.stdout).toMatch(/^Refunded +40\.50 ETB$/m);
    expect(order.stdout).toContain('Refunds of the order');
    expect(order.stdout).toMatch(/refund R-1 of 40\.50 ETB completed/);
    expect(widthOf(order.stdout)).toBeLessThanOrEqual(100);
  });
});

describe('refund approve and decline', () => {
  test("need another person above the merchant's limit, and the holders of one token are one person", async () => {
    const updated = await cli.run(
      ...['merchant', 'update', merchantId, '--refund-approval-above', 'ETB=20,developer:ETB=5'],
    );
    const order = await cli.json('order', 'show', merchantId, 'D-1');
    const orderId = String(order['order_id']);
    const inSandbox = { merchantId, environment: Environment.SANDBOX };
    await waitUntil('core applies the setting', async () => {
      const { approvalAbove } = await dashboard.getRefundable({ ...inSandbox, orderId });
      return approvalAbove !== '';
    });
    const awaiting = await create('--amount', '50', '--wait');
    const [id = ''] = /rfd_\w{26}/.exec(awaiting.stdout) ?? [];
    const own = await cli.run('refund', 'approve', merchantId, id);
    const declined = await cli.run('refund', 'decline', merchantId, id, '--reason', 'too much');
    const late = await cli.run('refund', 'approve', merchantId, id);
    const { refund } = await dashboard.createRefund({
      ...inSandbox,
      order: { case: 'orderId', value: orderId },
      refundNumber: 'R-2',
      reason: 'Shoes came back',
    });
    const approved = await cli.run('refund', 'approve', merchantId, refund?.refundId ?? '');
    const freed = await cli.run('merchant', 'update', merchantId, '--refund-approval-above', 'none');

    expect(updated.stdout).toMatch(/^Refund approval +above 20 ETB, above 5 ETB for role developer$/m);
    expect(updated.stdout).toMatch(/within 5 seconds\.\nNew refunds get the new approval limits\.\n$/);
    expect(awaiting).toMatchObject({ exitCode: 1 });
    expect(awaiting.stdout).toMatch(/^Status +awaiting_approval$/m);
    expect(awaiting.stdout).toContain(`gatehouse refund approve ${merchantId} ${id}`);
    expect(own).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('one service token') });
    expect(declined.stdout).toMatch(/^Wallet's answer +approval_declined$/m);
    expect(late).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('gatehouse refund show') });
    expect(approved.stdout).toMatch(/^Status +requested$/m);
    expect(approved.stdout).toMatch(/^Decided by +operator:/m);
    expect(freed.stdout).not.toContain('Refund approval');
  });
});

test('a key has no scope for refunds unless it is requested, and the scope is shown and replaced', async () => {
  const plain = await cli.json('key', 'issue', merchantId);
  const scoped = await cli.run('key', 'issue', merchantId, '--scopes', 'refunds');
  const changed = await cli.run(
    ...['key', 'set-scopes', merchantId, String(plain['api_key_id']), '--scopes', 'refunds'],
  );
  const listed = await cli.run('key', 'list', merchantId);
  const removed = await cli.json(
    ...['key', 'set-scopes', merchantId, String(plain['api_key_id']), '--scopes', 'none'],
  );

  expect(plain['scopes']).toEqual([]);
  for (const { stdout } of [scoped, changed]) expect(stdout).toMatch(/^Scopes +refunds$/m);
  expect(listed.stdout.match(/^.* refunds\b.*$/gm)).toHaveLength(2);
  expect(widthOf(listed.stdout)).toBeLessThanOrEqual(100);
  expect(removed['scopes']).toEqual([]);
});

test('an undecided payment is listed, and settled by an operator of the dashboard and one of the command line', async () => {
  const operator = await accounts.addUser();
  await makeOperatorsOld(stack);
  const payment = await desk.startDirect({ merchantId, orderNumber: 'D-2' });
  await desk.settle(payment, outcomes.unknown());
  await desk.query(sql`
    update core.payment_attempts set created_at = created_at - interval '5 hours', prompt_until = prompt_until - interval '5 hours'
    where id = ${storedId('pat', payment.attemptId)}`);
  const propose = ['settlement', 'propose', merchantId, payment.attemptId];
  const evidence = ['--reason', 'The provider answered', '--provider-reference', 'CASE-7'];

  const doctor = await cli.run('doctor');
  const waiting = await cli.run('settlement', 'waiting');
  const wrong = await cli.run(...propose, '--outcome', 'returned', ...evidence);
  const own = await cli.run(...propose, '--outcome', 'not_paid', ...evidence);
  const [ownId = ''] = /stl_\w{26}/.exec(own.stdout) ?? [];
  const alone = await cli.run('settlement', 'confirm', ownId);
  const withdrawn = await cli.json('settlement', 'withdraw', ownId);
  const { settlement } = await settlements.proposeSettlement(
    {
      merchantId,
      subject: { case: 'paymentAttemptId', value: payment.attemptId },
      outcome: SettlementOutcome.NOT_PAID,
      reason: 'The provider answered',
      providerReference: 'CASE-8',
    },
    { headers: { 'x-gatehouse-actor': operator.userId } },
  );
  const confirmed = await cli.run('settlement', 'confirm', settlement?.settlementId ?? '');
  const listed = await cli.run('settlement', 'list', '--merchant', merchantId);
  const none = await cli.json('settlement', 'waiting', '--merchant', merchantId);

  expect(doctor.stdout).toMatch(/unsettled money +waiting for a person: 1 undecided payment/);
  expect(doctor.stdout).toContain('gatehouse settlement waiting');
  expect(waiting.stdout).toContain(payment.attemptId);
  expect(waiting.stdout).toMatch(/100\.50 ETB/);
  expect(wrong).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('outcome: ') });
  expect(own.stdout).toMatch(/^Status +proposed$/m);
  expect(own.stdout).toContain(`gatehouse settlement confirm ${ownId}`);
  expect(alone).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('in the dashboard') });
  expect(withdrawn).toMatchObject({ status: 'withdrawn', outcome: 'not_paid' });
  expect(confirmed.stdout).toMatch(/^Status +confirmed$/m);
  expect(confirmed.stdout).toMatch(/^Provider's reference +CASE-8$/m);
  expect(listed.stdout.match(/stl_\w{26}/g)).toEqual([settlement?.settlementId, ownId]);
  for (const { stdout } of [waiting, listed])
    expect(widthOf(stdout.replace(/^gatehouse .*$/gm, ''))).toBeLessThanOrEqual(100);
  expect(none).toEqual({ unsettled: [], total_count: '0' });
});
