import type { LaneKey } from '../domain/delivery.ts';
import type { Lane, LaneEvent } from './lane-machine.ts';

/** A lane of which this process holds the lease. */
export interface HeldLane {
  /** The key as a text. */
  readonly text: string;
  readonly key: LaneKey;
  /** The owner of its slots. */
  readonly owner: string;
  readonly leaseId: string;
  readonly heldSinceMs: number;
  state: Lane;
}

/** Applies an event to a lane, and begins the actions that follow. */
export type PostEvent = (held: HeldLane, event: LaneEvent) => void;
