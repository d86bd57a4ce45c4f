import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createClient, createRouterTransport } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { checkRecordedChanges } from '../../../src/cli/doctor/doctor-recorded-changes.ts';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import type { AuditEntrySchema } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { WebhookEndpointService } from '../../../src/gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import type { WebhookEndpointSchema } from '../../../src/gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { WebhookService } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';

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

/** The check of a webhooks process with this state. `log` is the audit log, newest first. */
function check(log: readonly Entry[], endpoints: readonly Endpoint[], secrets: readonly string[] = []) {
  const transport = createRouterTransport(({ rpc }) => {
    rpc(AuditService.method.listAuditEntries, ({ actionKind }) => ({
      entries: log.filter(({ action }) => action?.startsWith(`${actionKind}.`)),
    }));
    rpc(WebhookEndpointService.method.listWebhookEndpoints, () => ({ webhookEndpoints: [...endpoints] }));
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

test.each<[string, Entry[], Endpoint[], string[]?]>([
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
])('%s is in order', async (_name, log, endpoints, secrets = []) => {
  expect(await check(log, endpoints, secrets)).toMatchObject({ check: 'recorded changes', result: 'ok' });
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
