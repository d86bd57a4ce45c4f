import { createClient } from '@connectrpc/connect';
import type { Client, Transport } from '@connectrpc/connect';
import { AccountService, SessionService } from '../gen/gatehouse/v1/account_service_pb.js';
import { ApiKeyService } from '../gen/gatehouse/v1/api_key_service_pb.js';
import { AuditService } from '../gen/gatehouse/v1/audit_service_pb.js';
import { MerchantWalletService } from '../gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { MerchantService } from '../gen/gatehouse/v1/merchant_service_pb.js';
import { OrderService } from '../gen/gatehouse/v1/order_service_pb.js';
import { OrderStoryService } from '../gen/gatehouse/v1/order_story_service_pb.js';
import { WebhookEndpointService } from '../gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { WebhookService } from '../gen/gatehouse/v1/webhook_service_pb.js';
import { DiagnosticsService } from '../gen/gatehouse/v1/diagnostics_service_pb.js';
import { ReconciliationService } from '../gen/gatehouse/v1/reconciliation_service_pb.js';
import { PaymentAttemptService } from '../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { PersonalDataService } from '../gen/gatehouse/v1/personal_data_service_pb.js';
import { RecoveryService } from '../gen/gatehouse/v1/recovery_service_pb.js';
import { RefundService } from '../gen/gatehouse/v1/refund_service_pb.js';
import { ReportService } from '../gen/gatehouse/v1/report_service_pb.js';
import { RequestLogService } from '../gen/gatehouse/v1/request_log_service_pb.js';
import { SettlementService } from '../gen/gatehouse/v1/settlement_service_pb.js';
import { StrayPaymentService } from '../gen/gatehouse/v1/stray_payment_service_pb.js';
import { WalletService } from '../gen/gatehouse/v1/wallet_service_pb.js';
import { WalletStatusService } from '../gen/gatehouse/v1/wallet_status_service_pb.js';
import { Health } from '../gen/health/v1/health_pb.js';

/** The services that the pages call. All but `webhooks` and `webhookEndpoints` belong to core. */
export interface DashboardClients {
  readonly accounts: Client<typeof AccountService>;
  readonly sessions: Client<typeof SessionService>;
  readonly merchants: Client<typeof MerchantService>;
  readonly apiKeys: Client<typeof ApiKeyService>;
  readonly orders: Client<typeof OrderService>;
  readonly orderStories: Client<typeof OrderStoryService>;
  readonly payments: Client<typeof PaymentAttemptService>;
  readonly refunds: Client<typeof RefundService>;
  readonly reports: Client<typeof ReportService>;
  readonly audit: Client<typeof AuditService>;
  readonly requestLog: Client<typeof RequestLogService>;
  readonly settlements: Client<typeof SettlementService>;
  readonly strayPayments: Client<typeof StrayPaymentService>;
  readonly reconciliations: Client<typeof ReconciliationService>;
  readonly merchantWallets: Client<typeof MerchantWalletService>;
  readonly wallets: Client<typeof WalletService>;
  readonly walletStatuses: Client<typeof WalletStatusService>;
  readonly diagnostics: Client<typeof DiagnosticsService>;
  readonly webhooks: Client<typeof WebhookService>;
  readonly webhookEndpoints: Client<typeof WebhookEndpointService>;
  readonly recoveries: Client<typeof RecoveryService>;
  readonly personalData: Client<typeof PersonalDataService>;
  readonly health: Client<typeof Health>;
}

export function createDashboardClients(core: Transport, webhooks: Transport): DashboardClients {
  return {
    accounts: createClient(AccountService, core),
    sessions: createClient(SessionService, core),
    merchants: createClient(MerchantService, core),
    apiKeys: createClient(ApiKeyService, core),
    orders: createClient(OrderService, core),
    orderStories: createClient(OrderStoryService, core),
    payments: createClient(PaymentAttemptService, core),
    refunds: createClient(RefundService, core),
    reports: createClient(ReportService, core),
    audit: createClient(AuditService, core),
    requestLog: createClient(RequestLogService, core),
    settlements: createClient(SettlementService, core),
    strayPayments: createClient(StrayPaymentService, core),
    reconciliations: createClient(ReconciliationService, core),
    merchantWallets: createClient(MerchantWalletService, core),
    wallets: createClient(WalletService, core),
    walletStatuses: createClient(WalletStatusService, core),
    diagnostics: createClient(DiagnosticsService, core),
    webhooks: createClient(WebhookService, webhooks),
    webhookEndpoints: createClient(WebhookEndpointService, webhooks),
    recoveries: createClient(RecoveryService, core),
    personalData: createClient(PersonalDataService, core),
    health: createClient(Health, core),
  };
}
