import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { capture } from './capture.ts';
import { readResult } from './run-wrk.ts';

export type RpcMethod = 'register' | 'batch register' | 'get';

export interface RpcRun {
  readonly protocol: 'grpc' | 'connect';
  readonly method: RpcMethod;
  /** host:port for gRPC, an origin for Connect. */
  readonly address: string;
  readonly token: string;
  readonly merchantId: string;
  readonly run: number;
  readonly seeded: number;
  readonly inFlight: number;
  readonly seconds: number;
}

/** Orders in one call of `batch register`. */
const ordersABatch = 50;

const RpcResult = Type.Object({
  /** Orders, not calls. */
  requests: Type.Number(),
  /** Calls before the measurement, so that the generator's own code is compiled. */
  warmUpRequests: Type.Number(),
  seconds: Type.Number(),
  /** Durations of a call. */
  p50_ms: Type.Number(),
  p99_ms: Type.Number(),
  failed: Type.Number(),
  firstError: Type.Optional(Type.String()),
  /** CPU time of the generator itself, for `requests`. */
  cpuSeconds: Type.Number(),
});
export type RpcResult = Static<typeof RpcResult>;

/** Loads core over one connection with a generator in JavaScript. @throws when the generator fails */
export async function runRpc(run: RpcRun): Promise<RpcResult> {
  const output = await capture(process.execPath, [join(import.meta.dirname, 'rpc-generator.ts')], {
    PROTOCOL: run.protocol,
    METHOD: run.method,
    ADDRESS: run.address,
    TOKEN: run.token,
    MERCHANT: run.merchantId,
    RUN: String(run.run),
    SEEDED: String(run.seeded),
    IN_FLIGHT: String(run.inFlight),
    SECONDS: String(run.seconds),
    BATCH: String(ordersABatch),
  });
  const result = readResult(RpcResult, 'RESULT', output);
  if (result.firstError !== undefined) console.log(`the first failed call: ${result.firstError}`);
  return result;
}
