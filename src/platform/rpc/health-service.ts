import { create } from '@bufbuild/protobuf';
import {
  Health,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../gen/health/v1/health_pb.js';
import { pause } from '../pause.ts';
import { rpcError } from './rpc-error.ts';
import { rpcService } from './rpc-service.ts';
import type { RpcService } from './rpc-service.ts';

/** How often a health watcher's answer is looked at again. */
const watchIntervalMs = 1000;

/**
 * grpc.health.v1 for the process as a whole (service name "") and each service it serves. Ours rather than a package's
 * so that the one implementation answers over gRPC and Connect alike. Open to callers without a token: probes have none.
 */
export function healthService(
  serviceNames: readonly string[],
  { isServing, isDraining }: { readonly isServing: () => boolean; readonly isDraining: () => boolean },
): RpcService {
  const known = new Set(['', Health.typeName, ...serviceNames]);
  const status = (): ServingStatus => (isServing() ? ServingStatus.SERVING : ServingStatus.NOT_SERVING);
  return rpcService(
    Health,
    {
      check({ service }) {
        if (!known.has(service)) throw rpcError('SYMBOL_NOT_FOUND', `this process does not serve ${service}`);
        return { status: status() };
      },
      list() {
        const statuses = [...known].map(
          (name) => [name, create(HealthCheckResponseSchema, { status: status() })] as const,
        );
        return { statuses: Object.fromEntries(statuses) };
      },
      async *watch({ service }, context) {
        let last: ServingStatus | undefined;
        while (!context.signal.aborted) {
          const now = known.has(service) ? status() : ServingStatus.SERVICE_UNKNOWN;
          if (now !== last) yield { status: now };
          // A watcher must not keep a process from stopping, and finds another one. One that recovers keeps its watchers.
          if (isDraining()) throw rpcError('SERVER_DRAINING', 'this server is stopping');
          last = now;
          await pause(watchIntervalMs, context.signal);
        }
      },
    },
    { check: 'anyone', list: 'anyone', watch: 'anyone' },
  );
}
