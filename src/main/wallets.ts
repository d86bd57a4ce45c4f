/**
 * The connector of wallets. It sends due attempts to the wallets, receives their callbacks, and reports the results to
 * core.
 */
import { createClient } from '@connectrpc/connect';
import { v7 } from 'uuid';
import { Environment } from '../gen/gatehouse/v1/order_pb.js';
import { MerchantWalletService } from '../gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { PayerPaymentService } from '../gen/gatehouse/v1/payer_payment_service_pb.js';
import { PaymentAttemptService } from '../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { ReconciliationService } from '../gen/gatehouse/v1/reconciliation_service_pb.js';
import { RefundService } from '../gen/gatehouse/v1/refund_service_pb.js';
import { StrayPaymentService } from '../gen/gatehouse/v1/stray_payment_service_pb.js';
import { WalletStatusService } from '../gen/gatehouse/v1/wallet_status_service_pb.js';
import { readWalletsSettings } from '../wallets/settings.ts';
import { addBrokerMetrics } from '../platform/broker-metrics.ts';
import { createHttpMetrics } from '../platform/http/http-metrics.ts';
import { startMetricsListener } from '../platform/http/metrics-listener.ts';
import { createMetrics } from '../platform/metrics.ts';
import { addTlsMetrics } from '../platform/tls/tls-metrics.ts';
import { stopOnSignal } from '../platform/lifecycle.ts';
import { limitFailures } from '../platform/line-limit.ts';
import { walletWorkOf } from '../contract/due-work.ts';
import { openEventBus } from '../contract/event-bus.ts';
import type { WalletWork } from '../contract/due-work.ts';
import { createGrpcTransport } from '../contract/grpc-transport.ts';
import { optionsOfWallet } from '../contract/payment-option.ts';
import { createWakeSignal } from '../platform/wake-signal.ts';
import type { WakeSignal } from '../platform/wake-signal.ts';
import { accountCheckWork } from '../wallets/account-check-work.ts';
import { createAccountConnectors } from '../wallets/account-connectors.ts';
import { buildCallbackApp } from '../wallets/callback-app.ts';
import { createCallbackTokens } from '../wallets/callback-token.ts';
import { connectorKinds } from '../wallets/connector-kinds.ts';
import { readWallets, secretNames } from '../contract/wallets-file/read-wallets-file.ts';
import { SharedTokens } from '../wallets/connector/access-tokens.ts';
import type { Health } from '../wallets/connector/outcomes.ts';
import { createLeaseFailures } from '../wallets/lease-failures.ts';
import { runLeaseWorker } from '../wallets/lease-worker.ts';
import { payerPaymentWork } from '../wallets/payer-payment-work.ts';
import { payerStartedUrls, payerStartedWallet } from '../wallets/payer-started.ts';
import { reconcileWork } from '../wallets/reconcile-work.ts';
import { registerAtStart } from '../wallets/register-urls.ts';
import { reportWalletStatus } from '../wallets/report-status.ts';
import { createWalletBreaker } from '../wallets/wallet-breaker.ts';
import { createWalletMeter } from '../wallets/wallet-meter.ts';
import { createWalletMetrics } from '../wallets/wallet-metrics.ts';
import type { ConnectorOptions } from '../wallets/connector/connector-kind.ts';
import { createSharedLookup } from '../wallets/connector/shared-lookup.ts';
import { createConnector } from '../wallets/create-connector.ts';
import { walletSettings } from '../wallets/wallet-settings.ts';
import { attemptWork } from '../wallets/attempt-work.ts';
import { reversalWork } from '../wallets/reversal-work.ts';
import { workKindsOf } from '../wallets/work-kind.ts';
import type { WorkKind } from '../wallets/work-kind.ts';
import { openTls } from './open-tls.ts';
import { exitForSettings, readSettingsOrExit } from './read-settings.ts';
import { startLogging } from './start-logging.ts';
import { startTracing } from './start-tracing.ts';

