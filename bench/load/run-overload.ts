import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { WrkResult, captureWrk, readResult } from './run-wrk.ts';
import type { WrkRun } from './run-wrk.ts';

const StatusCounts = Type.Object({
  status: Type.Number(),
  count: Type.Number(),
  without_retry_after: Type.Number(),
  p50_ms: Type.Number(),
  p99_ms: Type.Number(),
  p999_ms: Type.Number(),
});
/** The requests with a status, and the time until their answers. */
export type StatusCounts = Static<typeof StatusCounts>;

export interface OverloadRun extends WrkRun {
  /** How long a client waits between an answer and its next request, on average. */
  readonly thinkMs: number;
}

export interface OverloadResult {
  readonly seconds: number;
  readonly statuses: readonly StatusCounts[];
  /** Requests without an answer: connections that were refused or broken, and requests that waited for ten seconds. */
  readonly broken: number;
}

export interface SteadyRun extends WrkRun {
  /** Requests a second, which arrive at random moments. */
  readonly perSecond: number;
}

/** Sends requests at a rate, whatever their answers take. Times begin when a request is due. @throws when wrk fails */
export async function runSteadily(options: SteadyRun): Promise<OverloadResult> {
  const threads = Math.min(2, options.connections);
  return resultOf(
    await captureWrk('steady.lua', options, { PER_SECOND: String(options.perSecond / threads) }),
  );
}

/** Loads a URL with wrk from thousands of clients. @throws when wrk fails */
export async function runOverload(options: OverloadRun): Promise<OverloadResult> {
  return resultOf(await captureWrk('overload.lua', options, { THINK_MS: String(options.thinkMs) }));
}

function resultOf({ output }: { readonly output: string }): OverloadResult {
  const { seconds, broken } = readResult(WrkResult, 'RESULT', output);
  const statuses = readResult(Type.Array(StatusCounts), 'STATUSES', output);
  return { seconds, statuses: statuses.toSorted((a, b) => a.status - b.status), broken };
}
