import { perRequest, withCpu } from '../contender.ts';
import type { Contender } from '../contender.ts';
import { runRpc } from '../load/run-rpc.ts';
import type { RpcMethod, RpcRun } from '../load/run-rpc.ts';
import { processesOf } from './rest.ts';
import type { UnderLoad } from './rest.ts';

const clientNames = { grpc: 'grpc-js', connect: 'Connect' } as const;

/** Core's OrderService called directly; "connections" are calls in flight on one connection. */
export function rpcContender(protocol: RpcRun['protocol'], method: RpcMethod, under: UnderLoad): Contender {
  const { gatehouse, merchant, nextRun } = under;
  const { facade: _facade, ...groups } = processesOf(under);
  return {
    name: `${clientNames[protocol]} ${method}`,
    run: async (connections, seconds) => {
      const { result, cpuSeconds } = await withCpu(groups, async () => {
        const ran = await runRpc({
          protocol,
          method,
          address: protocol === 'grpc' ? (gatehouse.coreAddresses[0] ?? '') : gatehouse.connectUrl,
          token: gatehouse.tokens.operator,
          merchantId: merchant.id,
          run: nextRun(),
          seeded: gatehouse.seeded,
          inFlight: connections,
          seconds,
        });
        await gatehouse.settle();
        return ran;
      });
      return {
        perSecond: result.requests / result.seconds,
        p50_ms: result.p50_ms,
        p99_ms: result.p99_ms,
        failed: result.failed,
        cpu_us: {
          ...perRequest(cpuSeconds, result.requests + result.warmUpRequests),
          ...perRequest({ generator: result.cpuSeconds }, result.requests),
        },
      };
    },
  };
}
