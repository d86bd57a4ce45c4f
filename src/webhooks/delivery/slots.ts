/** The number of deliveries of one merchant that may be in flight, over all its lanes. */
const maxPerMerchant = 16;

/** Lanes share this part of the slots. The rest lets a newly due lane begin without waiting. */
const sharedPart = 0.75;

/** The concurrency slots of this process, by merchant. */
export interface Slots {
  readonly addLane: (merchantId: string) => void;
  readonly removeLane: (merchantId: string) => void;
  /** The merchants that have reached their limit of lanes in this process. */
  readonly fullMerchants: () => string[];
  readonly isFull: (merchantId: string) => boolean;
  /** How many more lanes this process can hold. */
  readonly lanesLeft: () => number;
  /** Whether so many lanes are held that each must yield to another after a while. */
  readonly isCrowded: () => boolean;
  /** How many deliveries of one of the merchant's lanes may be in flight. */
  readonly share: (merchantId: string) => number;
  /** Whether one more delivery of the merchant may be sent. */
  readonly isFree: (merchantId: string) => boolean;
  readonly take: (merchantId: string) => void;
  readonly giveBack: (merchantId: string) => void;
}

interface MerchantSlots {
  lanes: number;
  taken: number;
}

export function createSlots(maxInFlight: number): Slots {
  const merchants = new Map<string, MerchantSlots>();
  let lanes = 0;
  let taken = 0;
  const of = (merchantId: string): MerchantSlots => merchants.get(merchantId) ?? { lanes: 0, taken: 0 };
  const change = (merchantId: string, by: MerchantSlots): void => {
    const before = of(merchantId);
    const after = { lanes: before.lanes + by.lanes, taken: before.taken + by.taken };
    lanes += by.lanes;
    taken += by.taken;
    if (after.lanes === 0 && after.taken === 0) merchants.delete(merchantId);
    else merchants.set(merchantId, after);
  };
  const isFull = (merchantId: string): boolean => of(merchantId).lanes >= maxPerMerchant;
  return {
    addLane: (merchantId) => change(merchantId, { lanes: 1, taken: 0 }),
    removeLane: (merchantId) => change(merchantId, { lanes: -1, taken: 0 }),
    fullMerchants: () => [...merchants.keys()].filter(isFull),
    isFull,
    lanesLeft: () => Math.max(0, maxInFlight - lanes),
    isCrowded: () => lanes >= sharedPart * maxInFlight,
    share: (merchantId) => {
      const ofAll = Math.floor((sharedPart * maxInFlight) / Math.max(1, lanes));
      const ofMerchant = Math.floor(maxPerMerchant / Math.max(1, of(merchantId).lanes));
      return Math.max(1, Math.min(ofAll, ofMerchant));
    },
    isFree: (merchantId) => taken < maxInFlight && of(merchantId).taken < maxPerMerchant,
    take: (merchantId) => change(merchantId, { lanes: 0, taken: 1 }),
    giveBack: (merchantId) => change(merchantId, { lanes: 0, taken: -1 }),
  };
}
