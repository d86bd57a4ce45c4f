import { durationFromMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Client } from '@connectrpc/connect';
import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import { WalletBreakerState, WalletHealth } from '../gen/gatehouse/v1/wallet_status_service_pb.js';
import type { WalletStatusService } from '../gen/gatehouse/v1/wallet_status_service_pb.js';
import type { Logger } from '../platform/logger.ts';
import { repeatEvery } from '../platform/repeat-every.ts';
import type { Health } from './connector/outcomes.ts';
import type { WalletBreaker } from './wallet-breaker.ts';
import { meterWindowMs } from './wallet-meter.ts';
import type { WalletMeter } from './wallet-meter.ts';
import { reportedKinds } from './work-kind.ts';
import type { WorkKind } from './work-kind.ts';

/** A wallet that this process is connected to. */
export interface ReportedWallet {
  /** The wallet's id. */
  readonly wallet: string;
  readonly environment: Environment;
  readonly meter: WalletMeter;
  readonly breaker: WalletBreaker;
  readonly workKinds: readonly WorkKind[];
  /** The number of items of each kind of work that may run concurrently. */
  readonly maxInFlight: number;
  /** Checks the wallet's health, within a short time. Never rejects. */
  readonly ask: () => Promise<Health>;
}

export interface ReportStatusParts {
  readonly statuses: Client<typeof WalletStatusService>;
  readonly instance: string;
  readonly wallets: readonly ReportedWallet[];
  readonly now: () => Date;
  readonly logger: Logger;
}

const intervalMs = 5_000;
const deadlineMs = 4_000;

/** Reports the wallets' status to core every few seconds, until `stop` aborts. */
export function reportWalletStatus(parts: ReportStatusParts, stop: AbortSignal): Promise<void> {
  const { statuses, instance, wallets, now, logger } = parts;
  return repeatEvery({ task: 'reporting the status of the wallets', intervalMs, logger, stop }, async () => {
    const window = durationFromMs(meterWindowMs);
    const states = await Promise.all(wallets.map(statusOfWallet));
    const clockTime = timestampFromDate(now());
    const seen = states.map((state) => ({ ...state, clockTime }));
    if (!stop.aborted)
      await statuses.reportWalletStatus(
        { instance, window, wallets: seen },
        { timeoutMs: deadlineMs, signal: stop },
      );
  });
}

async function statusOfWallet(reported: ReportedWallet) {
  const { wallet, environment, meter, breaker, workKinds, maxInFlight, ask } = reported;
  const health = await ask();
  const { calls, failures, p50Ms, p99Ms } = meter.read();
  const work = workKinds.map((kind) => ({
    kind: reportedKinds[kind],
    inFlight: meter.inFlight(kind),
    maxInFlight,
  }));
  return {
    wallet,
    environment,
    health: healths[health.kind],
    healthDetail: 'detail' in health ? health.detail : '',
    breaker: breakerStates[breaker.allows()],
    calls,
    failures,
    ...(p50Ms === undefined ? {} : { latencyP50: durationFromMs(p50Ms) }),
    ...(p99Ms === undefined ? {} : { latencyP99: durationFromMs(p99Ms) }),
    work,
    credentialsRefused: meter.areCredentialsRefused(),
    // For a core or dashboard of an earlier version.
    inFlight: work.reduce((sum, { inFlight }) => sum + inFlight, 0),
    places: workKinds.length * maxInFlight,
  };
}

const healths = {
  available: WalletHealth.UP,
  degraded: WalletHealth.DEGRADED,
  unavailable: WalletHealth.DOWN,
  unreported: WalletHealth.UNTOLD,
} as const satisfies Record<Health['kind'], WalletHealth>;

const breakerStates = {
  all: WalletBreakerState.CLOSED,
  one: WalletBreakerState.TRYING,
  nothing: WalletBreakerState.OPEN,
} as const satisfies Record<ReturnType<WalletBreaker['allows']>, WalletBreakerState>;
