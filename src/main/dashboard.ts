/** The dashboard: the pages for merchants and operators. It is a client of core and of the webhooks process. */
import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { buildDashboard } from '../dashboard/app.ts';
import { createDashboardClients } from '../dashboard/clients.ts';
import { createMailer } from '../dashboard/mail/mailer.ts';
import { sendAccountMails } from '../dashboard/mail/send-account-mails.ts';
import { readDashboardSettings } from '../dashboard/settings.ts';
import { createHttpMetrics } from '../platform/http/http-metrics.ts';
import { startMetricsListener } from '../platform/http/metrics-listener.ts';
import { createMetrics } from '../platform/metrics.ts';
import { addTlsMetrics } from '../platform/tls/tls-metrics.ts';
import { createDraining } from '../platform/http/draining.ts';
import { stopOnSignal } from '../platform/lifecycle.ts';
import { repeatEvery } from '../platform/repeat-every.ts';
import { createGrpcTransport } from '../contract/grpc-transport.ts';
import { openTls } from './open-tls.ts';
import { readSettingsOrExit } from './read-settings.ts';
import { startLogging } from './start-logging.ts';
import { startTracing } from './start-tracing.ts';

const minutes = 60_000;
/** The longest wait of a user for a mail that an operator requested. */
const accountMailsEveryMs = 2_000;
/** A session lasts a working day at most, and survives an hour without use. */
const sessionLimits = { idleMs: 60 * minutes, absoluteMs: 12 * 60 * minutes, codeMs: 10 * minutes };

const config = readSettingsOrExit(readDashboardSettings);
const { instance, logger } = startLogging('dashboard', config);
const { tracing, part: tracingPart } = await startTracing('dashboard', config, { instance, logger });
const tls = openTls(
  config,
  [...config.GATEHOUSE_CORE_ADDRESSES, ...config.GATEHOUSE_WEBHOOKS_ADDRESSES],
  logger,
);
const token = config.GATEHOUSE_SERVICE_TOKEN;
const core = createGrpcTransport({ addresses: config.GATEHOUSE_CORE_ADDRESSES, token, tls });
const webhooks = createGrpcTransport({ addresses: config.GATEHOUSE_WEBHOOKS_ADDRESSES, token, tls });
const { GATEHOUSE_SMTP_URL: smtpUrl, GATEHOUSE_MAIL_FROM: mailFrom } = config;
const mailer =
  smtpUrl === undefined || mailFrom === undefined ? undefined : createMailer(smtpUrl, mailFrom, logger);
const clients = createDashboardClients(core, webhooks);
const metrics = createMetrics({ logger, nowMs: () => performance.now(), tracing });
addTlsMetrics(metrics, tls);
const metricsListener = await startMetricsListener({
  metrics,
  host: config.GATEHOUSE_METRICS_HOST,
  port: config.GATEHOUSE_METRICS_PORT,
  logger,
  newRequestId: () => uuidv7(),
});
const draining = createDraining();
const dashboard = await buildDashboard({
  clients,
  baseUrl: config.GATEHOUSE_DASHBOARD_BASE_URL,
  trustedProxies: config.GATEHOUSE_TRUSTED_PROXIES ?? [],
  tracing,
  restUrls: {
    sandbox: config.GATEHOUSE_REST_SANDBOX_URL,
    production: config.GATEHOUSE_REST_PRODUCTION_URL,
  },
  mailer,
  timeZone: config.GATEHOUSE_TIME_ZONE,
  sessionLimits,
  logger,
  measureRequests: createHttpMetrics(metrics)('dashboard'),
  draining: draining.signal,
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  randomBytes,
  newRequestId: () => uuidv7(),
});

const stopping = new AbortController();
/** Filled once the dashboard listens, because links in mails need its address. */
const mailing: Promise<void>[] = [];

stopOnSignal(logger, [
  { name: 'certificates', timeoutMs: 100, stop: () => tls?.stop() },
  draining.part,
  { name: 'listener', timeoutMs: 5_500, stop: () => dashboard.close() },
  {
    name: 'mails',
    timeoutMs: 2_500,
    stop: async () => {
      stopping.abort();
      await Promise.all(mailing);
      await mailer?.close();
    },
  },
  { name: 'metrics', timeoutMs: 200, stop: () => metricsListener.close() },
  {
    name: 'connections to core and webhooks',
    timeoutMs: 100,
    stop: () => {
      core.close();
      webhooks.close();
    },
  },
  tracingPart,
]);

await dashboard.listen({ host: config.GATEHOUSE_HOST, port: config.GATEHOUSE_DASHBOARD_PORT });
if (mailer !== undefined) {
  const parts = {
    accounts: clients.accounts,
    mailer,
    baseUrl: () => config.GATEHOUSE_DASHBOARD_BASE_URL ?? dashboard.listeningOrigin,
    timeZone: config.GATEHOUSE_TIME_ZONE,
    newRequestId: () => uuidv7(),
  };
  mailing.push(
    repeatEvery(
      { task: 'mailing users', intervalMs: accountMailsEveryMs, logger, stop: stopping.signal },
      () => sendAccountMails(parts),
    ),
  );
}
logger.info({ dashboard: dashboard.listeningOrigin, metrics: metricsListener.url }, 'ready');
