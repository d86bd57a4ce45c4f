import { ApiKeyService } from '../gen/gatehouse/v1/api_key_service_pb.js';
import { MerchantService } from '../gen/gatehouse/v1/merchant_service_pb.js';
import { MerchantWalletService } from '../gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { SettlementService } from '../gen/gatehouse/v1/settlement_service_pb.js';
import { WebhookEndpointService } from '../gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { WebhookService } from '../gen/gatehouse/v1/webhook_service_pb.js';
import { createGrpcTransport as createTransport } from '../platform/rpc/grpc-transport.ts';
import type { GrpcTransport, GrpcTransportOptions } from '../platform/rpc/grpc-transport.ts';

/** Methods that a retry after a lost answer could execute twice. */
const notRepeatable = [
  MerchantService.method.createMerchant,
  // A retry would fail because the merchant has changed, by the first call itself.
  MerchantService.method.updateMerchant,
  ApiKeyService.method.issueApiKey,
  ApiKeyService.method.rotateApiKey,
  WebhookService.method.rotateSigningSecret,
  WebhookService.method.sendTestEvent,
  // A retry would fail because the job runs, or would send every webhook a second time if it has ended.
  WebhookService.method.startRedelivery,
  // A retry would fail because the account is removed.
  MerchantWalletService.method.removeWalletAccount,
  // A retry would fail because the proposal of the first call is open.
  SettlementService.method.proposeSettlement,
  // A retry would fail because the endpoint exists, and the secret in the lost answer would never be seen.
  WebhookEndpointService.method.createWebhookEndpoint,
  WebhookEndpointService.method.deleteWebhookEndpoint,
  WebhookEndpointService.method.rotateWebhookEndpointSecret,
  WebhookEndpointService.method.testWebhookEndpoint,
];

/** A transport to servers of Gatehouse: `createClient(OrderService, createGrpcTransport(…))` gives typed clients. */
export const createGrpcTransport = (options: Omit<GrpcTransportOptions, 'notRepeatable'>): GrpcTransport =>
  createTransport({ ...options, notRepeatable });
