import { createSecretKey, randomBytes, randomFillSync, randomUUID } from 'node:crypto';
import { v7 } from 'uuid';
import { accountService } from '../core/accounts/account-service.ts';
import { sessionService } from '../core/accounts/session-service.ts';
import { createSessionStore } from '../core/accounts/session-store.ts';
import { createApiKeyStore } from '../core/api-keys/api-key-store.ts';
import { apiKeyService } from '../core/api-keys/api-key-service.ts';
import { auditService } from '../core/audit/audit-service.ts';
import { openDatabaseClock } from '../platform/database/database-clock.ts';
import { openDatabase } from '../core/database/database.ts';
import { createPaymentGate } from '../core/database/payment-gate.ts';
import { explainDatabaseError } from '../platform/database/explain-error.ts';
import { pooledRandom } from '../platform/pooled-random.ts';
import { randomIdsFrom } from '../contract/public-id.ts';
import { diagnosticsService } from '../core/diagnostics/diagnostics-service.ts';
import { createWakeSignal } from '../platform/wake-signal.ts';
import { createChangedOrders } from '../core/events/changed-orders.ts';
import { createEventFeed } from '../core/events/follow-events.ts';
import { addCoreMetrics } from '../core/core-metrics.ts';
import { relayEvents } from '../core/events/relay-events.ts';
import { createFindMerchant } from '../core/merchants/find-merchant.ts';
import { merchantService } from '../core/merchants/merchant-service.ts';
import { createCertificationStore } from '../core/merchants/certifications.ts';
import { createMerchantStore } from '../core/merchants/merchant-store.ts';
import { createAttemptIds } from '../core/payments/changes/attempt-ids.ts';
import { createClaimPayments } from '../core/payments/changes/claim-payments.ts';
import { createOrderChanges } from '../core/payments/changes/change-orders.ts';
import { findActorEmails } from '../core/audit/find-actor-emails.ts';
import { createCheckoutTokens } from '../core/payments/checkout/checkout-token.ts';
import { createFindOrder } from '../core/payments/search/find-order.ts';
import { reportService } from '../core/reports/report-service.ts';
import { createMakeAttemptDue } from '../core/payments/attempts/make-attempt-due.ts';
import { createPhoneLimit } from '../core/payments/phones/phone-limit.ts';
import { createValidatePayerPayment } from '../core/payments/payer-payments/validate-payer-payment.ts';
import { reconciliationService } from '../core/reconciliation/reconciliation-service.ts';
import { createBalanceReader } from '../core/reconciliation/read-balances.ts';
import { createReconciliationStore } from '../core/reconciliation/reconciliation-store.ts';
import { beginLife } from '../core/recovery/database-life.sql.ts';
import { walletStatusService } from '../core/wallet-status/wallet-status-service.ts';
import { createWalletStatusStore } from '../core/wallet-status/wallet-status-store.ts';
import { addRequestLogMetrics } from '../core/request-log/request-log-metrics.ts';
import { requestLogService } from '../core/request-log/request-log-service.ts';
import { createRequestLogStore } from '../core/request-log/request-log-store.ts';
import { createRefundWork } from '../core/payments/refunds/refund-work.ts';
import { createMayKeyRefund } from '../core/api-keys/may-key-refund.ts';
import { startBackgroundWork } from '../core/background-work.ts';
import { readCoreSettings } from '../core/settings.ts';
import { createAccountParts } from './core-accounts.ts';
import { createCoreCheckout } from './core-checkout.ts';
import { createCoreErasure } from './core-erasure.ts';
import { createMasterKeyCheck } from './core-master-key.ts';
import { createEventChain } from './core-event-chain.ts';
import { corePayments } from './core-payments.ts';
import { createCoreRecovery } from './core-recovery.ts';
import { createWalletAccounts } from './core-wallet-accounts.ts';
import { deriveKey } from './derive-key.ts';
import { stopOnSignal } from '../platform/lifecycle.ts';
import { createRpcMetrics } from '../platform/rpc/rpc-metrics.ts';
import { createMetrics } from '../platform/metrics.ts';
import { onlyAttempts, openEventBus } from '../contract/event-bus.ts';
import { createFairCalls } from '../platform/fair-calls.ts';
import { maxMessageBytesOf } from '../contract/roles.ts';
import { startRpcServers } from '../platform/rpc/start-servers.ts';
import { readWallets, secretNames } from '../contract/wallets-file/read-wallets-file.ts';
import { walletsOf } from '../core/configured-wallets.ts';
import { refundsOfConnector } from '../wallets/refunds-of-connector.ts';
import { statementOfConnector } from '../wallets/statement-of-connector.ts';
import { walletService } from '../core/wallets/wallet-service.ts';
import { merchantWalletService } from '../core/merchant-wallets/merchant-wallet-service.ts';
import { addAccountKeyMetrics } from '../core/merchant-wallets/account-key-metrics.ts';
import { createSwitchWallet } from '../core/merchant-wallets/switch-wallet.ts';
import { requireKnownCurrencies } from './require-known-currencies.ts';
import { migrateWhenReachable } from './migrate-when-reachable.ts';
import { orderStories } from './order-stories.ts';
import { addTlsMetrics } from '../platform/tls/tls-metrics.ts';
import { openServerTls } from './open-tls.ts';
import { exitForSettings, readSettingsOrExit } from './read-settings.ts';
import { startLogging } from './start-logging.ts';
import { startTracing } from './start-tracing.ts';

