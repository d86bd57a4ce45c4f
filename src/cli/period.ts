import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { Command } from 'commander';
import { timeOption } from './options.ts';

/** The values of `--since` and `--until`, or of their former names `--from` and `--to`. */
export interface PeriodOptions {
  readonly since?: Timestamp;
  readonly until?: Timestamp;
  readonly from?: Timestamp;
  readonly to?: Timestamp;
}

/**
 * Adds `--since` and `--until` to a list, and their former names, which its help does not show. `things` names its entries and the time of
 * theirs that counts: "orders registered".
 */
export const addPeriod = (list: Command, things: string): Command =>
  list
    .addOption(timeOption('--since <time>', `only ${things} at this time (UTC) or later, such as 2026-01-31`))
    .addOption(timeOption('--until <time>', `only ${things} before this time (UTC)`))
    .addOption(timeOption('--from <time>', '').hideHelp())
    .addOption(timeOption('--to <time>', '').hideHelp());

/** The period of a list, whichever names its options have. A member without an option is absent. */
export function periodOf({ from, since = from, to, until = to }: PeriodOptions): {
  readonly since?: Timestamp;
  readonly until?: Timestamp;
} {
  return { ...(since && { since }), ...(until && { until }) };
}
