import type { Client, HandlerContext } from '@connectrpc/connect';
import type { MerchantService } from '../../gen/gatehouse/v1/merchant_service_pb.js';
import { Environment as EnvironmentMessage } from '../../gen/gatehouse/v1/order_pb.js';
import type { OrderService } from '../../gen/gatehouse/v1/order_service_pb.js';
import { WebhookService } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { NewId } from '../../contract/public-id.ts';
import { createBatcher } from '../../platform/batcher.ts';
import type { FairCalls } from '../../platform/fair-calls.ts';
import { annotate } from '../../platform/rpc/call-context.ts';
import { pageOf } from '../../platform/rpc/page-token.ts';
import { rpcError } from '../../contract/error-reason.ts';
import { rpcService } from '../../contract/rpc-service.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import { actorOf } from '../../platform/rpc/actor.ts';
import type { Database } from '../database/database.ts';
import type { LaneKey } from '../domain/delivery.ts';
import type { PipelineStatus } from '../health/pipeline-status.ts';
import { createRedeliveryStore } from '../redeliveries/redelivery-store.ts';
import type { SigningSecrets } from '../secrets/signing-secrets.ts';
import { callOwner } from './call-owner.ts';
import { createEndpointChanges } from './change-endpoint.ts';
import { createDeliveryReader } from './delivery-reader.ts';
import type { StoredDelivery } from './delivery-reader.ts';
import { createEndpointReader, positionOf } from './endpoint-reader.ts';
import type { StoredEndpoint } from './endpoint-reader.ts';
import { createDeliveryExplanations } from './explain-deliveries.ts';
import { createEventListening } from './listen-to-events.ts';
import { requireMerchant } from './require-merchant.ts';
import { sendTestEvent } from './send-test-event.ts';
import { explainedMessage } from './explanation-message.ts';
import {
  attemptMessage,
  deliveryMessage,
  endpointMessage,
  redeliveryMessage,
  secretMessage,
  statusMessage,
} from './webhook-messages.ts';
import * as requests from './webhook-requests.ts';

export interface WebhookServiceParts {
  readonly database: Database;
  readonly secrets: SigningSecrets;
  /** A client of core. */
  readonly merchants: Client<typeof MerchantService>;
  /** A client of core. */
  readonly orders: Client<typeof OrderService>;
  readonly readStatus: () => Promise<PipelineStatus>;
  readonly newId: NewId;
  readonly now: () => Date;
  /** Limits the explanations, redeliveries, and lists of deliveries and endpoints that are read at a time, by merchant and environment. */
  readonly fairly: FairCalls;
  /** Called when deliveries became due. */
  readonly onDue: () => void;
  /** Called when a redelivery was started. */
  readonly onRedelivery: () => void;
  /** Aborts when the process begins to stop. Streams end then, so that their callers reconnect to another process. */
  readonly draining: AbortSignal;
  /** The interval of keep-alive messages on a stream without events. */
  readonly keepAliveMs: number;
}

const readers = ['dashboard', 'operator', 'reader'] as const;
const changers = ['dashboard', 'operator'] as const;

