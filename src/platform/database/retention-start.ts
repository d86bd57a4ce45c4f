/** Two clocks that can be wrong independently of each other. */
export interface TwoClocks {
  /** The database's. */
  readonly now: () => Date;
  /** The machine's own. */
  readonly machineNow: () => Date;
}

const dayMs = 24 * 60 * 60_000;

/** The time that both clocks have reached. It decides when a change that cannot be undone is due (docs/adr/0058). */
export const reachedTime = ({ now, machineNow }: TwoClocks): Date =>
  new Date(Math.min(now().getTime(), machineNow().getTime()));

/**
 * The time before which stored data is older than `days` by both clocks. Deleted data cannot be restored, so a clock that is ahead for
 * a while must not cause a deletion (docs/adr/0058).
 */
export const retentionStart = (clocks: TwoClocks, days: number): Date =>
  new Date(reachedTime(clocks).getTime() - days * dayMs);
