/**
 * The number of deliveries of one owner that may be in flight, over all its lanes. An owner is a merchant in one
 * environment (`laneOwner`), because receivers that hang in the sandbox must not delay production.
 */
const maxPerOwner = 16;

/** Lanes share this part of the slots. The rest lets a newly due lane begin without waiting. */
const sharedPart = 0.75;

/** The concurrency slots of this process, by owner. */
export interface Slots {
  readonly addLane: (owner: string) => void;
  readonly removeLane: (owner: string) => void;
  /** The owners that have reached their limit of lanes in this process. */
  readonly fullOwners: () => string[];
  /** Whether the owner has reached its limit of lanes in this process. */
  readonly isFull: (owner: string) => boolean;
  /** How many more lanes this process can hold. */
  readonly lanesLeft: () => number;
  /** Whether so many lanes are held that each must yield to another after a while. */
  readonly isCrowded: () => boolean;
  /** How many deliveries of one of the owner's lanes may be in flight. */
  readonly share: (owner: string) => number;
  /** Whether one more delivery of the owner may be sent. */
  readonly isFree: (owner: string) => boolean;
  /** Takes a slot for a delivery of the owner. Call it only if `isFree`. */
  readonly take: (owner: string) => void;
  readonly giveBack: (owner: string) => void;
}

interface OwnerSlots {
  lanes: number;
  taken: number;
}

export function createSlots(maxInFlight: number): Slots {
  const owners = new Map<string, OwnerSlots>();
  let lanes = 0;
  let taken = 0;
  const of = (owner: string): OwnerSlots => owners.get(owner) ?? { lanes: 0, taken: 0 };
  const change = (owner: string, by: OwnerSlots): void => {
    const before = of(owner);
    const after = { lanes: before.lanes + by.lanes, taken: before.taken + by.taken };
    lanes += by.lanes;
    taken += by.taken;
    if (after.lanes === 0 && after.taken === 0) owners.delete(owner);
    else owners.set(owner, after);
  };
  const isFull = (owner: string): boolean => of(owner).lanes >= maxPerOwner;
  return {
    addLane: (owner) => change(owner, { lanes: 1, taken: 0 }),
    removeLane: (owner) => change(owner, { lanes: -1, taken: 0 }),
    fullOwners: () => [...owners.keys()].filter(isFull),
    isFull,
    lanesLeft: () => Math.max(0, maxInFlight - lanes),
    isCrowded: () => lanes >= sharedPart * maxInFlight,
    share: (owner) => {
      const ofAll = Math.floor((sharedPart * maxInFlight) / Math.max(1, lanes));
      const ofOwner = Math.floor(maxPerOwner / Math.max(1, of(owner).lanes));
      return Math.max(1, Math.min(ofAll, ofOwner));
    },
    isFree: (owner) => taken < maxInFlight && of(owner).taken < maxPerOwner,
    take: (owner) => change(owner, { lanes: 0, taken: 1 }),
    giveBack: (owner) => change(owner, { lanes: 0, taken: -1 }),
  };
}
