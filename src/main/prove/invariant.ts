import type { Evidence } from './evidence.ts';

/** A violation. `orderNumber` is empty when it concerns no single order. */
export interface Finding {
  readonly orderNumber: string;
  readonly seen: string;
}

/** Something that must always hold, and how it is judged. */
export interface Invariant {
  readonly name: string;
  readonly promise: string;
  readonly judge: (evidence: Evidence) => {
    /** How many things were compared. Zero: the invariant was not tried. */
    readonly compared: number;
    /** The noun of the compared things, in the plural. */
    readonly of: string;
    readonly violations: readonly Finding[];
  };
}

/** The ends of an order, as statuses and as events. */
export const ends: ReadonlySet<string> = new Set(['COMPLETED', 'FAILED', 'EXPIRED']);

/** The events that send webhooks. */
export const webhookEvents: ReadonlySet<string> = new Set([...ends, 'REFUND_COMPLETED', 'REFUND_FAILED']);
