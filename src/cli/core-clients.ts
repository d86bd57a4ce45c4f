import { createClient } from '@connectrpc/connect';
import type { Client, Transport } from '@connectrpc/connect';
import { AccountService } from '../gen/gatehouse/v1/account_service_pb.js';
import { ApiKeyService } from '../gen/gatehouse/v1/api_key_service_pb.js';
import { AuditService } from '../gen/gatehouse/v1/audit_service_pb.js';
import { DiagnosticsService } from '../gen/gatehouse/v1/diagnostics_service_pb.js';
import { MerchantWalletService } from '../gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { MerchantService } from '../gen/gatehouse/v1/merchant_service_pb.js';
import { OrderService } from '../gen/gatehouse/v1/order_service_pb.js';
import { OrderStoryService } from '../gen/gatehouse/v1/order_story_service_pb.js';
import { PayerPaymentService } from '../gen/gatehouse/v1/payer_payment_service_pb.js';
import { PaymentAttemptService } from '../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { PersonalDataService } from '../gen/gatehouse/v1/personal_data_service_pb.js';
import { ReconciliationService } from '../gen/gatehouse/v1/reconciliation_service_pb.js';
import { RecoveryService } from '../gen/gatehouse/v1/recovery_service_pb.js';
import { RefundService } from '../gen/gatehouse/v1/refund_service_pb.js';
import { SettlementService } from '../gen/gatehouse/v1/settlement_service_pb.js';
import { StrayPaymentService } from '../gen/gatehouse/v1/stray_payment_service_pb.js';
import { WalletService } from '../gen/gatehouse/v1/wallet_service_pb.js';
import { WalletStatusService } from '../gen/gatehouse/v1/wallet_status_service_pb.js';
import { Health } from '../gen/health/v1/health_pb.js';
import { openNamedTransport } from './named-transport.ts';
import type { NamedTransportOptions } from './named-transport.ts';

/** The services of a core, or of several cores that are called in turn. */
export interface CoreClients {
  readonly merchants: Client<typeof MerchantService>;
  readonly apiKeys: Client<typeof ApiKeyService>;
  readonly orders: Client<typeof OrderService>;
  readonly orderStories: Client<typeof OrderStoryService>;
  readonly payments: Client<typeof PaymentAttemptService>;
  readonly refunds: Client<typeof RefundService>;
  readonly settlements: Client<typeof SettlementService>;
  readonly strayPayments: Client<typeof StrayPaymentService>;
  readonly payerPayments: Client<typeof PayerPaymentService>;
  readonly personalData: Client<typeof PersonalDataService>;
  readonly reconciliations: Client<typeof ReconciliationService>;
  readonly recoveries: Client<typeof RecoveryService>;
  readonly accounts: Client<typeof AccountService>;
  readonly merchantWallets: Client<typeof MerchantWalletService>;
  readonly wallets: Client<typeof WalletService>;
  readonly walletStatuses: Client<typeof WalletStatusService>;
  readonly audit: Client<typeof AuditService>;
  readonly diagnostics: Client<typeof DiagnosticsService>;
  readonly health: Client<typeof Health>;
  /** Closes the connections. An open connection keeps the process from exiting. */
  readonly close: () => void;
}

/** Opens the services at the addresses. The first call makes the connection. */
export function openCore(options: NamedTransportOptions): CoreClients {
  const transport = openNamedTransport(options);
  return coreClientsOn(transport, transport.close);
}

/** The services of a core, over this transport. `close` closes the transport. */
export function coreClientsOn(transport: Transport, close: () => void): CoreClients {
  return {
    merchants: createClient(MerchantService, transport),
    apiKeys: createClient(ApiKeyService, transport),
    orders: createClient(OrderService, transport),
    orderStories: createClient(OrderStoryService, transport),
    payments: createClient(PaymentAttemptService, transport),
    refunds: createClient(RefundService, transport),
    settlements: createClient(SettlementService, transport),
    strayPayments: createClient(StrayPaymentService, transport),
    payerPayments: createClient(PayerPaymentService, transport),
    personalData: createClient(PersonalDataService, transport),
    reconciliations: createClient(ReconciliationService, transport),
    recoveries: createClient(RecoveryService, transport),
    accounts: createClient(AccountService, transport),
    merchantWallets: createClient(MerchantWalletService, transport),
    wallets: createClient(WalletService, transport),
    walletStatuses: createClient(WalletStatusService, transport),
    audit: createClient(AuditService, transport),
    diagnostics: createClient(DiagnosticsService, transport),
    health: createClient(Health, transport),
    close,
  };
}
