import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Client, HandlerContext } from '@connectrpc/connect';
import type { MerchantService } from '../../gen/gatehouse/v1/merchant_service_pb.js';
import {
  AwaitedSecretSchema,
  WebhookEndpointSchema,
  WebhookEndpointService,
} from '../../gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import type {
  AwaitedSecret as AwaitedSecretMessage,
  WebhookEndpoint as WebhookEndpointMessage,
} from '../../gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { rpcError } from '../../contract/error-reason.ts';
import type { NewId } from '../../contract/public-id.ts';
import type { FairCalls } from '../../platform/fair-calls.ts';
import { rpcService } from '../../contract/rpc-service.ts';
import { actorOf } from '../../platform/rpc/actor.ts';
import { annotate } from '../../platform/rpc/call-context.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import type { Database } from '../database/database.ts';
import { maxWebhookEndpoints } from '../domain/webhook-endpoint.ts';
import { readAwaitedSecrets } from '../endpoints/awaited-secrets.sql.ts';
import type { AwaitedSecret } from '../endpoints/awaited-secrets.sql.ts';
import type { EndpointKey, WebhookEndpoint } from '../endpoints/webhook-endpoint-rows.sql.ts';
import {
  createWebhookEndpoints,
  laneOfEndpoint,
  secretOwnerOfEndpoint,
} from '../endpoints/webhook-endpoints.ts';
import type { UrlTaken } from '../endpoints/webhook-endpoints.ts';
import { EndpointDeletedError } from '../secrets/secret-rows.ts';
import type { SigningSecrets } from '../secrets/signing-secrets.ts';
import { callOwner } from './call-owner.ts';
import { createDeliveryReader } from './delivery-reader.ts';
import { createEndpointReader } from './endpoint-reader.ts';
import { requireMerchant } from './require-merchant.ts';
import { sendTestEvent } from './send-test-event.ts';
import * as requests from './webhook-endpoint-requests.ts';
import { deliveryMessage, endpointMessage, environments, secretMessage } from './webhook-messages.ts';

export interface WebhookEndpointServiceParts {
  readonly database: Database;
  readonly secrets: SigningSecrets;
  /** A client of core. */
  readonly merchants: Client<typeof MerchantService>;
  readonly newId: NewId;
  readonly now: () => Date;
  /** Limits the lists of endpoints that are read at a time, by merchant and environment. */
  readonly fairly: FairCalls;
  /** Called when deliveries became due. */
  readonly onDue: () => void;
  /** Called when an endpoint was deleted. */
  readonly onDeleted: () => void;
}

const readers = ['dashboard', 'operator', 'reader'] as const;
const changers = ['dashboard', 'operator'] as const;

