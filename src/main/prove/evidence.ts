import type { FaultResult } from '../../cli/prove/report.ts';
import type { PlacedOrder } from './load.ts';
import type { Charge, OrderRecord } from './records.ts';
import type { Reply } from './shop.ts';
import type { Exchange } from './webhook-receiver.ts';

/** Everything that was observed of one gateway, after its faults had ended. */
export interface Evidence {
  readonly orders: readonly PlacedOrder[];
  /** The last answer of verify to each acknowledged order; missing when there was none. */
  readonly finals: ReadonlyMap<string, Reply>;
  readonly records: readonly OrderRecord[];
  readonly charges: readonly Charge[];
  readonly exchanges: readonly Exchange[];
  readonly faults: readonly FaultResult[];
  /** Processes that exited unexpectedly, with the message of their supervisor. */
  readonly exits: readonly string[];
  /** When the last fault had ended. */
  readonly faultsEndedAtMs: number;
  /** For each order that the wallet had charged: when it was seen to have ended. Missing while it is PENDING. */
  readonly decidedAtMs: ReadonlyMap<string, number>;
  /** Lines of logs with a secret or a payer's phone, without the secret. */
  readonly leaks: readonly string[];
  readonly logBytes: number;
  /** Customers that did not arrive because too many were waiting. */
  readonly turnedAway: number;
  /** Tries of the shop that got no final answer. */
  readonly unanswered: number;
}