const idleMs = 500;
/** Statements are read once a day. A manual start wakes this worker at once. */
const reconcileIdleMs = 10_000;
/** A new account is checked when core announces it. This is the interval without an announcement. */
const checkIdleMs = 5_000;
const checksAtOnce = 4;
/** How long a merchant's own connector stays open without work. */
const accountIdleMs = 5 * 60_000;
const maxIdleAccounts = 100;
const standardMaxInFlight = 32;
const standardCallTimeoutMs = 20_000;
const breakerLimits = { cooldownMs: 5_000, threshold: 8 };
/** A wallet without an answer after this time counts as unhealthy. */
const healthTimeoutMs = 5_000;
/** Connections for an access token, the heartbeat and a page of the statement, in addition to those of the kinds of work. */
const connectionsBeside = 3;

const { config, wallets, secrets } = readSettingsOrExit((environment) => {
  const settings = readWalletsSettings(environment);
  const { GATEHOUSE_WALLETS_FILE: file, GATEHOUSE_WALLETS: json } = settings;
  const configured = readWallets({ file, json });
  const wallets = walletSettings(configured, connectorKinds, environment);
  return { config: settings, wallets, secrets: secretNames(configured) };
});
const { instance, logger } = startLogging('wallets', config, secrets);
const { tracing, part: tracingPart } = await startTracing('wallets', config, { instance, logger });
const tls = openTls(config, config.GATEHOUSE_CORE_ADDRESSES, logger);
const transport = createGrpcTransport({
  addresses: config.GATEHOUSE_CORE_ADDRESSES,
  token: config.GATEHOUSE_SERVICE_TOKEN,
  tls,
});
const metrics = createMetrics({ logger, nowMs: () => performance.now(), tracing });
const walletMetrics = createWalletMetrics(metrics);
const payments = createClient(PaymentAttemptService, transport);
const strayPayments = createClient(StrayPaymentService, transport);
const refunds = createClient(RefundService, transport);
const payerPayments = createClient(PayerPaymentService, transport);
const reconciliations = createClient(ReconciliationService, transport);
const merchantWallets = createClient(MerchantWalletService, transport);
const statuses = createClient(WalletStatusService, transport);
const bus = openEventBus({ url: config.GATEHOUSE_NATS_URL, name: `wallets ${instance}`, tls, logger });
addTlsMetrics(metrics, tls, { broker: bus.certificate });
const now = (): Date => new Date();
const sharedTokens = new SharedTokens();
const lookup = createSharedLookup();

/** Aborts when no new work is taken. */
const stopping = new AbortController();
/** Aborts the requests that are still under way. */
const leaving = new AbortController();

const environments = { sandbox: Environment.SANDBOX, production: Environment.PRODUCTION } as const;
// The callback address is known once the listener has a port. Connectors are used only after that.
const listening: { callbackBaseUrl: string } = {
  callbackBaseUrl: config.GATEHOUSE_WALLET_CALLBACK_BASE_URL ?? '',
};

const credentialsRefused =
  "the wallet refuses the operator's credentials, so payments with them are not made; " +
  "compare them with the provider's portal, and test them with: gatehouse wallet check";

const connectedWallets = await Promise.all(
  wallets.map(async (settings) => {
    const name = `${settings.wallet}-${settings.environment}`;
    const maxInFlight = settings.maxInFlight ?? standardMaxInFlight;
    const workKinds = workKindsOf(settings);
    const logRefused = limitFailures<[detail: string]>((reason, detail) =>
      logger.warn({ wallet: name, detail }, String(reason)),
    );
    const meter = createWalletMeter(
      () => performance.now(),
      (call) => walletMetrics.measure(settings, call),
      (detail) => logRefused(credentialsRefused, detail),
    );
    const connectorOptions: ConnectorOptions = {
      callbackBaseUrl: () => `${listening.callbackBaseUrl}/callbacks/${name}`,
      currencies: settings.currencies,
      timeouts: { connectMs: 5_000, callMs: settings.callTimeoutMs ?? standardCallTimeoutMs },
      // Each item of work has a connection, so requests that hang never delay a new one.
      maxConnections: workKinds.length * maxInFlight + connectionsBeside,
      lookup,
      sharedTokens,
      now,
    };
    const plain = await createConnector(settings, connectorOptions).catch(exitForSettings);
    const sources = settings.callbackSources;
    const connector = meter.measured(plain);
    const accounts = createAccountConnectors({
      client: merchantWallets,
      settings,
      options: connectorOptions,
      maxIdle: maxIdleAccounts,
      idleMs: accountIdleMs,
      monotonicMs: () => performance.now(),
    });
    const askUntil = async (end: AbortSignal): Promise<Health> => {
      const signal = AbortSignal.any([end, AbortSignal.timeout(healthTimeoutMs)]);
      return (await connector.health({ signal })).result;
    };
    const ask = (): Promise<Health> => askUntil(leaving.signal);
    const breaker = createWalletBreaker({ wallet: name, logger, ask, ...breakerLimits });
    const apiKey = settings.callbackApiKey;
    const tokens = createCallbackTokens(config.GATEHOUSE_WALLET_CALLBACK_KEY, name);
    const environment = environments[settings.environment];
    const payerStarted = payerStartedWallet(settings, environment, connector);
    return {
      name,
      tokens,
      payerStarted,
      settings,
      connector,
      accounts,
      meter,
      askUntil,
      breaker,
      workKinds,
      maxInFlight,
      sources,
      apiKey,
    };
  }),
);

