import { create } from '@bufbuild/protobuf';
import { describe, expect, test } from '@jest/globals';
import { runCommand, serversWith } from '../../support/run-command.ts';
import { AccountService } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { ApiKeyService } from '../../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { MerchantSchema, MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { PaymentAttemptService } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { ReconciliationService } from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import { RecoveryService } from '../../../src/gen/gatehouse/v1/recovery_service_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { SettlementService } from '../../../src/gen/gatehouse/v1/settlement_service_pb.js';
import { StrayPaymentService } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { WebhookService } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';

const one = 'mer_01m7xjbb99evv8hx2dqm5r8qgn';
const two = 'mer_01m7xpscbfe0f857zcxentjqt9';
const settings = {
  GATEHOUSE_CORE_ADDRESSES: '127.0.0.1:1',
  GATEHOUSE_WEBHOOKS_ADDRESSES: '127.0.0.1:1',
  GATEHOUSE_SERVICE_TOKEN: 'token',
  GATEHOUSE_DASHBOARD_BASE_URL: 'https://dashboard.pay.example',
};

/** Runs a command against servers that know these merchants, and returns the requests that they got. */
async function run(
  merchants: readonly string[],
  line: string,
  environment: Readonly<Record<string, string>> = settings,
) {
  const asked: object[] = [];
  const note = (request: object): never => {
    asked.push(Object.fromEntries(Object.entries(request).filter(([name]) => /Id$|^endpoint$/.test(name))));
    throw new Error('noted');
  };
  const servers = serversWith(({ service }) => {
    service(MerchantService, {
      listMerchants: () => ({
        merchants: merchants.map((merchantId, index) =>
          create(MerchantSchema, { merchantId, name: `Shop ${index + 1}` }),
        ),
      }),
      suspendMerchant: note,
    });
    service(ApiKeyService, { listApiKeys: note, revokeApiKey: note });
    service(RefundService, { listRefunds: note });
    service(StrayPaymentService, { listStrayPayments: note });
    service(SettlementService, { listSettlements: note, listUnsettled: note });
    service(AuditService, { listAuditEntries: note });
    service(ReconciliationService, { listMoneyDays: note });
    service(RecoveryService, { listRecoveredOrders: note });
    service(PaymentAttemptService, { getPaymentAttempt: note });
    service(AccountService, {
      ...{ inviteUser: note, removeMembership: note, approveAccountHelp: note, listUsers: note },
    });
    service(WebhookService, {
      ...{ pauseEndpoint: note, redeliverDelivery: note, listSigningSecrets: note, listEndpoints: note },
    });
  });
  const { exitCode, stderr } = await runCommand(
    line.split(' '),
    { GATEHOUSE_DATA_DIR: '/nowhere', ...environment },
    servers,
  );
  return { exitCode, stderr, asked };
}

