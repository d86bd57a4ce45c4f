import type { Logger } from '../../platform/logger.ts';
import type { Span } from '../../platform/tracing/span.ts';
import type { AttemptReport, LaneKey, OutgoingDelivery } from '../domain/delivery.ts';
import { logAttempt } from './attempt-delivery.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { HeldLane, PostEvent } from './held-lane.ts';
import { laneFields } from './lane-arrays.ts';
import type { Lane, LeaseState } from './lane-machine.ts';
import type { LaneReleaseTerms, LaneWriteResult, LaneWrite } from './write-lanes.ts';
import { writeLaneWithRetries } from './write-lane-with-retries.ts';
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
  /** `abandonExpired`: deliveries whose schedule has ended are abandoned first. */
  readonly release: (held: HeldLane, abandonExpired: boolean) => Promise<void>;
  /** Whether every write has ended. */
  readonly areDone: () => boolean;
}

export interface LaneWritesParts {
  readonly store: Pick<DeliveryStore, 'writeLane' | 'abandonExpired' | 'postponeWaiting'>;
  readonly metrics: AttemptMetrics;
  readonly logger: Logger;
  /** Called when a lane may be due. */
  readonly onLanesDue: () => void;
  readonly stopWriteRetries: AbortSignal;
  readonly isStopping: () => boolean;
  readonly post: PostEvent;
}

const expiredPerStatement = 1_000;
const expiredStatements = 20;

export function createLaneWrites(parts: LaneWritesParts): LaneWrites {
  const { store, metrics, logger, onLanesDue, stopWriteRetries, post } = parts;
  /** The number of writes that have not ended. */
  let openWrites = 0;

  const write = async (
    { key: lane, leaseId }: HeldLane,
    content: Pick<LaneWrite, 'attempt' | 'release'>,
  ): Promise<LaneWriteResult | undefined> => {
    openWrites += 1;
    const result = await writeLaneWithRetries(
      store,
      { lane, leaseId, ...content },
      { logger, stopWriteRetries },
    );
    openWrites -= 1;
    return result;
  };

  const afterRelease = async (
    { key: lane }: HeldLane,
    result: LaneWriteResult | undefined,
  ): Promise<void> => {
    if (result?.isHeld !== true) return;
    openWrites += 1;
    if (result.areHeadsHidden) await postponeAll(lane, parts);
    openWrites -= 1;
    if (result.isDue) onLanesDue();
  };

  return {
    async record(held, attempt, isRelease) {
      const release = isRelease ? { release: releaseOf(held.state) } : {};
      const result = await write(held, { attempt, ...release });
      const isRecorded = result !== undefined && (result.isHeld || result.isWritten);
      logAttempt(logger, attempt, isRecorded);
      if (isRecorded) metrics.attempted(attempt.delivery, attempt.report, attempt.span);
      const deliveryId = attempt.delivery.id;
      post(held, { type: 'recorded', deliveryId, lease: isRelease ? 'over' : leaseAfter(result) });
      await afterRelease(held, result);
    },
    async release(held, abandonExpired) {
      if (abandonExpired) await abandonAllExpired(held, parts);
      const result = await write(held, { release: releaseOf(held.state) });
      post(held, { type: 'released' });
      await afterRelease(held, result);
    },
    areDone: () => openWrites === 0,
  };
}

async function abandonAllExpired(
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
const leaseAfter = (result: LaneWriteResult | undefined): LeaseState => {
  if (result?.isHeld !== true) return 'over';
  return result.isPaused ? 'paused' : 'held';
};
