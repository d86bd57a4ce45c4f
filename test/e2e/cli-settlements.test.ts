import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SettlementOutcome, SettlementService } from '../../src/gen/gatehouse/v1/settlement_service_pb.js';
import type { User } from '../../src/gen/gatehouse/v1/account_service_pb.js';
import { sharedAccountDesk } from '../integration/core/account-desk.ts';
import { outcomes, sharedPaymentDesk } from '../integration/core/payment-desk.ts';
import { makeOperatorsOld } from '../support/dashboard-users.ts';
import { storedId } from '../support/ids.ts';
import { sharedClient, sharedStack } from '../support/shared-stack.ts';
import { openCommandLine, widthOf } from './cli-harness.ts';
import type { CommandLine } from './cli-harness.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);
const accounts = sharedAccountDesk(stack);
const dashboard = sharedClient(stack, SettlementService, 'dashboard');

let cli: CommandLine;
let operator: User;
beforeAll(async () => {
  cli = await openCommandLine({
    GATEHOUSE_CORE_ADDRESSES: stack.addresses.join(','),
    GATEHOUSE_SERVICE_TOKEN: stack.tokens.operator,
  });
  operator = await accounts.addUser();
  await makeOperatorsOld(stack);
});
afterAll(() => cli.stop());

test('an undecided payment is listed, and settled by an operator of the dashboard and one of the command line', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const payment = await desk.startDirect({ merchantId, orderNumber: 'D-1' });
  await desk.settle(payment, outcomes.unknown());
  await desk.query(
    `update core.payment_attempts set created_at = created_at - interval '5 hours', prompt_until = prompt_until - interval '5 hours'
     where id = $1`,
    [storedId('pat', payment.attemptId)],
  );
  const propose = ['settlement', 'propose', merchantId, payment.attemptId];
  const evidence = ['--reason', 'The provider answered', '--provider-reference', 'CASE-7'];

  const doctor = await cli.run('doctor');
  const waiting = await cli.run('settlement', 'waiting');
  const wrong = await cli.run(...propose, '--outcome', 'returned', ...evidence);
  const own = await cli.run(...propose, '--outcome', 'not_paid', ...evidence);
  const [ownId = ''] = /stl_\w{26}/.exec(own.stdout) ?? [];
  const alone = await cli.run('settlement', 'confirm', ownId);
  const withdrawn = await cli.json('settlement', 'withdraw', ownId);
  const { settlement } = await dashboard.proposeSettlement(
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
