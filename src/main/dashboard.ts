/** The dashboard: the pages on which merchants and operators work, in front of the cores and of what sends webhooks. */
import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { buildDashboard } from '../dashboard/app.ts';
import { createDashboardClients } from '../dashboard/clients.ts';
import { createMailer } from '../dashboard/mail/mailer.ts';
import { readDashboardConfig } from '../runtime/config.ts';
import { createDraining } from '../runtime/http/draining.ts';
import { stopOnSignal } from '../runtime/lifecycle.ts';
import { createGrpcTransport } from '../runtime/rpc/grpc-transport.ts';
import { readConfigOrExit } from './read-config.ts';
import { startLogging } from './start-logging.ts';

const minutes = 60_000;
/** A working day at most, and an hour's break. */
const sessionLimits = { idleMs: 60 * minutes, absoluteMs: 12 * 60 * minutes, codeMs: 10 * minutes };

const config = readConfigOrExit(readDashboardConfig);
const { logger } = startLogging('dashboard', config);
const token = config.GATEHOUSE_SERVICE_TOKEN;
const core = createGrpcTransport({ addresses: config.GATEHOUSE_CORE_ADDRESSES, token });
const webhooks = createGrpcTransport({ addresses: config.GATEHOUSE_WEBHOOKS_ADDRESSES, token });
const { GATEHOUSE_SMTP_URL: smtpUrl, GATEHOUSE_MAIL_FROM: mailFrom } = config;
const mailer =
  smtpUrl === undefined || mailFrom === undefined ? undefined : createMailer(smtpUrl, mailFrom, logger);
const draining = createDraining();
const dashboard = await buildDashboard({
  clients: createDashboardClients(core, webhooks),
  baseUrl: config.GATEHOUSE_DASHBOARD_BASE_URL,
  trustedProxies: config.GATEHOUSE_TRUSTED_PROXIES ?? [],
  restUrls: {
    sandbox: config.GATEHOUSE_REST_SANDBOX_URL,
    production: config.GATEHOUSE_REST_PRODUCTION_URL,
  },
  mailer,
  timeZone: config.GATEHOUSE_TIME_ZONE,
  sessionLimits,
  logger,
  draining: draining.signal,
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  randomBytes,
  newRequestId: () => uuidv7(),
});

stopOnSignal(logger, [
  draining.part,
  { name: 'listener', timeoutMs: 6_000, stop: () => dashboard.close() },
  { name: 'mails', timeoutMs: 2_500, stop: async () => mailer?.close() },
  {
    name: 'connections to core and webhooks',
    timeoutMs: 100,
    stop: () => {
      core.close();
      webhooks.close();
    },
  },
]);

await dashboard.listen({ host: config.GATEHOUSE_HOST, port: config.GATEHOUSE_DASHBOARD_PORT });
logger.info({ dashboard: dashboard.listeningOrigin }, 'ready');
