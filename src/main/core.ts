/** Core: it owns orders, payments, merchants, keys and accounts, and stores them in PostgreSQL. */
import { v7 } from 'uuid';
import { explainDatabaseError } from '../platform/database/explain-error.ts';
import { addCoreMetrics } from '../core/core-metrics.ts';
import { addAccountKeyMetrics } from '../core/merchant-wallets/account-key-metrics.ts';
import { warnOfWorkWithoutWallet } from '../core/payments/work-without-wallet.sql.ts';
import { relayEvents } from '../core/events/relay-events.ts';
import { startBackgroundWork } from '../core/background-work.ts';
import { readCoreSettings } from '../core/settings.ts';
import { stopOnSignal } from '../platform/lifecycle.ts';
import { createRpcMetrics } from '../platform/rpc/rpc-metrics.ts';
import { createMetrics } from '../platform/metrics.ts';
import { maxMessageBytesOf } from '../contract/roles.ts';
import { startRpcServers } from '../platform/rpc/start-servers.ts';
import { readWallets, secretNames } from '../contract/wallets-file/read-wallets-file.ts';
import { walletsOf } from '../core/configured-wallets.ts';
import { opensPageOfConnector } from '../wallets/opens-page-of-connector.ts';
import { refundsOfConnector } from '../wallets/refunds-of-connector.ts';
import { statementOfConnector } from '../wallets/statement-of-connector.ts';
import { transactionIdsOfConnector } from '../wallets/transaction-ids-of-connector.ts';
import { acceptedCurrencies, warnOfWalletsWithoutOrders } from './accepted-currencies.ts';
import { addTlsMetrics } from '../platform/tls/tls-metrics.ts';
import { openServerTls } from './open-tls.ts';
import { exitForSettings, readSettingsOrExit } from './read-settings.ts';
import { startLogging } from './start-logging.ts';
import { startTracing } from './start-tracing.ts';
import { openCoreConnections } from './core-connections.ts';
import { createCoreServices } from './core-services.ts';
import { createCoreStores } from './core-stores.ts';

const { config, configuredWallets, wallets, currencies } = readSettingsOrExit((environment) => {
  const settings = readCoreSettings(environment);
  const { GATEHOUSE_WALLETS_FILE: file, GATEHOUSE_WALLETS: json } = settings;
  const configured = readWallets({ file, json });
  const known = walletsOf(
    configured,
    refundsOfConnector,
    statementOfConnector,
    transactionIdsOfConnector,
    opensPageOfConnector,
  );
  return {
    config: settings,
    configuredWallets: configured,
    wallets: known,
    currencies: acceptedCurrencies(settings.GATEHOUSE_CURRENCIES, known),
  };
});
const { instance, logger } = startLogging('core', config, secretNames(configuredWallets));
const { tracing, part: tracingPart } = await startTracing('core', config, { instance, logger });

const serverTls = openServerTls(config, [], logger);
const tls = serverTls?.files;
const draining = new AbortController();
const stopping = new AbortController();

const connections = await openCoreConnections({ config, instance, tls, logger }).catch(exitForSettings);
const { database, clock, bus } = connections;
const parts = { config, configuredWallets, wallets, connections, draining: draining.signal, logger };
const stores = createCoreStores(parts);
const { recovery, gate, chain, erasure, walletAccounts } = stores;

const metrics = createMetrics({ logger, nowMs: () => performance.now(), tracing });
addTlsMetrics(metrics, tls, { database: database.certificate, broker: bus.certificate });
addCoreMetrics(metrics, { database, bus, gate, wallets, now: clock.now });
addAccountKeyMetrics(metrics, { database, keyName: walletAccounts.keyName });
const services = createCoreServices({ ...parts, instance, currencies, stores, metrics, tracing });

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
  isServing: database.poolWatch.isServing,
  logger,
  newRequestId: v7,
  explain: explainDatabaseError,
  measure: createRpcMetrics(metrics),
  tracing,
});

const working = startBackgroundWork(
  {
    ...stores.paymentParts,
    onDue: connections.announceWalletWork,
    clock,
    claims: stores.claims,
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
  {
    database,
    publisher: bus,
    signal: connections.eventSignal,
    tracing,
    logger,
    mayRelay: gate.mayRelay,
    continuesStream: recovery.continuesStream,
  },
  stopping.signal,
);

logger.info(servers.addresses, 'ready');
warnOfWalletsWithoutOrders(currencies, wallets, logger);
warnOfWorkWithoutWallet(database, wallets, logger).catch((error: unknown) =>
  logger.warn(
    { err: error },
    'core could not check whether work waits for wallets that are not configured. To check it: gatehouse doctor',
  ),
);

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