addBrokerMetrics(metrics, bus);
walletMetrics.show(
  connectedWallets.map(({ settings, workKinds, maxInFlight, meter, breaker }) => ({
    wallet: settings.wallet,
    environment: settings.environment,
    workKinds,
    maxInFlight,
    inFlight: meter.inFlight,
    isCircuitOpen: () => breaker.allows() !== 'all',
    areCredentialsRefused: meter.areCredentialsRefused,
  })),
);
const metricsListener = await startMetricsListener({
  metrics,
  host: config.GATEHOUSE_METRICS_HOST,
  port: config.GATEHOUSE_METRICS_PORT,
  logger,
  newRequestId: () => v7(),
});

const app = buildCallbackApp({
  wallets: connectedWallets,
  payments,
  strayPayments,
  refunds,
  payerPayments,
  trustedProxies: config.GATEHOUSE_TRUSTED_PROXIES ?? [],
  tracing,
  logger,
  measureRequests: createHttpMetrics(metrics)('callbacks'),
  now,
  newRequestId: () => v7(),
  draining: stopping.signal,
});
type ConnectedWallet = (typeof connectedWallets)[number];
type Signals = Record<WalletWork, WakeSignal>;

/** Registers our URLs with a wallet. The address of the listener is known by now. */
const registerUrls = ({ name, tokens, settings, connector }: ConnectedWallet): Promise<void> => {
  const urls = {
    ...payerStartedUrls(`${listening.callbackBaseUrl}/callbacks/${name}`, tokens),
    withoutAnswer: settings.payerStarted?.withoutAnswer ?? 'cancel',
  };
  return connector.payerStarted === undefined
    ? Promise.resolve()
    : registerAtStart(connector.payerStarted, urls, { wallet: name, logger }, stopping.signal);
};

await app.listen({ host: config.GATEHOUSE_HOST, port: config.GATEHOUSE_WALLET_CALLBACK_PORT });
if (listening.callbackBaseUrl === '') listening.callbackBaseUrl = app.listeningOrigin;

/** The resources that all workers of one wallet share. */
const workerParts = ({ name, tokens, settings, connector, accounts, maxInFlight }: ConnectedWallet) => ({
  name,
  wallet: settings.wallet,
  environment: environments[settings.environment],
  // Payments of a channel that is no longer configured have to be decided and refunded too.
  paymentOptions: optionsOfWallet(settings.wallet),
  connector,
  accounts,
  tokens,
  now,
  newRequestId: () => v7(),
  logger,
  maxInFlight,
  stop: leaving.signal,
});
const polling = { isSignalled: bus.isConnected, failures: createLeaseFailures(logger), tracing, logger };

/** The workers for payments, reversals and refunds. They stop taking new work while the circuit of the wallet is open. */
function runPaymentWorkers(wallet: ConnectedWallet, signals: Signals): Promise<void>[] {
  const parts = { ...workerParts(wallet), wallet: wallet.name, payments, strayPayments, refunds };
  const optionsOf = (kind: WorkKind, signal: WakeSignal) => ({
    ...polling,
    maxInFlight: wallet.maxInFlight,
    idleMs,
    breaker: wallet.meter.counted(kind, wallet.breaker),
    signal,
  });
  const running = [
    runLeaseWorker(attemptWork(parts), optionsOf('payments', signals.payments), stopping.signal),
    runLeaseWorker(reversalWork(parts), optionsOf('reversals', signals.reversals), stopping.signal),
  ];
  const { payerStarted } = wallet;
  if (payerStarted === undefined) return running;
  running.push(
    runLeaseWorker(
      payerPaymentWork({ ...parts, ...payerStarted, payerPayments }),
      optionsOf('payer_payments', signals.payerPayments),
      stopping.signal,
    ),
  );
  if (wallet.settings.payerStarted?.registerAtStart === true) running.push(registerUrls(wallet));
  return running;
}

