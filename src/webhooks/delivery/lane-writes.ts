import type { Logger } from '../../platform/logger.ts';
import type { Span } from '../../platform/tracing/span.ts';
import type { AttemptReport, LaneKey, OutgoingDelivery } from '../domain/delivery.ts';
import { logAttempt } from './attempt-delivery.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { HeldLane, PostEvent } from './held-lane.ts';
import { laneFields } from './lane-arrays.ts';
import type { Lane, LeaseState } from './lane-machine.ts';
import type { LaneReleaseTerms, Settled, Settlement } from './settle-lanes.ts';
import { settleWithRetries } from './settle-with-retries.ts';
import type { EndedAttempt } from './write-attempts.sql.ts';

/** Counts every attempt whose result was recorded. */
export interface AttemptMetrics {
  readonly attempted: (
    delivery: Pick<OutgoingDelivery, 'environment' | 'body' | 'attemptNumber'>,
    report: Pick<AttemptReport, 'result' | 'durationMs' | 'startedAt'>,
    span: Span | undefined,
  ) => void;
}

/** Writes the outcomes and releases of held lanes. The end of each write is an event of its lane. */
export interface LaneWrites {
  /** `isRelease`: the lane is released in the same transaction. */
  readonly record: (held: HeldLane, attempt: EndedAttempt, isRelease: boolean) => Promise<void>;
  /** `abandonExpired`: deliveries that outlived their schedule are abandoned first. */
  readonly release: (held: HeldLane, abandonExpired: boolean) => Promise<void>;
  /** Whether every write has ended. */
  readonly areDone: () => boolean;
}

export interface LaneWritesParts {
  readonly store: Pick<DeliveryStore, 'settle' | 'abandonExpired' | 'postponeWaiting'>;
  readonly metrics: AttemptMetrics;
  readonly logger: Logger;
  /** Called when a lane may be due. */
  readonly onLanesDue: () => void;
  /** Stops the retries of writes. */
  readonly stopWriteRetries: AbortSignal;
  readonly isStopping: () => boolean;
  readonly post: PostEvent;
}

const expiredPerStatement = 1_000;
const expiredStatements = 20;

export function createLaneWrites(parts: LaneWritesParts): LaneWrites {
  const { store, metrics, logger, onLanesDue, stopWriteRetries, post } = parts;
  /** The number of settlements without a result from the database. */
  let unsettled = 0;

  const settle = async (
    { key: lane, leaseId }: HeldLane,
    what: Pick<Settlement, 'attempt' | 'release'>,
  ): Promise<Settled | undefined> => {
    unsettled += 1;
    const settled = await settleWithRetries(store, { lane, leaseId, ...what }, { logger, stopWriteRetries });
    unsettled -= 1;
    return settled;
  };

  const afterRelease = async ({ key: lane }: HeldLane, settled: Settled | undefined): Promise<void> => {
    if (settled?.isHeld !== true) return;
    unsettled += 1;
    if (settled.areHeadsHidden) await postponeAll(lane, parts);
    unsettled -= 1;
    if (settled.isDue) onLanesDue();
  };

  return {
    async record(held, attempt, isRelease) {
      const release = isRelease ? { release: releaseOf(held.state) } : {};
      const settled = await settle(held, { attempt, ...release });
      const isRecorded = settled !== undefined && (settled.isHeld || settled.isWritten);
      logAttempt(logger, attempt, isRecorded);
      if (isRecorded) metrics.attempted(attempt.delivery, attempt.report, attempt.span);
      const deliveryId = attempt.delivery.id;
      post(held, { type: 'recorded', deliveryId, lease: isRelease ? 'over' : leaseAfter(settled) });
      await afterRelease(held, settled);
    },
    async release(held, abandonExpired) {
      if (abandonExpired) await abandonOutlived(held, parts);
      const settled = await settle(held, { release: releaseOf(held.state) });
      post(held, { type: 'released' });
      await afterRelease(held, settled);
    },
    areDone: () => unsettled === 0,
  };
}

async function abandonOutlived(
  { key: lane, leaseId }: HeldLane,
  { store, logger, isStopping }: LaneWritesParts,
): Promise<void> {
  try {
    for (let round = 0; round < expiredStatements && !isStopping(); round += 1) {
      const count = await store.abandonExpired({ lane, leaseId }, expiredPerStatement);
      if (count > 0)
        logger.warn(
          { ...laneFields(lane), count },
          'webhooks abandoned: their endpoint failed until their schedule ended; when it works, run gatehouse webhook redeliver <merchant_id> --since 7d --environment <environment>',
        );
      if (count < expiredPerStatement) return;
    }
  } catch (error) {
    logger.warn(
      { err: error, ...laneFields(lane) },
      'expired webhooks could not be abandoned; trying again at the next probe of the endpoint',
    );
  }
}

/** Without it, the next release of the lane tries again. */
async function postponeAll(lane: LaneKey, { store, logger, isStopping }: LaneWritesParts): Promise<void> {
  try {
    for (let count = 1; count > 0 && !isStopping();) count = await store.postponeWaiting(lane);
  } catch (error) {
    logger.warn(
      { err: error, ...laneFields(lane) },
      'webhooks that wait for earlier ones of their orders could not be postponed; trying again',
    );
  }
}

const releaseOf = ({ releaseDelayMs: delayMs, awaitsSecret }: Lane): LaneReleaseTerms => ({
  delayMs,
  awaitsSecret,
});

/** After a failed write, the lease is not extended. It expires, and the delivery is sent again. */
const leaseAfter = (settled: Settled | undefined): LeaseState => {
  if (settled?.isHeld !== true) return 'over';
  return settled.isPaused ? 'paused' : 'held';
};
