import type { LocalSettings } from './settings.ts';
import { choosePorts } from './free-port.ts';

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
}

/** PostgreSQL and NATS are reachable only from this machine, whatever GATEHOUSE_HOST is. */
const loopback = '127.0.0.1';

function reachable(host: string): string {
  if (host === '0.0.0.0') return loopback;
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * Checks that every configured port is free, and replaces 0 by free ports. A server that runs elsewhere also gets a
 * port here, which stays unused.
 * @throws StartError
 */
export async function chooseAddresses(config: LocalSettings): Promise<Addresses> {
  const ask = (setting: keyof LocalSettings & `${string}_PORT`, host: string, isUsed = true) => ({
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
  ]);
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
    },
    grpc: `${host}:${coreGrpc}`,
    connect: `http://${host}:${coreConnect}`,
    webhooks: { grpc: `${host}:${webhooksGrpc}`, connect: `http://${host}:${webhooksConnect}` },
    rest: { production: `http://${host}:${restProduction}`, sandbox: `http://${host}:${restSandbox}` },
    checkout: `http://${host}:${checkout}`,
    dashboard: `http://${host}:${dashboard}`,
    walletCallback: `http://${host}:${walletCallback}`,
    simulator: `http://${host}:${simulator}`,
  };
}
