import type { HeldLane } from './held-lane.ts';
import { createSlots } from './slots.ts';
import type { Slots } from './slots.ts';

/** How many more lanes can be leased, and the owners whose lanes must be left out. */
export interface LaneRoom {
  readonly lanes: number;
  readonly unhealthyLanes: number;
  readonly exceptOwners: string[];
}

/** The lanes that this process holds, and the slots that they use. */
export interface HeldLanes {
  readonly slots: Slots;
  readonly all: () => readonly HeldLane[];
  readonly isEmpty: () => boolean;
  readonly add: (held: HeldLane) => void;
  readonly remove: (held: HeldLane) => void;
  readonly room: () => LaneRoom;
}

export interface HeldLanesParts {
  readonly maxInFlight: number;
  /** Called when a lane may be due, because there is room for it now. */
  readonly onLanesDue: () => void;
}

export function createHeldLanes({ maxInFlight, onLanesDue }: HeldLanesParts): HeldLanes {
  const slots = createSlots(maxInFlight);
  const lanes = new Map<string, HeldLane>();
  const countUnhealthy = (): number =>
    [...lanes.values()].filter(({ state }) => !state.isProven || state.health.consecutiveFailures > 0).length;

  return {
    slots,
    all: () => [...lanes.values()],
    isEmpty: () => lanes.size === 0,
    add(held) {
      lanes.set(held.text, held);
      slots.addLane(held.owner);
    },
    remove(held) {
      const wasFull = slots.lanesLeft() === 0 || slots.isFull(held.owner);
      // This process may have leased the lane again before the result of its earlier release arrived.
      if (lanes.get(held.text) === held) lanes.delete(held.text);
      slots.removeLane(held.owner);
      if (wasFull) onLanesDue();
    },
    room() {
      const left = slots.lanesLeft();
      // A silent endpoint occupies its slot for the whole deadline. So half of the slots are reserved for proven lanes. A single slot is shared.
      const unhealthyLeft = Math.max(0, Math.max(1, Math.floor(maxInFlight / 2)) - countUnhealthy());
      return {
        lanes: left,
        unhealthyLanes: Math.min(Math.ceil(left / 2), unhealthyLeft),
        exceptOwners: slots.fullOwners(),
      };
    },
  };
}
