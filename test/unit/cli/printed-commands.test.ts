import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import type { ConnectRouter } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { ApiKeyService } from '../../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { MerchantWalletService } from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment, RefundSchema, RefundStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { ReconciliationService } from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { SettlementService, UnsettledSchema } from '../../../src/gen/gatehouse/v1/settlement_service_pb.js';
import { WebhookEndpointService } from '../../../src/gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { WebhookService } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { runCommand, serversWith } from '../../support/run-command.ts';

const rfd = 'rfd_01m7xjbb99evv8hx2dqm5r8qgn';

const settings = {
  GATEHOUSE_CORE_ADDRESSES: '127.0.0.1:1',
  GATEHOUSE_WEBHOOKS_ADDRESSES: '127.0.0.1:1',
  GATEHOUSE_SERVICE_TOKEN: 'token',
};

/** Runs a command against servers with these services. */
const run = (services: (router: ConnectRouter) => void, line: string) =>
  runCommand(line.split(' '), settings, serversWith(services));

const environment = Environment.PRODUCTION;
const account = { merchantId: 'mer_1', walletAccountId: 'wac_1', environment };

/** Servers without sandbox data. */
const production = ({ service }: ConnectRouter): void => {
  service(ApiKeyService, { listApiKeys: () => ({}) });
  service(MerchantService, {
    createMerchant: () => ({ merchant: { merchantId: 'mer_1', productionActivated: true } }),
  });
  service(MerchantWalletService, { checkWalletAccount: () => ({ account }) });
  service(WebhookEndpointService, { listWebhookEndpoints: () => ({}) });
  service(WebhookService, { listSigningSecrets: () => ({}) });
};

test.each([
  ['key list mer_1 -e production', 'gatehouse key issue mer_1'],
  ['merchant create --name Shop --production', 'gatehouse key issue mer_1'],
  ['merchant wallet check mer_1 wac_1', 'gatehouse merchant wallet list mer_1'],
  [
    'webhook endpoint list mer_1 -e production',
    'gatehouse webhook endpoint create mer_1 --url https://shop.example/webhooks',
  ],
  ['webhook secret list mer_1 -e production', 'gatehouse webhook secret rotate mer_1'],
])('after a command about production, the printed command names production: %s', async (line, printed) => {
  const { exitCode, stdout } = await run(production, line);

  expect(exitCode).toBe(0);
  expect(stdout).toContain(`${printed} --environment production\n`);
});

test.each([
  ['pause', "gatehouse webhook resume mer_1 'http://[::1]:3000' --environment production\n"],
  ['resume', "gatehouse webhook deliveries mer_1 --host 'http://[::1]:3000' --environment production\n"],
])('webhook %s prints a command that quotes a host that a shell would expand', async (command, printed) => {
  const endpoint = { merchantId: 'mer_1', endpoint: 'http://[::1]:3000', environment, pendingCount: 1n };
  const services = ({ service }: ConnectRouter): void => {
    service(WebhookService, {
      pauseEndpoint: () => ({ endpoint }),
      resumeEndpoint: () => ({ endpoint }),
    });
  };

  const { stdout } = await run(services, `webhook ${command} mer_1 http://[::1]:3000 -e production`);

  expect(stdout).toContain(printed);
});

test('a refund of production is found by the command that its own description prints', async () => {
  const refund = create(RefundSchema, {
    refundId: rfd,
    merchantId: 'mer_1',
    environment,
    status: RefundStatus.SENT,
  });
  const services = ({ service }: ConnectRouter): void => {
    service(RefundService, {
      getRefund: (asked) => (asked.environment === Environment.SANDBOX ? { refund: undefined } : { refund }),
    });
  };

  const first = await run(services, `refund show mer_1 ${rfd} -e production`);
  const [, next = ''] = /^gatehouse (refund show .*)$/m.exec(first.stdout) ?? [];

  expect(next).not.toBe('');
  expect(await run(services, next)).toEqual(first);
});

test('refund create prints a number that it made before the request, with --json as a line of JSON on stderr', async () => {
  const asked: string[] = [];
  const services = ({ service }: ConnectRouter): void => {
    service(RefundService, {
      createRefund: ({ refundNumber }) => {
        asked.push(refundNumber);
        return { refund: { refundId: rfd, refundNumber } };
      },
    });
  };

  const own = await run(services, 'refund create mer_1 A-1 --reason late --refund-number R-1 --json');
  const made = await run(services, 'refund create mer_1 A-1 --reason late --json');
  const text = await run(services, 'refund create mer_1 A-1 --reason late');

  expect(own.stderr).toBe('');
  expect(made.stderr).toBe(`${JSON.stringify({ refund_number: asked[1] })}\n`);
  expect(JSON.parse(made.stdout)).toMatchObject({ refund_number: asked[1] });
  expect(text.stderr).toBe(`The refund_number is ${asked[2]}\n`);
});

test('refund create without an answer prints the whole command with its refund_number', async () => {
  let asked = '';
  const services = ({ service }: ConnectRouter): void => {
    service(RefundService, {
      createRefund({ refundNumber }) {
        asked = refundNumber;
        throw new ConnectError('gone', Code.Unavailable);
      },
    });
  };

  const line = "refund create mer_1 A-1 --reason it's --amount 4.50 -e production --wait 2m";
  const { exitCode, stderr } = await run(services, line);

  expect(exitCode).toBe(5);
  expect(stderr).toContain(
    String.raw`gatehouse refund create mer_1 A-1 --environment production --amount 4.50 --reason 'it'\''s' ` +
      `--refund-number ${asked} --wait 120s\n`,
  );
});

test.each([
  ['reconcile --wallet walleta', { reconciliation_id: 'rec_1' }],
  ['webhook redeliver mer_1 --since 24h', { redelivery_id: 'whr_1' }],
])('a script learns the id of the work whose end the command did not see: %s', async (line, noted) => {
  const dropConnection = () => {
    throw new ConnectError('Connection dropped', Code.Unavailable);
  };
  const services = ({ service }: ConnectRouter): void => {
    service(ReconciliationService, {
      startReconciliation: () => ({ reconciliation: { reconciliationId: 'rec_1' } }),
      getReconciliation: dropConnection,
    });
    service(WebhookService, {
      startRedelivery: () => ({ redelivery: { redeliveryId: 'whr_1' } }),
      getRedelivery: dropConnection,
    });
  };

  const { exitCode, stderr } = await run(services, `${line} --json`);

  expect(exitCode).toBe(5);
  expect(stderr.startsWith(`${JSON.stringify(noted)}\n`)).toBe(true);
});

test.each([
  ['settlement waiting', 50, 'To see more, raise --limit, up to 500.'],
  ['settlement waiting --limit 900', 500, 'To see those of one merchant, add --merchant.'],
])('a cut list of money that waits says how to see more: %s', async (line, count, howTo) => {
  const services = ({ service }: ConnectRouter): void => {
    service(SettlementService, {
      listUnsettled: ({ pageSize }) => ({
        unsettled: Array.from({ length: pageSize }, () => create(UnsettledSchema, { orderId: 'ord_1' })),
        totalCount: 600n,
      }),
    });
  };

  const { stdout } = await run(services, line);

  expect(stdout).toContain(`These are ${count} of 600. ${howTo}\n`);
});
