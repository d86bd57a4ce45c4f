import type { LocalSettings } from './settings.ts';
import { choosePorts } from './free-port.ts';

/** The processes that have a port of their own for metrics, in the order of their ports. */
const withMetrics = ['rest-facade', 'checkout', 'dashboard', 'wallets'] as const;
export type ProcessWithMetrics = (typeof withMetrics)[number];

/** The addresses of all listeners on this machine, and how clients reach them. */
export interface Addresses {
  readonly ports: {
    readonly restProduction: number;
    readonly restSandbox: number;
    readonly checkout: number;
    readonly dashboard: number;
    readonly walletCallback: number;
    readonly simulator: number;
    readonly coreGrpc: number;
    readonly coreConnect: number;
    readonly webhooksGrpc: number;
    readonly webhooksConnect: number;
    readonly postgres: number;
    readonly nats: number;
    /** The ports of metrics; undefined while they are closed. */
    readonly metrics: Readonly<Record<ProcessWithMetrics, number>> | undefined;
  };
  /** host:port */
  readonly grpc: string;
  readonly connect: string;
  /** The webhooks process for its clients: gRPC as host:port, Connect as a URL. */
  readonly webhooks: { readonly grpc: string; readonly connect: string };
  readonly rest: { readonly production: string; readonly sandbox: string };
  readonly checkout: string;
  readonly dashboard: string;
  /** The address for callbacks of wallets. */
  readonly walletCallback: string;
  readonly simulator: string;
  /** The URL of each process's metrics. */
  readonly metrics: Readonly<Record<string, string>>;
}

/** PostgreSQL and NATS are reachable only from this machine, whatever GATEHOUSE_HOST is. */
const loopback = '127.0.0.1';

function reachable(host: string): string {
  if (host === '0.0.0.0') return loopback;
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** Consecutive ports from the configured one, or any free ones. */
function askForMetrics(config: LocalSettings): { setting: string; host: string; port: number }[] {
  const { GATEHOUSE_METRICS_HOST: host, GATEHOUSE_METRICS_PORT: first } = config;
  if (first === undefined) return [];
  return withMetrics.map((name, index) => ({
    setting: `GATEHOUSE_METRICS_PORT of ${name}`,
    host,
    port: first === 0 ? 0 : first + index,
  }));
}

/**
 * Checks that every configured port is free, and replaces 0 by free ports. A server that runs elsewhere also gets a
 * port here, which stays unused.
 * @throws StartError
 */
export async function chooseAddresses(config: LocalSettings): Promise<Addresses> {
  const ask = (
    setting: Exclude<keyof LocalSettings & `${string}_PORT`, 'GATEHOUSE_METRICS_PORT'>,
    host: string,
    isUsed = true,
  ) => ({
    setting,
    host,
    port: isUsed ? config[setting] : 0,
  });
  const [
    restProduction = 0,
    restSandbox = 0,
    checkout = 0,
    dashboard = 0,
    walletCallback = 0,
    simulator = 0,
    coreGrpc = 0,
    coreConnect = 0,
    webhooksGrpc = 0,
    webhooksConnect = 0,
    postgres = 0,
    nats = 0,
    ...metricsPorts
  ] = await choosePorts([
    ask('GATEHOUSE_REST_PRODUCTION_PORT', config.GATEHOUSE_HOST),
    ask('GATEHOUSE_REST_SANDBOX_PORT', config.GATEHOUSE_HOST),
    ask('GATEHOUSE_CHECKOUT_PORT', config.GATEHOUSE_HOST),
    ask('GATEHOUSE_DASHBOARD_PORT', config.GATEHOUSE_HOST),
    ask('GATEHOUSE_WALLET_CALLBACK_PORT', config.GATEHOUSE_HOST),
    ask('GATEHOUSE_SIMULATOR_PORT', config.GATEHOUSE_HOST),
    ask('GATEHOUSE_CORE_GRPC_PORT', config.GATEHOUSE_HOST),
    ask('GATEHOUSE_CORE_CONNECT_PORT', config.GATEHOUSE_HOST),
    ask('GATEHOUSE_WEBHOOKS_GRPC_PORT', config.GATEHOUSE_HOST),
    ask('GATEHOUSE_WEBHOOKS_CONNECT_PORT', config.GATEHOUSE_HOST),
    ask('GATEHOUSE_POSTGRES_PORT', loopback, config.GATEHOUSE_DATABASE_URL === undefined),
    ask('GATEHOUSE_NATS_PORT', loopback, config.GATEHOUSE_NATS_URL === undefined),
    ...askForMetrics(config),
  ]);
  const [restFacadeMetrics = 0, checkoutMetrics = 0, dashboardMetrics = 0, walletsMetrics = 0] = metricsPorts;
  const metrics =
    metricsPorts.length === 0
      ? undefined
      : {
          'rest-facade': restFacadeMetrics,
          checkout: checkoutMetrics,
          dashboard: dashboardMetrics,
          wallets: walletsMetrics,
        };
  const metricsHost = reachable(config.GATEHOUSE_METRICS_HOST);
  const host = reachable(config.GATEHOUSE_HOST);
  return {
    ports: {
      restProduction,
      restSandbox,
      checkout,
      dashboard,
      walletCallback,
      simulator,
      coreGrpc,
      coreConnect,
      webhooksGrpc,
      webhooksConnect,
      postgres,
      nats,
      metrics,
    },
    grpc: `${host}:${coreGrpc}`,
    connect: `http://${host}:${coreConnect}`,
    webhooks: { grpc: `${host}:${webhooksGrpc}`, connect: `http://${host}:${webhooksConnect}` },
    rest: { production: `http://${host}:${restProduction}`, sandbox: `http://${host}:${restSandbox}` },
    checkout: `http://${host}:${checkout}`,
    dashboard: `http://${host}:${dashboard}`,
    walletCallback: `http://${host}:${walletCallback}`,
    simulator: `http://${host}:${simulator}`,
    metrics: {
      core: `http://${host}:${coreConnect}/metrics`,
      webhooks: `http://${host}:${webhooksConnect}/metrics`,
      ...Object.fromEntries(
        Object.entries(metrics ?? {}).map(([name, port]) => [name, `http://${metricsHost}:${port}/metrics`]),
      ),
    },
  };
}
