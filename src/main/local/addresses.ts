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

function reachableHost(host: string): string {
  if (host === '0.0.0.0') return loopback;
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

type PortName = Exclude<keyof Addresses['ports'], 'metrics'>;

const portSettings = {
  restProduction: 'GATEHOUSE_REST_PRODUCTION_PORT',
  restSandbox: 'GATEHOUSE_REST_SANDBOX_PORT',
  checkout: 'GATEHOUSE_CHECKOUT_PORT',
  dashboard: 'GATEHOUSE_DASHBOARD_PORT',
  walletCallback: 'GATEHOUSE_WALLET_CALLBACK_PORT',
  simulator: 'GATEHOUSE_SIMULATOR_PORT',
  coreGrpc: 'GATEHOUSE_CORE_GRPC_PORT',
  coreConnect: 'GATEHOUSE_CORE_CONNECT_PORT',
  webhooksGrpc: 'GATEHOUSE_WEBHOOKS_GRPC_PORT',
  webhooksConnect: 'GATEHOUSE_WEBHOOKS_CONNECT_PORT',
  postgres: 'GATEHOUSE_POSTGRES_PORT',
  nats: 'GATEHOUSE_NATS_PORT',
} as const satisfies Record<PortName, keyof LocalSettings>;
const portNames = Object.keys(portSettings) as PortName[];

interface WantedPort {
  readonly setting: string;
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

/** PostgreSQL and NATS have loopback ports, which are unused if the server runs elsewhere. */
function wantedPort(name: PortName, config: LocalSettings): WantedPort {
  const setting = portSettings[name];
  const elsewhere = { postgres: config.GATEHOUSE_DATABASE_URL, nats: config.GATEHOUSE_NATS_URL };
  if (name !== 'postgres' && name !== 'nats')
    return { setting, host: config.GATEHOUSE_HOST, port: config[setting] };
  return { setting, host: loopback, port: elsewhere[name] === undefined ? config[setting] : 0 };
}

/** Consecutive ports from the configured one, or any free ones. */
function wantedMetricsPorts(config: LocalSettings): WantedPort[] {
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
  const wantedMetrics = wantedMetricsPorts(config);
  const chosen = await choosePorts([...portNames.map((name) => wantedPort(name, config)), ...wantedMetrics]);
  const metricsPorts = chosen.slice(portNames.length);
  return addressesAt(config, {
    ...byName(portNames, chosen),
    metrics: wantedMetrics.length === 0 ? undefined : byName(withMetrics, metricsPorts),
  });
}

const byName = <Name extends string>(names: readonly Name[], ports: readonly number[]) =>
  Object.fromEntries(names.map((name, index) => [name, ports[index] ?? 0])) as Record<Name, number>;

function addressesAt(config: LocalSettings, ports: Addresses['ports']): Addresses {
  const host = reachableHost(config.GATEHOUSE_HOST);
  const metricsHost = reachableHost(config.GATEHOUSE_METRICS_HOST);
  const urlOf = (port: number): string => `http://${host}:${port}`;
  return {
    ports,
    grpc: `${host}:${ports.coreGrpc}`,
    connect: urlOf(ports.coreConnect),
    webhooks: { grpc: `${host}:${ports.webhooksGrpc}`, connect: urlOf(ports.webhooksConnect) },
    rest: { production: urlOf(ports.restProduction), sandbox: urlOf(ports.restSandbox) },
    checkout: urlOf(ports.checkout),
    dashboard: urlOf(ports.dashboard),
    walletCallback: urlOf(ports.walletCallback),
    simulator: urlOf(ports.simulator),
    metrics: {
      core: `${urlOf(ports.coreConnect)}/metrics`,
      webhooks: `${urlOf(ports.webhooksConnect)}/metrics`,
      ...Object.fromEntries(
        Object.entries(ports.metrics ?? {}).map(([name, port]) => [
          name,
          `http://${metricsHost}:${port}/metrics`,
        ]),
      ),
    },
  };
}
