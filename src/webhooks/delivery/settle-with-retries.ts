import { isDatabaseUnavailable } from '../../platform/database/explain-error.ts';
import type { Logger } from '../../platform/logger.ts';
import { pause } from '../../platform/pause.ts';
import type { DeliveryStore } from './delivery-store.ts';
import { laneFields } from './lane-arrays.ts';
import type { Settled, Settlement } from './settle-lanes.ts';

const firstWaitMs = 50;
const longestWaitMs = 1_000;

/**
 * Retries the write of an outcome while the database is unavailable, because a lost outcome would send the webhook
 * twice. Returns undefined after a logged permanent failure or when `stopWriteRetries` aborted. Then the lease expires by
 * itself.
 */
export async function settleWithRetries(
  store: Pick<DeliveryStore, 'settle'>,
  settlement: Settlement,
  { logger, stopWriteRetries }: { readonly logger: Logger; readonly stopWriteRetries: AbortSignal },
): Promise<Settled | undefined> {
  const isStopped = (): boolean => stopWriteRetries.aborted;
  for (let waitMs = firstWaitMs; !isStopped(); waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    try {
      return await store.settle({ ...settlement, isRepeat: waitMs !== firstWaitMs }, stopWriteRetries);
    } catch (error) {
      if (isStopped()) break;
      const line = {
        err: error,
        ...laneFields(settlement.lane),
        delivery_id: settlement.attempt?.delivery.id,
      };
      if (!isDatabaseUnavailable(error)) {
        logger.error(
          line,
          'the result of a webhook attempt could not be stored, so the webhook is sent again',
        );
        return undefined;
      }
      // Logged once per settlement. Otherwise an outage would fill the log with repeated entries.
      if (waitMs === firstWaitMs)
        logger.warn(line, 'the result of a webhook attempt could not be stored yet; trying again');
    }
    await pause(waitMs, stopWriteRetries);
  }
  return undefined;
}