const { config, configuredWallets, wallets } = readSettingsOrExit((environment) => {
  const settings = readCoreSettings(environment);
  requireKnownCurrencies(settings.GATEHOUSE_CURRENCIES);
  const { GATEHOUSE_WALLETS_FILE: file, GATEHOUSE_WALLETS: json } = settings;
  const configured = readWallets({ file, json });
  return {
    config: settings,
    configuredWallets: configured,
    wallets: walletsOf(configured, refundsOfConnector, statementOfConnector),
  };
});
const { instance, logger } = startLogging('core', config, secretNames(configuredWallets));
const { tracing, part: tracingPart } = await startTracing('core', config, { instance, logger });

const serverTls = openServerTls(config, [], logger);
const tls = serverTls?.files;
const database = await openDatabase({
  url: config.GATEHOUSE_DATABASE_URL,
  poolSize: config.GATEHOUSE_DATABASE_POOL_SIZE,
  applicationName: `gatehouse-core ${instance}`,
  tls,
  logger,
});
const masterKeyCheck = createMasterKeyCheck(database.pool, config.GATEHOUSE_MASTER_KEY);
try {
  await migrateWhenReachable(database, logger);
  await beginLife(database.pool, randomUUID());
  await masterKeyCheck.require();
} catch (error) {
  await database.close();
  exitForSettings(error);
}
const clock = await openDatabaseClock(database.pool, () => performance.now());
const { now } = clock;

const bus = openEventBus({ url: config.GATEHOUSE_NATS_URL, name: `core ${instance}`, tls, logger });
const eventSignal = createWakeSignal();
bus.onWake('order_events', eventSignal.ring);
const announceEvents = (): void => {
  eventSignal.ring();
  bus.wake('order_events');
};

const newId = randomIdsFrom(pooledRandom(randomFillSync));
const merchants = createMerchantStore({ database, newId, now });
const apiKeys = createApiKeyStore({ database, newId, now });
const phoneLimit = createPhoneLimit({
  promptsPerTenMinutes: config.GATEHOUSE_PHONE_PROMPTS_PER_10_MINUTES,
  random: Math.random,
});
const announceWalletWork = (): void => bus.wake('payment_attempts');
const changes = createOrderChanges({
  database,
  phoneLimit,
  newId,
  now,
  onEvents: announceEvents,
  onAttempts: () => bus.wake('payment_attempts', onlyAttempts),
  onRefunds: announceWalletWork,
});
const attemptIds = createAttemptIds(newId, deriveKey(config.GATEHOUSE_MASTER_KEY, 'payment-attempt-id'));
const findOrder = createFindOrder(database);
const findMerchant = createFindMerchant(merchants.terms);
const walletStatuses = createWalletStatusStore({ database, now });
const gate = createPaymentGate(database);
const claims = createClaimPayments({ database, changes, attemptIds, gate, wallets, logger });
const validatePayerPayment = createValidatePayerPayment({
  database,
  claims,
  gate,
  findMerchant,
  wallets,
  now,
});
/**
 * For calls of merchants and payers that do not share a statement with others. Together they use at most half of the
 * connections. The calls of one merchant use at most a quarter of the connections. The readings of its checkouts use at most another
 * quarter.
 */
