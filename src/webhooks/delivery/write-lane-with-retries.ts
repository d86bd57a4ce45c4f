import { isDatabaseUnavailable } from '../../platform/database/explain-error.ts';
import type { Logger } from '../../platform/logger.ts';
import { pause } from '../../platform/pause.ts';
import type { DeliveryStore } from './delivery-store.ts';
import { laneFields } from './lane-arrays.ts';
import type { LaneWriteResult, LaneWrite } from './write-lanes.ts';

const firstWaitMs = 50;
const longestWaitMs = 1_000;

/**
 * Retries the write of an outcome while the database is unavailable, because a lost outcome would send the webhook
 * twice. Returns undefined after a logged permanent failure or when `stopWriteRetries` aborted. Then the lease expires by
 * itself.
 */
export async function writeLaneWithRetries(
  store: Pick<DeliveryStore, 'writeLane'>,
  write: LaneWrite,
  { logger, stopWriteRetries }: { readonly logger: Logger; readonly stopWriteRetries: AbortSignal },
): Promise<LaneWriteResult | undefined> {
  const isStopped = (): boolean => stopWriteRetries.aborted;
  for (let waitMs = firstWaitMs; !isStopped(); waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    try {
      return await store.writeLane({ ...write, isRepeat: waitMs !== firstWaitMs }, stopWriteRetries);
    } catch (error) {
      if (isStopped()) break;
      const line = {
        err: error,
        ...laneFields(write.lane),
        delivery_id: write.attempt?.delivery.id,
      };
      if (!isDatabaseUnavailable(error)) {
        logger.error(
          line,
          'the result of a webhook attempt could not be stored, so the webhook is sent again',
        );
        return undefined;
      }
      // Logged once per write. Otherwise an outage would fill the log with repeated entries.
      if (waitMs === firstWaitMs)
        logger.warn(line, 'the result of a webhook attempt could not be stored yet; trying again');
    }
    await pause(waitMs, stopWriteRetries);
  }
  return undefined;
}
