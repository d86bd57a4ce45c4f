import { limitFailures } from '../../platform/line-limit.ts';
import type { Logger } from '../../platform/logger.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { HeldLane, PostEvent } from './held-lane.ts';
import { laneAfter, wantedHeads } from './lane-machine.ts';

/** Reads more deliveries for held lanes. One statement at a time reads for all lanes that want some. */
export interface LaneReads {
  /** The end of the read is an event of the lane. */
  readonly begin: (held: HeldLane) => void;
  /** Reads nothing more for a lane that is no longer held. */
  readonly forget: (held: HeldLane) => void;
}

export interface LaneReadsParts {
  readonly store: Pick<DeliveryStore, 'take'>;
  readonly logger: Pick<Logger, 'warn'>;
  readonly post: PostEvent;
}

export function createLaneReads(parts: LaneReadsParts): LaneReads {
  const toRead = new Set<HeldLane>();
  const logFailed = limitFailures((error) =>
    parts.logger.warn({ err: error }, 'due webhooks could not be read; trying again at the next refresh'),
  );
  let isReading = false;

  const readAll = async (): Promise<void> => {
    if (isReading) return;
    isReading = true;
    while (toRead.size > 0) {
      const batch = [...toRead];
      toRead.clear();
      if (await readFor(batch, parts, logFailed)) continue;
      // No action follows, or the same read would begin at once. Lanes that joined meanwhile also wait for the refresh.
      for (const held of [...batch, ...toRead]) held.state = laneAfter(held.state, { type: 'read_failed' });
      toRead.clear();
    }
    isReading = false;
  };

  return {
    begin(held) {
      toRead.add(held);
      void readAll();
    },
    forget: (held) => void toRead.delete(held),
  };
}

/** Returns whether the database answered. */
async function readFor(
  batch: readonly HeldLane[],
  { store, post }: LaneReadsParts,
  logFailed: (error: unknown) => void,
): Promise<boolean> {
  const requests = batch.map(({ key: lane, leaseId, state }) => ({ lane, leaseId, ...wantedHeads(state) }));
  const taken = await store.take(requests).catch((error: unknown) => {
    logFailed(error);
    return undefined;
  });
  if (taken === undefined) return false;
  for (const [index, held] of batch.entries()) {
    const heads = taken.get(held.text);
    const asked = requests[index]?.limit ?? 0;
    post(held, heads === undefined ? { type: 'read_refused' } : { type: 'heads_read', heads, asked });
  }
  return true;
}
