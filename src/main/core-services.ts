import { createSecretKey, randomBytes } from 'node:crypto';
import { accountService } from '../core/accounts/account-service.ts';
import { sessionService } from '../core/accounts/session-service.ts';
import { createSessionStore } from '../core/accounts/session-store.ts';
import { apiKeyService } from '../core/api-keys/api-key-service.ts';
import { auditService } from '../core/audit/audit-service.ts';
import { searchBounds } from '../core/database/walk-back.ts';
import { diagnosticsService } from '../core/diagnostics/diagnostics-service.ts';
import { createEventFeed } from '../core/events/follow-events.ts';
import { merchantService } from '../core/merchants/merchant-service.ts';
import { createCertificationStore } from '../core/merchants/certifications.ts';
import { findActorEmails } from '../core/audit/find-actor-emails.ts';
import { reportService } from '../core/reports/report-service.ts';
import { reconciliationService } from '../core/reconciliation/reconciliation-service.ts';
import { createBalanceReader } from '../core/reconciliation/read-balances.ts';
import { walletStatusService } from '../core/wallet-status/wallet-status-service.ts';
import { addRequestLogMetrics } from '../core/request-log/request-log-metrics.ts';
import { requestLogService } from '../core/request-log/request-log-service.ts';
import { createRequestLogStore } from '../core/request-log/request-log-store.ts';
import { withReaderTurns } from '../core/rpc/reader-turns.ts';
import { createMayKeyRefund } from '../core/api-keys/may-key-refund.ts';
import { createCoreCheckout } from './core-checkout.ts';
import { corePayments } from './core-payments.ts';
import { deriveKey } from './derive-key.ts';
import { walletService } from '../core/wallets/wallet-service.ts';
import { merchantWalletService } from '../core/merchant-wallets/merchant-wallet-service.ts';
import { createSwitchWallet } from '../core/merchant-wallets/switch-wallet.ts';
import { orderStories } from './order-stories.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { RpcService } from '../platform/rpc/rpc-service.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import type { CoreStores, CoreStoresParts } from './core-stores.ts';

export interface CoreServicesParts extends CoreStoresParts {
  readonly instance: string;
  /** The currencies that orders accept. */
  readonly currencies: readonly string[];
  readonly stores: CoreStores;
  readonly metrics: Metrics;
  /** Undefined when tracing is off. */
  readonly tracing: Tracing | undefined;
}

/** Every service of core. */
export function createCoreServices(parts: CoreServicesParts): RpcService[] {
  const { config, configuredWallets, wallets, currencies, instance, draining, metrics, tracing, logger } =
    parts;
  const { database, clock, bus, eventSignal, hasMasterKey } = parts.connections;
  const { merchants, apiKeys, phoneLimit, attemptIds, findCachedMerchant, walletStatuses, gate } =
    parts.stores;
  const { claims, payerPayments, fairly, searchFairly, orderParts, tokens, paymentParts } = parts.stores;
  const { makeAttemptDue, refundWork, accountParts, walletAccounts, changedOrders } = parts.stores;
  const { reconciliations, recovery, chain, erasure, newId } = parts.stores;
  const { now } = clock;

  return withReaderTurns([
    ...corePayments({
      ...paymentParts,
      ...orderParts,
      changedOrders,
      feed: createEventFeed(database, eventSignal),
      tokens,
      makeAttemptDue,
      refundWork,
      validatePayerPayment: payerPayments.validate,
      mayKeyRefund: createMayKeyRefund(apiKeys, now),
      currencies,
      draining,
      tracing,
      logger,
    }),
    orderStories({
      database,
      findMerchant: findCachedMerchant,
      walletStatuses,
      configuredWallets,
      wallets,
      tokens,
      accountProblem: walletAccounts.problem,
      gate,
      claims,
      fairly,
      searchFairly,
      now,
    }),
    reconciliationService({
      store: reconciliations,
      emailsOf: (actors) => findActorEmails(database.fork(), actors),
      now,
      wallets,
      balances: createBalanceReader(database, wallets, now),
    }),
    createCoreCheckout({
      ...paymentParts,
      masterKey: config.GATEHOUSE_MASTER_KEY,
      tokens,
      findMerchant: merchants.terms,
      findCachedMerchant,
      phoneLimit,
      fairly,
      gate,
      attemptIds,
      claims,
      wallets,
      wouldTakePayerPayment: payerPayments.wouldTake,
      now,
    }),
    merchantService({
      store: merchants,
      certifications: createCertificationStore({ database, newId, now }),
      requiredCertification: config.GATEHOUSE_REQUIRED_CERTIFICATION,
      currencies,
      wallets,
    }),
    walletService(configuredWallets, wallets),
    merchantWalletService({
      store: walletAccounts,
      switchWallet: createSwitchWallet({ database, newId, now }),
      findMerchant: merchants.terms,
      wallets,
      forms: walletAccounts.forms,
      countCheck: walletAccounts.countCheck,
    }),
    apiKeyService({
      store: apiKeys,
      fairly,
      findMerchant: merchants.terms,
      pepper: createSecretKey(deriveKey(config.GATEHOUSE_MASTER_KEY, 'api-key-hash')),
      randomBytes,
      now,
    }),
    reportService(database, searchFairly),
    auditService(database, chain, searchFairly),
    erasure.service,
    accountService(accountParts),
    sessionService(createSessionStore(accountParts), now),
    recovery.service,
    walletStatusService({ store: walletStatuses, now }),
    requestLogService(
      createRequestLogStore({
        database,
        newId,
        now,
        bounds: { ...searchBounds, monotonicMs: () => performance.now() },
      }),
      addRequestLogMetrics(metrics),
      searchFairly,
    ),
    // Compares this machine's clock with the database's clock. So it gets this machine's clock instead of `now`.
    diagnosticsService(instance, {
      database,
      broker: bus,
      hasMasterKey,
      unreadableAccounts: walletAccounts.unreadable,
      configuredWallets: wallets,
      stream: bus.stream,
      now: () => new Date(),
    }),
  ]);
}
