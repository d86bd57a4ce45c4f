import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createClient, createRouterTransport } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { checkRecordedChanges } from '../../../src/cli/doctor/doctor-recorded-changes.ts';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import type { AuditEntrySchema } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { WebhookEndpointService } from '../../../src/gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import type { WebhookEndpointSchema } from '../../../src/gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { EndpointState, WebhookService } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import type { EndpointSchema } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';

type Paused = MessageInitShape<typeof EndpointSchema>;
type Entry = MessageInitShape<typeof AuditEntrySchema>;
type Endpoint = MessageInitShape<typeof WebhookEndpointSchema>;

const now = new Date('2026-11-21T12:00:00Z');
const ago = (hours: number) => timestampFromDate(new Date(now.getTime() - hours * 3_600_000));
const shop = { environment: 'SANDBOX', endpoint: 'https://shop.example' };

const entry = (action: string, targetId: string, hours: number, details: Entry['details'] = shop): Entry => ({
  ...{ action, targetId, details, merchantId: 'mer_1', createTime: ago(hours) },
});
const endpoint = (webhookEndpointId: string, changed = 0, secrets: readonly string[] = []): Endpoint => ({
  ...{ webhookEndpointId, merchantId: 'mer_1', url: 'https://shop.example/webhooks' },
  ...{ createTime: ago(changed), updateTime: ago(changed) },
  signingSecrets: secrets.map((signingSecretId) => ({ signingSecretId })),
});

const paused = (hours: number, environment = Environment.SANDBOX): Paused => ({
  ...{ environment, endpoint: 'https://shop.example', merchantId: 'mer_1' },
  ...{ state: EndpointState.PAUSED, troubleTime: ago(hours) },
});
const resting = { ...paused(1), state: EndpointState.RESTING };

/** The check of a webhooks process with this state, in which only the redelivery `whr_1` exists. `log` is the audit log, newest first. */
function check(
  log: readonly Entry[],
  endpoints: readonly Endpoint[],
  secrets: readonly string[] = [],
  inTrouble: readonly Paused[] = [],
) {
  const transport = createRouterTransport(({ rpc }) => {
    rpc(AuditService.method.listAuditEntries, ({ actionKind }) => ({
      entries: log.filter(({ action }) => action?.startsWith(`${actionKind}.`)),
    }));
    rpc(WebhookEndpointService.method.listWebhookEndpoints, () => ({ webhookEndpoints: [...endpoints] }));
    rpc(WebhookService.method.listEndpoints, () => ({
      endpoints: inTrouble.slice(0, 2),
      nextPageToken: inTrouble.length > 2 ? 'more' : '',
    }));
    rpc(WebhookService.method.getRedelivery, ({ redeliveryId }) => {
      if (redeliveryId !== 'whr_1')
        throw new ConnectError('the merchant has no such redelivery', Code.NotFound);
      return {};
    });
    rpc(WebhookService.method.listSigningSecrets, () => ({
      signingSecrets: secrets.map((signingSecretId) => ({ signingSecretId })),
    }));
  });
  const webhooks = {
    webhooks: createClient(WebhookService, transport),
    webhookEndpoints: createClient(WebhookEndpointService, transport),
  };
  const core = { audit: createClient(AuditService, transport) };
  return checkRecordedChanges({
    core,
    webhooks,
    address: 'webhooks:1',
    cores: ['core:1'],
    now: () => now,
    lastsMs: 0,
  });
}

const ofEndpoint = { environment: 'SANDBOX', webhook_endpoint: 'whe_1' };

test.each<[string, Entry[], Endpoint[], string[]?, Paused[]?]>([
  ['no change', [], [endpoint('whe_1')]],
  ['a created endpoint', [entry('webhook_endpoint.create', 'whe_1', 2)], [endpoint('whe_1', 2)]],
  [
    'a deleted endpoint and its secret',
    [
      entry('webhook_endpoint.delete', 'whe_1', 1),
      entry('signing_secret.rotate', 'whs_1', 2, ofEndpoint),
      entry('webhook_endpoint.create', 'whe_1', 2),
    ],
    [],
  ],
  [
    'an endpoint that was created again',
    [entry('webhook_endpoint.create', 'whe_1', 2)],
    [endpoint('whe_2', 1)],
  ],
  [
    'a secret that was replaced',
    [entry('signing_secret.rotate', 'whs_2', 1), entry('signing_secret.rotate', 'whs_1', 2)],
    [],
    ['whs_2'],
  ],
  [
    'a paused host',
    [entry('endpoint.pause', 'https://shop.example', 1), entry('endpoint.resume', 'https://shop.example', 2)],
    [],
    [],
    [paused(3)],
  ],
  [
    'a resumed webhook endpoint that was paused because it answered 410 later',
    [entry('webhook_endpoint.update', 'whe_1', 1), entry('webhook_endpoint.resume', 'whe_1', 2)],
    [endpoint('whe_1', 1)],
    [],
    [{ ...paused(1), webhookEndpointId: 'whe_1' }],
  ],
  [
    'the pause of a deleted webhook endpoint',
    [entry('webhook_endpoint.delete', 'whe_1', 1), entry('webhook_endpoint.pause', 'whe_1', 2)],
    [],
  ],
  [
    'a merchant with its newest redelivery',
    [entry('redelivery.start', 'whr_1', 1), entry('redelivery.start', 'whr_0', 2)],
    [],
  ],
  [
    'a paused host that may be on a later page',
    [entry('endpoint.pause', 'https://shop.example', 1)],
    [],
    [],
    [resting, resting, paused(1)],
  ],
  ['an old redelivery', [entry('redelivery.start', 'whr_2', 8 * 24)], []],
])('%s is in order', async (_name, log, endpoints, secrets = [], inTrouble = []) => {
  expect(await check(log, endpoints, secrets, inTrouble)).toMatchObject({
    check: 'recorded changes',
    result: 'ok',
  });
});

