import { randomFillSync, randomUUID } from 'node:crypto';
import { createApiKeyStore } from '../core/api-keys/api-key-store.ts';
import { createPaymentGate } from '../core/database/payment-gate.ts';
import { pooledRandom } from '../platform/pooled-random.ts';
import { randomIdsFrom } from '../contract/public-id.ts';
import { createChangedOrders } from '../core/events/changed-orders.ts';
import { createFindMerchant } from '../core/merchants/find-merchant.ts';
import { createMerchantStore } from '../core/merchants/merchant-store.ts';
import { createAttemptIds } from '../core/payments/changes/attempt-ids.ts';
import { createClaimPayments } from '../core/payments/changes/claim-payments.ts';
import { createOrderChanges } from '../core/payments/changes/change-orders.ts';
import { createCheckoutTokens } from '../core/payments/checkout/checkout-token.ts';
import { createFindOrder } from '../core/payments/search/find-order.ts';
import { createMakeAttemptDue } from '../core/payments/attempts/make-attempt-due.ts';
import { createPhoneLimit } from '../core/payments/phones/phone-limit.ts';
import { createPayerPaymentValidation } from '../core/payments/payer-payments/validate-payer-payment.ts';
import { createReconciliationStore } from '../core/reconciliation/reconciliation-store.ts';
import { createWalletStatusStore } from '../core/wallet-status/wallet-status-store.ts';
import { createRefundWork } from '../core/payments/refunds/refund-work.ts';
import { createAccountParts } from './core-accounts.ts';
import { createCoreErasure } from './core-erasure.ts';
import { createEventChain } from './core-event-chain.ts';
import { createCoreRecovery } from './core-recovery.ts';
import { createWalletAccounts } from './core-wallet-accounts.ts';
import { deriveKey } from './derive-key.ts';
import { createFairCalls } from '../platform/fair-calls.ts';
import type { ConfiguredWallet } from '../contract/wallets-file/read-wallets-file.ts';
import type { Wallet } from '../core/domain/wallet.ts';
import type { CoreSettings } from '../core/settings.ts';
import type { Logger } from '../platform/logger.ts';
import type { CoreConnections } from './core-connections.ts';

export interface CoreStoresParts {
  readonly config: CoreSettings;
  readonly configuredWallets: readonly ConfiguredWallet[];
  readonly wallets: readonly Wallet[];
  readonly connections: CoreConnections;
  /** Aborts when no new call is taken. */
  readonly draining: AbortSignal;
  readonly logger: Logger;
}

export type CoreStores = ReturnType<typeof createCoreStores>;