/** gatehouse.v1.WebhookService. */
export function webhookService(parts: WebhookServiceParts): RpcService {
  const { secrets, merchants, now, onDue, fairly } = parts;
  const { pool } = parts.database;
  const stored = { pool, newId: parts.newId, now };
  const deliveries = createDeliveryReader(pool);
  const endpoints = createEndpointReader(pool);
  const endpointChanges = createEndpointChanges(stored);
  const redeliveries = createRedeliveryStore(stored);

  const findDelivery = async (
    key: requests.DeliveryKey,
    context: HandlerContext,
  ): Promise<StoredDelivery> => {
    annotate(context, { merchant_id: key.merchantId, delivery_id: key.deliveryId });
    const delivery = await deliveries.find(key.merchantId, key.deliveryId);
    if (delivery === undefined) throw deliveryNotFound(key);
    return delivery;
  };
  const findEndpoint = async (lane: LaneKey): Promise<StoredEndpoint> => {
    const [endpoint] = await endpoints.find([lane]);
    if (endpoint === undefined) throw endpointNotFound(lane);
    return endpoint;
  };
  const { explainOne, explainOrder } = createDeliveryExplanations({
    pool,
    deliveries,
    findEndpoint,
    secrets,
    now,
  });
  const listenToSandbox = createEventListening(parts);
  // A reading uses most connections, and core reads events for it as for the intake. So a call during a reading shares the next one with all others.
  const sharedStatus = createBatcher({
    name: 'read the status of the pipeline',
    run: async (calls: readonly unknown[]) => {
      const status = statusMessage(await parts.readStatus());
      return calls.map(() => status);
    },
    maxItems: 1_000,
    maxInFlight: 1,
    maxWaiting: 1_000,
  });

  return rpcService(
    WebhookService,
    {
      async listSigningSecrets(request) {
        const { merchantId, environment } = requests.secretsToList(request);
        const listed = await secrets.list(merchantId, environment);
        return { signingSecrets: listed.map(secretMessage) };
      },
      async rotateSigningSecret(request, context) {
        const { owner, promoteAfterMs } = requests.secretToRotate(request);
        await requireMerchant(merchants, owner.merchantId, context.signal);
        const { secret, text } = await secrets.rotate(owner, promoteAfterMs, actorOf(context));
        annotate(context, { merchant_id: owner.merchantId, signing_secret_id: secret.id });
        // Deliveries may have waited for it.
        onDue();
        return { signingSecret: secretMessage(secret), secret: text };
      },
      async promoteSigningSecret(request, context) {
        const owner = requests.secretOwner(request);
        const secret = await secrets.promote(owner, actorOf(context));
        if (secret === undefined) {
          throw rpcError(
            'NO_NEXT_SECRET',
            `the merchant has no next signing secret in ${owner.environment}; rotate the secret to create one`,
          );
        }
        annotate(context, { merchant_id: owner.merchantId, signing_secret_id: secret.id });
        return { signingSecret: secretMessage(secret) };
      },

      async listDeliveries(request, context) {
        const { filter, key } = requests.deliveriesToList(request);
        const listed = await fairly(callOwner(filter), context.signal, () =>
          deliveries.list({ ...filter, limit: filter.limit + 1 }),
        );
        const page = pageOf(listed, filter.limit, key);
        return { deliveries: page.items.map(deliveryMessage), nextPageToken: page.nextPageToken };
      },
      async getDelivery(request, context) {
        const delivery = await findDelivery(requests.deliveryKey(request), context);
        const { body, attempts } = await deliveries.read(delivery.merchantId, delivery.id);
        return { delivery: deliveryMessage(delivery), body, attempts: attempts.map(attemptMessage) };
      },
      async getOrderDeliveries(request, context) {
        const key = requests.orderKey(request);
        annotate(context, { merchant_id: key.merchantId, order_id: key.orderId });
        return fairly(callOwner(key), context.signal, async () => {
          const { deliveries: found, isIncomplete } = await deliveries.ofOrder(key);
          return {
            deliveries: found.map(({ delivery, attempts }) => ({
              delivery: deliveryMessage(delivery),
              attempts: attempts.map(attemptMessage),
            })),
            incomplete: isIncomplete,
            explanation: await explainOrder(key),
          };
        });
      },
      async explainOrderDeliveries(request, context) {
        const key = requests.orderKey(request);
        annotate(context, { merchant_id: key.merchantId, order_id: key.orderId });
        // An explanation needs up to seven reads, and merchants may request it as often as a call that needs one read.
        return {
          explanation: await fairly(callOwner(key), context.signal, () => explainOrder(key)),
        };
      },
      async explainDelivery(request, context) {
        const delivery = await findDelivery(requests.deliveryKey(request), context);
        const { endpoint, explanation } = await fairly(callOwner(delivery), context.signal, () =>
          explainOne(delivery),
        );
        return explainedMessage(delivery, endpoint, explanation);
      },
      async redeliverDelivery(request, context) {
        const key = requests.deliveryKey(request);
        const made = await redeliveries.redeliver(key.merchantId, key.deliveryId, actorOf(context));
        if (made === 'not_found') throw deliveryNotFound(key);
        if (made === 'endpoint_deleted')
          throw rpcError(
            'WEBHOOK_ENDPOINT_DELETED',
            `the webhook endpoint of delivery ${key.deliveryId} was deleted; nothing is sent to it again`,
          );
        onDue();
        return { delivery: deliveryMessage(await findDelivery(key, context)) };
      },

      async startRedelivery(request, context) {
        const wanted = requests.redeliveryToStart(request);
        await requireMerchant(merchants, wanted.merchantId, context.signal);
        const redelivery = await redeliveries.start(wanted, actorOf(context));
        if (redelivery === undefined) {
          throw rpcError(
            'REDELIVERY_RUNNING',
            `a redelivery of the merchant in ${wanted.environment} is still running; start another one when it has ended`,
          );
        }
        annotate(context, { merchant_id: wanted.merchantId, redelivery_id: redelivery.id });
        parts.onRedelivery();
        return { redelivery: redeliveryMessage(redelivery) };
      },
      async getRedelivery(request, context) {
        const { merchantId, redeliveryId } = requests.redeliveryKey(request);
        const owner = callOwner({ merchantId, environment: undefined });
        const redelivery = await fairly(owner, context.signal, () =>
          redeliveries.find(merchantId, redeliveryId),
        );
        if (redelivery === undefined)
          throw rpcError('REDELIVERY_NOT_FOUND', `the merchant has no redelivery ${redeliveryId}`);
        return { redelivery: redeliveryMessage(redelivery) };
      },
      async sendTestEvent(request, context) {
        const test = requests.testToSend(request);
        await requireMerchant(merchants, test.merchantId, context.signal);
        const deliveryId = await sendTestEvent(stored, test, actorOf(context));
        onDue();
        return { delivery: deliveryMessage(await findDelivery({ ...test, deliveryId }, context)) };
      },

      async listEndpoints(request, context) {
        const { filter, key } = requests.endpointsToList(request);
        const listed = await fairly(callOwner(filter), context.signal, () =>
          endpoints.list({ ...filter, limit: filter.limit + 1 }),
        );
        const positioned = listed.map((endpoint) => ({ id: positionOf(endpoint), endpoint }));
        const page = pageOf(positioned, filter.limit, key);
        return {
          endpoints: page.items.map(({ endpoint }) => endpointMessage(endpoint)),
          nextPageToken: page.nextPageToken,
        };
      },
      async pauseEndpoint(request, context) {
        const { lane, reason } = requests.endpointToPause(request);
        annotate(context, { merchant_id: lane.merchantId, endpoint: lane.endpoint });
        if (!(await endpointChanges.pause(lane, reason, actorOf(context)))) throw endpointNotFound(lane);
        return { endpoint: endpointMessage(await findEndpoint(lane)) };
      },
      async resumeEndpoint(request, context) {
        const lane = requests.endpointKey(request);
        annotate(context, { merchant_id: lane.merchantId, endpoint: lane.endpoint });
        if (!(await endpointChanges.resume(lane, actorOf(context)))) throw endpointNotFound(lane);
        onDue();
        return { endpoint: endpointMessage(await findEndpoint(lane)) };
      },

      async *listenToSandboxEvents(request, context) {
        const { merchantId } = requests.parseListener(request);
        annotate(context, {
          merchant_id: merchantId,
          environment: EnvironmentMessage[EnvironmentMessage.SANDBOX],
        });
        await requireMerchant(merchants, merchantId, context.signal);
        yield* listenToSandbox(merchantId, context.signal);
      },
      getPipelineStatus: (request, { signal }) => sharedStatus(request, signal),
    },
    {
      listSigningSecrets: readers,
      rotateSigningSecret: changers,
      promoteSigningSecret: changers,
      listDeliveries: readers,
      getDelivery: readers,
      getOrderDeliveries: readers,
      // The facade explains orders to their merchants.
      explainOrderDeliveries: ['facade', ...readers],
      explainDelivery: readers,
      redeliverDelivery: changers,
      startRedelivery: changers,
      getRedelivery: readers,
      sendTestEvent: changers,
      listEndpoints: readers,
      pauseEndpoint: changers,
      resumeEndpoint: changers,
      // Its events are signed with the merchant's secret.
      listenToSandboxEvents: ['operator'],
      getPipelineStatus: readers,
    },
  );
}

const deliveryNotFound = ({ deliveryId }: requests.DeliveryKey) =>
  rpcError('DELIVERY_NOT_FOUND', `the merchant has no delivery ${deliveryId}`);

const endpointNotFound = ({ environment, endpoint }: LaneKey) =>
  rpcError(
    'ENDPOINT_NOT_FOUND',
    `no webhook of the merchant was ever created for the host ${endpoint} in ${environment}`,
  );
