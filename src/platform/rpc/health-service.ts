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

/** The interval at which a watcher's status is checked. */
const watchIntervalMs = 1000;

/**
 * grpc.health.v1 for the whole process (service name "") and each of its services. It is our own so that one implementation
 * serves gRPC and Connect. It needs no token, because probes have none.
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
          // A watcher must not delay the stop of a process, and reconnects to another. A process that recovers keeps its watchers.
          if (isDraining()) throw rpcError('SERVER_DRAINING', 'this server is stopping');
          last = now;
          await pause(watchIntervalMs, context.signal);
        }
      },
    },
    { check: 'anyone', list: 'anyone', watch: 'anyone' },
  );
}
