import { isDatabaseUnavailable } from '../../platform/database/explain-error.ts';
import type { Logger } from '../../platform/logger.ts';
import { pause } from '../../platform/pause.ts';
import type { DeliveryStore } from './delivery-store.ts';
import { laneFields } from './lane-arrays.ts';
import type { Settled, Settlement } from './settle-lanes.ts';

const firstWaitMs = 50;
const longestWaitMs = 1_000;

/**
 * Writes what came of an attempt, again and again while the database is away: what was delivered is not to be sent twice
 * for that. Undefined when it cannot be written, which is logged, or `abandon` aborted; then the lease ends by itself.
 */
export async function settlePatiently(
  store: Pick<DeliveryStore, 'settle'>,
  settlement: Settlement,
  { logger, abandon }: { readonly logger: Logger; readonly abandon: AbortSignal },
): Promise<Settled | undefined> {
  const isAbandoned = (): boolean => abandon.aborted;
  for (let waitMs = firstWaitMs; !isAbandoned(); waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    try {
      return await store.settle(settlement, abandon);
    } catch (error) {
      if (isAbandoned()) break;
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
      // Once for each, or an outage would fill the log with everything that is in hand, again and again.
      if (waitMs === firstWaitMs)
        logger.warn(line, 'the result of a webhook attempt could not be stored yet; trying again');
    }
    await pause(waitMs, abandon);
  }
  return undefined;
}
