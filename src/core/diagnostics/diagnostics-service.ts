import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { DiagnosticsService } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import { rpcService } from '../../contract/rpc-service.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import { runChecks } from './run-checks.ts';
import type { ChecksParts } from './run-checks.ts';

/** gatehouse.v1.DiagnosticsService. */
export function diagnosticsService(instance: string, parts: ChecksParts): RpcService {
  return rpcService(
    DiagnosticsService,
    {
      async diagnose() {
        const checks = await runChecks(parts);
        return {
          instance,
          coreTime: timestampFromDate(parts.now()),
          checks,
        };
      },
    },
    { diagnose: ['dashboard', 'operator', 'reader', 'webhooks'] },
  );
}