describe('a command about a merchant', () => {
  test.each([
    ['key list', { merchantId: one }],
    ['merchant suspend', { merchantId: one }],
    ['key revoke key_1', { merchantId: one, apiKeyId: 'key_1' }],
    ['payment show pat_1', { merchantId: one, paymentAttemptId: 'pat_1' }],
    ['webhook secret list', { merchantId: one }],
    ['webhook redeliver whd_1', { merchantId: one, deliveryId: 'whd_1' }],
    ['webhook pause https://shop.example/hook', { merchantId: one, endpoint: 'https://shop.example' }],
    ['user invite sara@shop.example --role owner', { merchantId: one }],
    ['user invite you@pay.example --operator', { merchantId: '' }],
  ])('uses the only merchant when none is named: %s', async (line, request) => {
    expect((await run([one], line)).asked).toEqual([request]);
  });

  test.each([
    [`key list ${two}`, { merchantId: two }],
    [`key revoke ${two} key_1`, { merchantId: two, apiKeyId: 'key_1' }],
    ['payment show another-form pat_1', { merchantId: 'another-form', paymentAttemptId: 'pat_1' }],
    [`user invite sara@shop.example --merchant ${two} --role owner`, { merchantId: two }],
    [`key list --merchant ${two}`, { merchantId: two }],
    [`key list ${two} --merchant ${two}`, { merchantId: two }],
    [`key revoke key_1 --merchant ${two}`, { merchantId: two, apiKeyId: 'key_1' }],
    [`key revoke ${two} key_1 --merchant ${two}`, { merchantId: two, apiKeyId: 'key_1' }],
  ])('uses the named merchant: %s', async (line, request) => {
    expect((await run([one, two], line)).asked).toEqual([request]);
  });

  test.each([
    ...['refund list', 'payment strays', 'settlement list', 'settlement waiting', 'audit list'],
    ...['reconcile days', 'restore report', 'user list', 'webhook hosts'],
  ])('is also named as the others name it, in a list of all merchants: %s', async (list) => {
    for (const named of [two, `--merchant ${two}`])
      expect((await run([one, two], `${list} ${named}`)).asked).toEqual([
        expect.objectContaining({ merchantId: two }),
      ]);
    expect((await run([one, two], list)).asked).toEqual([expect.objectContaining({ merchantId: '' })]);
  });

  test.each([
    ['key list', 'gatehouse key list <merchant_id>'],
    ['key revoke key_1', 'gatehouse key revoke <merchant_id> key_1'],
    ['webhook secret list', 'gatehouse webhook secret list <merchant_id>'],
    ['key issue -e live', 'gatehouse key issue <merchant_id> --environment live'],
    [
      'refund create A-1 --reason late --environment=production --wait',
      'gatehouse refund create <merchant_id> A-1 --reason late --environment production --wait',
    ],
    ['refund create A$(id) --reason late', "gatehouse refund create <merchant_id> 'A$(id)' --reason late"],
    [
      'webhook endpoint create --no-secret --url https://shop.example/hook',
      'gatehouse webhook endpoint create <merchant_id> --no-secret --url https://shop.example/hook',
    ],
    [
      'listen --forward http://localhost:3000/hook',
      'gatehouse listen <merchant_id> --forward http://localhost:3000/hook',
    ],
    [
      'listen --forward http://localhost:3000/hook?a&b',
      "gatehouse listen <merchant_id> --forward 'http://localhost:3000/hook?a&b'",
    ],
    [
      'user invite sara@shop.example --role owner',
      'gatehouse user invite sara@shop.example --merchant <merchant_id> --role <role>',
    ],
    [
      "user remove o'brien@shop.example",
      String.raw`gatehouse user remove 'o'\''brien@shop.example' --merchant <merchant_id>`,
    ],
  ])('lists the merchants when there are several, and says what to type: %s', async (line, typed) => {
    expect(await run([one, two], line)).toEqual({
      exitCode: 2,
      asked: [],
      stderr: [
        'error: the command names no merchant, and there are several',
        `  ${one}  Shop 1`,
        `  ${two}  Shop 2`,
        `Name one of them: ${typed}`,
        '',
      ].join('\n'),
    });
  });

  test('says how to create a merchant when there is none', async () => {
    const { exitCode, stderr } = await run([], 'key list');

    expect(exitCode).toBe(3);
    expect(stderr).toBe(
      'error: there are no merchants yet\nCreate one: gatehouse merchant create --name "Shop"\n',
    );
  });

  test('names the complete command when no core is known', async () => {
    const { GATEHOUSE_WEBHOOKS_ADDRESSES, GATEHOUSE_SERVICE_TOKEN } = settings;
    const { exitCode, stderr } = await run([one], 'webhook secret list', {
      GATEHOUSE_WEBHOOKS_ADDRESSES,
      GATEHOUSE_SERVICE_TOKEN,
    });

    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^error: the command names no merchant, and no core is known/);
    expect(stderr).toContain('Name it: gatehouse webhook secret list <merchant_id>\n');
  });

  test.each([
    [`key revoke ${one}`, "missing required argument 'api_key_id'"],
    ['key revoke', "missing required argument 'api_key_id'"],
    [`key revoke ${one} key_1 more`, 'too many arguments'],
    [`key revoke --merchant ${one}`, "missing required argument 'api_key_id'"],
    [`key revoke ${two} key_1 --merchant ${one}`, `Name one of them: ${two} or ${one}.`],
    [`listen ${two} --merchant ${one}`, `Name one of them: ${two} or ${one}.`],
    [`refund list ${two} --merchant ${one}`, `Name one of them: ${two} or ${one}.`],
    [`webhook pause ${one} shop`, "command-argument value 'shop' is invalid for argument 'host'"],
  ])('still refuses incomplete or invalid input: %s', async (line, message) => {
    const { exitCode, stderr, asked } = await run([one], line);

    expect({ exitCode, asked }).toEqual({ exitCode: 2, asked: [] });
    expect(stderr).toContain(message);
  });
});

test('a link is created only when the address of the dashboard is known', async () => {
  const { GATEHOUSE_DASHBOARD_BASE_URL: _, ...others } = settings;
  for (const line of ['user invite sara@shop.example --role owner', 'user approve sara@shop.example']) {
    const { exitCode, stderr, asked } = await run([one], line, others);

    expect({ exitCode, asked }).toEqual({ exitCode: 2, asked: [] });
    expect(stderr).toContain('No link was created. Set GATEHOUSE_DASHBOARD_BASE_URL');
  }
});

test('the removal of one-time codes is approved without the address of the dashboard, because it has no link', async () => {
  const { GATEHOUSE_DASHBOARD_BASE_URL: _, ...others } = settings;

  const { asked } = await run([one], 'user approve sara@shop.example --remove-totp', others);

  expect(asked).toHaveLength(1);
});
