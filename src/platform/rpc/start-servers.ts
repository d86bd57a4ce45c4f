import { startConnectServer } from './connect-server.ts';
import type { ConnectServerOptions } from './connect-server.ts';
import { maxMessageBytes } from './call-limits.ts';
import { startGrpcServer } from './grpc-server.ts';
import { createGuard } from './guard.ts';
import type { GuardOptions } from './guard.ts';
import { healthService } from './health-service.ts';
import { createIsKnownCaller, createMaxBytesOfCaller } from './known-caller.ts';
import { reflectionServices } from './reflection-service.ts';
import type { ServerTls } from '../tls/server-tls.ts';
import type { RpcService } from './rpc-service.ts';

export interface RpcServersOptions
  extends GuardOptions, Required<Pick<ConnectServerOptions, 'host' | 'pages'>> {
  /** 0 selects any free port. */
  readonly ports: { readonly grpc: number; readonly connect: number };
  /** The services of the process, in addition to health and reflection. */
  readonly services: readonly RpcService[];
  /** The largest message that a role may send, in bytes; undefined for the largest of all. By default, no role has its own. */
  readonly maxMessageBytesOf?: (role: string) => number | undefined;
  /** Aborts when the process begins to stop. From then on its health is NOT_SERVING. */
  readonly draining: AbortSignal;
  /** Undefined to serve without TLS. */
  readonly tls?: ServerTls | undefined;
  /** Whether the process can serve requests. While it cannot, its health is NOT_SERVING. */
  readonly isServing: () => boolean;
}

export interface RpcServers {
  /** The addresses of the listeners, as host:port. */
  readonly addresses: { readonly grpc: string; readonly connect: string };
  /** Accepts no new calls, waits for running ones, and aborts them after `timeoutMs`. */
  readonly stop: (timeoutMs: number) => Promise<void>;
}

/**
 * Serves the same services over gRPC and Connect, every method guarded.
 * @throws when a port is not available.
 */
export async function startRpcServers(options: RpcServersOptions): Promise<RpcServers> {
  const { host, ports, services, pages, draining, tls, isServing, logger } = options;
  const descriptions = services.map(({ spec }) => spec.service);
  const health = healthService(
    descriptions.map(({ typeName }) => typeName),
    { isServing: () => !draining.aborted && isServing(), isDraining: () => draining.aborted },
  );
  const all = [...services, health, ...reflectionServices(descriptions)];
  const served = {
    host,
    services: all.map(createGuard({ ...options, peers: tls?.peers })),
    isKnownCaller: createIsKnownCaller(options.tokens, tls?.peers),
    maxBytesOf: createMaxBytesOfCaller(
      options.tokens,
      tls?.peers,
      (role) => options.maxMessageBytesOf?.(role) ?? maxMessageBytes,
    ),
    tls,
    logger,
  };
  const open = new Set(all.flatMap(openPathsOf));
  const grpc = await startGrpcServer({ ...served, port: ports.grpc, isOpen: (path) => open.has(path) });
  const connect = await startConnectServer({ ...served, port: ports.connect, pages });
  return {
    addresses: { grpc: grpc.address, connect: connect.address },
    stop: async (timeoutMs) => {
      await Promise.all([grpc.stop(timeoutMs), connect.stop(timeoutMs)]);
    },
  };
}

/** The paths of the methods that anyone may call. */
const openPathsOf = ({ spec, access }: RpcService): string[] =>
  Object.entries(spec.methods)
    .filter(([name]) => access.get(name) === 'anyone')
    .map(([, { method }]) => `/${method.parent.typeName}/${method.name}`);
