import type { Answer } from './connector/raw-exchange.ts';
import type { WalletConnector } from './connector/wallet-connector.ts';
import type { WalletBreaker } from './wallet-breaker.ts';
import { refusesCredentials } from './wallet-calls.ts';
import type { WorkKind } from './work-kind.ts';

/** A wallet's figures within the window. */
export interface WalletReading {
  readonly calls: number;
  readonly failures: number;
  /** Milliseconds; undefined when there was no answer. */
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
}

export interface WalletMeter {
  /** The same connector, with its calls counted. */
  readonly measured: (connector: WalletConnector) => WalletConnector;
  /** The same breaker, with the items that it runs counted under this kind of work. */
  readonly counted: (kind: WorkKind, breaker: WalletBreaker) => WalletBreaker;
  /** The number of items of this kind of work that run now. */
  readonly inFlight: (kind: WorkKind) => number;
  readonly read: () => WalletReading;
  /** Whether the latest call that shows it was refused because of the credentials. */
  readonly areCredentialsRefused: () => boolean;
}

/** The length of the window. */
export const meterWindowMs = 5 * 60_000;
/** The limit for a very busy wallet. The latest calls are representative. */
const maxCalls = 5_000;

interface Call {
  readonly atMs: number;
  readonly isFailure: boolean;
  /** Undefined without an answer. */
  readonly latencyMs: number | undefined;
}

/** Whether the wallet answered a call in a way that needs valid credentials. */
const isUnderstood = ({ result, exchanges }: Answer<{ readonly kind: string }>): boolean =>
  exchanges.length > 0 && result.kind !== 'unknown' && result.kind !== 'not_sent';

/** A call to the wallet that is over. */
export interface MeasuredCall {
  /** Whether there was no answer, or one with a status of 500 or more. */
  readonly isFailure: boolean;
  readonly durationMs: number;
}

/**
 * Counts the calls to one wallet with the operator's account, except heartbeats, statements and callbacks. Calls with merchants' own
 * accounts are not counted, because their failures may be the fault of these accounts. `nowMs` is a monotonic clock, in milliseconds.
 */
export function createWalletMeter(
  nowMs: () => number,
  onCall: (call: MeasuredCall) => void = () => undefined,
  /** Is called at each answer that refuses the credentials. `detail` describes the answer. */
  onRefused: (detail: string) => void = () => undefined,
): WalletMeter {
  const calls: Call[] = [];
  let areCredentialsRefused = false;
  const inFlight: Record<WorkKind, number> = { payments: 0, reversals: 0, payer_payments: 0 };

  const forget = (): void => {
    const since = nowMs() - meterWindowMs;
    const fresh = calls.findIndex(({ atMs }) => atMs >= since);
    calls.splice(0, Math.max(fresh === -1 ? calls.length : fresh, calls.length - maxCalls));
  };
  const measure = async <T extends { readonly kind: string; readonly detail?: string }>(
    call: Promise<Answer<T>>,
  ): Promise<Answer<T>> => {
    const answer = await call;
    if (refusesCredentials(answer)) {
      areCredentialsRefused = true;
      onRefused(answer.result.detail ?? '');
    } else if (isUnderstood(answer)) areCredentialsRefused = false;
    for (const { status, problem, startedAt, endedAt } of answer.exchanges) {
      const isFailure = problem !== undefined || (status ?? 0) >= 500;
      const durationMs = Math.max(0, endedAt.getTime() - startedAt.getTime());
      calls.push({ atMs: nowMs(), isFailure, latencyMs: status === undefined ? undefined : durationMs });
      onCall({ isFailure, durationMs });
    }
    if (calls.length > 2 * maxCalls) forget();
    return answer;
  };
  const measuredPayerStarted = ({ payerStarted }: WalletConnector): Pick<WalletConnector, 'payerStarted'> =>
    payerStarted === undefined
      ? {}
      : {
          payerStarted: {
            ...payerStarted,
            register: (urls, options) => measure(payerStarted.register(urls, options)),
            confirm: (query, options) => measure(payerStarted.confirm(query, options)),
          },
        };
  return {
    measured: (connector) => ({
      capabilities: connector.capabilities,
      initiate: (request, options) => measure(connector.initiate(request, options)),
      query: (payment, options) => measure(connector.query(payment, options)),
      recover: (requestId, options) => measure(connector.recover(requestId, options)),
      parseCallback: (callback) => connector.parseCallback(callback),
      reverse: (request, options) => measure(connector.reverse(request, options)),
      queryReversal: (reversal, options) => measure(connector.queryReversal(reversal, options)),
      statement: (period, options) => connector.statement(period, options),
      health: (options) => connector.health(options),
      close: () => connector.close(),
      ...measuredPayerStarted(connector),
    }),
    counted: (kind, { allows, watch }) => ({
      allows,
      watch: async (work) => {
        inFlight[kind] += 1;
        try {
          await watch(work);
        } finally {
          inFlight[kind] -= 1;
        }
      },
    }),
    inFlight: (kind) => inFlight[kind],
    areCredentialsRefused: () => areCredentialsRefused,
    read: () => {
      forget();
      const latencies = calls
        .flatMap(({ latencyMs }) => (latencyMs === undefined ? [] : [latencyMs]))
        .sort((a, b) => a - b);
      // The smallest latency that this share of the calls does not exceed.
      const share = (part: number): number | undefined => latencies[Math.ceil(part * latencies.length) - 1];
      const failures = calls.filter(({ isFailure }) => isFailure).length;
      return { calls: calls.length, failures, p50Ms: share(0.5), p99Ms: share(0.99) };
    },
  };
}