/** gatehouse.v1.WebhookEndpointService. */
export function webhookEndpointService(parts: WebhookEndpointServiceParts): RpcService {
  const { secrets, merchants, newId, now, fairly, onDue, onDeleted } = parts;
  const { pool } = parts.database;
  const stored = { pool, newId, now };
  const webhookEndpoints = createWebhookEndpoints({ ...stored, secrets });
  const lanes = createEndpointReader(pool);
  const deliveries = createDeliveryReader(pool);

  /** The number of statements does not depend on the number of endpoints. */
  const messagesOf = async (
    merchantId: string,
    endpoints: readonly WebhookEndpoint[],
  ): Promise<WebhookEndpointMessage[]> => {
    // One read after another, so that a call holds one connection.
    const statuses = await lanes.find(endpoints.map(laneOfEndpoint));
    const secretsOf = await secrets.listOf(
      merchantId,
      endpoints.map(({ id }) => id),
    );
    return endpoints.map((endpoint) => {
      const status = statuses.find((each) => each.endpoint === endpoint.id);
      const signingSecrets = secretsOf(endpoint.id);
      return create(WebhookEndpointSchema, {
        webhookEndpointId: endpoint.id,
        merchantId,
        environment: environments[endpoint.environment],
        url: endpoint.url,
        description: endpoint.description,
        eventTypes: [...endpoint.eventTypes],
        createTime: timestampFromDate(endpoint.createdAt),
        updateTime: timestampFromDate(endpoint.updatedAt),
        ...(status && { status: endpointMessage(status) }),
        awaitsSecret: signingSecrets.length === 0,
        signingSecrets: signingSecrets.map(secretMessage),
      });
    });
  };
  const messageOf = async (endpoint: WebhookEndpoint): Promise<WebhookEndpointMessage | undefined> =>
    (await messagesOf(endpoint.merchantId, [endpoint]))[0];
  /** The endpoint of a request. @throws NOT_FOUND WEBHOOK_ENDPOINT_NOT_FOUND */
  const found = <Found>(key: EndpointKey, endpoint: Found | undefined, context: HandlerContext): Found => {
    annotate(context, { merchant_id: key.merchantId, webhook_endpoint_id: key.endpointId });
    if (endpoint !== undefined) return endpoint;
    throw rpcError(
      'WEBHOOK_ENDPOINT_NOT_FOUND',
      `the merchant has no webhook endpoint ${key.endpointId}, or has deleted it`,
    );
  };
  const find = async (key: EndpointKey, context: HandlerContext): Promise<WebhookEndpoint> =>
    found(key, await webhookEndpoints.find(key), context);

  return rpcService(
    WebhookEndpointService,
    {
      async createWebhookEndpoint(request, context) {
        const wanted = requests.endpointToCreate(request);
        await requireMerchant(merchants, wanted.merchantId, context.signal);
        const created = await webhookEndpoints.create(wanted, actorOf(context));
        if (created.type === 'url_taken') throw urlTaken(created);
        if (created.type === 'too_many')
          throw rpcError(
            'TOO_MANY_WEBHOOK_ENDPOINTS',
            `the merchant has ${maxWebhookEndpoints} webhook endpoints in ${wanted.environment}; delete one first`,
          );
        const { endpoint, secret } = created;
        annotate(context, { merchant_id: endpoint.merchantId, webhook_endpoint_id: endpoint.id });
        return { webhookEndpoint: await messageOf(endpoint), secret };
      },
      async listWebhookEndpoints(request, context) {
        const scope = requests.endpointsToList(request);
        const { merchantId, environment } = scope;
        return fairly(callOwner(scope), context.signal, async () => {
          const endpoints = await webhookEndpoints.list(merchantId, environment);
          const described = await messagesOf(merchantId, endpoints);
          const awaited = await readAwaitedSecrets(pool, merchantId, environment);
          return { webhookEndpoints: described, awaitedSecrets: awaited.map(awaitedMessage) };
        });
      },
      async getWebhookEndpoint(request, context) {
        return { webhookEndpoint: await messageOf(await find(requests.endpointKey(request), context)) };
      },
      async updateWebhookEndpoint(request, context) {
        const { key, change } = requests.endpointToUpdate(request);
        requests.checkUrl(change.url, (await find(key, context)).environment);
        const updated = found(key, await webhookEndpoints.update(key, change, actorOf(context)), context);
        if (updated.type === 'url_taken') throw urlTaken(updated);
        return { webhookEndpoint: await messageOf(updated.endpoint) };
      },
      async pauseWebhookEndpoint(request, context) {
        const { key, reason } = requests.endpointToPause(request);
        const paused = await webhookEndpoints.pause(key, reason, actorOf(context));
        return { webhookEndpoint: await messageOf(found(key, paused, context)) };
      },
      async resumeWebhookEndpoint(request, context) {
        const key = requests.endpointKey(request);
        const resumed = found(key, await webhookEndpoints.resume(key, actorOf(context)), context);
        onDue();
        return { webhookEndpoint: await messageOf(resumed) };
      },
      async deleteWebhookEndpoint(request, context) {
        const key = requests.endpointKey(request);
        const deleted = found(key, await webhookEndpoints.delete(key, actorOf(context)), context);
        const message = await messageOf(deleted);
        onDeleted();
        return { webhookEndpoint: message };
      },
      async rotateWebhookEndpointSecret(request, context) {
        const { key, promoteAfterMs } = requests.secretToRotate(request);
        const owner = secretOwnerOfEndpoint(await find(key, context));
        const made = await secrets.rotate(owner, promoteAfterMs, actorOf(context)).catch((error: unknown) => {
          if (error instanceof EndpointDeletedError) return undefined;
          throw error;
        });
        const { secret, text } = found(key, made, context);
        // Deliveries may have waited for it.
        onDue();
        return { signingSecret: secretMessage(secret), secret: text };
      },
      async promoteWebhookEndpointSecret(request, context) {
        const key = requests.endpointKey(request);
        const owner = secretOwnerOfEndpoint(await find(key, context));
        const secret = await secrets.promote(owner, actorOf(context));
        if (secret === undefined)
          throw rpcError(
            'NO_NEXT_SECRET',
            `the webhook endpoint ${key.endpointId} has no next signing secret; rotate the secret to create one`,
          );
        return { signingSecret: secretMessage(secret) };
      },
      async testWebhookEndpoint(request, context) {
        const endpoint = await find(requests.endpointKey(request), context);
        const { merchantId, environment, url, id: endpointId } = endpoint;
        const test = { merchantId, environment, url, endpointId };
        const deliveryId = await sendTestEvent(stored, test, actorOf(context));
        onDue();
        const delivery = await deliveries.find(merchantId, deliveryId);
        // Without a delivery, the endpoint was deleted meanwhile.
        return { delivery: deliveryMessage(found({ merchantId, endpointId }, delivery, context)) };
      },
    },
    {
      createWebhookEndpoint: changers,
      listWebhookEndpoints: readers,
      getWebhookEndpoint: readers,
      updateWebhookEndpoint: changers,
      pauseWebhookEndpoint: changers,
      resumeWebhookEndpoint: changers,
      deleteWebhookEndpoint: changers,
      rotateWebhookEndpointSecret: changers,
      promoteWebhookEndpointSecret: changers,
      testWebhookEndpoint: changers,
    },
  );
}

const urlTaken = ({ endpointId }: UrlTaken) =>
  rpcError(
    'WEBHOOK_ENDPOINT_EXISTS',
    `the webhook endpoint ${endpointId} of the merchant already has this URL in the environment; update that endpoint instead`,
  );

const awaitedMessage = (awaited: AwaitedSecret): AwaitedSecretMessage =>
  create(AwaitedSecretSchema, {
    merchantId: awaited.merchantId,
    environment: environments[awaited.environment],
    webhookEndpointId: awaited.endpointId,
    pendingCount: awaited.pendingCount,
    waitTime: timestampFromDate(awaited.since),
  });