/** The stores that the services of core read and change. */
export function createCoreStores(parts: CoreStoresParts) {
  const { config, configuredWallets, wallets, draining, logger } = parts;
  const { database, clock, bus, eventSignal, hasMasterKey, isNewDatabase } = parts.connections;
  const { announceEvents, announceDue, announceWalletWork } = parts.connections;
  const { now } = clock;

  const newId = randomIdsFrom(pooledRandom(randomFillSync));
  const merchants = createMerchantStore({ database, newId, now });
  const apiKeys = createApiKeyStore({ database, newId, now });
  const phoneLimit = createPhoneLimit({
    promptsPerTenMinutes: config.GATEHOUSE_PHONE_PROMPTS_PER_10_MINUTES,
    random: Math.random,
  });
  const changes = createOrderChanges({
    database,
    phoneLimit,
    newId,
    now,
    onEvents: announceEvents,
    onDue: announceDue,
    logger,
  });
  const attemptIds = createAttemptIds(newId, deriveKey(config.GATEHOUSE_MASTER_KEY, 'payment-attempt-id'));
  const findOrder = createFindOrder(database);
  /** Reads a merchant from a cache of at most 1.5 seconds. `merchants.terms` reads the database. */
  const findCachedMerchant = createFindMerchant(merchants.terms);
  const walletStatuses = createWalletStatusStore({ database, now });
  const gate = createPaymentGate(database);
  const claims = createClaimPayments({ database, changes, attemptIds, gate, wallets, logger });
  const payerPayments = createPayerPaymentValidation({
    database,
    claims,
    gate,
    findMerchant: findCachedMerchant,
    wallets,
    now,
  });
  /**
   * For calls of merchants and payers, and callbacks of wallets, that do not share a statement with others. Together they use at
   * most half of the connections. Each of these uses at most a quarter of the connections: the calls of one merchant, the pages of its checkouts,
   * the callbacks about its payments and reversals, the outcomes of its refunds, and the messages about one payment that its payer started.
   */
  const fairly = createFairCalls({
    maxRunning: Math.max(1, Math.floor(config.GATEHOUSE_DATABASE_POOL_SIZE / 2)),
    maxWaiting: 100,
  });
  /**
   * For searches, reports and audit logs of merchants, which may read many rows. Together they use at most a quarter of the connections, and
   * those of one merchant at most half of these. So no user of the dashboard can slow down the payments of all merchants.
   */
  const searchFairly = createFairCalls({
    maxRunning: Math.max(2, Math.floor(config.GATEHOUSE_DATABASE_POOL_SIZE / 4)),
    maxWaiting: 50,
  });
  const orderParts = {
    fairly,
    searchFairly,
    changes,
    attemptIds,
    claims,
    findOrder,
    findMerchant: findCachedMerchant,
    phoneLimit,
    gate,
    wallets,
    newId,
    now,
  };
  const tokens = createCheckoutTokens(
    config.GATEHOUSE_CHECKOUT_BASE_URL,
    deriveKey(config.GATEHOUSE_MASTER_KEY, 'checkout-token'),
  );
  const paymentParts = {
    database,
    changes,
    fairly,
    newId,
    newLeaseId: randomUUID,
    now,
    machineNow: () => new Date(),
    onDue: announceDue,
  };
  const makeAttemptDue = createMakeAttemptDue(paymentParts);
  const refundWork = createRefundWork({ ...paymentParts, logger });

  const accountParts = createAccountParts({
    database,
    newId,
    now,
    masterKey: config.GATEHOUSE_MASTER_KEY,
  });

  const walletAccounts = createWalletAccounts({
    database,
    configuredWallets,
    masterKey: config.GATEHOUSE_MASTER_KEY,
    keys: config.GATEHOUSE_WALLET_ACCOUNT_KEYS,
    newId,
    now,
    onCheckDue: announceWalletWork,
  });

  const changedOrders = createChangedOrders({ database, signal: eventSignal, stop: draining, logger });

  const reconciliations = createReconciliationStore({
    ...paymentParts,
    onDue: announceWalletWork,
    wallets,
    makeAttemptDue: (attempt) =>
      makeAttemptDue({ ...attempt, exchange: undefined, callbackNote: '', signal: { aborted: false } }),
    hastenRefund: (refund) =>
      refundWork.hasten(refund, { exchange: undefined, note: '' }, { aborted: false }),
  });
  const recovery = createCoreRecovery({
    ...paymentParts,
    bus,
    gate,
    wallets,
    isNewDatabase,
    hasMasterKey,
    startReconciliation: reconciliations.start,
    claimAll: claims.claimAll,
    onChange: () => {
      announceEvents();
      announceWalletWork();
    },
    logger,
    settleMs: config.GATEHOUSE_RECOVERY_SETTLE_SECONDS * 1_000,
  });

  const chain = createEventChain({ database, masterKey: config.GATEHOUSE_MASTER_KEY });

  const erasure = createCoreErasure({
    ...paymentParts,
    bus,
    gate,
    findMerchant: findCachedMerchant,
    masterKey: config.GATEHOUSE_MASTER_KEY,
    defaultDays: config.GATEHOUSE_PERSONAL_DATA_DAYS,
    logger,
  });

  return {
    merchants,
    apiKeys,
    phoneLimit,
    attemptIds,
    findCachedMerchant,
    walletStatuses,
    gate,
    claims,
    payerPayments,
    fairly,
    searchFairly,
    tokens,
    paymentParts,
    makeAttemptDue,
    refundWork,
    accountParts,
    walletAccounts,
    changedOrders,
    reconciliations,
    recovery,
    chain,
    erasure,
    orderParts,
    newId,
  };
}
