import { AccountService, SessionService } from '../gen/gatehouse/v1/account_service_pb.js';
import { ApiKeyService } from '../gen/gatehouse/v1/api_key_service_pb.js';
import { MerchantService } from '../gen/gatehouse/v1/merchant_service_pb.js';
import { MerchantWalletService } from '../gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { RecoveryService } from '../gen/gatehouse/v1/recovery_service_pb.js';
import { StrayPaymentService } from '../gen/gatehouse/v1/stray_payment_service_pb.js';
import { WebhookEndpointService } from '../gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { WebhookService } from '../gen/gatehouse/v1/webhook_service_pb.js';
import { createGrpcTransport as createTransport } from '../platform/rpc/grpc-transport.ts';
import type { GrpcTransport, GrpcTransportOptions } from '../platform/rpc/grpc-transport.ts';

/** Methods that a retry after a lost answer could execute twice, or for which it would report an error although the first call succeeded. */
export const notRepeatable = [
  // A retry would fail because the link, the code, the request or the old password was used by the first call. The new link of an
  // approval and the recovery codes of a confirmation would never be seen.
  AccountService.method.acceptInvitation,
  AccountService.method.approveAccountHelp,
  AccountService.method.changePassword,
  AccountService.method.confirmTotp,
  AccountService.method.resetPassword,
  AccountService.method.verifyTotp,
  // A retry would fail because the role has changed, by the first call itself.
  AccountService.method.changeMembership,
  // A retry would answer that there was nothing to remove.
  AccountService.method.rejectAccountHelp,
  AccountService.method.removeMembership,
  // A retry would answer that the form was used, by the first call itself.
  SessionService.method.useForm,
  MerchantService.method.createMerchant,
  // A retry would fail because the merchant has changed, by the first call itself.
  MerchantService.method.updateMerchant,
  ApiKeyService.method.issueApiKey,
  ApiKeyService.method.rotateApiKey,
  // A retry would fail because the first call has answered the question.
  RecoveryService.method.acceptRecovery,
  // A retry would fail because the first call has made the reversal due.
  StrayPaymentService.method.retryReversal,
  WebhookService.method.rotateSigningSecret,
  // A retry would fail because the next secret is the current one.
  WebhookService.method.promoteSigningSecret,
  WebhookService.method.sendTestEvent,
  // A retry would fail because the job runs, or would send every webhook a second time if it has ended.
  WebhookService.method.startRedelivery,
  // A retry would retire a lost account that the first call has added again, and add another.
  MerchantWalletService.method.addWalletAccount,
  // A retry would fail because the account is removed.
  MerchantWalletService.method.removeWalletAccount,
  // A retry would fail because the endpoint exists, and the secret in the lost answer would never be seen.
  WebhookEndpointService.method.createWebhookEndpoint,
  WebhookEndpointService.method.deleteWebhookEndpoint,
  WebhookEndpointService.method.promoteWebhookEndpointSecret,
  WebhookEndpointService.method.rotateWebhookEndpointSecret,
  WebhookEndpointService.method.testWebhookEndpoint,
];

/** A transport to servers of Gatehouse: `createClient(OrderService, createGrpcTransport(…))` gives typed clients. */
export const createGrpcTransport = (options: Omit<GrpcTransportOptions, 'notRepeatable'>): GrpcTransport =>
  createTransport({ ...options, notRepeatable });