test.each<[string, Entry[], Endpoint[], Paused[]]>([
  [
    'the paused webhook endpoint whe_1 of mer_1 gets webhooks (2026-11-21T10:00:00Z)',
    [entry('webhook_endpoint.update', 'whe_1', 1), entry('webhook_endpoint.pause', 'whe_1', 2)],
    [endpoint('whe_1', 1)],
    [paused(2), { ...resting, webhookEndpointId: 'whe_1' }],
  ],
  [
    'the paused host https://shop.example of mer_1 gets webhooks (2026-11-21T10:00:00Z)',
    [entry('endpoint.pause', 'https://shop.example', 2)],
    [],
    [resting, paused(2, Environment.PRODUCTION)],
  ],
  [
    'the resumed host https://shop.example of mer_1 is paused (2026-11-21T10:00:00Z)',
    [entry('endpoint.resume', 'https://shop.example', 2), entry('endpoint.pause', 'https://shop.example', 3)],
    [],
    [paused(3)],
  ],
  [
    'the redelivery whr_2 of mer_1 is missing (2026-11-21T11:00:00Z)',
    [entry('redelivery.start', 'whr_2', 1), entry('redelivery.start', 'whr_1', 2)],
    [],
    [],
  ],
])('%s: a warning', async (detail, log, endpoints, inTrouble) => {
  const found = await check(log, endpoints, [], inTrouble);

  expect(found).toMatchObject({ result: 'warning', detail: expect.stringMatching(/: the [^;]*$/) });
  expect(found.detail).toContain(detail);
});

test.each<[string, Entry[], Endpoint[], string]>([
  [
    'is back',
    [entry('webhook_endpoint.delete', 'whe_1', 1), entry('webhook_endpoint.update', 'whe_1', 2)],
    [endpoint('whe_1', 2)],
    'the deleted webhook endpoint whe_1 of mer_1 gets webhooks (2026-11-21T11:00:00Z)',
  ],
  [
    'is missing',
    [entry('webhook_endpoint.create', 'whe_1', 1)],
    [endpoint('whe_0', 3)],
    'the webhook endpoint whe_1 of mer_1 is missing (2026-11-21T11:00:00Z)',
  ],
  [
    'is as before',
    [entry('webhook_endpoint.update', 'whe_1', 1)],
    [endpoint('whe_1', 2)],
    'the webhook endpoint whe_1 of mer_1 is as before its update (2026-11-21T11:00:00Z)',
  ],
  [
    'has an earlier secret',
    [entry('signing_secret.rotate', 'whs_2', 1, ofEndpoint)],
    [endpoint('whe_1', 5, ['whs_1'])],
    'the signing secret whs_2 of whe_1 is missing (2026-11-21T11:00:00Z)',
  ],
  [
    'does not hide the secret of its merchant',
    [entry('signing_secret.promote', 'whs_3', 1), entry('signing_secret.rotate', 'whs_3', 2)],
    [endpoint('whe_1', 5, ['whs_1'])],
    'the signing secret whs_3 of mer_1 is missing (2026-11-21T11:00:00Z)',
  ],
])('an endpoint that %s, unlike in the audit log, is a warning', async (_name, log, endpoints, detail) => {
  const { result, code, ...found } = await check(log, endpoints);

  expect([result, code]).toEqual(['warning', 'earlier_state']);
  expect(found.detail).toBe(
    `1 change of the audit log missing, as after a restore of this database alone: ${detail}`,
  );
});

test('a core that does not answer is not taken for the webhooks process', async () => {
  const unavailable = createRouterTransport(({ rpc }) => {
    rpc(AuditService.method.listAuditEntries, () => {
      throw new ConnectError('No connection established. Last error: connect ECONNREFUSED', Code.Unavailable);
    });
  });
  const webhooks = {
    webhooks: createClient(WebhookService, unavailable),
    webhookEndpoints: createClient(WebhookEndpointService, unavailable),
  };
  const core = { audit: createClient(AuditService, unavailable) };
  const { result, detail } = await checkRecordedChanges({
    ...{ core, webhooks, address: 'webhooks:1', cores: ['core:1'], now: () => now },
  });

  expect([result, detail]).toEqual(['failed', 'no core answers at core:1 (nothing listens there)']);
});
