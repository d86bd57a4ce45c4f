import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { DiagnosticsService } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import { rpcService } from '../../contract/rpc-service.ts';
import { createBatcher } from '../../platform/batcher.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import { runChecks } from './run-checks.ts';
import type { ChecksParts } from './run-checks.ts';

/** gatehouse.v1.DiagnosticsService. */
export function diagnosticsService(instance: string, parts: ChecksParts): RpcService {
  // A run uses a dozen connections and opens one more. So a call during a run shares the next one with all others.
  const sharedDiagnosis = createBatcher({
    name: 'run the checks',
    run: async (calls: readonly unknown[]) => {
      const diagnosis = {
        instance,
        checks: await runChecks(parts),
        coreTime: timestampFromDate(parts.now()),
      };
      return calls.map(() => diagnosis);
    },
    maxItems: 1_000,
    maxInFlight: 1,
    maxWaiting: 1_000,
  });
  return rpcService(
    DiagnosticsService,
    { diagnose: (request, { signal }) => sharedDiagnosis(request, signal) },
    { diagnose: ['dashboard', 'operator', 'reader', 'webhooks'] },
  );
}
