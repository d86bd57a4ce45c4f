import { setTimeout as delay } from 'node:timers/promises';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '../../contract/grpc-transport.ts';
import { storedId } from '../../contract/public-id.ts';
import type { PublicId } from '../../contract/public-id.ts';
import { ApiKeyScope, ApiKeyService } from '../../gen/gatehouse/v1/api_key_service_pb.js';
import { MerchantService } from '../../gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../../gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../gen/gatehouse/v1/order_service_pb.js';
import { WebhookService } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { CampaignGateway } from './gateway.ts';

/** Every merchant of a campaign has this name, by which a later campaign recognises the rows of an earlier one. */
export const campaignMerchantName = 'Gatehouse prove';

/** The merchant of a campaign. It has no live key. */
export interface CampaignMerchant {
  /** As stored in the database. */
  readonly storedId: string;
  readonly apiKey: string;
  readonly webhookSecret: string;
  /** Cancels an order as an internal service does, and repeats that until core has decided it. */
  readonly cancel: (orderId: string, giveUp: AbortSignal) => Promise<void>;
  readonly close: () => void;
}

const retryMs = 300;

export async function createCampaignMerchant(gateway: CampaignGateway): Promise<CampaignMerchant> {
  const transportOf = (role: string, address: string) =>
    createGrpcTransport({ addresses: [address], token: gateway.tokens[role] ?? '' });
  const operator = transportOf('operator', gateway.coreAddress);
  const writer = transportOf('writer', gateway.coreAddress);
  const webhooks = transportOf('operator', gateway.webhooksAddress);
  const environment = Environment.SANDBOX;
  const { merchant } = await createClient(MerchantService, operator).createMerchant({
    name: campaignMerchantName,
  });
  const merchantId = merchant?.merchantId ?? '';
  const { secret: apiKey } = await createClient(ApiKeyService, operator).issueApiKey({
    merchantId,
    environment,
    label: 'prove',
    scopes: [ApiKeyScope.REFUNDS],
  });
  const { secret: webhookSecret } = await createClient(WebhookService, webhooks).rotateSigningSecret({
    merchantId,
    environment,
    promoteAfter: durationFromMs(0),
  });
  const orders = createClient(OrderService, writer);
  return {
    storedId: storedId('mer', merchantId as PublicId<'mer'>),
    apiKey,
    webhookSecret,
    async cancel(orderId, giveUp) {
      for (;;) {
        giveUp.throwIfAborted();
        try {
          await orders.cancelOrder({ merchantId, environment, orderId }, { timeoutMs: 5_000 });
          return;
        } catch (error) {
          // A repeated cancellation finds the order cancelled.
          if (error instanceof ConnectError && error.code === Code.FailedPrecondition) return;
        }
        await delay(retryMs, undefined, { signal: giveUp });
      }
    },
    close: () => {
      for (const transport of [operator, writer, webhooks]) transport.close();
    },
  };
}
