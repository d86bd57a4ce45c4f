import type { StoredId } from '../../contract/public-id.ts';
import type { DifferingField, OrderDifference } from './order-differences.ts';

export type FindingKind =
  | 'EVENT_CHANGED'
  | 'EVENT_DELETED'
  | 'EVENT_NOT_SEALED'
  | 'BLOCK_DELETED'
  | 'BLOCK_CHANGED'
  | 'BLOCK_FORGED'
  | 'ROOT_DIFFERS'
  | 'ROOT_FORGED'
  | 'ROOT_DELETED'
  | 'ROW_CHANGED'
  | 'ROW_DELETED'
  | 'ROW_INSERTED';

/** One difference between the database and the chains of events. */
export interface Finding {
  readonly kind: FindingKind;
  readonly merchantId?: StoredId<'mer'>;
  readonly orderId?: StoredId<'ord'>;
  readonly orderNumber?: string;
  readonly object?: { readonly subject: OrderDifference['subject']; readonly id: string };
  readonly sequence?: number;
  readonly block?: bigint;
  readonly day?: string;
  readonly isKeptRoot?: boolean;
  readonly fields?: readonly DifferingField[];
  /** Whether a restore of the database explains it. */
  readonly isExplained?: boolean;
}

/** The counts of a comparison so far. */
export interface VerifySummary {
  /** Events that equal their commitment. */
  events: number;
  /** Events whose personal data core has erased since, as a seal proves. */
  erased: number;
  /** Events that are in no block yet. */
  waiting: number;
  orders: number;
  /** Orders whose events have a value that this version does not know. */
  incomparable: number;
  blocks: number;
  roots: number;
}

/** The time between a backup and the end of the database. Changes in it may be lost. */
export interface LostTime {
  readonly from: Date;
  readonly until: Date;
}