/** The worker that checks merchants' own accounts. */
const runCheckWorker = (wallet: ConnectedWallet, signals: Signals): Promise<void> =>
  runLeaseWorker(
    accountCheckWork({ ...workerParts(wallet), merchantWallets }),
    {
      ...polling,
      maxInFlight: checksAtOnce,
      idleMs: checkIdleMs,
      // A check does not change the state of the breaker, and also runs while the circuit is open.
      breaker: {
        allows: () => 'all',
        watch: async (work) => {
          await work();
        },
      },
      signal: signals.checks,
    },
    stopping.signal,
  );

/** The worker that reads statements. */
const runStatementWorker = (wallet: ConnectedWallet, signals: Signals): Promise<void> =>
  runLeaseWorker(
    reconcileWork({ ...workerParts(wallet), reconciliations }),
    {
      ...polling,
      maxInFlight: 1,
      idleMs: reconcileIdleMs,
      // Statements have their own circuit breaker, because an unreadable one does not mean that payments fail.
      breaker: createWalletBreaker({
        logger,
        wallet: `${wallet.name} statement`,
        // A wallet's status says nothing about its statements. Only reading one does.
        ask: () => Promise.resolve({ kind: 'unreported', detail: 'statements have no heartbeat' }),
        ...breakerLimits,
      }),
      signal: signals.reconciliations,
    },
    stopping.signal,
  );

const workers = connectedWallets.flatMap((wallet) => {
  const { settings } = wallet;
  const environment = settings.environment === 'sandbox' ? 'SANDBOX' : 'PRODUCTION';
  const signals = {
    payments: createWakeSignal(),
    reversals: createWakeSignal(),
    payerPayments: createWakeSignal(),
    reconciliations: createWakeSignal(),
    checks: createWakeSignal(),
  };
  bus.onWake('payment_attempts', (part) => {
    for (const work of walletWorkOf(part, { environment, wallet: settings.wallet })) signals[work].ring();
  });
  return [
    ...runPaymentWorkers(wallet, signals),
    runCheckWorker(wallet, signals),
    runStatementWorker(wallet, signals),
  ];
});

const reporting = reportWalletStatus(
  {
    statuses,
    instance,
    wallets: connectedWallets.map((wallet) => ({
      wallet: wallet.settings.wallet,
      environment: environments[wallet.settings.environment],
      meter: wallet.meter,
      breaker: wallet.breaker,
      workKinds: wallet.workKinds,
      maxInFlight: wallet.maxInFlight,
      ask: () => wallet.askUntil(stopping.signal),
    })),
    now,
    logger,
  },
  stopping.signal,
);

stopOnSignal(logger, [
  { name: 'certificates', timeoutMs: 100, stop: () => tls?.stop() },
  {
    name: 'work',
    stop: async () => {
      stopping.abort();
      // A request under way has this long to finish. Otherwise its lease expires, and another worker queries the wallet.
      const timer = setTimeout(() => leaving.abort(), 4_000);
      await Promise.all([...workers, reporting]);
      clearTimeout(timer);
    },
    timeoutMs: 6_000,
  },
  { name: 'callbacks', stop: () => app.close(), timeoutMs: 1_000 },
  {
    name: 'wallets',
    stop: async () => {
      await Promise.all(
        connectedWallets.flatMap(({ connector, accounts }) => [connector.close(), accounts.close()]),
      );
    },
    timeoutMs: 500,
  },
  { name: 'metrics', stop: () => metricsListener.close(), timeoutMs: 200 },
  { name: 'broker', stop: () => bus.close(), timeoutMs: 500 },
  { name: 'connections to core', stop: () => transport.close(), timeoutMs: 100 },
  tracingPart,
]);

logger.info(
  {
    callbacks: app.listeningOrigin,
    metrics: metricsListener.url,
    wallets: connectedWallets.map(({ name }) => name),
  },
  'ready',
);