const fairly = createFairCalls({
  maxRunning: Math.max(1, Math.floor(config.GATEHOUSE_DATABASE_POOL_SIZE / 2)),
  maxWaiting: 100,
});
/**
 * For searches of merchants, which may walk over many rows. Together they use at most a quarter of the connections, and those of one
 * merchant at most half of these, so that no person with the dashboard can slow down the payments of all merchants.
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
  findMerchant,
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
  newId,
  newLeaseId: randomUUID,
  now,
  onDue: announceWalletWork,
};

const makeAttemptDue = createMakeAttemptDue(paymentParts);
const refundWork = createRefundWork(paymentParts);

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

const draining = new AbortController();
const stopping = new AbortController();
const changedOrders = createChangedOrders({ database, signal: eventSignal, stop: draining.signal, logger });

const metrics = createMetrics({ logger, nowMs: () => performance.now(), tracing });
addTlsMetrics(metrics, tls);
addCoreMetrics(metrics, { database, bus, gate, wallets, now });
addAccountKeyMetrics(metrics, { database, keyName: walletAccounts.keyName });

const reconciliations = createReconciliationStore({
  ...paymentParts,
  wallets,
  makeAttemptDue: (attempt) => makeAttemptDue({ ...attempt, exchange: undefined, callbackNote: '' }),
  hastenRefund: (refund) => refundWork.hasten(refund, { exchange: undefined, note: '' }),
});
const recovery = createCoreRecovery({
  ...paymentParts,
  bus,
  gate,
  wallets,
  hasMasterKey: masterKeyCheck.hasMasterKey,
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
  findMerchant,
  masterKey: config.GATEHOUSE_MASTER_KEY,
  defaultDays: config.GATEHOUSE_PERSONAL_DATA_DAYS,
  logger,
});

const services = [
  ...corePayments({
    ...paymentParts,
    ...orderParts,
    changedOrders,
    feed: createEventFeed(database, eventSignal),
    tokens,
    makeAttemptDue,
    refundWork,
    validatePayerPayment,
    mayKeyRefund: createMayKeyRefund(apiKeys, now),
    currencies: config.GATEHOUSE_CURRENCIES,
    draining: draining.signal,
    tracing,
    logger,
  }),
  orderStories({
    ...{ database, findMerchant, walletStatuses, configuredWallets, wallets, tokens },
    ...{ gate, claims, fairly, now },
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
    ...{ findMerchant: merchants.terms, rememberMerchant: findMerchant },
    phoneLimit,
    fairly,
    gate,
    attemptIds,
    claims,
    wallets,
    validate: validatePayerPayment,
    now,
  }),
  merchantService({
    store: merchants,
    certifications: createCertificationStore({ database, newId, now }),
    requiredCertification: config.GATEHOUSE_REQUIRED_CERTIFICATION,
    currencies: config.GATEHOUSE_CURRENCIES,
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
    findMerchant: merchants.terms,
    pepper: createSecretKey(deriveKey(config.GATEHOUSE_MASTER_KEY, 'api-key-hash')),
    randomBytes,
    now,
  }),
  reportService(database),
  auditService(database, chain),
  erasure.service,
  accountService(accountParts),
  sessionService(createSessionStore(accountParts), now),
  recovery.service,
  walletStatusService({ store: walletStatuses, now }),
  requestLogService(
    createRequestLogStore({ database, newId, now }),
    addRequestLogMetrics(metrics),
    searchFairly,
  ),
  // Compares the two clocks, so it needs this machine's own.
  diagnosticsService(instance, {
    database,
    isBrokerConnected: bus.isConnected,
    hasMasterKey: masterKeyCheck.hasMasterKey,
    stream: bus.stream,
    now: () => new Date(),
  }),
];
await recovery.checkAtStart(bus.isConnected);
const servers = await startRpcServers({
  host: config.GATEHOUSE_HOST,
  ports: { grpc: config.GATEHOUSE_CORE_GRPC_PORT, connect: config.GATEHOUSE_CORE_CONNECT_PORT },
  services,
  pages: { '/metrics': metrics.page },
  tokens: config.GATEHOUSE_SERVICE_TOKENS,
  maxMessageBytesOf,
  draining: draining.signal,
  tls: serverTls,
  isServing: database.poolWatch.isGiving,
  logger,
  newRequestId: v7,
  explain: explainDatabaseError,
  measure: createRpcMetrics(metrics),
  tracing,
});

const working = startBackgroundWork(
  {
    ...paymentParts,
    clock,
    claims,
    gate,
    checkDatabase: recovery.checkDatabase,
    sealEvents: chain.sealEvents,
    eraseDue: erasure.eraseDue,
    balanceMinutes: config.GATEHOUSE_BALANCE_MINUTES,
    rememberPayees: walletAccounts.rememberPayees,
    resealAccounts: () => walletAccounts.resealAll(logger),
    wallets,
    logger,
  },
  stopping.signal,
);
const relaying = relayEvents(
  { database, publisher: bus, signal: eventSignal, tracing, logger, mayRelay: gate.mayRelay },
  stopping.signal,
);

logger.info(servers.addresses, 'ready');

stopOnSignal(logger, [
  { name: 'drain', stop: () => draining.abort(), timeoutMs: 100 },
  { name: 'servers', stop: () => servers.stop(4_000), timeoutMs: 5_000 },
  {
    name: 'background work',
    stop: async () => {
      stopping.abort();
      await Promise.all([working, relaying]);
    },
    timeoutMs: 2_000,
  },
  { name: 'broker', stop: () => bus.close(), timeoutMs: 500 },
  { name: 'certificates', stop: () => tls?.stop(), timeoutMs: 100 },
  { name: 'database', stop: () => database.close(), timeoutMs: 1_000 },
  tracingPart,
]);
